"""Why a transaction is open, in words: *who is what: why; what would end it*, a sentence for each situation."""

from collections.abc import Iterable, Iterator, Sequence

from lab.analysis.bank_state import Standing
from lab.analysis.situation import Situation
from lab.protocols.transaction import DECIDED, State

__all__ = ["Why"]

_SILENT = {
    "killed": "is dead",
    "failed": "has failed",
    "absent": "has not been started",
    "running": "is just starting",
    "paused": "is paused",
    "cut": "cannot be reached",
    "held": "does not get its messages",
}
"""Why a node does not answer."""
_HEARD = {
    "killed": "comes back",
    "failed": "comes back",
    "absent": "is started",
    "running": "has started",
    "paused": "goes on",
    "cut": "can be reached",
    "held": "gets its messages",
}
"""What it takes for it to answer."""
_KNOWS = {
    State.UNCERTAIN: "voted YES",
    State.COMMITABLE: "knows that all voted YES",
    State.ABORTABLE: "knows that nobody has committed",
}
_OF_MANY = {
    **{"is": "are", "has": "have", "does": "do", "knows": "know"},
    **{"comes": "come", "goes": "go", "gets": "get"},
}
_UNPREPARED = (State.INITIAL, State.UNCERTAIN)
"""A coordinator that comes back in one of these states aborts."""


class Why:
    """Tells why the transaction ``of`` a situation is open."""

    def __init__(self, of: Situation) -> None:
        self._of = of

    def sentences(self) -> Iterator[str]:
        """One for each situation, the gravest first."""
        told = [(self._rank(group), self._sentence(group)) for group in self._of.groups()]
        yield from (sentence for _, sentence in sorted(told, key=lambda each: each[0]))
        if not told:
            yield self._of_the_dead()

    # what there is to say

    def _rank(self, group: Sequence[Standing]) -> int:
        one = group[0]
        if self._of.leads(one):
            return 2 if one.part.state in DECIDED else 1
        if one.part.state is State.INITIAL:
            return 3
        return 4 if self._of.awaits_coordinator(one) else 0

    def _sentence(self, group: Sequence[Standing]) -> str:
        one = group[0]
        if self._of.leads(one):
            return self._of_teller(one) if one.part.state in DECIDED else self._of_coordinator(one)
        if one.part.state is State.INITIAL:
            return self._of_initial(group)
        return self._of_uncertain(group)

    def _of_coordinator(self, one: Standing) -> str:
        said = f"{one.node} coordinates it"
        if one.view.process == "paused":
            return f"{said}, and is paused; goes on when {one.node} does"
        if one.wait is not None:
            peers = [each for each in self._of.all if each.node in one.wait.peers]
            said += f", and waits for {one.wait.what}" + (f" of {_names(peers)}" if peers else "")
            if why := ", ".join(self._facts(one, self._of.silent(one, peers))):
                said += f": {why}"
        return f"{said}; it waits no longer than T"

    def _of_teller(self, one: Standing) -> str:
        asked = () if one.wait is None else one.wait.peers
        others = [each for each in self._of.all if each is not one]
        untold = [each for each in others if each.part.state not in DECIDED or each.node in asked]
        untold = untold or self._of.silent(one, others)
        silent = self._of.silent(one, untold)
        said = f"{one.node} has {one.part.state.value} it"
        if one.view.process == "paused":
            return f"{said}, and is paused; ended when {one.node} goes on, and all know it"
        if not silent:
            return f"{said}, and waits for {_names(untold) or 'the others'} to acknowledge that"
        they = "it knows" if len(untold) == 1 else "they know"
        why = ", ".join(self._facts(one, silent))
        heard: dict[str, list[Standing]] = {}
        for each in silent:
            heard.setdefault(_HEARD[self._of.between(one, each)], []).append(each)
        when = " and ".join(f"{_names(whom)} {_verb(what, whom)}" for what, whom in heard.items())
        return f"{said}, and tells {_names(untold)} until {they}: {why}; ended when {when}"

    def _of_initial(self, group: Sequence[Standing]) -> str:
        coordinator = [each for each in self._of.all if self._of.is_coordinator(each)]
        why = ", ".join(self._facts(group[0], coordinator, group))
        rest = "it aborts by itself" if len(group) == 1 else "they abort by themselves"
        return f"{_names(group)} {_verb('has not voted', group)}: {why}; {rest}, if nothing is heard"

    def _of_uncertain(self, group: Sequence[Standing]) -> str:
        one, they = group[0], "it" if len(group) == 1 else "they"
        state = one.part.state
        others = [each for each in self._of.all if each not in group]
        why = [f"{they} {_verb(_KNOWS[state], group)}", *self._facts(one, others, group)]
        paused = one.view.process == "paused"
        what = f"{_verb('is', group)} {state.value}{', and paused' if paused else ''}"
        end = f"goes on when {_names(group)} {_verb('is', group)} resumed" if paused else self._end(group, others)
        return f"{_names(group)} {what}: {', '.join(why)}; {end}"

    def _of_the_dead(self) -> str:
        parts = [each for each in self._of.all if each.part.is_open and each.part.participants]
        parts = parts or list(self._of.all)  # in a recording from anybody
        parts.sort(key=lambda each: not self._of.is_coordinator(each))
        had = {State.COMMITTED: "had committed it", State.ABORTED: "had aborted it"}
        said = [
            f"{self._who(each)} {_SILENT[each.view.process]}, and {had.get(each.part.state, 'had not decided')}"
            for each in parts
        ]
        first = f"{parts[0].node} {_HEARD[parts[0].view.process]}"
        knowing = [each for each in self._of.all if each not in parts and each.part.state in DECIDED]
        if knowing:
            return f"{knowing[0].part.state.value} at {_names(knowing)}: {', '.join(said)}; ended when {first}"
        return f"nobody that is up has it open: {', '.join(said)}; goes on when {first}"

    # the facts

    def _facts(self, one: Standing, others: Iterable[Standing], group: Sequence[Standing] = ()) -> Iterator[str]:
        """What there is to know of each of the others: first the coordinator, then those that are alike."""
        found: dict[str, list[Standing]] = {}
        for other in sorted(others, key=lambda each: not self._of.is_coordinator(each)):
            fact = self._fact(one, other)
            if self._of.is_coordinator(other):
                whose = "its" if len(group) < 2 else "their"
                yield f"{whose} coordinator {other.node} {fact}" if group else f"{other.node} {fact}"
            else:
                found.setdefault(fact, []).append(other)
        for fact, whom in found.items():
            yield f"{_names(whom)} {_verb(fact, whom)}"

    def _fact(self, one: Standing, other: Standing) -> str:
        if silent := self._of.between(one, other):
            return _SILENT[silent]
        state = other.part.state
        if state in DECIDED:
            return f"knows that it is {state.value}"
        if self._of.leads(other):
            return "has not decided"
        if state is State.INITIAL:
            return "has not voted"
        return f"is {state.value}{' too' if state is one.part.state else ''}"

    def _who(self, one: Standing) -> str:
        return f"its coordinator {one.node}" if self._of.is_coordinator(one) else str(one.node)

    # what would end it

    def _end(self, group: Sequence[Standing], others: Sequence[Standing]) -> str:
        one = group[0]
        near = [each for each in others if not self._of.between(one, each)]
        coordinator = next((each for each in near if self._of.leads(each)), None)
        if coordinator is not None:
            node, is_decided = coordinator.node, coordinator.part.state in DECIDED
            return f"decided when the word of {node} comes" if is_decided else f"decided when {node} has decided"
        if self._of.by_majority and self._of.next_state([*group, *near]) is not None:
            elected = self._of.elected(one)
            what = "a coordinator is elected" if elected is None else f"{elected}, which is elected, has asked all"
            return f"decided when {what}"
        knowing = [each for each in near if each.part.state in DECIDED]
        if knowing:
            return f"decided as soon as {'it asks' if len(group) == 1 else 'they ask'} {_names(knowing)}"
        fresh = [each for each in near if each.part.state is State.INITIAL]
        if fresh:
            return f"aborted as soon as {'it asks' if len(group) == 1 else 'they ask'} {_names(fresh)}"
        ways = list(self._ways(one, self._resolving(self._of.silent(one, others))))
        if self._of.by_majority:
            ways.append(_majority(len(group) + len(near), len(self._of.all)))
        return f"decided when {', or when '.join(ways)}"

    def _resolving(self, silent: Iterable[Standing]) -> Iterator[Standing]:
        """Those of the silent of whom one alone could end it, the coordinator first."""
        for each in sorted(silent, key=lambda each: not self._of.is_coordinator(each)):
            state, coordinates = each.part.state, self._of.is_coordinator(each)
            aborts = state in _UNPREPARED if coordinates else state is State.INITIAL
            if state in DECIDED or aborts or (coordinates and not self._of.by_majority):
                yield each

    def _ways(self, one: Standing, resolving: Iterable[Standing]) -> Iterator[str]:
        """What it takes to hear one of them, and what it knows then; those that are alike together."""
        alike: dict[tuple[str, str], list[Standing]] = {}
        for each in resolving:
            knows = ""
            if each.part.state in DECIDED:
                knows = f"knows that it is {each.part.state.value}"
            elif not self._of.is_coordinator(each):
                knows = "has not voted"
            alike.setdefault((_HEARD[self._of.between(one, each)], knows), []).append(each)
        for (heard, knows), whom in alike.items():
            yield f"{_names(whom, 'or')} {heard}" + (f", which {_verb(knows, whom)}" if knows else "")


def _majority(can: int, participants: int) -> str:
    if 2 * can > participants:
        return "one can be reached that has not crashed since its vote"
    return f"a majority can be reached ({can} of {participants} can)"


def _names(standings: Iterable[Standing], word: str = "and") -> str:
    """``1, 2 and 3``."""
    *first, last = [str(each.node) for each in standings] or [""]
    return f"{', '.join(first)} {word} {last}" if first else last


def _verb(one: str, group: Sequence[Standing]) -> str:
    """What is said of one, said of as many as there are."""
    if len(group) == 1:
        return one
    word, _, rest = one.partition(" ")
    return f"{_OF_MANY.get(word, word)} {rest}".rstrip().replace(" its ", " their ")

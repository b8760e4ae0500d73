"""Explain why transactions are open: since when, who is in which state, why, and what would end it.

A *situation* follows from the facts at a record: which participants can hear each other, by the processes that are
up, the links that are cut and the messages held, and which participants are in the same state. Each situation gets
a sentence.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from lab.protocols import TASKS, ThreePhaseCommit
from lab.protocols.three_phase import StateAnswer
from lab.protocols.transaction import DECIDED, State, Transaction
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header
from lab.recording.snapshot import NodeState
from lab.tasks.bank.bank_state import BankState, ParticipantState, TransactionOverview, bank_in, has_bank, open_at

_Rule = Callable[[Mapping[int, StateAnswer], int], State | None]


class Situation:
    """The situation of one transaction.

    ``rule``: an elected node may end it by this rule; None: only its coordinator can. ``crashes_count``: whether
    the rule distinguishes participants that have crashed since their vote.
    """

    def __init__(
        self, overview: TransactionOverview, cluster: ClusterState, rule: _Rule | None, crashes_count: bool
    ) -> None:
        self.transaction = overview.transaction
        self.all = overview.participant_states
        self.by_majority = rule is not None
        self.crashes_count = crashes_count
        self._rule = rule
        self._nodes = cluster.nodes
        cuts = (fault for fault in cluster.faults.values() if fault.kind in ("cut", "partition"))
        self._cut = {link for fault in cuts for link in fault.links}
        self._held = {(flight.source, flight.target) for flight in cluster.in_flight.values() if flight.held}

    def groups(self) -> list[list[ParticipantState]]:
        """Return the live participants at which it is open, grouped by situation."""
        groups: list[list[ParticipantState]] = []
        for one in self.all:
            if one.is_alive and one.reported is not None and one.part.is_open:
                alike = (group for group in groups if all(self._is_alike(one, other) for other in group))
                group = next(alike, None)
                if group is None:
                    groups.append([one])
                else:
                    group.append(one)
        return groups

    def _is_alike(self, one: ParticipantState, other: ParticipantState) -> bool:
        what = [(each.part.state, each.view.process, self.leads(each)) for each in (one, other)]
        rest = [each for each in self.all if each not in (one, other)]
        if what[0] != what[1] or self.obstacle(one, other) in ("cut", "held"):
            return False
        return all(self.obstacle(one, each) == self.obstacle(other, each) for each in rest)

    def obstacle(self, one: ParticipantState, other: ParticipantState) -> str:
        """Return the obstacle to an answer of ``other`` to ``one`` (process state, cut, held), or empty."""
        return self._obstacle(one.node, other.view)

    def _obstacle(self, node: int, other: NodeState) -> str:
        if node == other.id:
            return ""
        if other.process != "running":
            return other.process
        links = {(node, other.id), (other.id, node)}
        return "cut" if links & self._cut else "held" if links & self._held else ""

    def leads(self, one: ParticipantState) -> bool:
        """Return whether it acts as the coordinator; in 3PC a recovered coordinator is an ordinary participant."""
        if one.node != self.transaction.node:
            return False
        is_terminating = one.wait is not None and one.wait.procedure.startswith("terminate")
        return one.part.state in DECIDED or not (self.by_majority and is_terminating)

    def silent(self, one: ParticipantState, others: Iterable[ParticipantState]) -> list[ParticipantState]:
        """Return the others from which it gets no answer."""
        return [each for each in others if self.obstacle(one, each)]

    def is_coordinator(self, one: ParticipantState) -> bool:
        """Return whether it began the transaction."""
        return one.node == self.transaction.node

    def awaits_coordinator(self, one: ParticipantState) -> bool:
        """Return whether the coordinator is reachable and acts as such."""
        return any(self.leads(each) and not self.obstacle(one, each) for each in self.all)

    def next_state(self, heard: Iterable[ParticipantState]) -> State | None:
        """Return the decision of a newly elected coordinator if these participants answered it."""
        replies = {
            each.node: StateAnswer(
                each.part.state, self.crashes_count and each.crashed, each.part.round, each.part.promised
            )
            for each in heard
        }
        return None if self._rule is None else self._rule(replies, len(self.all))

    def elected(self, one: ParticipantState) -> int | None:
        """Return the node that it follows, if that one is reachable."""
        elected = one.view.coordinator if one.view.status == "Normal" else None
        view = None if elected is None else self._nodes.get(elected)
        return None if view is None or self._obstacle(one.node, view) else view.id


_SILENT = {
    "killed": "is dead",
    "failed": "has failed",
    "absent": "has not been started",
    "running": "is just starting",
    "paused": "is paused",
    "cut": "cannot be reached",
    "held": "does not get its messages",
}
"""The reasons why a node does not answer, as verb phrases."""
_RESOLVED = {
    "killed": "comes back",
    "failed": "comes back",
    "absent": "is started",
    "running": "has started",
    "paused": "goes on",
    "cut": "can be reached",
    "held": "gets its messages",
}
"""The events after which it can answer."""
_KNOWS = {
    State.UNCERTAIN: "voted YES",
    State.COMMITABLE: "knows that all voted YES",
    State.ABORTABLE: "knows that nobody has committed",
}
_PLURALS = {
    **{"is": "are", "has": "have", "does": "do", "knows": "know"},
    **{"comes": "come", "goes": "go", "gets": "get"},
}
_UNPREPARED = (State.INITIAL, State.UNCERTAIN)
"""A coordinator that comes back in one of these states aborts."""


class BlockingReasons:
    """The reasons why the transaction of a situation is open."""

    def __init__(self, situation: Situation) -> None:
        self._situation = situation

    def sentences(self) -> Iterator[str]:
        """Yield a sentence for each group of participants in the same situation, the gravest first."""
        ranked = [(self._rank(group), self._sentence(group)) for group in self._situation.groups()]
        yield from (sentence for _, sentence in sorted(ranked, key=lambda each: each[0]))
        if not ranked:
            yield self._describe_all_down()

    # sentences

    def _rank(self, group: Sequence[ParticipantState]) -> int:
        one = group[0]
        if self._situation.leads(one):
            return 2 if one.part.state in DECIDED else 1
        if one.part.state is State.INITIAL:
            return 3
        return 4 if self._situation.awaits_coordinator(one) else 0

    def _sentence(self, group: Sequence[ParticipantState]) -> str:
        one = group[0]
        if self._situation.leads(one):
            return (
                self._describe_decided_coordinator(one)
                if one.part.state in DECIDED
                else self._describe_coordinator(one)
            )
        if one.part.state is State.INITIAL:
            return self._describe_initial(group)
        return self._describe_uncertain(group)

    def _describe_coordinator(self, one: ParticipantState) -> str:
        text = f"{one.node} coordinates it"
        if one.view.process == "paused":
            return f"{text}, and is paused; goes on when {one.node} does"
        if one.wait is not None:
            peers = [each for each in self._situation.all if each.node in one.wait.peers]
            text += f", and waits for {one.wait.what}" + (f" from {_names(peers)}" if peers else "")
            if why := ", ".join(self._facts(one, self._situation.silent(one, peers))):
                text += f": {why}"
        return f"{text}; it waits no longer than T"

    def _describe_decided_coordinator(self, one: ParticipantState) -> str:
        asked = () if one.wait is None else one.wait.peers
        others = [each for each in self._situation.all if each is not one]
        untold = [each for each in others if each.part.state not in DECIDED or each.node in asked]
        untold = untold or self._situation.silent(one, others)
        silent = self._situation.silent(one, untold)
        text = f"{one.node} has {one.part.state.value} it"
        if one.view.process == "paused":
            return f"{text}, and is paused; ended when {one.node} goes on, and all know it"
        if not silent:
            return f"{text}, and waits for {_names(untold) or 'the others'} to acknowledge that"
        they = "it knows" if len(untold) == 1 else "they know"
        why = ", ".join(self._facts(one, silent))
        heard: dict[str, list[ParticipantState]] = {}
        for each in silent:
            heard.setdefault(_RESOLVED[self._situation.obstacle(one, each)], []).append(each)
        when = " and ".join(f"{_names(whom)} {_verb(what, whom)}" for what, whom in heard.items())
        return f"{text}, and tells {_names(untold)} until {they}: {why}; ended when {when}"

    def _describe_initial(self, group: Sequence[ParticipantState]) -> str:
        coordinator = [each for each in self._situation.all if self._situation.is_coordinator(each)]
        why = ", ".join(self._facts(group[0], coordinator, group))
        rest = "it aborts by itself" if len(group) == 1 else "they abort by themselves"
        return f"{_names(group)} {_verb('has not voted', group)}: {why}; {rest}, if nothing is heard"

    def _describe_uncertain(self, group: Sequence[ParticipantState]) -> str:
        one, they = group[0], "it" if len(group) == 1 else "they"
        state = one.part.state
        others = [each for each in self._situation.all if each not in group]
        why = [f"{they} {_verb(_KNOWS[state], group)}", *self._facts(one, others, group)]
        paused = one.view.process == "paused"
        what = f"{_verb('is', group)} {state.value}{', and paused' if paused else ''}"
        end = f"goes on when {_names(group)} {_verb('is', group)} resumed" if paused else self._end(group, others)
        return f"{_names(group)} {what}: {', '.join(why)}; {end}"

    def _describe_all_down(self) -> str:
        parts = [each for each in self._situation.all if each.part.is_open and each.part.participants]
        parts = parts or list(self._situation.all)  # a recording may hold anything
        parts.sort(key=lambda each: not self._situation.is_coordinator(each))
        had = {State.COMMITTED: "had committed it", State.ABORTED: "had aborted it"}
        text = [
            f"{self._who(each)} {_SILENT[each.view.process]}, and {had.get(each.part.state, 'had not decided')}"
            for each in parts
        ]
        first = f"{parts[0].node} {_RESOLVED[parts[0].view.process]}"
        knowing = [each for each in self._situation.all if each not in parts and each.part.state in DECIDED]
        if knowing:
            return f"{knowing[0].part.state.value} at {_names(knowing)}: {', '.join(text)}; ended when {first}"
        return f"nobody that is up has it open: {', '.join(text)}; goes on when {first}"

    # the facts

    def _facts(
        self, one: ParticipantState, others: Iterable[ParticipantState], group: Sequence[ParticipantState] = ()
    ) -> Iterator[str]:
        """Yield a fact for the coordinator, then one for each group of other participants that share it."""
        found: dict[str, list[ParticipantState]] = {}
        for other in sorted(others, key=lambda each: not self._situation.is_coordinator(each)):
            fact = self._fact(one, other)
            if self._situation.is_coordinator(other):
                whose = "its" if len(group) < 2 else "their"
                yield f"{whose} coordinator {other.node} {fact}" if group else f"{other.node} {fact}"
            else:
                found.setdefault(fact, []).append(other)
        for fact, whom in found.items():
            yield f"{_names(whom)} {_verb(fact, whom)}"

    def _fact(self, one: ParticipantState, other: ParticipantState) -> str:
        if silent := self._situation.obstacle(one, other):
            return _SILENT[silent]
        state = other.part.state
        if state in DECIDED:
            return f"knows that it is {state.value}"
        if self._situation.leads(other):
            return "has not decided"
        if state is State.INITIAL:
            return "has not voted"
        return f"is {state.value}{' too' if state is one.part.state else ''}"

    def _who(self, one: ParticipantState) -> str:
        return f"its coordinator {one.node}" if self._situation.is_coordinator(one) else str(one.node)

    # what would end it

    def _end(self, group: Sequence[ParticipantState], others: Sequence[ParticipantState]) -> str:
        one = group[0]
        near = [each for each in others if not self._situation.obstacle(one, each)]
        coordinator = next((each for each in near if self._situation.leads(each)), None)
        if coordinator is not None:
            node, is_decided = coordinator.node, coordinator.part.state in DECIDED
            return (
                f"decided when the decision of {node} arrives"
                if is_decided
                else f"decided when {node} has decided"
            )
        if self._situation.by_majority and self._situation.next_state([*group, *near]) is not None:
            elected = self._situation.elected(one)
            what = "a coordinator is elected" if elected is None else f"{elected}, which is elected, has asked all"
            return f"decided when {what}"
        knowing = [each for each in near if each.part.state in DECIDED]
        if knowing:
            return f"decided as soon as {'it asks' if len(group) == 1 else 'they ask'} {_names(knowing)}"
        fresh = [each for each in near if each.part.state is State.INITIAL]
        if fresh:
            return f"aborted as soon as {'it asks' if len(group) == 1 else 'they ask'} {_names(fresh)}"
        ways = list(self._ways(one, self._resolving(self._situation.silent(one, others))))
        if self._situation.by_majority:
            ways.append(self._enough(len(group) + len(near)))
        return f"decided when {', or when '.join(ways)}"

    def _enough(self, can: int) -> str:
        """Return what an elected coordinator needs, if it can reach this many participants."""
        participants = len(self._situation.all)
        if 2 * can <= participants:
            return f"a majority can be reached ({can} of {participants} can)"
        if self._situation.crashes_count:
            return "more can be reached that have not crashed since their vote"
        return "more can be reached that are not abortable"

    def _resolving(self, silent: Iterable[ParticipantState]) -> Iterator[ParticipantState]:
        """Yield the silent participants that could end the transaction alone, the coordinator first."""
        for each in sorted(silent, key=lambda each: not self._situation.is_coordinator(each)):
            state, coordinates = each.part.state, self._situation.is_coordinator(each)
            aborts = state in _UNPREPARED if coordinates else state is State.INITIAL
            if state in DECIDED or aborts or (coordinates and not self._situation.by_majority):
                yield each

    def _ways(self, one: ParticipantState, resolving: Iterable[ParticipantState]) -> Iterator[str]:
        """Yield the events that would end it; participants with the same event share a text."""
        alike: dict[tuple[str, str], list[ParticipantState]] = {}
        for each in resolving:
            knows = ""
            if each.part.state in DECIDED:
                knows = f"knows that it is {each.part.state.value}"
            elif not self._situation.is_coordinator(each):
                knows = "has not voted"
            alike.setdefault((_RESOLVED[self._situation.obstacle(one, each)], knows), []).append(each)
        for (heard, knows), whom in alike.items():
            yield f"{_names(whom, 'or')} {heard}" + (f", which {_verb(knows, whom)}" if knows else "")


def _names(participant_states: Iterable[ParticipantState], word: str = "and") -> str:
    """``1, 2 and 3``."""
    *first, last = [str(each.node) for each in participant_states] or [""]
    return f"{', '.join(first)} {word} {last}" if first else last


def _verb(one: str, group: Sequence[ParticipantState]) -> str:
    """Return a verb phrase in the singular or plural, to agree with the size of the group."""
    if len(group) == 1:
        return one
    word, _, rest = one.partition(" ")
    return f"{_PLURALS.get(word, word)} {rest}".rstrip().replace(" its ", " their ")


class TransactionDiagnosis(Struct, frozen=True):
    """An open transaction as of a record, and the ``sentences`` that explain why it is open, the gravest first."""

    overview: TransactionOverview
    sentences: tuple[str, ...]

    @property
    def transaction(self) -> Transaction:
        return self.overview.transaction

    @property
    def blocked_since_us(self) -> int | None:
        """Earliest time since which a live participant is blocked, having asked all others; None if none is."""
        reported = [
            each.reported
            for each in self.overview.participant_states
            if each.is_alive and each.reported is not None
        ]
        return min((each.blocked_since_us for each in reported if each.blocked_since_us is not None), default=None)

    @property
    def since_us(self) -> int | None:
        """Earliest time at which a live participant entered its present state."""
        return min(
            (each.reported.since_us for each in self.overview.participant_states if each.reported is not None),
            default=None,
        )

    @property
    def locks(self) -> tuple[str, ...]:
        """The accounts that the transaction locks."""
        return tuple(name for each in self.overview.participant_states for name in each.locks)

    @property
    def turned_away(self) -> tuple[Transaction, ...]:
        """The transactions that were refused because of these locks."""
        reported = [each.reported for each in self.overview.participant_states if each.reported is not None]
        return tuple(sorted({other for each in reported for other in each.turned_away}))


def blocked_since_us(view: NodeState) -> int | None:
    """Return the time since which this node is blocked although it has asked all others, or None."""
    return min(
        (each.blocked_since_us for each in open_at(view) if each.blocked_since_us is not None), default=None
    )


def diagnose_open_transactions(cluster: ClusterState, header: Header) -> tuple[TransactionDiagnosis, ...]:
    """Return a diagnosis of each open transaction: those blocked longest first, those not blocked last."""
    return diagnose_bank(bank_in(cluster, header), cluster, header) if has_bank(header) else ()


def diagnose_bank(bank: BankState, cluster: ClusterState, header: Header) -> tuple[TransactionDiagnosis, ...]:
    """Return the same as ``diagnose_open_transactions`` for a bank that is already known."""
    rule = None
    if header.protocol.election is not None:  # a newly elected coordinator terminates open transactions
        task = TASKS.get(header.protocol.name, ThreePhaseCommit)
        rule = task.next_state if issubclass(task, ThreePhaseCommit) else ThreePhaseCommit.next_state
    crashes_count = header.protocol.parameters.get("commit_after") == "everyone_alive"
    found = (
        TransactionDiagnosis(
            overview, tuple(BlockingReasons(Situation(overview, cluster, rule, crashes_count)).sentences())
        )
        for overview in bank.open_transactions
    )
    return tuple(sorted(found, key=_urgency))


def _urgency(stuck: TransactionDiagnosis) -> tuple[bool, int]:
    return stuck.blocked_since_us is None, stuck.blocked_since_us or 0

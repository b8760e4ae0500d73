"""Statements: a command or an expectation, with its triggers."""

from collections.abc import Iterable
from itertools import chain
from typing import Literal

from msgspec import Struct

from lab.properties.assertions import A2, A4, ASSERTIONS, BUILT_IN, HIGHEST, K2, RAISES
from lab.protocols import Algorithm
from lab.protocols.workloads import WORKLOADS
from lab.recording.cluster_state import ClusterState
from lab.script.commands import Caption, Command
from lab.script.predicates import Predicate, Suspicions
from lab.script.scope import CommandError, Scope, format_link, join_words
from lab.text import did_you_mean
from lab.units import format_us

CAUSES: dict[str, int] = {
    "wipe": 4,
    "unwrite": 4,
    "tear": 4,
    "flip": 4,
    "inject": 3,
    "duplicate": 3,
    "reorder": 7,
    "delay": 8,
    "lose": 8,
    "cut": 8,
    "partition": 8,
    "hold": 8,
    "slow-disk": 9,
    "slow": 9,
    "pause": 9,
}
"""The faults by name, each with the number of the assumption that it breaks."""

_NEVER_UNDER = (RAISES.id, A2.id, HIGHEST.id, A4.id, K2.id)
"""Assertions whose violation no broken assumption excuses."""
_MOST_VALUES = 8


# triggers


class Trigger(Struct, frozen=True):
    """An event or a time for which a line waits."""

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """The predicates in it."""
        return ()

    def check(self, scope: Scope) -> None:
        """Raise CommandError if it can never fire in the run, whatever its predicates are."""


class _TimeTrigger(Trigger, frozen=True):
    us: int

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()} {format_us(self.us)}"


class At(_TimeTrigger, frozen=True):
    """``at 2s``: this long after the start of the run."""


class After(_TimeTrigger, frozen=True):
    """``after 2s``: this long after the previous trigger, the previous line, or the time the command was given."""


class Every(_TimeTrigger, frozen=True):
    """``every 2s``: repeatedly, with this period. Always the last trigger of a line."""


class When(Trigger, frozen=True):
    """``when all normal``: as soon as the predicate holds; at once if it holds already."""

    predicate: Predicate

    def __str__(self) -> str:
        return f"when {self.predicate}"

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        return (self.predicate,)


class OnMessage(Trigger, frozen=True):
    """``on send EnterElection 4->1``: as soon as such a message is sent, delivered or dropped.

    ``nth``: wait for the nth such message, counted from the start of the wait.
    """

    event: Literal["send", "deliver", "drop"]
    kind: str
    source: int | None = None
    target: int | None = None
    nth: int = 1

    def __str__(self) -> str:
        return join_words(
            self._word, self.event, self.kind, format_link(self.source, self.target), _format_nth(self.nth)
        )

    @property
    def _word(self) -> str:
        return "on"

    def matches(self, event: str, kind: str, source: int, target: int) -> bool:
        """Return whether it waits for this event of such a message."""
        if self.kind != kind or self.event != event:
            return False
        return self.source in (None, source) and self.target in (None, target)

    def check(self, scope: Scope) -> None:
        scope.require_kinds([self.kind])
        scope.require_link(self.source, self.target)


class BeforeMessage(OnMessage, frozen=True):
    """``before send NewState 4->1``: when such a message is about to leave, or to be handed to its receiver.

    The sender has stored what its step stores; of the messages of the step, this one and those after it have not
    left. The receiver, which may be paused, has not seen the message.
    """

    @property
    def _word(self) -> str:
        return "before"

    def matches(self, event: str, kind: str, source: int, target: int) -> bool:
        before, _, event = event.rpartition(" ")
        return before == self._word and super().matches(event, kind, source, target)


class OnStore(Trigger, frozen=True):
    """``on store 4``: as soon as a step of this node, or of any node, has written to stable storage.

    None of the messages of the step has left. ``nth`` as in ``OnMessage``.
    """

    who: int | Literal["any"]
    nth: int = 1

    def __str__(self) -> str:
        return join_words("on store", self.who, _format_nth(self.nth))

    def matches(self, node: int) -> bool:
        """Return whether it waits for a write of this node."""
        return self.who in (node, "any")

    def check(self, scope: Scope) -> None:
        scope.require_nodes([self.who])
        if not any(field.safe for field in scope.protocol.fields):
            raise CommandError(f"{scope.protocol.name} keeps nothing in stable storage, so on store never fires")


class OnStatus(Trigger, frozen=True):
    """``on status 4 Election``: as soon as this node, or any node, enters the status."""

    who: int | Literal["any"]
    status: str

    def __str__(self) -> str:
        return f"on status {self.who} {self.status}"

    def matches(self, node: int, status: str) -> bool:
        """Return whether it waits for the node to enter this status."""
        return self.status == status and self.who in (node, "any")

    def check(self, scope: Scope) -> None:
        scope.require_election(f"its nodes are never {self.status}")
        scope.require_nodes([self.who])


def _format_nth(nth: int) -> str:
    return f"#{nth}" if nth > 1 else ""


# expectations


class Expectation(Struct, frozen=True):
    """A condition that a run must meet."""

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """The predicates in it."""
        return ()

    @property
    def covers_whole_run(self) -> bool:
        """True if, without a trigger, it applies to the whole run or to its end."""
        return True

    @property
    def expected(self) -> bool:
        """The value that its predicates should have."""
        return True

    def check(self, scope: Scope) -> None:
        """Raise CommandError if it has no meaning in the run, whatever its predicates are."""

    def explain_unmet(self, why: str, cluster: ClusterState, suspicions: Suspicions) -> str:
        """Return why it was not met: the reason from its record, and the values that matter."""
        try:
            values = self._values(cluster, suspicions)
        except CommandError as error:
            return why or str(error)
        if len(values) > _MOST_VALUES:
            values[_MOST_VALUES - 1 :] = [f"and {len(values) - _MOST_VALUES + 1} more"]
        return ": ".join(filter(None, (why, ", ".join(values)))) or "it did not hold"

    def _values(self, cluster: ClusterState, suspicions: Suspicions) -> list[str]:
        """Return the values that matter, each once. Raises CommandError if what a protocol brings fails."""
        explained = (each.explain(cluster, suspicions, self.expected) for each in self.predicates)
        return list(dict.fromkeys(chain.from_iterable(explained)))


class Expect(Expectation, frozen=True):
    """``expect P within 2s``: P holds at some time from now until the limit.

    ``within_us`` None: P holds at the time of the trigger; without a trigger, at the end of the run.
    """

    predicate: Predicate
    within_us: int | None = None

    def __str__(self) -> str:
        within = "" if self.within_us is None else f" within {format_us(self.within_us)}"
        return f"expect {self.predicate}{within}"

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        return (self.predicate,)

    @property
    def covers_whole_run(self) -> bool:
        return self.within_us is None


class ExpectThroughout(Expectation, frozen=True):
    """``expect always P``, ``expect never P``: from now to the end; without a trigger, from the start."""

    predicate: Predicate
    always: bool

    def __str__(self) -> str:
        return f"expect {'always' if self.always else 'never'} {self.predicate}"

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        return (self.predicate,)

    @property
    def expected(self) -> bool:
        return self.always


class ExpectViolation(Expectation, frozen=True):
    """``expect violation A1.1 under pause``, ``expect no violation``: the verdicts of the whole run.

    ``expect one_leader_per_term`` is the same as ``expect no violation one_leader_per_term``.

    ``under``: the fault of ``CAUSES`` that breaks an assumption at the violation; empty: any fault, or none.
    ``assertion`` empty: all assertions. ``none``: no violation is expected.
    """

    assertion: str = ""
    under: str = ""
    none: bool = False

    def __str__(self) -> str:
        under = f"under {self.under}" if self.under else ""
        return join_words("expect", "no" if self.none else "", "violation", self.assertion, under)

    def check(self, scope: Scope) -> None:
        name = self.assertion
        if name and name not in ASSERTIONS and name not in WORKLOADS:
            promised = scope.protocol.promises if issubclass(scope.protocol, Algorithm) else ()
            known = list(dict.fromkeys((*(each.id for each in BUILT_IN), *promised)))
            raise CommandError(
                f"unknown assertion {name}; the assertions are {', '.join(known)}{did_you_mean(name, known)}"
            )
        if self.under and name in _NEVER_UNDER:
            raise CommandError(f"no fault excuses a violation of {name}: leave out under")


class ExpectationResult(Struct, frozen=True):
    """The result of an expectation, or of a trigger that could not be evaluated; ``why`` may explain it."""

    met: bool
    why: str = ""


# lines


class Statement(Struct, frozen=True):
    """A command with its triggers. ``text`` is the text of the command, ``source`` that of the whole line.

    The wait for each of the ``triggers`` starts when the one before it has fired. ``follows``: the line waits
    until the line before it is done. ``line`` is its number in the script, from 1; 0 outside of scripts.

    Its ``str`` is its canonical text; parsing that gives an equal command with equal triggers.
    """

    command: Command | Expectation | ExpectationResult
    text: str
    source: str
    triggers: tuple[Trigger, ...] = ()
    follows: bool = False
    line: int = 0

    def __str__(self) -> str:
        if self.triggers:
            follows_anyway = isinstance(self.triggers[0], After)
        else:
            follows_anyway = not covers_whole_run(self.command)
        then = ["then"] if self.follows and not follows_anyway else []
        before = " ".join([*then, *map(str, self.triggers)])
        return f"{before}{':' if self.triggers else ''} {self.command}".strip()

    @property
    def recorded_text(self) -> str:
        """The text in its record: of a caption its own, of all else that of the whole line."""
        return self.command.text if isinstance(self.command, Caption) else self.source

    @property
    def trigger(self) -> Trigger | None:
        """The trigger for which it waits first; None if it is due at once."""
        return self.triggers[0] if self.triggers else None

    @property
    def waits(self) -> bool:
        """True if it is not executed at once: it has a trigger, or is an expectation."""
        return bool(self.triggers) or isinstance(self.command, Expectation)

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """The predicates of its triggers and of its expectation."""
        found = [predicate for trigger in self.triggers for predicate in trigger.predicates]
        return (*found, *self.command.predicates) if isinstance(self.command, Expectation) else tuple(found)

    def check(self, scope: Scope) -> None:
        """Raise CommandError if it names a node, a kind of message or an attribute that does not exist."""
        for trigger in self.triggers:
            trigger.check(scope)
        for predicate in self.predicates:
            predicate.check(scope)
        if not isinstance(self.command, ExpectationResult):
            self.command.check(scope)

    def check_interactive(self) -> None:
        """Raise CommandError if it makes sense only in a script, which has a report after the run."""
        if isinstance(self.command, ExpectViolation):
            raise CommandError(
                "a verdict is about the whole run, so it is not known yet: "
                "write this line in a scenario or a --script"
            )


def covers_whole_run(command: object) -> bool:
    """Return whether it is an expectation that, without a trigger, applies to the whole run or to its end."""
    return isinstance(command, Expectation) and command.covers_whole_run


def predecessors(lines: Iterable[Statement]) -> dict[int, int]:
    """Map the number of each line that follows another to the number of that line."""
    found: dict[int, int] = {}
    before = None
    for line in lines:
        if line.follows and before is not None:
            found[line.line] = before
        if line.follows or line.triggers:
            before = line.line
    return found

"""The input and output of a node: messages, inputs, steps.

A run is a list of steps, and these structs are its only format: a node process sends a ``Step`` to its host as
one line of JSON, the host writes that line to the recording, and the interface reads it from there. All times are
microseconds since the run began.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from lab.kernel.edits import Edit, edited
from lab.kernel.log import Log

__all__ = [
    "EVERY_WAIT",
    "CommandInput",
    "Fired",
    "Input",
    "Message",
    "Received",
    "Started",
    "Step",
    "Wait",
    "Waits",
    "Wrote",
    "contents_after",
]


class Message(Struct, frozen=True, omit_defaults=True, gc=False):
    """A message from ``source`` to ``target``; ``(source, serial)`` identifies it in the whole run.

    ``body`` is the payload as JSON; the network does not decode it. ``reply_to`` (in JSON: ``answers``) is the
    serial of the request that this message answers, or 0 (rule B9).
    """

    source: int
    target: int
    serial: int
    kind: str
    body: Raw
    reply_to: int = field(default=0, name="answers")


class Started(Struct, frozen=True, tag="started", tag_field="type", gc=False):
    """The node started its nth incarnation with the contents of its stable storage in ``stored``.

    ``serial`` is the first serial that its messages may use. Serials continue across crashes, so an answer to a
    request of an earlier incarnation matches no request of this one.
    """

    stored: dict[str, Any]
    incarnation: int = field(name="life")
    serial: int


class Received(Struct, frozen=True, tag="received", tag_field="type", gc=False):
    """The message ``(source, serial)`` was delivered."""

    source: int
    serial: int


class Fired(Struct, frozen=True, tag="fired", tag_field="type", gc=False):
    """The next timer fired; it belongs to this procedure."""

    procedure: str


class CommandInput(Struct, frozen=True, omit_defaults=True, tag="told", tag_field="type", gc=False):
    """The user gave the node one of its protocol's commands."""

    command: str
    words: tuple[str, ...] = ()


class Wrote(Struct, frozen=True, omit_defaults=True, tag="wrote", tag_field="type", gc=False):
    """The program that the node stands for wrote this line, to its ``log`` or else to its standard output."""

    line: str
    log: bool = False


Input = Started | Message | Fired | CommandInput | Wrote
"""The inputs of a node. A step refers to a message as ``Received``."""


class Wait(Struct, frozen=True, omit_defaults=True, gc=False):
    """The wait of a running procedure: its source line, reason, start, deadline, and missing peers."""

    procedure: str
    line: int
    what: str
    since_us: int
    until_us: int | None = None
    peers: tuple[int, ...] = ()


EVERY_WAIT = "*"
"""In ``Step.ended``: all earlier waits ended."""


class Step(Struct, frozen=True, omit_defaults=True, tag="step", tag_field="record", gc=False):
    """The effects of one input on a node, at one instant: what changed, never what stayed.

    ``changed`` holds the new values of volatile fields, ``stored`` those of fields in stable storage, and
    ``logged`` the entries appended to logs there. Long lists that changed little are in ``edits``, of volatile
    fields, and in ``stored_edits`` instead. What is stored is on disk before any message of ``sent`` leaves.

    ``ended`` are the procedures that wait no longer; ``began`` are the waits that began, each in place of an
    earlier one of its procedure. ``answered`` is the procedure that has received one of its answers, and waits for
    the others. A node that starts, or has failed, has no earlier waits.

    ``late``: the input was an answer to a request that no longer waits. ``failed`` is the traceback of a node that
    raised; such a step sends and stores nothing. ``draws`` are the random numbers that it drew.
    """

    at_us: int
    node: int
    incarnation: int = field(name="life")
    input: Started | Received | Fired | CommandInput | Wrote
    changed: dict[str, Any] = {}
    stored: dict[str, Any] = {}
    sent: tuple[Message, ...] = ()
    began: tuple[Wait, ...] = ()
    notes: tuple[str, ...] = ()
    late: bool = False
    failed: str = ""
    logged: dict[str, list[Any]] = {}
    draws: tuple[float, ...] = ()
    edits: dict[str, Edit] = {}
    stored_edits: dict[str, Edit] = {}
    ended: tuple[str, ...] = ()
    answered: str = ""

    @property
    def changes_state(self) -> bool:
        """Return whether any declared field changed."""
        return bool(self.changed or self.edits or self.stored or self.logged or self.stored_edits)

    @property
    def updates(self) -> dict[str, Any]:
        """The new values of fields, volatile or stored, without edited lists; at a start, those of storage."""
        if isinstance(self.input, Started):
            return {**self.changed, **self.input.stored, **self.stored}
        return {**self.changed, **self.stored} if self.stored else self.changed

    @property
    def stores(self) -> bool:
        """Return whether the step writes to stable storage."""
        return bool(self.stored or self.logged or self.stored_edits)

    @property
    def changes_waits(self) -> bool:
        """Return whether the step changes where the node waits, or for whom."""
        return bool(self.answered) or self.changes_procedures

    @property
    def changes_procedures(self) -> bool:
        """Return whether the step changes which procedures wait, or where one waits."""
        return bool(self.began or self.ended or self.failed or isinstance(self.input, Started))

    def values_after(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the new values of the fields that changed, without logs, given the state before."""
        values = {**self.changed, **self.stored}
        for name, edit in (*self.edits.items(), *self.stored_edits.items()):
            values[name] = edited(before.get(name), edit)
        return values

    def storage_after(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the contents of stable storage after this step, given those before; grown logs are ``Log``."""
        return contents_after(before, self.stored, self.logged, self.stored_edits)

    def state_after(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the declared state after this step, given the state before; grown logs are ``Log``."""
        after = {**self.storage_after(before), **self.changed}
        for name, edit in self.edits.items():
            after[name] = edited(before.get(name), edit)
        return after

    def whole(self, before: Mapping[str, Any], waits: tuple[Wait, ...]) -> "Step":
        """Return this step with whole values and all ``waits`` after it, given the state before."""
        values = self.values_after(before)
        return replace(
            self,
            changed={name: values[name] for name in (*self.changed, *self.edits)},
            stored={name: values[name] for name in (*self.stored, *self.stored_edits)},
            edits={},
            stored_edits={},
            began=waits,
            ended=(EVERY_WAIT,),
            answered="",
        )


class Waits:
    """The waits of a node, folded from its steps."""

    __slots__ = ("_answered", "_by_procedure", "_now")

    def __init__(self, waits: Iterable[Wait] = ()) -> None:
        self._by_procedure = {wait.procedure: wait for wait in waits}
        self._answered: dict[str, set[int]] = {}
        self._now: tuple[Wait, ...] | None = None

    def apply(self, step: Step) -> None:
        """Apply the next step of the node."""
        self._now = None
        given, ended = step.input, step.ended
        if isinstance(given, Started) or step.failed or (ended and EVERY_WAIT in ended):
            self._by_procedure.clear()
            self._answered.clear()
        if step.answered and isinstance(given, Received):
            self._answered.setdefault(step.answered, set()).add(given.source)
        for procedure in ended:
            self._by_procedure.pop(procedure, None)
        for wait in step.began:
            self._by_procedure[wait.procedure] = wait
            if self._answered:
                self._answered.pop(wait.procedure, None)

    def of(self, procedure: str) -> Wait | None:
        """Return the wait of the procedure, or None if it does not wait."""
        self._remove_answered(procedure)
        return self._by_procedure.get(procedure)

    def now(self) -> tuple[Wait, ...]:
        """Return all waits, in the order in which their procedures began."""
        if self._now is None:
            for procedure in list(self._answered):
                self._remove_answered(procedure)
            self._now = tuple(self._by_procedure.values())
        return self._now

    def _remove_answered(self, procedure: str) -> None:
        """Remove the peers that have answered from a wait; only now, as a wait for many peers is long."""
        sources, wait = self._answered.pop(procedure, None), self._by_procedure.get(procedure)
        if sources and wait is not None:
            missing = tuple(peer for peer in wait.peers if peer not in sources)
            self._by_procedure[procedure] = replace(wait, peers=missing)


def contents_after(
    before: Mapping[str, Any],
    stored: Mapping[str, Any],
    logged: Mapping[str, list[Any]],
    edits: Mapping[str, Edit],
) -> dict[str, Any]:
    """Return the contents of stable storage after a write; grown logs are ``Log``."""
    after = {**before, **stored}
    for name, new in logged.items():
        after[name] = _log(before.get(name)) + new
    for name, edit in edits.items():
        after[name] = edited(before.get(name), edit)
    return after


def _log(value: Any) -> Log[Any]:
    return value if isinstance(value, Log) else Log(value if isinstance(value, list) else ())

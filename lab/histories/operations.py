"""Operations of clients and their history, as Jepsen records them: invocation, then a completion or none.

A client (*process*) calls an operation ``f`` with an argument, at one instant, and is answered at a later one:

- **ok**: it happened, at some instant between the two;
- **fail**: it did not happen, and will not. Its error may still report something (``precondition-failed``: the
  value was another);
- **info**: nobody knows. It may have happened at any time after its invocation, may still happen at any later one,
  or never. So it is not over at the end of the history either, and a client never calls again after it: a new
  client with a new name does (Jepsen does so too, and calls it a crashed process).

One operation *precedes* another if it was over before the other was called. Which of two events came first is
their order in the history, not their times: a clock may give the same time to both, or go back. A completion with
an earlier time than its invocation is given that of the latter.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from msgspec import Struct

from lab.histories.values import format_value
from lab.units import format_rounded

Outcome = Literal["ok", "fail", "info"]
EventType = Literal["invoke", "ok", "fail", "info"]

TIMEOUT, CRASH = 0, 13
TEMPORARILY_UNAVAILABLE = 11
MALFORMED_REQUEST = 12
ABORT = 14
KEY_DOES_NOT_EXIST = 20
PRECONDITION_FAILED = 22

ERRORS = {
    TIMEOUT: "timeout",
    1: "node-not-found",
    10: "not-supported",
    TEMPORARILY_UNAVAILABLE: "temporarily-unavailable",
    MALFORMED_REQUEST: "malformed-request",
    CRASH: "crash",
    ABORT: "abort",
    KEY_DOES_NOT_EXIST: "key-does-not-exist",
    21: "key-already-exists",
    PRECONDITION_FAILED: "precondition-failed",
    30: "txn-conflict",
}
"""The errors of Maelstrom's protocol by their codes."""
INDEFINITE = (TIMEOUT, CRASH)
"""The codes of those after which the operation may have happened, as after any code that is not in ERRORS."""


class HistoryError(ValueError):
    """Events that no clients can have made: what is wrong, with which event, and what was expected."""


class ErrorReply(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An error that a client was given. ``code``: a number of Maelstrom's protocol, or any other name."""

    code: int | str
    text: str = ""

    def __str__(self) -> str:
        name = ERRORS.get(self.code, f"error {self.code}") if isinstance(self.code, int) else self.code
        return f"{name}: {self.text}" if self.text else name


class Event(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The invocation of an operation, or its completion.

    ``value`` is the argument at an invocation, and the result at a completion. ``index`` numbers the events of a
    history; None numbers it after the last. ``is_final``: the workload had let the system come to rest before.
    """

    type: EventType
    process: str
    f: str
    value: Any = None
    at_us: int = 0
    error: ErrorReply | None = None
    index: int | None = None
    is_final: bool = False


class Operation(Struct, frozen=True):
    """An operation of a client: ``value`` is its argument.

    ``index`` and ``completed_index`` are the numbers of its two events; the latter, and ``completed_at_us``, are
    None if no completion was recorded. An operation with the outcome ``info`` is not over then, nor ever.
    """

    index: int
    process: str
    f: str
    value: Any
    invoked_at_us: int
    outcome: Outcome
    result: Any = None
    error: ErrorReply | None = None
    completed_index: int | None = None
    completed_at_us: int | None = None
    is_final: bool = False

    @property
    def returned_index(self) -> int | None:
        """The number of the event at which it was over; None if it may still happen."""
        return None if self.outcome == "info" else self.completed_index

    def precedes(self, other: "Operation") -> bool:
        """Return whether this operation was over before the other was called."""
        over = self.returned_index
        return over is not None and over < other.index

    @property
    def interval(self) -> str:
        """The time from its invocation to its completion, as text."""
        begins = format_rounded(self.invoked_at_us)
        if self.outcome == "info" or self.completed_at_us is None:
            return f"from {begins} on"
        return f"{begins} to {format_rounded(self.completed_at_us)}"

    def __str__(self) -> str:
        called = f"{self.process} {self.f}" + ("" if self.value is None else f" {format_value(self.value)}")
        if self.outcome == "ok":
            return (
                called
                if self.value is not None and self.result in (None, self.value)
                else f"{called} → {format_value(self.result)}"
            )
        why = "" if self.error is None else f" ({self.error})"
        return f"{called} {'failed' if self.outcome == 'fail' else 'has no known outcome'}{why}"


class History(Struct, frozen=True):
    """The operations of all clients, in the order of their invocations."""

    operations: tuple[Operation, ...]

    @classmethod
    def of_events(cls, events: Iterable[Event]) -> "History":
        """Return the history of these events. Raises HistoryError."""
        builder = HistoryBuilder()
        for event in events:
            builder.add(event)
        return builder.history()

    @property
    def processes(self) -> tuple[str, ...]:
        """The names of the clients, in the order of their first invocations."""
        return tuple(dict.fromkeys(operation.process for operation in self.operations))

    def count(self, outcome: Outcome) -> int:
        """Return the number of operations with this outcome."""
        return sum(operation.outcome == outcome for operation in self.operations)

    def lacks_final(self, f: str) -> bool:
        """Return whether final operations of this name were called, and none succeeded."""
        final = [each.outcome for each in self.operations if each.f == f and each.is_final]
        return bool(final) and "ok" not in final

    def events(self) -> Iterator[Event]:
        """Yield invocations and completions in their order."""
        events = []
        for each in self.operations:
            events.append(
                Event(
                    "invoke", each.process, each.f, each.value, each.invoked_at_us, None, each.index, each.is_final
                )
            )
            if each.completed_index is not None:
                completed_at_us = each.invoked_at_us if each.completed_at_us is None else each.completed_at_us
                events.append(
                    Event(
                        each.outcome,
                        each.process,
                        each.f,
                        each.result,
                        completed_at_us,
                        each.error,
                        each.completed_index,
                        each.is_final,
                    )
                )
        yield from sorted(events, key=lambda event: event.index or 0)


class HistoryBuilder:
    """Collects the events of clients, in their order, and refuses those that no client can have made."""

    def __init__(self) -> None:
        self._operations: dict[int, Operation] = {}
        self._outstanding: dict[str, Operation] = {}
        self._crashed: dict[str, Operation] = {}
        self._last_index = -1

    def invoke(
        self, process: str, f: str, value: Any = None, at_us: int = 0, *, is_final: bool = False
    ) -> Operation:
        """Record that a client calls an operation. Raises HistoryError if it already waits for one."""
        return self.add(Event("invoke", process, f, value, at_us, is_final=is_final))

    def complete(
        self, process: str, outcome: Outcome, result: Any = None, at_us: int = 0, error: ErrorReply | None = None
    ) -> Operation:
        """Record how the operation ended that this client waits for. Raises HistoryError if there is none."""
        outstanding = self._outstanding.get(process)
        f = "" if outstanding is None else outstanding.f
        return self.add(Event(outcome, process, f, result, at_us, error))

    def add(self, event: Event) -> Operation:
        """Record an event, and return its operation as it now is. Raises HistoryError."""
        index = self._last_index + 1 if event.index is None else event.index
        if index <= self._last_index:
            raise HistoryError(
                f"event {index} comes after event {self._last_index}: expected events in order of their numbers"
            )
        operation = self._invocation(event, index) if event.type == "invoke" else self._completion(event, index)
        self._last_index = index
        self._operations[operation.index] = operation
        return operation

    def history(self) -> History:
        """Return the history so far: operations that clients still wait for have an unknown outcome."""
        return History(tuple(self._operations.values()))

    def _invocation(self, event: Event, index: int) -> Operation:
        process = event.process
        if waits := self._outstanding.get(process):
            raise HistoryError(
                f"event {index}: client {process} invokes {event.f} while it waits for {waits.f} (event "
                f"{waits.index}): expected its completion first, one operation at a time"
            )
        if crashed := self._crashed.get(process):
            raise HistoryError(
                f"event {index}: client {process} invokes {event.f} after {crashed.f} (event {crashed.index}) "
                f"ended without a known outcome: expected a client with a new name"
            )
        operation = Operation(
            index, process, event.f, event.value, event.at_us, "info", error=event.error, is_final=event.is_final
        )
        self._outstanding[process] = operation
        return operation

    def _completion(self, event: Event, index: int) -> Operation:
        process = event.process
        called = self._outstanding.pop(process, None)
        if called is None:
            raise HistoryError(
                f"event {index}: {event.type} of client {process}, which waits for nothing: expected an "
                f"invocation first"
            )
        if event.f != called.f:
            raise HistoryError(
                f"event {index}: client {process} completes {event.f}, and waits for {called.f} (event "
                f"{called.index}): expected the same operation"
            )
        assert event.type != "invoke"
        operation = Operation(
            called.index,
            process,
            called.f,
            called.value,
            called.invoked_at_us,
            event.type,
            event.value,
            event.error,
            index,
            max(event.at_us, called.invoked_at_us),
            called.is_final or event.is_final,
        )
        if event.type == "info":
            self._crashed[process] = operation
        return operation

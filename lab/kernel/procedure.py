"""A running procedure: its coroutine, and the wait in which it is suspended."""

from collections.abc import Coroutine, Hashable
from typing import Any

from lab.kernel.payload import Payload
from lab.kernel.step import Wait
from lab.kernel.traps import Ask, Trap

__all__ = ["RunningProcedure", "procedure_name"]


def procedure_name(method: str, key: Hashable | None) -> str:
    """Return the name of the procedure in records: its method, and its key if it has one."""
    return method if key is None else f"{method} {key}"


class RunningProcedure:
    """The running instance of a procedure for one ``key``; ``name`` is unique within the node.

    ``successor`` is set when the procedure began itself anew: the new instance starts once this one returns.
    ``ended`` is set when it was stopped, so that a pending resumption is skipped. ``serial`` orders the procedures
    of a node by when they began. ``is_recorded``: a step has recorded that it waits.
    """

    __slots__ = (
        "_line",
        "_wait",
        "_what",
        "coroutine",
        "ended",
        "enough",
        "is_recorded",
        "key",
        "method",
        "name",
        "replies",
        "requests",
        "serial",
        "since_us",
        "successor",
        "timer",
        "until_us",
        "waits_for",
    )

    def __init__(
        self, method: str, key: Hashable | None, coroutine: Coroutine[Any, Any, None], serial: int
    ) -> None:
        self.method = method
        self.key = key
        self.name = procedure_name(method, key)
        self.coroutine = coroutine
        self.serial = serial
        self.successor = False
        self.ended = False
        self.is_recorded = False
        self.replies: dict[int, Payload] = {}
        self.enough = 0
        self.clear_wait()

    def clear_wait(self) -> None:
        """Clear the wait. The replies stay: the procedure is about to receive them."""
        self.waits_for: Trap | None = None
        self.requests: list[int] = []
        self.timer: int | None = None
        self.since_us = 0
        self.until_us: int | None = None
        self._what = ""
        self._wait: Wait | None = None
        self._line = 0

    def ask(self, trap: Ask) -> None:
        """Begin to collect replies."""
        self.replies = {}
        self.enough = trap.enough

    def add_reply(self, source: int, answer: Payload) -> bool:
        """Add a reply; return whether there are enough now."""
        self.replies[source] = answer
        self._wait = None
        return len(self.replies) >= self.enough

    def wait_for(self, trap: Trap, since_us: int, until_us: int | None, timer: int | None) -> None:
        """Set the wait, its start and its deadline."""
        self.waits_for = trap
        self.since_us = since_us
        self.until_us = until_us
        self.timer = timer
        if isinstance(trap, Ask):
            self._what = f"{type(trap.request).__name__} answers"
        else:
            self._what = trap.what

    def ordered_replies(self) -> dict[int, Payload]:
        """Return the replies in the order in which the peers were asked."""
        assert isinstance(self.waits_for, Ask)
        return {peer: self.replies[peer] for peer in self.waits_for.peers if peer in self.replies}

    def wait(self) -> Wait:
        """Return the wait for the record of the step."""
        if self._wait is None:
            self._line = self._line or _line_of(self.coroutine)
            asked = self.waits_for.peers if isinstance(self.waits_for, Ask) else ()
            missing = tuple(peer for peer in asked if peer not in self.replies) if self.replies else asked
            self._wait = Wait(self.name, self._line, self._what, self.since_us, self.until_us, missing)
        return self._wait


def _line_of(coroutine: Any) -> int:
    """Return the line at which a procedure waits: of its file's methods in the innermost that it awaits."""
    frame = coroutine.cr_frame
    file, line = frame.f_code.co_filename, frame.f_lineno
    while (coroutine := getattr(coroutine, "cr_await", None)) is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None and frame.f_code.co_filename == file:
            line = frame.f_lineno
    return int(line)

"""Limits on the computing time of code that is not ours: a step of a node, a property, a file, a run of a mutant.

``watch_steps`` ends a step of a node, and a property of the user's, that never returns. A timer signal arrives
periodically, counted in this process's CPU time, so neither pauses nor other programs count. The handler inspects
the stack. If it finds the same step, or the same evaluation of a property, too often in succession, it raises in
the user's code; ``Node.step`` and the judge handle that like any error of that code. A step itself costs nothing.
A single long call of a C library is interrupted only when it returns.

``time_limit`` bounds a block as a whole: the loading of a user's file, the run of a mutant.
"""

import atexit
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from lab.kernel import Node
from lab.kernel.errors import format_traceback
from lab.properties.declarations import Agreement, evaluate, owed_items

_MOST_S = 0.5
_CHECKS = 8
"""The number of checks, at equal intervals, before a step has taken too long."""
_JUDGING = {evaluate.__code__, owed_items.__code__, Agreement.value_of.__code__}
"""The calls of properties."""


# at exit, Python restores default signal actions; that of SIGVTALRM ends the process with another status
atexit.register(signal.setitimer, signal.ITIMER_VIRTUAL, 0)


class StepTooLongError(Exception):
    """A step did not return."""


class PropertyTooLongError(Exception):
    """A property did not return."""


def watch_steps() -> None:
    """Watch steps and properties in this process from now on. In threads other than the main one, do nothing."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGVTALRM, _Watchdog().check)
        signal.setitimer(signal.ITIMER_VIRTUAL, _MOST_S / _CHECKS, _MOST_S / _CHECKS)


def stop_watching() -> None:
    """Watch the steps of this process no more: a signal that comes while an event loop is closed is reported."""
    if threading.current_thread() is threading.main_thread():
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


class _Watchdog:
    def __init__(self) -> None:
        self._call: FrameType | None = None
        self._seen = 0

    def check(self, number: int, frame: FrameType | None) -> None:
        """Raise StepTooLongError, or PropertyTooLongError, if the present call has been found too often.

        Raise again at each later check, in case the user's code catches the error.
        """
        call, culprit = _under_way(frame)
        self._seen = self._seen + 1 if call is self._call else 0
        self._call = call
        if culprit and call is not None and self._seen >= _CHECKS:
            error = StepTooLongError if call.f_code is Node.step.__code__ else PropertyTooLongError
            raise error(f"{culprit} did not return within {_MOST_S:g} s of computing")


def _under_way(frame: FrameType | None) -> tuple[FrameType | None, str]:
    """Return (the step, or call of a property, on the stack; the user's function in it).

    The function is empty where raising is unsafe, and for built-in properties.
    """
    culprit = ""
    interruptible = not _is_of(frame, "lab.worlds")  # never raise in a campaign's trace function
    while frame is not None and frame.f_code is not Node.step.__code__ and frame.f_code not in _JUDGING:
        if not _is_of(frame, "lab.kernel") and not _is_of(frame, "lab.properties"):
            culprit = frame.f_code.co_name
        # the step has failed already, but code of the protocol may go on while its procedures are closed
        interruptible &= frame.f_code is not format_traceback.__code__
        interruptible &= frame.f_code is not Node._fail.__code__ or culprit != ""
        frame = frame.f_back
    return frame, culprit if interruptible and frame is not None else ""


def _is_of(frame: FrameType | None, room: str) -> bool:
    return frame is not None and str(frame.f_globals.get("__name__", "")).startswith(f"{room}.")


@contextmanager
def time_limit(seconds: float, error: BaseException) -> Iterator[None]:
    """Raise this error after so much computing of this process. Do nothing but in the main thread.

    Limits may be nested: an inner one stops the outer one's clock.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise error

    handler = signal.signal(signal.SIGPROF, interrupt)
    timer = signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        signal.setitimer(signal.ITIMER_PROF, *timer)

"""A watchdog over the steps of nodes: one that never comes back fails its node, instead of hanging its world.

A signal comes again and again, counted in this process's own computing time, so neither pauses nor other
programs count. It looks at the stack: if it finds one and the same step there time after time, it raises in
the midst of the protocol's code; ``Node.step`` takes that as it takes any error of the protocol. A step costs
nothing for this. What computes in one call of a library written in C is not interrupted before that returns.
"""

import atexit
import signal
import threading
from types import FrameType

from lab.kernel import Node
from lab.kernel.failure import describe

__all__ = ["StepTooLongError", "watch_steps"]

_MOST_S = 0.5
_LOOKS = 8
"""So often it looks at a step, in equal distances, before that has taken too long."""


# when Python ends it gives signals their own effect back, and that of this one is the end, with another status
atexit.register(signal.setitimer, signal.ITIMER_VIRTUAL, 0)


class StepTooLongError(Exception):
    """A step did not come back."""


def watch_steps() -> None:
    """Watch the steps of this process from now on. In its main thread; in others nothing can be interrupted."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGVTALRM, _Watchdog().look)
        signal.setitimer(signal.ITIMER_VIRTUAL, _MOST_S / _LOOKS, _MOST_S / _LOOKS)


class _Watchdog:
    def __init__(self) -> None:
        self._step: FrameType | None = None
        self._seen = 0

    def look(self, number: int, frame: FrameType | None) -> None:
        """Raise StepTooLongError if the step that is found here has been found too often. So it does each time
        after that, if the protocol goes on all the same."""
        step, culprit = _under_way(frame)
        self._seen = self._seen + 1 if step is self._step else 0
        self._step = step
        if culprit and self._seen >= _LOOKS:
            raise StepTooLongError(f"{culprit} did not come back within {_MOST_S:g} s of computing")


def _under_way(frame: FrameType | None) -> tuple[FrameType | None, str]:
    """(the step that is on the stack, the protocol's function in it); no function where nothing may be raised."""
    culprit = ""
    interruptible = not _is_of(frame, "lab.worlds")  # a campaign's trace function is no place to raise in
    while frame is not None and frame.f_code is not Node.step.__code__:
        if not _is_of(frame, "lab.kernel"):
            culprit = frame.f_code.co_name
        interruptible &= frame.f_code is not describe.__code__  # it has failed already
        frame = frame.f_back
    return frame, culprit if interruptible and frame is not None else ""


def _is_of(frame: FrameType | None, room: str) -> bool:
    return frame is not None and str(frame.f_globals.get("__name__", "")).startswith(f"{room}.")

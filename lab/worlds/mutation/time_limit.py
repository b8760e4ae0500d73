"""A limit on the computing time of what a mutant does, in a process of its own or not.

Messages that multiply are noticed by their number. A node can also do more and more at one instant, or with every
message: then a run of few records takes all time and memory.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooLongError(BaseException):
    """The time is up. It is no Exception, so that no protocol and no node catches it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooLongError after this much computing inside the ``with``. Do nothing but in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)

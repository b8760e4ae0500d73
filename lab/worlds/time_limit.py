"""A limit on the computing time of code that is not ours: a user's file while it is loaded, a run of a mutant."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


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

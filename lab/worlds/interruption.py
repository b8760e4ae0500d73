"""Ctrl-C between the steps of nodes: a step that has begun is finished first.

Python raises KeyboardInterrupt at any instruction. Amid a step that leaves a procedure that was called and never
begins, of which Python warns on the terminal, and a state half computed.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from lab.kernel import Node

_RETRY_AFTER_S = 0.001
_MOST_RETRIES = 1_000
"""Then the step is interrupted: one that does not return must not keep the user from ending the program."""


@contextmanager
def interrupted_between_steps() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt between two steps of the nodes in this process.

    Do nothing but in the main thread, nor where Ctrl-C does not raise KeyboardInterrupt. Another use of the timer
    behind SIGALRM is suspended meanwhile.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    retries = 0

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal retries
        if _is_in_step(frame) and retries < _MOST_RETRIES:
            retries += 1
            signal.setitimer(signal.ITIMER_REAL, _RETRY_AFTER_S)
            return
        retries = 0
        raise KeyboardInterrupt

    timer = signal.setitimer(signal.ITIMER_REAL, 0)
    alarm = signal.signal(signal.SIGALRM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
        if retries:
            retries = 0
            raise KeyboardInterrupt
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGALRM, alarm)
        signal.setitimer(signal.ITIMER_REAL, *timer)


def _is_in_step(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code is Node.step.__code__:
            return True
        frame = frame.f_back
    return False

"""A small parent process that runs the interface in a child and restores the terminal when the child ends.

The interface itself handles exceptions and catchable signals. This parent handles SIGKILL, which would leave the
terminal in its alternate screen, in raw mode, with mouse reporting on.

The interface takes a while to load, seconds on a busy machine. Until then the terminal says that it is starting,
and what is typed is not echoed: the interface reads it.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

from lab.output import print_error

_MODES = (1049, 1000, 1002, 1003, 1006, 1015, 2004, 1004)
RESTORE = "".join(f"\x1b[?{mode}l" for mode in _MODES) + "\x1b[?25h\x1b[<u\x1b[0m"
"""Restores a terminal that a killed interface has left on the alternate screen, with mouse reporting on."""
_STARTING = b"\rstarting ...\r"
_ERASE = b"\r\x1b[2K"
_PATIENCE_S = 3.0
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)


_starting: list[Any] | None = None
"""The terminal's attributes before it said that the interface is starting; None if it does not say so."""


def end_announcement() -> None:
    """Let the terminal no longer say that the interface is starting: it takes the terminal now, or has failed."""
    global _starting
    saved, _starting = _starting, None
    with contextlib.suppress(termios.error, OSError):
        if saved is not None and select.select([], [1], [], 0)[1]:
            os.write(1, _ERASE)
        if saved is not None and termios.tcgetattr(0) != saved:
            termios.tcsetattr(0, termios.TCSANOW, saved)


def _announce_start(saved: list[Any]) -> None:
    global _starting
    _starting = saved
    without_echo = [*saved]
    without_echo[3] &= ~termios.ECHO
    with contextlib.suppress(termios.error, OSError):
        termios.tcsetattr(0, termios.TCSANOW, without_echo)
        os.write(1, _STARTING)


def run_guarded(run: Callable[[], int]) -> int:
    """Run the function in a child process; return its exit status, or 128 + the signal that killed it."""
    saved = termios.tcgetattr(0)
    sys.stdout.flush()
    _announce_start(saved)
    parent = os.getpid()
    alive, held = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(held)
        _die_with(parent, alive)
        _exit_with(run)

    os.close(alive)
    forwarded = 0

    def forward(number: int, frame: object) -> None:
        nonlocal forwarded
        forwarded = number
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE_S)

    def give_up(number: int, frame: object) -> None:
        # the child is blocked on a terminal that accepts no more output
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)

    before = {number: signal.signal(number, forward) for number in _FORWARDED}
    before[signal.SIGALRM] = signal.signal(signal.SIGALRM, give_up)
    try:
        status = _wait(child)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(held)
        end_announcement()
    if status < 0:
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(0, termios.TCSANOW, saved)
            if select.select([], [1], [], 0.5)[1]:
                os.write(1, RESTORE.encode())
                print_error(f"the interface was ended by {signal.Signals(-status).name}")
        return 128 + (forwarded or -status)
    return status


def _exit_with(run: Callable[[], int]) -> NoReturn:
    """Run the function in this process, and exit with its status."""
    status = 1
    try:
        status = run()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        import traceback  # noqa: PLC0415

        end_announcement()
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _wait(child: int) -> int:
    """Return the child's exit status, negative for a signal. Stop and resume together with the child."""
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        os.kill(os.getpid(), signal.SIGSTOP)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGCONT)


def _die_with(parent: int, alive: int) -> None:
    """End this process when its parent dies, which holds the other end of the pipe ``alive``.

    The interface may be blocked on a terminal that accepts no more output. If that terminal then goes, nothing
    wakes the interface any more, and Textual reads the end of its input again and again.
    """

    def end() -> None:
        os.read(alive, 1)
        time.sleep(_PATIENCE_S)
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

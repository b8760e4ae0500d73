"""The small parent: it runs the interface in a child, and puts the terminal right whatever ended that.

An exception and a signal that can be caught are handled in the interface itself; this is for SIGKILL, after
which the terminal would be left on its other screen, raw, with the mouse on.
"""

import contextlib
import ctypes
import os
import signal
import sys
import termios
from collections.abc import Callable

__all__ = ["run_guarded"]

_MODES = (1049, 1000, 1002, 1003, 1006, 1015, 2004, 1004)
_RESET = "".join(f"\x1b[?{mode}l" for mode in _MODES) + "\x1b[?25h\x1b[<u\x1b[0m"
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)


def run_guarded(run: Callable[[], int]) -> int:
    """Run in a child process; its exit status, or 128 + the signal that killed it."""
    saved = termios.tcgetattr(0)
    sys.stdout.flush()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _die_with(parent)
        status = 1
        try:
            status = run()
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        except BaseException:
            import traceback  # noqa: PLC0415

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def forward(number: int, frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    before = {number: signal.signal(number, forward) for number in _FORWARDED}
    try:
        status = _wait(child)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if status < 0:
        os.write(1, _RESET.encode())
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, saved)
        print(f"lab: the interface was ended by {signal.Signals(-status).name}", file=sys.stderr)
        return 128 - status
    return status


def _wait(child: int) -> int:
    """The child's exit status, negative for a signal. When it is stopped, so are we, and we go on together."""
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        os.kill(os.getpid(), signal.SIGSTOP)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGCONT)


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

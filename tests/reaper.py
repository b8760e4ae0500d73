"""End every process that the tests started, however the tests end.

Each pytest process marks its environment, which all that it starts inherit. A reaper outlives it: once pytest is
gone, even by SIGKILL, the reaper kills whatever still has the mark.
"""

import contextlib
import os
import signal
import sys

import psutil

MARK = "LAB_TESTS"


def start() -> None:
    """Mark this process's environment, and start a reaper for it."""
    os.environ[MARK] = str(os.getpid())
    os.posix_spawn(
        sys.executable,
        [sys.executable, __file__, str(os.getpid())],
        {name: value for name, value in os.environ.items() if name != MARK},
        file_actions=[(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)],
        setsid=True,
    )


def default_signals() -> None:
    """Undo what a shell does to its background jobs: the programs under test would inherit an ignored SIGINT."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def marked(mark: str) -> list[psutil.Process]:
    """Return the processes that a pytest process with this mark has started."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.pid != int(mark):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def _reap(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait()
    for process in marked(str(pid)):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


if __name__ == "__main__":
    _reap(int(sys.argv[1]))

"""A real terminal for tests: a PTY with a session of its own, and a reader that can stall."""

import contextlib
import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from lab.worlds.host.runs import list_runs
from tests.forked_hosts import ForkedProcess
from tests.waiting import WAIT_S, wait_for

__all__ = ["Terminal", "colours", "without_codes"]

_MARK = "LAB_TEST_TERMINAL"
_CODE = re.compile(rb"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|[ -/]*[0-~])")


def without_codes(output: bytes) -> str:
    """Return the output without terminal codes."""
    return _CODE.sub(b"", output).decode("utf-8", "replace")


def colours(output: bytes) -> set[str]:
    """Return the parameters of all colour codes."""
    found = set()
    for style in re.findall(rb"\x1b\[([0-9;:]*)m", output):
        numbers = [int(number or 0) for number in re.split(b"[;:]", style)]
        if any(30 <= n <= 38 or 40 <= n <= 48 or 90 <= n <= 107 for n in numbers):
            found.add(style.decode())
    return found


Shell = subprocess.Popen[bytes] | ForkedProcess
StartShell = Callable[[Sequence[str], Path, dict[str, str], tuple[int, int, int], str], Shell]
"""Start a shell with these arguments, folder, environment, files (terminal, OUT, IN) and process name."""


class Terminal:
    """A terminal in which ``python ARGUMENTS`` runs. ``output`` is what was written to it so far.

    ``start_shell`` may start it otherwise, with the arguments that it understands.
    """

    def __init__(
        self,
        *arguments: str,
        environment: dict[str, str] | None = None,
        folder: Path = Path(__file__).parents[2],
        start_shell: StartShell | None = None,
    ) -> None:
        self.output = b""
        self._up = True
        self._mark = os.urandom(6).hex()
        self.master, self._slave = os.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        # not what a fresh terminal has, so that it can be told whether the program put it back
        changed = termios.tcgetattr(self._slave)
        changed[3] &= ~termios.ECHOK
        termios.tcsetattr(self._slave, termios.TCSANOW, changed)
        self.before = termios.tcgetattr(self._slave)
        # what says the size of another terminal would hide that of this one
        outside = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        out, reports = os.pipe()
        until, self._held = os.pipe()
        self._reports = os.fdopen(out, "rb", buffering=0)
        given = {**outside, _MARK: self._mark, **(environment or {})}
        files = (self._slave, reports, until)
        self.shell = (start_shell or _start_shell)(arguments, folder, given, files, self._mark)
        os.close(reports)
        os.close(until)
        self._quiet = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.pid = int(self._reports.readline())

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        if self._up:
            self.hang_up()
        os.close(self._held)
        self._reports.close()
        self.shell.kill()
        self.shell.wait()

    def _read(self) -> None:
        while self._up:
            if not select.select([self.master], [], [], 0.05)[0]:
                self._quiet.set()
                continue
            try:
                self.output += os.read(self.master, 65536)
            except OSError:
                return

    def shows(self, text: str, since: int = 0) -> None:
        """Wait until this was written."""
        sought = text.encode()
        wait_for(lambda: sought in self.output[since:], f"{text!r} in {self.last()}", every_s=0.02)

    def last(self) -> str:
        """Return the end of the output, for failure messages."""
        return repr(without_codes(self.output)[-1500:])

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def status(self, within_s: float = WAIT_S) -> int:
        """Wait for the program, and for all that it has written; return its exit status."""
        reports: list[bytes] = []
        waiting = threading.Thread(target=lambda: reports.append(self._reports.readline()), daemon=True)
        waiting.start()
        waiting.join(within_s)
        if not reports:
            raise AssertionError(f"not ended within {within_s:g} s; {self.last()}")
        if self._up:
            self._quiet.clear()
            self._quiet.wait(within_s)  # what it has written is read
        return int(reports[0])

    def processes(self) -> list[psutil.Process]:
        """Return all living processes started from this terminal, except the shell."""
        return [each for each in psutil.process_iter() if each.pid != self.shell.pid and self._is_ours(each)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            ours = process.name() == self._mark or process.environ().get(_MARK) == self._mark
            return ours and process.status() != psutil.STATUS_ZOMBIE
        except (psutil.Error, OSError):
            return False

    def interface(self) -> int:
        """Return the process that draws: the child in the program's own process group."""
        children = psutil.Process(self.pid).children()
        return next(child.pid for child in children if os.getpgid(child.pid) == self.pid)

    def all_gone(self) -> None:
        """Wait until no process of the program or of its runs is left."""
        wait_for(lambda: not self.processes(), "nothing of the program is left", every_s=0.05)
        assert list_runs() == ([], [])

    def is_as_before(self) -> None:
        """Return whether settings, screen, cursor and mouse of the terminal are restored."""
        wait_for(lambda: termios.tcgetattr(self._slave) == self.before, "the terminal's settings")
        for on, off in (
            (b"\x1b[?1049h", b"\x1b[?1049l"),
            (b"\x1b[?25l", b"\x1b[?25h"),
            *((b"\x1b[?%dh" % mode, b"\x1b[?%dl" % mode) for mode in (1000, 1003, 1006, 2004)),
        ):
            assert on in self.output, on
            self._ends_with(off, on)

    def _ends_with(self, off: bytes, on: bytes) -> None:
        wait_for(lambda: self.output.rfind(off) > self.output.rfind(on), f"{off!r} after {on!r}")

    def stall(self) -> None:
        """Stop reading, as if Ctrl-S were pressed or the connection were dead."""
        termios.tcflow(self._slave, termios.TCOOFF)

    def resume(self) -> None:
        """Read again."""
        termios.tcflow(self._slave, termios.TCOON)

    def hang_up(self) -> None:
        """Close the terminal, as if the emulator were closed or the connection lost."""
        self._up = False
        self._reader.join()  # a terminal that is being read from does not go
        os.close(self._slave)
        os.close(self.master)


def _start_shell(
    arguments: Sequence[str], folder: Path, environment: dict[str, str], files: tuple[int, int, int], name: str
) -> Shell:
    terminal, reports, until = files
    return subprocess.Popen(
        [sys.executable, "-m", "tests.tui.shell", str(reports), str(until), sys.executable, *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        pass_fds=(reports, until),
        start_new_session=True,
        env=environment,
        cwd=folder,
    )

"""A program on a real pseudo-terminal, for measuring its cost and response time."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from types import TracebackType

import psutil

__all__ = ["OnTerminal"]


class OnTerminal:
    """``python -m lab WORDS`` on a terminal; a context manager that ends it.

    ``size`` is (columns, rows); ``module`` is run instead of lab, with its own first words.
    """

    def __init__(self, *words: str, size: tuple[int, int] = (120, 40), module: tuple[str, ...] = ("lab",)) -> None:
        self.began_s = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
            # given as a whole: the C library knows COLUMNS and LINES of readline's, which os.environ does not
            outside = {name: os.environ[name] for name in os.environ.keys() - {"NO_COLOR", "COLUMNS", "LINES"}}
            os.execve(
                sys.executable,
                [sys.executable, "-m", *module, *words],
                outside | {"TERM": "xterm-256color"},
            )

    def __enter__(self) -> "OnTerminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.kill(self.pid, signal.SIGTERM)
        while self._read(5.0):
            pass
        os.waitpid(self.pid, 0)
        os.close(self._fd)

    def until(self, shown: str, within_s: float = 20.0) -> float:
        """Read until this text was written; return the seconds since the call. Raises TimeoutError."""
        began_s = time.perf_counter()
        seen = b""
        while shown.encode() not in seen:
            left_s = began_s + within_s - time.perf_counter()
            data = self._read(left_s) if left_s > 0 else b""
            if not data:
                raise TimeoutError(f"{shown!r} was not shown within {within_s} s; last came {seen[-400:]!r}")
            seen = seen[-4096:] + data
        return time.perf_counter() - began_s

    def press(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def read_for(self, duration_s: float) -> int:
        """Read everything for this long; return the number of bytes."""
        end_s = time.perf_counter() + duration_s
        count = 0
        while (left_s := end_s - time.perf_counter()) > 0:
            count += len(self._read(left_s))
        return count

    def interface_cpu_s(self) -> float:
        """Return the CPU seconds of the interface's own process so far."""
        for child in psutil.Process(self.pid).children():
            if "lab.worlds" not in child.cmdline():
                spent = child.cpu_times()
                return float(spent.user + spent.system)
        raise ProcessLookupError("there is no interface")

    def _read(self, within_s: float) -> bytes:
        readable, _, _ = select.select([self._fd], [], [], max(0.0, within_s))
        if not readable:
            return b""
        try:
            return os.read(self._fd, 1 << 16)
        except OSError:
            return b""

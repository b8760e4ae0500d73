"""A session's terminal: the server has the master, the session the slave; neither side is overrun.

What a client says of its own terminal is validated here, too.
"""

import asyncio
import contextlib
import fcntl
import os
import re
import struct
import termios
from collections.abc import Callable, Iterator

_MODES = (1049, 1000, 1002, 1003, 1006, 1015, 2004, 1004)
RESTORE = "".join(f"\x1b[?{mode}l" for mode in _MODES) + "\x1b[?25h\x1b[<u\x1b[0m"
"""Restores a terminal that a killed session has left on the alternate screen, with mouse reporting on."""

_CHUNK = 32768
_PAUSE_S = 0.1
_AT_ONCE_BYTES = 65536
_BYTES_PER_S = 4096
"""The rate at which input reaches the session, after a burst of ``_AT_ONCE_BYTES``: to process a key costs a
thousand times what it costs the client to send it."""


_TERMINAL = re.compile(r"[a-z0-9][a-z0-9+._-]{0,31}")
_USUAL_TERMINAL = "xterm-256color"
_COLUMNS, _ROWS = (20, 500), (5, 200)


def terminal_name(text: str) -> str:
    """Return the client's TERM if it is valid, else a default. It names a file in the terminfo database."""
    return text if _TERMINAL.fullmatch(text) else _USUAL_TERMINAL


def size_of(columns: int, rows: int) -> tuple[int, int]:
    """Return (columns, rows), limited to sizes that are affordable to draw; 0 by 0 means unknown."""
    if not columns or not rows:
        return 80, 24
    return min(max(columns, _COLUMNS[0]), _COLUMNS[1]), min(max(rows, _ROWS[0]), _ROWS[1])


class Pty:
    """A pseudo-terminal. ``on_output`` is called with the session's output.

    ``on_writable`` is called with whether more input is accepted. ``over`` is set when the slave is closed
    everywhere and all output was passed on.
    """

    def __init__(
        self, size: tuple[int, int], on_output: Callable[[bytes], None], on_writable: Callable[[bool], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_output = on_output
        self._on_writable = on_writable
        self._unwritten = b""
        self._drained_at_s = 0.0
        self._retry: asyncio.TimerHandle | None = None
        self.over = asyncio.Event()
        self._master, self._slave = os.openpty()
        os.set_blocking(self._master, False)
        self.resize(size)
        self._loop.add_reader(self._master, self._read)

    def resize(self, size: tuple[int, int]) -> None:
        """Set the size to (columns, rows); the kernel notifies the session."""
        if self._master >= 0:
            columns, rows = size
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, data: bytes) -> None:
        """Pass input to the session."""
        if self._master >= 0:
            self._unwritten += data
            self._write()

    def hold(self, held: bool) -> None:
        """Stop passing output on, or continue."""
        if self._master >= 0:
            if held:
                self._loop.remove_reader(self._master)
            else:
                self._loop.add_reader(self._master, self._read)

    @contextlib.contextmanager
    def open_slave(self) -> Iterator[int]:
        """Yield the slave, for the session; the server's copy is closed afterwards."""
        try:
            yield self._slave
        finally:
            os.close(self._slave)

    def close(self) -> None:
        """Hang up: the kernel sends the session SIGHUP."""
        if self._master >= 0:
            self._loop.remove_reader(self._master)
            self._stop_writing()
            os.close(self._master)
            self._master = -1
            self.over.set()

    def _read(self) -> None:
        data = b""
        with contextlib.suppress(OSError):  # Linux reports EIO instead of end of file
            data = os.read(self._master, _CHUNK)
        if data:
            self._on_output(data)
        else:
            self.close()

    def _write(self) -> None:
        now_s = self._loop.time()
        self._drained_at_s = max(self._drained_at_s, now_s)
        most = int(_AT_ONCE_BYTES - (self._drained_at_s - now_s) * _BYTES_PER_S)
        try:
            written = os.write(self._master, self._unwritten[: max(0, most)])
        except BlockingIOError:
            written = 0
        except OSError:
            written = len(self._unwritten)  # the session has ended
        self._unwritten = self._unwritten[written:]
        self._drained_at_s += written / _BYTES_PER_S
        self._stop_writing()
        if self._unwritten and most > written:
            self._loop.add_writer(self._master, self._write)
        elif self._unwritten:
            self._retry = self._loop.call_later(_PAUSE_S, self._write)
        self._on_writable(not self._unwritten)

    def _stop_writing(self) -> None:
        self._loop.remove_writer(self._master)
        if self._retry is not None:
            self._retry.cancel()

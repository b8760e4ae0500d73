"""A session's terminal: the server has the master, the session the slave, and bytes go both ways at their pace."""

import asyncio
import contextlib
import fcntl
import os
import struct
import termios
from collections.abc import Callable, Iterator

__all__ = ["RESTORE", "Pty"]

_MODES = (1049, 1000, 1002, 1003, 1006, 1015, 2004, 1004)
RESTORE = "".join(f"\x1b[?{mode}l" for mode in _MODES) + "\x1b[?25h\x1b[<u\x1b[0m"
"""Puts a terminal right that a killed session has left on its other screen, with the mouse on."""

_CHUNK = 32768
_PAUSE_S = 0.1
_AT_ONCE_BYTES = 65536
_BYTES_PER_S = 4096
"""What is typed goes on to the session no faster, after that much at once: a key is an event there, which costs a
thousand times what it costs the client to send it."""


class Pty:
    """``shown`` is given what the session writes; ``may_type`` is told whether more can be typed just now.

    ``over`` is set when nobody has the slave any more, and all that was written has been shown.
    """

    def __init__(
        self, size: tuple[int, int], shown: Callable[[bytes], None], may_type: Callable[[bool], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._shown = shown
        self._may_type = may_type
        self._typed = b""
        self._let_through_s = 0.0
        self._later: asyncio.TimerHandle | None = None
        self.over = asyncio.Event()
        self._master, self._slave = os.openpty()
        os.set_blocking(self._master, False)
        self.resize(size)
        self._loop.add_reader(self._master, self._read)

    def resize(self, size: tuple[int, int]) -> None:
        """The terminal has (columns, rows) now; the kernel tells the session."""
        if self._master >= 0:
            columns, rows = size
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, data: bytes) -> None:
        """Give the session what was typed."""
        if self._master >= 0:
            self._typed += data
            self._write()

    def hold(self, held: bool) -> None:
        """Show nothing more, as the client takes nothing more; or go on."""
        if self._master >= 0:
            if held:
                self._loop.remove_reader(self._master)
            else:
                self._loop.add_reader(self._master, self._read)

    @contextlib.contextmanager
    def lent_slave(self) -> Iterator[int]:
        """The slave, for the session to be given; the server keeps none."""
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
        with contextlib.suppress(OSError):  # Linux says EIO where others say the end
            data = os.read(self._master, _CHUNK)
        if data:
            self._shown(data)
        else:
            self.close()

    def _write(self) -> None:
        now_s = self._loop.time()
        self._let_through_s = max(self._let_through_s, now_s)
        most = int(_AT_ONCE_BYTES - (self._let_through_s - now_s) * _BYTES_PER_S)
        try:
            written = os.write(self._master, self._typed[: max(0, most)])
        except BlockingIOError:
            written = 0
        except OSError:
            written = len(self._typed)  # the session has ended
        self._typed = self._typed[written:]
        self._let_through_s += written / _BYTES_PER_S
        self._stop_writing()
        if self._typed and most > written:
            self._loop.add_writer(self._master, self._write)
        elif self._typed:
            self._later = self._loop.call_later(_PAUSE_S, self._write)
        self._may_type(not self._typed)

    def _stop_writing(self) -> None:
        self._loop.remove_writer(self._master)
        if self._later is not None:
            self._later.cancel()

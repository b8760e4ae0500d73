"""Where the interface gets its records: from a feed, as they come, or from a file."""

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Literal

import msgspec

from lab.journal import End, Marks, RecordedLines, SpooledLines, decode, open_recording
from lab.journal.reader import Lines
from lab.worlds.orders import REPLY_PREFIX, Attach, Order, Reply

__all__ = ["FeedSource", "FileSource", "Source"]


class Source:
    """Records, and a way to give commands where there is one. ``ended``: no more will come."""

    lines: Lines
    marks: Marks
    can_command = False
    is_live = False
    ended: str = ""

    def now_us(self) -> int | None:
        """The run's clock, while it is going on."""
        return None

    async def work(self) -> None:
        """Do what is to be done beside the drawing, until there is no more."""

    async def command(self, text: str) -> Reply:
        """Give a command."""
        return Reply(0, False, False, "this is a recording; its past cannot be changed")

    def close(self) -> None:
        """Give back what is held."""


class FileSource(Source):
    """A recording. NotARecordingError."""

    def __init__(self, path: Path) -> None:
        self._recorded: RecordedLines = open_recording(path)
        self.lines = self._recorded
        self.marks = Marks()

    async def work(self) -> None:
        """Find the marks, a piece at a time, so that the screen goes on."""
        for _ in self.marks.find_in(self.lines):
            await asyncio.sleep(0)

    def close(self) -> None:
        """Unmap the file."""
        self._recorded.close()


class FeedSource(Source):
    """A run that is going on. ``open`` connects; OSError."""

    is_live = True

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        role: Literal["driver", "viewer"],
        header: bytes,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self.can_command = role == "driver"
        self._spool = SpooledLines(header)
        self.lines = self._spool
        self.marks = Marks()
        self._orders = 0
        self._replies: dict[int, asyncio.Future[Reply]] = {}
        self._newest_us = 0
        self._offset_us = 0

    @classmethod
    async def open(cls, path: str, role: Literal["driver", "viewer"]) -> "FeedSource":
        """Attach to the host whose feed is on this socket."""
        reader, writer = await asyncio.open_unix_connection(path, limit=1 << 24)
        writer.write(msgspec.json.encode(Attach(role)) + b"\n")
        header = await reader.readline()
        if not header:
            raise ConnectionError("the run has just ended, or has as many viewers as it can take")
        return cls(reader, writer, role, header.rstrip(b"\n"))

    def now_us(self) -> int | None:
        """The host's clock, as far as it can be told from here."""
        if self.ended:
            return None
        return max(self._newest_us, time.monotonic_ns() // 1000 - self._offset_us)

    async def work(self) -> None:
        """Take in records until the run ends."""
        rest = b""
        with contextlib.suppress(ConnectionError):
            while data := await self._reader.read(1 << 18):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._take(line)
                await asyncio.sleep(0)
        self.ended = self.ended or "the host died"
        for reply in self._replies.values():
            if not reply.done():
                reply.set_result(Reply(0, False, False, f"the run is over: {self.ended}"))

    async def command(self, text: str) -> Reply:
        """Give a command, and wait for what the host says to it."""
        if self.ended:
            return Reply(0, False, False, f"the run is over: {self.ended}")
        self._orders += 1
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._replies[self._orders] = reply
        self._writer.write(msgspec.json.encode(Order(self._orders, text)) + b"\n")
        return await reply

    def close(self) -> None:
        """Leave."""
        self._writer.close()
        self._spool.close()

    def _take(self, line: bytes) -> None:
        if line.startswith(REPLY_PREFIX):
            reply = msgspec.json.decode(line, type=Reply)
            waiting = self._replies.pop(reply.id, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(reply)
            return
        number = len(self._spool)
        self._spool.append(line)
        try:
            record = decode(line)
        except msgspec.DecodeError:
            return
        self.marks.add(number, record)
        at_us = getattr(record, "at_us", 0)
        if at_us > self._newest_us:
            self._newest_us = at_us
            offset_us = time.monotonic_ns() // 1000 - at_us
            # the least offset seen is the nearest to the truth: a record may come late, but never early
            self._offset_us = min(self._offset_us or offset_us, offset_us)
        if isinstance(record, End):
            self.ended = record.why

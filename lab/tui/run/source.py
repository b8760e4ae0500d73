"""Where the interface gets its records: from a feed, as they come, or from a file."""

import asyncio
import contextlib
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from lab.analysis.bookmarks import Bookmarks
from lab.analysis.density import Density
from lab.analysis.group_history import GroupLog
from lab.analysis.marks import Marks
from lab.analysis.script_log import ScriptLog
from lab.analysis.stored_fields import SafeFields
from lab.properties import Judge
from lab.recording.reader import FeedRecords, FileRecords, RecordStore, open_recording
from lab.recording.records import End, Record, decode
from lab.scenario.report import Finding
from lab.tui.run.outcome import course_of
from lab.worlds.orders import CLOCK_PREFIX, REPLY_PREFIX, Attach, Clock, Order, Reply
from lab.worlds.runs import list_runs
from lab.worlds.simulated.pace import Pace

if TYPE_CHECKING:
    from lab.exercises.exercise import Exercise
    from lab.tui.classroom.attempt import AttemptLog, Note

__all__ = ["FeedSource", "FileSource", "Source"]

_JUDGED_AT_ONCE = 200
"""So many records are judged between two looks at the keyboard."""


class Source:
    """Records, and a way to give commands where there is one. ``ended``: no more will come.

    ``clock`` says how virtual time goes, in a simulated run that is going on; ``recording`` is the file that the
    records are in, as far as that is known. ``attempt`` tells what comes of the exercise that they are of, if any.
    ``is_served``: to somebody who has no shell on this machine. ``why_viewer`` tells a viewer of commands.
    """

    can_command = False
    is_live = False
    ended: str = ""
    clock: Clock | None = None
    recording: Path | None = None
    attempt: "AttemptLog | None" = None
    is_served = False
    why_viewer = "this viewer gives no commands; lab attach without --viewer does"

    def __init__(self, lines: RecordStore) -> None:
        self.lines = lines
        self.marks = Marks()
        self.script_log = ScriptLog()
        self.density = Density(lines)
        self._course = course_of(lines.header)
        self.judge = Judge(lines.header) if self._course is None else self._course.judge
        self.groups = GroupLog()
        self.safe_fields = SafeFields()
        self._is_known = False

    @cached_property
    def bookmarks(self) -> Bookmarks:
        """The notes of people on its records."""
        return Bookmarks(self.lines.header, self.recording)

    def assess(self, exercise: "Exercise", note: "Note | None" = None) -> None:
        """From now on tell what comes of the exercise; for ``note`` see there."""
        from lab.tui.classroom.attempt import AttemptLog  # noqa: PLC0415 - most runs are of none

        self.attempt = AttemptLog(exercise, self.lines.header, self.judge, note)

    def now_us(self) -> int | None:
        """The run's clock, while it is going on."""
        return None

    def findings(self) -> list[Finding] | None:
        """What was not as its scenario has it, the run being over; None where it is of none, or not over."""
        return self._course.findings() if self._course is not None and self._is_known else None

    async def work(self) -> None:
        """Do what is to be done beside the drawing, until there is no more."""

    async def command(self, text: str) -> Reply:
        """Give a command."""
        return Reply(0, False, False, "this is a recording; its past cannot be changed")

    async def withdraw(self, text: str) -> Reply:
        """Take back a command that waits for a predicate."""
        return Reply(0, False, False, "this is a recording; nothing waits in it")

    async def choices(self) -> Reply:
        """Ask what may happen next."""
        return Reply(0, False, False, "this is a recording; what happens next is in it")

    def close(self) -> None:
        """Give back what is held."""

    def _observe(self, record: Record | None) -> None:
        """Judge the next record, the header being the first, and learn the groups."""
        (self.judge if self._course is None else self._course).observe(record)
        if self.attempt is not None:
            self.attempt.observe(record)
        self.groups.observe(record)
        self.safe_fields.observe(record)
        self.density.observe(record)


class FileSource(Source):
    """A recording. NotARecordingError."""

    def __init__(self, path: Path) -> None:
        self._recorded: FileRecords = open_recording(path)
        super().__init__(self._recorded)
        self.recording = path

    async def work(self) -> None:
        """Find the marks, judge, and learn the groups, a piece at a time, so that the screen goes on."""
        for _ in self.marks.find_in(self.lines, self.script_log):
            await asyncio.sleep(0)
        for number, record in enumerate(self.lines.records()):
            self._observe(record)
            if number % _JUDGED_AT_ONCE == 0:
                await asyncio.sleep(0)
        self._is_known = True

    def close(self) -> None:
        """Unmap the file."""
        self._recorded.close()


class FeedSource(Source):
    """A run that is going on. ``open`` connects; OSError. ``over``: its last record was taken in."""

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
        self._spool = FeedRecords(header)
        super().__init__(self._spool)
        self._observe(self.lines.header)
        self._orders = 0
        self._replies: dict[int, asyncio.Future[Reply]] = {}
        self._newest_us = 0
        self._offset_us: int | None = None
        self.over = asyncio.Event()

    @classmethod
    async def open(cls, path: str, role: Literal["driver", "viewer"]) -> "FeedSource":
        """Attach to the host whose feed is on this socket."""
        reader, writer = await asyncio.open_unix_connection(path, limit=1 << 24)
        writer.write(msgspec.json.encode(Attach(role)) + b"\n")
        header = await reader.readline()
        if not header:
            raise ConnectionError("the run has just ended, or has as many viewers as it can take")
        source = cls(reader, writer, role, header.rstrip(b"\n"))
        source.recording = next((Path(info.recording) for info in list_runs()[0] if info.socket == path), None)
        return source

    def now_us(self) -> int | None:
        """The host's clock, as far as it can be told from here: before it is heard, that of the last record."""
        if self.ended:
            return None
        real_us = time.monotonic_ns() // 1000
        if self.clock is None:
            if self._offset_us is None or self.lines.header.world == "simulated":
                return self._newest_us
            return max(self._newest_us, real_us - self._offset_us)
        pace = Pace(self.clock.factor)
        pace.start(self.clock.at_us, self.clock.real_us)
        reached_us = None if self.clock.frozen else pace.reached_us(real_us)
        return max(self._newest_us, self.clock.at_us if reached_us is None else reached_us)

    def assess(self, exercise: "Exercise", note: "Note | None" = None) -> None:
        """The header has been judged already."""
        super().assess(exercise, note)
        assert self.attempt is not None
        self.attempt.observe(self.lines.header)

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
        self.over.set()
        self._is_known = True
        for reply in self._replies.values():
            if not reply.done():
                reply.set_result(Reply(0, False, False, f"the run is over: {self.ended}"))

    async def command(self, text: str) -> Reply:
        """Give a command, and wait for what the host says to it."""
        return await self._ask(Order(0, text))

    async def withdraw(self, text: str) -> Reply:
        """Take it back, and wait for what the host says to that."""
        return await self._ask(Order(0, text, withdraw=True))

    async def choices(self) -> Reply:
        """Ask the host: it alone knows when messages are due."""
        return await self._ask(Order(0, choices=True))

    async def _ask(self, order: Order) -> Reply:
        if self.ended:
            return Reply(0, False, False, f"the run is over: {self.ended}")
        self._orders += 1
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._replies[self._orders] = reply
        self._writer.write(msgspec.json.encode(replace(order, id=self._orders)) + b"\n")
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
        if line.startswith(CLOCK_PREFIX):
            self.clock = msgspec.json.decode(line, type=Clock)
            return
        number = len(self._spool)
        self._spool.append(line)
        try:
            record = decode(line)
        except msgspec.DecodeError:
            self._observe(None)
            return
        self.marks.add(number, record)
        self.script_log.add(number, record)
        self._observe(record)
        at_us = getattr(record, "at_us", 0)
        if at_us > self._newest_us:
            self._newest_us = at_us
            offset_us = time.monotonic_ns() // 1000 - at_us
            # the least offset seen is the nearest to the truth: a record may come late, but never early
            self._offset_us = offset_us if self._offset_us is None else min(self._offset_us, offset_us)
        if isinstance(record, End):
            self.ended = record.why
            self._is_known = True

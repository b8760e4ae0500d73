"""The sources of records for the interface: a file, or the feed of a live run.

Nothing of a run's scenario is executed here, and its protocol is not loaded: a recording may come from a stranger.
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Literal, Self

import msgspec
from msgspec.structs import replace

from lab.analysis.bookmarks import Bookmarks
from lab.analysis.elections import StatusHistory
from lab.analysis.group_history import GroupLog
from lab.analysis.inspection import LastSteps, StoredFields
from lab.analysis.marks import Density, Marks
from lab.analysis.script_log import ScriptLog
from lab.exercises.exercise import Exercise
from lab.properties.declarations import Declared
from lab.properties.history_verdict import judge_history, workload_of
from lab.properties.judge import Judge
from lab.properties.registry import with_promises
from lab.recording.reader import FeedRecords, FileRecords, RecordStore, open_recording
from lab.recording.records import Commanded, End, Expected, Header, Record
from lab.replay.source_listing import Listing
from lab.scenario.file import as_key, read_head, split_scenario
from lab.scenario.report import ScenarioFinding, ScriptChecker
from lab.script.parse import numbered_lines, parse
from lab.script.scope import CommandError, NodeNames
from lab.script.statements import Statement, predecessors
from lab.tasks.extension import extension_of
from lab.text import sanitize
from lab.tui.attempt_log import AttemptLog, Note
from lab.worlds.feed_protocol import CLOCK_PREFIX, REPLY_PREFIX, Attach, Clock, FeedRequest, Pace, Reply
from lab.worlds.host.runs import list_runs
from lab.worlds.json_lines import LineBuffer, to_line
from lab.worlds.loading.settings import SettingError, positive

_LONGEST_SHOWS = 1000


class RecordedScenario:
    """The scenario of a run, read from its text: the values of its ``head``, and its script.

    A script of a newer version, or of another program, may have lines that this one does not know.
    """

    def __init__(self, text: str, names: NodeNames | None = None) -> None:
        self._names = names
        head, self._script, self._first_line = split_scenario(text)
        self.head = read_head(head).values

    @cached_property
    def purpose(self) -> str:
        """The text of its ``shows`` entry, or an empty string."""
        return sanitize(" ".join(self.head.get("shows", "").split()), _LONGEST_SHOWS)

    @property
    def lines(self) -> list[tuple[int, str]]:
        """All lines of the script, as written, with their numbers in the file."""
        return list(enumerate(self._script.removesuffix("\n").split("\n"), self._first_line))

    @cached_property
    def statements(self) -> dict[int, Statement | None]:
        """The statement in each line that holds more than a comment; None if it is not known here."""
        return {
            number: _statement(number, line, self._names)
            for number, line in numbered_lines(self._script, self._first_line)
        }

    @cached_property
    def predecessors(self) -> dict[int, int]:
        """Map each line that follows another to that line, by number."""
        return predecessors(each for each in self.statements.values() if each is not None)

    def checker(self, header: Header) -> ScriptChecker | None:
        """Return the checker of the scenario for the run with this header, or None.

        None: it is only a script, or a line is not known here, or the run is a branch, which goes another way than
        its scenario.
        """
        ends = self.head.get("for")
        if ends is None or header.parent is not None:
            return None
        statements = [each for each in self.statements.values() if each is not None]
        if len(statements) < len(self.statements):
            return None
        try:
            return ScriptChecker(statements, positive("for", ends, as_key), header)
        except SettingError:
            return None


def _statement(number: int, line: str, names: NodeNames | None) -> Statement | None:
    try:
        return replace(parse(line, names=names), line=number)
    except CommandError:
        return None


_JUDGED_AT_ONCE = 200
"""The number of records judged at a time, before the interface handles input again."""


class Source:
    """A source of records, which may accept commands. ``ended`` says why a live run is over; empty until then.

    ``grows``: records may be added to those that are there.
    ``clock`` is the virtual clock of a simulated run that is still going on. ``recording`` is the file of the
    records, if known. ``attempt`` assesses the exercise that the run belongs to, if any. ``waiting`` are the
    commands given by hand that wait for their triggers, ``own_commands`` those of the source itself.
    ``is_served``: the user has no shell on this machine; ``may_branch``: but may branch. ``extension`` is what the
    protocol brings. ``why_viewer`` tells a viewer why commands are refused. ``scenario`` is that of the run; of a
    run without one, it is empty.
    """

    can_command = False
    is_live = False
    grows = False
    ended: str = ""
    clock: Clock | None = None
    recording: Path | None = None
    attempt: AttemptLog | None = None
    waiting: tuple[str, ...] = ()
    own_commands: tuple[str, ...] = ()
    is_served = False
    may_branch = False
    why_viewer = "this viewer gives no commands; lab attach without --viewer does"

    def __init__(self, store: RecordStore) -> None:
        self.store = store
        self.marks = Marks()
        self.script_log = ScriptLog()
        self.density = Density(store)
        self.scenario = RecordedScenario(store.header.scenario, NodeNames.of(store.header))
        self._begin_judging()
        self.extension = extension_of(store.header)
        self.groups = GroupLog()
        self.statuses = StatusHistory(store.header.nodes)
        self.safe_fields = StoredFields()
        self.last_steps = LastSteps(store)
        self._listings: dict[str, Listing] = {}
        self._is_judged = False

    def listing_of(self, node: int | None) -> Listing:
        """Return the source of the protocol of a node; None: of most nodes."""
        header = self.store.header
        info = header.protocol if node is None else header.protocol_of(node)
        if info.name not in self._listings:
            self._listings[info.name] = Listing(info)
        return self._listings[info.name]

    @cached_property
    def bookmarks(self) -> Bookmarks:
        """The bookmarks on its records."""
        return Bookmarks(self.store.header, self.recording)

    def _begin_judging(self) -> None:
        """Make the judge of the run, by the properties that are loaded for its protocol now."""
        header = self.store.header
        self._course = self.scenario.checker(header)
        self.judge = Judge(header) if self._course is None else self._course.judge

    def assess(self, exercise: Exercise, note: Note | None = None) -> None:
        """Start assessing the run for an exercise, and judging it by the properties of that.

        Do so before any record but the header. ``note`` is passed on to the attempt log.
        """
        exercise.load_properties()
        self._begin_judging()
        self.attempt = AttemptLog(exercise, self.store.header, self.judge, note)

    @property
    def takes_commands(self) -> bool:
        return self.can_command and not self.ended

    @property
    def controls_time(self) -> bool:
        """True while the user controls the clock of the run: it is simulated and takes commands."""
        return self.takes_commands and self.clock is not None

    @property
    def reason_no_commands(self) -> str:
        """Why the run takes no commands, and what the user can do instead."""
        if not self.is_live:
            return "this is a recording; {branch} branches from here into a new run"
        if self.ended and self.attempt is not None and self.attempt.is_own:
            return "the run is over; {again} begins a new attempt"
        if self.ended:
            return "the run is over; {branch} branches from here into a new run"
        return self.why_viewer

    def now_us(self) -> int | None:
        """Return the run's clock in microseconds, or None if the run is over or a recording."""
        return None

    @property
    def is_complete(self) -> bool:
        """True if all records are there, and are judged."""
        return self._is_judged

    def findings(self) -> list[ScenarioFinding] | None:
        """Return how the run differs from its scenario, or None without a scenario or before all is judged."""
        return self._course.findings() if self._course is not None and self._is_judged else None

    async def work(self) -> None:
        """Process records in the background until there are no more."""

    async def _judge_clients(self) -> None:
        """Judge the history of the clients, when all records are there, in a thread of its own."""
        if not workload_of(self.store.header):
            return
        records = []
        for number, record in enumerate(self.store.records()):
            records.append(record)
            if number % _JUDGED_AT_ONCE == 0:
                await asyncio.sleep(0)
        history = await asyncio.to_thread(judge_history, records)
        if history is not None:
            self.judge.conclude(history)

    async def command(self, text: str) -> Reply:
        """Give a command, and return the host's reply."""
        return Reply.refused("this is a recording; its past cannot be changed")

    async def withdraw(self, text: str) -> Reply:
        """Withdraw a command that waits for a predicate, and return the host's reply."""
        return Reply.refused("this is a recording; nothing waits in it")

    async def enabled_events(self) -> Reply:
        """Ask for the events that may happen next."""
        return Reply.refused("this is a recording; its events are fixed")

    async def refresh_waiting(self) -> None:
        """Ask which commands wait."""

    @property
    def failures(self) -> Sequence[str]:
        """Return what is to be reported of each command that waited and then failed, in their order."""
        return ()

    def close(self) -> None:
        """Release what the source holds open."""

    def _judge_record(self, record: Record | None) -> None:
        (self.judge if self._course is None else self._course).observe(record)

    def _observe(self, record: Record | None) -> None:
        """Pass the next record to all that observe the run. The header is the first record."""
        self._judge_record(record)
        if self.attempt is not None:
            self.attempt.observe(record)
        self.groups.observe(record)
        self.statuses.observe(record)
        self.safe_fields.observe(record)
        self.density.observe(record)


class FileSource(Source):
    """The records of a file, judged by these properties too. Raises NotARecordingError."""

    def __init__(self, path: Path, properties: tuple[Declared, ...] = ()) -> None:
        self._recorded: FileRecords = open_recording(path)
        self._recorded.header = with_promises(self._recorded.header, properties)
        super().__init__(self._recorded)
        self.recording = path

    async def work(self) -> None:
        """Find the marks and judge the records, in chunks, so that the interface stays responsive."""
        for _ in self.marks.find_in(self.store, self.script_log):
            await asyncio.sleep(0)
        for number, record in enumerate(self.store.records()):
            self._observe(record)
            if number % _JUDGED_AT_ONCE == 0:
                await asyncio.sleep(0)
        await self._judge_clients()
        self._is_judged = True

    def close(self) -> None:
        """Unmap the file."""
        self._recorded.close()


class GrowingSource(Source):
    """Records that come one after the other; ``header`` is the first line."""

    grows = True

    def __init__(self, header: bytes) -> None:
        self._feed = FeedRecords(header)
        super().__init__(self._feed)
        self._observe(self.store.header)

    def close(self) -> None:
        self._feed.close()

    def _append(self, line: bytes) -> Record | None:
        """Add a record, and return it; None if it cannot be read."""
        number = len(self._feed)
        self._feed.append(line)
        try:
            record = self._feed.decode(line)
        except msgspec.DecodeError:
            self._observe(None)
            return None
        self.marks.add(number, record)
        self.script_log.add(number, record)
        self._observe(record)
        return record


class PrefixSource(GrowingSource):
    """The first records of a file, which ``extend`` adds: what has been shown of a run, and nothing of the rest.

    Raises NotARecordingError.
    """

    def __init__(self, path: Path) -> None:
        self._recorded = open_recording(path)
        super().__init__(self._recorded.raw(0))
        self.recording = path

    @property
    def is_complete(self) -> bool:
        """True: nothing comes unless it is added."""
        return True

    async def extend(self, record: int) -> None:
        """Add all records up to this one, in chunks, so that the interface stays responsive."""
        while len(self.store) <= min(record, len(self._recorded) - 1):
            self._append(self._recorded.raw(len(self.store)))
            if len(self.store) % _JUDGED_AT_ONCE == 0:
                await asyncio.sleep(0)

    def close(self) -> None:
        super().close()
        self._recorded.close()


class FeedSource(GrowingSource):
    """The records of a live run. ``over`` is set once the feed has ended."""

    is_live = True

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        role: Literal["driver", "viewer"],
        header: bytes,
    ) -> None:
        super().__init__(header)
        self._reader = reader
        self._writer = writer
        self.can_command = role == "driver"
        self._orders = 0
        self._replies: dict[int, asyncio.Future[Reply]] = {}
        self._given: set[str] = set()
        self._failures: list[str] = []
        self._newest_us = 0
        self._offset_us: int | None = None
        self.over = asyncio.Event()

    @classmethod
    async def open(cls, path: str, role: Literal["driver", "viewer"]) -> Self:
        """Attach to the host whose feed is on this socket. Raises OSError."""
        reader, writer = await asyncio.open_unix_connection(path, limit=1 << 24)
        with contextlib.ExitStack() as until_open:
            until_open.callback(writer.close)
            writer.write(to_line(Attach(role)))
            header = await reader.readline()
            if not header:
                raise ConnectionError("the run has just ended, or its number of viewers is at the limit")
            source = cls(reader, writer, role, header.rstrip(b"\n"))
            until_open.pop_all()
        source.recording = next((Path(info.recording) for info in list_runs()[0] if info.socket == path), None)
        return source

    def now_us(self) -> int | None:
        """Estimate the host's clock: at least the time of the newest record, or None once the run is over."""
        if self.ended:
            return None
        real_us = time.monotonic_ns() // 1000
        if self.clock is None:
            if self._offset_us is None or self.store.header.world == "simulated":
                return self._newest_us
            return max(self._newest_us, real_us - self._offset_us)
        pace = Pace(self.clock.factor)
        pace.start(self.clock.at_us, self.clock.real_us)
        reached_us = None if self.clock.frozen else pace.reached_us(real_us)
        return max(self._newest_us, self.clock.at_us if reached_us is None else reached_us)

    def assess(self, exercise: Exercise, note: Note | None = None) -> None:
        super().assess(exercise, note)
        assert self.attempt is not None
        # the header came before the attempt log and its judge existed
        self._judge_record(self.store.header)
        self.attempt.observe(self.store.header)

    async def work(self) -> None:
        """Receive records until the run ends."""
        buffer = LineBuffer(longest=inf)
        with contextlib.suppress(ConnectionError):
            while data := await self._reader.read(1 << 18):
                for line in buffer.feed(data):
                    self._receive(line)
                await asyncio.sleep(0)
        self.ended = self.ended or "the host died"
        self.over.set()
        for reply in self._replies.values():
            if not reply.done():
                reply.set_result(Reply.refused(f"the run is over: {self.ended}"))
        await self._judge_clients()
        self._is_judged = True

    async def command(self, text: str) -> Reply:
        self._given.add(" ".join(text.split()))  # the command may be triggered before the reply comes
        reply = await self._ask(FeedRequest(0, text))
        if is_waiting(reply):
            await self.refresh_waiting()
        return reply

    async def withdraw(self, text: str) -> Reply:
        return await self._ask(FeedRequest(0, text, withdraw=True))

    async def enabled_events(self) -> Reply:
        """Ask the host, as only it knows when messages are due."""
        return await self._ask(FeedRequest(0, enabled_events=True))

    async def refresh_waiting(self) -> None:
        if self.takes_commands:
            self.waiting = (await self._ask(FeedRequest(0, waiting=True))).waiting
            self._given.update(self.waiting)

    @property
    def failures(self) -> Sequence[str]:
        return self._failures

    async def _ask(self, order: FeedRequest) -> Reply:
        if self.ended:
            return Reply.refused(f"the run is over: {self.ended}")
        self._orders += 1
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._replies[self._orders] = reply
        self._writer.write(to_line(replace(order, id=self._orders)))
        return await reply

    def close(self) -> None:
        self._writer.close()
        super().close()

    def _receive(self, line: bytes) -> None:
        if line.startswith(REPLY_PREFIX):
            reply = msgspec.json.decode(line, type=Reply)
            waiting = self._replies.pop(reply.id, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(reply)
            return
        if line.startswith(CLOCK_PREFIX):
            self.clock = msgspec.json.decode(line, type=Clock)
            return
        record = self._append(line)
        if record is None:
            return
        self._note_failure(record)
        at_us = getattr(record, "at_us", 0)
        if at_us > self._newest_us:
            self._newest_us = at_us
            offset_us = time.monotonic_ns() // 1000 - at_us
            # The smallest offset seen is the most accurate one: a record may arrive late, but never early.
            self._offset_us = offset_us if self._offset_us is None else min(self._offset_us, offset_us)
        if isinstance(record, End):
            self.ended = record.why

    def _note_failure(self, record: Record) -> None:
        """Note it if the record shows that a command which waited has failed, unless that was long ago."""
        if isinstance(record, Commanded) and not record.line and not record.changed:
            text = f"{record.text}: triggered, but {record.outcome}"
        elif isinstance(record, Expected) and not record.line and not record.met:
            text = f"{record.text}: not met{record.why and f', {record.why}'}"
        else:
            return
        statement = _statement(0, record.text, None) if record.text in self._given else None
        if statement is not None and statement.waits:
            self._failures.append(text)


def is_waiting(reply: Reply) -> bool:
    """Return whether a command that was accepted waits for its trigger."""
    return reply.ok and reply.text.startswith(_WAITS)


_WAITS = "waits: "

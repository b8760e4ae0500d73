"""The excerpt to export: a recording or a window of it, with the facts that all formats need.

Reading begins at the keyframe before the window, so that nodes, faults and messages are in their state of that
time. It continues after the window until the delivery of all messages sent in it is known.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Literal

from msgspec import Struct

from lab.analysis.causality import Causality, Clock
from lab.analysis.spacetime import FaultInterval, MessageEdge, SpaceTime, StatusInterval
from lab.export.figure_options import FigureOptions
from lab.kernel import Fired, Received, Step, Wrote
from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.recording.log_lines import LogLine
from lab.recording.reader import FileRecords
from lab.recording.records import Header, Process, Record
from lab.recording.timeline import Timeline
from lab.units import CountText, first_duplicate, format_ranges, format_us

_RECORDS_BETWEEN_CHECKS = 1000
"""After the window, check after so many records whether all deliveries are known."""


class ExportError(Exception):
    """The export is impossible. The message says what was given, what was expected, and what to do."""


class Film(Struct, frozen=True):
    """The options of a film. ``view`` is the name of a view of the interface."""

    columns: int = 120
    rows: int = 40
    frames_per_s: int = 10
    speed: float = 1.0
    view: str = "log"
    idle_us: int = 2_000_000


class DiagramFilm(Struct, frozen=True):
    """The options of a film of the space-time diagram. Sizes are pixels.

    ``speed`` is that of the recorded time, in which no wait is longer than ``idle_us``; None: as fast as the
    diagram can be followed. ``frames_per_s`` is None for what suits the format.
    """

    width: int = 1280
    height: int = 720
    frames_per_s: int | None = None
    speed: float | None = None
    idle_us: int = 2_000_000


class ExportOptions(Struct, frozen=True):
    """The part of a recording to export, and how to draw it. None, and no nodes, mean all."""

    from_us: int | None = None
    until_us: int | None = None
    nodes: tuple[int, ...] = ()
    heartbeats: bool = False
    time: Literal["down", "right"] = "down"
    ascii: bool = False
    table: str = "messages"
    film: Film = Film()
    diagram_film: DiagramFilm = DiagramFilm()
    figure: FigureOptions = FigureOptions()


class Excerpt(Struct, frozen=True, dict=True):
    """A window of a recording, from the record ``first`` to the record ``last``.

    ``space`` is the window and what is around it. The lists are those of the window and of ``nodes``, computed on
    first use; their times may lie outside of the window (see ``clip``). ``progress`` is called with a text on the
    progress of long work.
    """

    store: FileRecords
    options: ExportOptions
    nodes: tuple[int, ...]
    first: int
    last: int
    from_us: int
    until_us: int
    space: SpaceTime
    progress: Callable[[str], object]

    @property
    def header(self) -> Header:
        return self.store.header

    @property
    def is_whole(self) -> bool:
        """True if the excerpt covers the whole time of the recording."""
        return self.options.from_us is None and self.options.until_us is None

    @cached_property
    def status_intervals(self) -> list[StatusInterval]:
        return [each for each in self.space.status_intervals if each.node in self.nodes and self._overlaps(each)]

    @cached_property
    def fault_intervals(self) -> list[FaultInterval]:
        return [each for each in self.space.fault_intervals if self._overlaps(each)]

    @cached_property
    def messages(self) -> list[MessageEdge]:
        """The messages with both ends among the nodes, without the hidden heartbeats."""
        return [edge for edge in self._all_messages if edge.line.kind not in self._hidden]

    @property
    def left_out(self) -> int:
        """The number of hidden heartbeats."""
        return len(self._all_messages) - len(self.messages)

    @cached_property
    def events(self) -> list[LogLine]:
        """The log lines other than messages."""
        inside = (line for line in self.space.events if self.first <= line.record <= self.last)
        return [line for line in inside if line.source is None or line.source in self.nodes]

    @cached_property
    def violations(self) -> list[Violation]:
        """The violations in the window."""
        nodes = frozenset(self.nodes)
        return [
            each
            for each in self.judge.violations
            if each.record >= self.first and not nodes.isdisjoint(each.nodes)
        ]

    @cached_property
    def judge(self) -> Judge:
        """The judge after the last record of the window; it sees all records from the start of the recording."""
        judge = Judge(self.header)
        for _, record in self.records_before("judged"):
            judge.observe(record)
        return judge

    @cached_property
    def clocks(self) -> dict[tuple[int, int], Clock]:
        """The vector clocks of sent messages, by source and serial."""
        clocks = VectorClocks(self.header.all_nodes)
        for number, record in self.records_before("ordered by cause and effect"):
            clocks.observe(number, record)
        return clocks.sent

    def clip(self, at_us: int) -> int:
        """Return the time, moved into the window."""
        return max(self.from_us, min(at_us, self.until_us))

    def need_at_most(self, messages: int, what: str) -> None:
        """Raise ExportError if there are more messages than ``what`` can show."""
        if len(self.messages) > messages:
            less = "fewer --nodes, or no --heartbeats" if self.options.heartbeats else "or fewer --nodes"
            raise ExportError(
                f"{len(self.messages):,} messages are too many for {what} ({messages:,} at most): "
                f"choose a shorter window with --from and --until, {less}"
            )

    @property
    def _hidden(self) -> tuple[str, ...]:
        return () if self.options.heartbeats else tuple(self.header.protocol.heartbeats)

    @cached_property
    def _all_messages(self) -> list[MessageEdge]:
        nodes, begun = set(self.nodes), (edge for edge in self.space.messages if edge.sent.record <= self.last)
        return [
            edge
            for edge in begun
            if nodes.issuperset(edge.ends)
            and (edge.end is None or max(point.record for point in (edge.end, *edge.again)) >= self.first)
        ]

    def _overlaps(self, each: StatusInterval | FaultInterval) -> bool:
        return each.since.record <= self.last and (each.until is None or each.until.record >= self.first)

    def records_before(self, done: str) -> Iterator[tuple[int, Record | None]]:
        """Yield the records from the start of the recording to the last of the window; progress says ``done``."""
        for number, record in enumerate(self.store.records(0, self.last + 1)):
            yield number, record
            self.progress(CountText(number, self.last + 1, "record", done))


def parse_nodes(text: str) -> tuple[int, ...]:
    """Parse node ids separated by commas. Raises ValueError."""
    try:
        nodes = tuple(int(word) for word in text.split(","))
    except ValueError:
        raise ValueError(f"{text}: expected numbers separated by commas, such as 1,2,5") from None
    if (twice := first_duplicate(nodes)) is not None:
        raise ValueError(f"{text}: node {twice} is named twice; name each node once")
    return nodes


def read_excerpt(
    store: FileRecords, options: ExportOptions, progress: Callable[[str], object] = lambda text: None
) -> Excerpt:
    """Read the excerpt from the recording. Raises ExportError."""
    nodes = _nodes(store.header, options)
    timeline = Timeline(store)
    end_us = timeline.at(len(store) - 1).at_us
    from_us, until_us = _window(options, end_us)
    first = timeline.record_at(from_us - 1) + 1 if options.from_us else 0
    last = len(store) - 1 if options.until_us is None else timeline.record_at(until_us)
    if first > last or end_us < from_us:
        until = "on" if options.until_us is None else f"until {format_us(options.until_us)}"
        raise ExportError(
            f"nothing was recorded from {format_us(from_us)} {until}; "
            f"this run lasts from 0s until {format_us(round(end_us, -3))}: change --from or --until"
        )
    space = _read(store, first, last, until_us, progress)
    return Excerpt(store, options, nodes, first, last, from_us, until_us, space, progress)


def _nodes(header: Header, options: ExportOptions) -> tuple[int, ...]:
    for node in options.nodes:
        if node not in header.all_nodes:
            raise ExportError(f"unknown node {node}; the nodes of this run are {format_ranges(header.all_nodes)}")
    return tuple(node for node in header.all_nodes if node in options.nodes) or header.all_nodes


def _window(options: ExportOptions, end_us: int) -> tuple[int, int]:
    from_us = 0 if options.from_us is None else options.from_us
    until_us = end_us if options.until_us is None else min(options.until_us, max(end_us, from_us))
    if options.until_us is not None and options.until_us <= from_us:
        raise ExportError(
            f"the window from {format_us(from_us)} until {format_us(options.until_us)} is empty: "
            "--from must be before --until"
        )
    return from_us, until_us


def _read(
    store: FileRecords, first: int, last: int, until_us: int, progress: Callable[[str], object]
) -> SpaceTime:
    """Read the window, from the keyframe before it."""
    keyframe = store.keyframe_before(first - 1)
    start = None if keyframe is None else store.snapshot(keyframe)
    begin = 1 if keyframe is None or start is None else keyframe + 1
    space = SpaceTime(store.header, start)
    for number, record in enumerate(store.records(begin), begin):
        if number > last and number % _RECORDS_BETWEEN_CHECKS == 0 and not _has_open(space, until_us):
            break
        space.observe(record)
        progress(CountText(number, last + 1, "record", "read"))
    return space


def _has_open(space: SpaceTime, until_us: int) -> bool:
    return any(edge.end is None and edge.sent.at_us <= until_us for edge in space.messages)


# causality


class VectorClocks:
    """A fold of the records: for each node, the number of its last record that a message's sender may know of.

    The arrival of a message ``a`` happened before the sending of ``b`` if and only if the clock of ``b`` has
    reached the record of that arrival, at the place of the receiver of ``a``: see ``lab.analysis.causality``.
    ``sent`` maps (source, serial) to the clock of a message; forged ones have none.
    """

    def __init__(self, nodes: tuple[int, ...]) -> None:
        self._causality = Causality(nodes)
        self.sent: dict[tuple[int, int], Clock] = {}

    def observe(self, number: int, record: Record | None) -> None:
        """Observe the record with that number; None stands for an unreadable one."""
        causality = self._causality
        if not isinstance(record, Step | Process) or record.node not in causality.place:
            return
        if isinstance(record, Step):
            given = record.input
            if isinstance(given, Received):
                causality.received(record.node, self.sent.get((given.source, given.serial), causality.zero))
            elif isinstance(given, Fired | Wrote):  # a program has timers of its own
                causality.fired(record.node)
            stamp = causality.stamp(record.node, number)
            self.sent.update(((record.node, message.serial), stamp) for message in record.sent)
        elif record.event in ("killed", "failed"):
            causality.crashed(record.node, number)

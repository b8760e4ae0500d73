"""What is exported: a recording, or a window of it, in space and time, with what all formats need to know of it.

At the beginning of a window nodes, faults and messages stand as they did then: the pass begins at the keyframe
before it. It goes on past the end of the window until the fates of all messages sent in it are known.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Literal

from msgspec import Struct

from lab.analysis.causality import Clock
from lab.analysis.spacetime import FaultInterval, MessageEdge, SpaceTime, StatusInterval
from lab.export.clocks import Clocks
from lab.export.film import Film
from lab.properties import Judge, Violation
from lab.recording.log_lines import LogLine
from lab.recording.reader import FileRecords
from lab.recording.records import Header, Keyframe, Record
from lab.recording.timeline import Timeline
from lab.units import format_us, listed

__all__ = ["Excerpt", "ExportError", "Table", "Wanted", "excerpt_of", "nodes_in"]

_BETWEEN_LOOKS = 1000
"""So many records are read past the window between two looks at whether all fates are known."""

Table = Literal["messages", "statuses", "faults", "events"]


class ExportError(Exception):
    """What is wanted cannot be exported: what was got, what was expected, what to do."""


class Wanted(Struct, frozen=True):
    """What of a recording is to be exported, and how it is to be drawn. None, and no nodes: all of it."""

    from_us: int | None = None
    until_us: int | None = None
    nodes: tuple[int, ...] = ()
    heartbeats: bool = False
    time: Literal["down", "right"] = "down"
    ascii: bool = False
    table: Table = "messages"
    film: Film = Film()


class Excerpt(Struct, frozen=True, kw_only=True, dict=True):
    """A window of a recording, from the record ``first`` to the record ``last``.

    ``stretches``, ``arrows``, ``strikes``, ``events`` and ``violations`` are those of the window and of the
    ``nodes``, with times that may be outside of it (see ``clip``); ``space`` has all others around them.
    Both ends of an arrow are among the nodes. ``left_out`` counts heartbeats that are not wanted. ``tell`` takes
    what can be said of how far a long piece of work has come. ``violations`` and ``clocks`` are found when they
    are first asked for, as few formats have them.
    """

    header: Header
    lines: FileRecords
    wanted: Wanted
    first: int
    last: int
    from_us: int
    until_us: int
    nodes: tuple[int, ...]
    space: SpaceTime
    stretches: list[StatusInterval]
    arrows: list[MessageEdge]
    strikes: list[FaultInterval]
    events: list[LogLine]
    left_out: int
    tell: Callable[[str], object]

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole recording, of some nodes or of all."""
        return self.wanted.from_us is None and self.wanted.until_us is None

    @cached_property
    def violations(self) -> list[Violation]:
        """Judged are all records, from the first on."""
        judge, nodes = Judge(self.header), frozenset(self.nodes)
        for _, record in self._records("judged"):
            judge.observe(record)
        return [
            each for each in judge.violations if each.record >= self.first and not nodes.isdisjoint(each.nodes)
        ]

    @cached_property
    def clocks(self) -> dict[tuple[int, int], Clock]:
        """The vector clocks with which messages were sent, by source and serial."""
        clocks = Clocks(self.header.nodes)
        for number, record in self._records("ordered by cause and effect"):
            clocks.observe(number, record)
        return clocks.sent

    def _records(self, done: str) -> Iterator[tuple[int, Record | None]]:
        for number, record in enumerate(self.lines.records(0, self.last + 1)):
            yield number, record
            self.tell(f"{number:,} of {self.last + 1:,} records {done}")

    def clip(self, at_us: int) -> int:
        """That time, or the nearest in the window."""
        return max(self.from_us, min(at_us, self.until_us))

    def need_at_most(self, arrows: int, what: str) -> None:
        """ExportError where there are more arrows than ``what`` can show."""
        if len(self.arrows) > arrows:
            less = "fewer --nodes, or no --heartbeats" if self.wanted.heartbeats else "or fewer --nodes"
            raise ExportError(
                f"{len(self.arrows):,} messages are too many for {what} ({arrows:,} at most): "
                f"choose a shorter time with --from and --until, {less}"
            )


def nodes_in(text: str) -> tuple[int, ...]:
    """The nodes of a ``Wanted``, as they are typed. ValueError."""
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise ValueError(f"{text}: expected numbers with commas between them, such as 1,2,5") from None


def excerpt_of(lines: FileRecords, wanted: Wanted, tell: Callable[[str], object] = lambda text: None) -> Excerpt:
    """Read it. ExportError."""
    header = lines.header
    nodes = _nodes(header, wanted)
    timeline = Timeline(lines)
    end_us = timeline.at(len(lines) - 1).at_us
    from_us, until_us = _window(wanted, end_us)
    first = timeline.record_at(from_us - 1) + 1 if wanted.from_us else 0
    last = len(lines) - 1 if wanted.until_us is None else timeline.record_at(until_us)
    if first > last or end_us < from_us:
        until = "on" if wanted.until_us is None else f"until {format_us(wanted.until_us)}"
        raise ExportError(
            f"nothing was recorded from {format_us(from_us)} {until}; "
            f"this run lasts from 0s until {format_us(round(end_us, -3))}: choose another --from or --until"
        )
    space = _read(lines, first, last, until_us, tell)
    inside = _Inside(from_us, until_us, first, last, frozenset(nodes))
    arrows = [arrow for arrow in space.arrows if inside.has_arrow(arrow)]
    hidden = frozenset() if wanted.heartbeats else frozenset(header.protocol.heartbeats)
    seen = [arrow for arrow in arrows if arrow.line.kind not in hidden]
    return Excerpt(
        header=header,
        lines=lines,
        wanted=wanted,
        first=first,
        last=last,
        from_us=from_us,
        until_us=until_us,
        nodes=nodes,
        space=space,
        stretches=[each for each in space.stretches if each.node in nodes and inside.overlaps(each)],
        arrows=seen,
        strikes=[each for each in space.strikes if inside.overlaps(each)],
        events=[line for line in space.events if inside.has_event(line)],
        left_out=len(arrows) - len(seen),
        tell=tell,
    )


class _Inside(Struct, frozen=True):
    """What is in the window."""

    from_us: int
    until_us: int
    first: int
    last: int
    nodes: frozenset[int]

    def overlaps(self, each: StatusInterval | FaultInterval) -> bool:
        began = each.since.record <= self.last
        return began and (each.until is None or each.until.record >= self.first)

    def has_arrow(self, arrow: MessageEdge) -> bool:
        line = arrow.line
        if line.record > self.last or line.source not in self.nodes or line.target not in self.nodes:
            return False
        ends = [point for point in (arrow.end, *arrow.again) if point is not None]
        return arrow.end is None or max(end.record for end in ends) >= self.first

    def has_event(self, line: LogLine) -> bool:
        return self.first <= line.record <= self.last and (line.source is None or line.source in self.nodes)


def _nodes(header: Header, wanted: Wanted) -> tuple[int, ...]:
    for node in wanted.nodes:
        if node not in header.nodes:
            raise ExportError(f"there is no node {node} in this run; its nodes are {listed(header.nodes)}")
    return tuple(node for node in header.nodes if node in wanted.nodes) or header.nodes


def _window(wanted: Wanted, end_us: int) -> tuple[int, int]:
    from_us = 0 if wanted.from_us is None else wanted.from_us
    until_us = end_us if wanted.until_us is None else min(wanted.until_us, max(end_us, from_us))
    if wanted.until_us is not None and wanted.until_us <= from_us:
        raise ExportError(
            f"the time from {format_us(from_us)} until {format_us(wanted.until_us)} is none: "
            "--from has to be before --until"
        )
    return from_us, until_us


def _read(lines: FileRecords, first: int, last: int, until_us: int, tell: Callable[[str], object]) -> SpaceTime:
    """The window in space and time, from the keyframe before it."""
    keyframe = lines.keyframe_before(first - 1)
    start = None if keyframe is None else lines.record(keyframe)
    begin = keyframe + 1 if keyframe is not None and isinstance(start, Keyframe) else 1
    space = SpaceTime(lines.header, start.snapshot if isinstance(start, Keyframe) else None)
    for number, record in enumerate(lines.records(begin), begin):
        if number > last and number % _BETWEEN_LOOKS == 0 and not _has_open(space, until_us):
            break
        space.observe(record)
        tell(f"{number:,} of {last + 1:,} records read")
    return space


def _has_open(space: SpaceTime, until_us: int) -> bool:
    return any(arrow.end is None and arrow.sent.at_us <= until_us for arrow in space.arrows)

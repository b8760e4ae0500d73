"""The layout of the space-time diagram: a lane for each node, and time along the lanes.

*Along* is the direction in which time flows, down or to the right; *across* is the direction from node to node.
Positions are cells in the terminal and pixels in a picture. An axis gives each point of a run its position along.

Elections are bursts of milliseconds between seconds of silence, so a linear axis alone cannot show both. The
finest axis of the terminal has a row for each record that shows anything, whatever the time between them. Where
nothing happened for longer than a message may take, an extra row tells how long. The axes of pictures are in
``lab.export.figure_axes``.
"""

import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Generic, TypeVar

from msgspec import Struct

from lab.analysis.delivery import DeliveryTracker
from lab.analysis.group_history import RecordedMoment
from lab.analysis.spacetime import MessageEdge
from lab.kernel import Received, Step
from lab.recording.log_lines import count_lines
from lab.recording.records import Header, Keyframe, Process, Record, Routed
from lab.recording.snapshot import ActiveFault, InFlightMessage
from lab.units import format_us

N = TypeVar("N", int, float)
Position = tuple[float, float]

REACH = {"lost": 0.55, "cut": 0.55, "not sent": 0.15, "receiver down": 0.93, "in flight": 0.8, "held": 0.5}
"""The part of the way between two lanes that the arrow of a message covers if it does not arrive, by its fate."""


class Layout(Struct, Generic[N], frozen=True):
    """The lanes. Time begins at the position ``origin``; ``pitch`` is the distance from lane to lane."""

    down: bool
    lanes: dict[int, N]
    pitch: N
    origin: N

    def xy(self, along: float, across: float) -> Position:
        """Return a point of the diagram as columns and rows, or as pixels."""
        return (across, along + self.origin) if self.down else (along + self.origin, across)

    def ends(self, edge: MessageEdge) -> tuple[N, N] | None:
        """Return the lanes of the sender and the receiver; None if they are the same, or both are not shown.

        A node that is not shown has a lane beyond the border.
        """
        source, target = edge.ends
        if source == target or (source not in self.lanes and target not in self.lanes):
            return None
        return self._lane(source, before=source < target), self._lane(target, before=target < source)

    def gaps(self, fault: ActiveFault) -> Iterator[tuple[N, N, bool]]:
        """Yield the neighbouring lanes whose links the fault affects, and whether it affects both directions."""
        links = set(fault.links)
        for (node, lane), (other, next_lane) in pairwise(self.lanes.items()):
            affected = ((node, other) in links) + ((other, node) in links)
            if affected:
                yield lane, next_lane, affected == 2

    def _lane(self, node: int, before: bool) -> N:
        if node in self.lanes:
            return self.lanes[node]
        return min(self.lanes.values()) - self.pitch if before else max(self.lanes.values()) + self.pitch


def fan_out_of(edge: MessageEdge) -> tuple[int | str, ...]:
    """Return what the messages of a fan-out have in common: those of a kind, sent by a node in one step."""
    line = edge.line
    return line.message if line.record < 0 else (edge.ends[0], line.record, line.kind)


# many messages in a cell of time

FEW = 3
"""The most messages within one cell of time that are drawn one by one."""


def dense_cells(
    messages: Iterable[MessageEdge], cell_of: Callable[[MessageEdge], int | None]
) -> dict[int, list[MessageEdge]]:
    """Return the messages of each cell of time that has too many to draw one by one.

    ``cell_of`` returns the cell that a message is in; None if it is in no single one.
    """
    cells: dict[int, list[MessageEdge]] = {}
    for edge in messages:
        cell = cell_of(edge)
        if cell is not None:
            cells.setdefault(cell, []).append(edge)
    return {cell: many for cell, many in cells.items() if len(many) > FEW}


def passing(layout: Layout[N], messages: Iterable[MessageEdge]) -> tuple[Counter[tuple[N, N]], set[tuple[N, N]]]:
    """Return how many messages pass between each two neighbouring lanes, and where one of them is lost."""
    gaps = list(pairwise(sorted(layout.lanes.values())))
    counts: Counter[tuple[N, N]] = Counter()
    lost: set[tuple[N, N]] = set()
    for edge in messages:
        ends = layout.ends(edge)
        if ends is None:
            continue
        low, high = sorted(ends)
        crossed = [gap for gap in gaps if low <= gap[0] and gap[1] <= high]
        counts.update(crossed)
        if not edge.arrived:
            lost.update(crossed)
    return counts, lost


# axes of time

ROWS_US = (200, 1_000, 5_000, 20_000, 100_000, 500_000, 2_000_000, 10_000_000, 60_000_000)
"""The levels of zoom: the time of a row."""
_UNITS_US = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
_TICKS_US = [digit * unit_us for unit_us in _UNITS_US for digit in (1, 2, 5)]
_TICKS_APART = {True: 5, False: 16}
"""The least cells between ticks, if time flows down and if it flows to the right."""


def tick_at_least(us: float) -> int:
    """Return the least round time that is no shorter."""
    return next((tick_us for tick_us in _TICKS_US if tick_us >= us), _TICKS_US[-1])


class LinearAxis:
    """An axis of cells that represent ``us`` microseconds each."""

    step = 1

    def __init__(self, us: int) -> None:
        self.us = us

    @property
    def unit_text(self) -> str:
        return format_us(self.us)

    def place(self, point: RecordedMoment) -> float:
        return point.at_us / self.us

    def key(self, point: RecordedMoment) -> int:
        """Return the number by which ``span`` counts."""
        return point.at_us

    def span(self, top: int, along: int) -> tuple[int, int]:
        """Return the first and the last key in the ``along`` cells from ``top`` on."""
        return top * self.us, (top + along) * self.us - 1

    def ticks(self, top: int, along: int, down: bool) -> Iterator[tuple[int, str]]:
        """Yield the cells after ``top`` that have a label, and the labels, in seconds."""
        tick_us = tick_at_least(_TICKS_APART[down] * self.us)
        digits = 0 if tick_us >= 1_000_000 else 4 if self.us < 1_000 else 3
        at_us = max(0, -(-top * self.us // tick_us) * tick_us)
        while (place := at_us // self.us - top) < along:
            yield place, f"{at_us / 1e6:.{digits}f}{'' if digits else ' s'}"
            at_us += tick_us

    def idle_periods(self, top: int, along: int) -> Iterator[tuple[int, int]]:
        """Yield the cells after ``top`` that stand for a time in which nothing happened, and its length."""
        return iter(())


class RecordAxis:
    """An axis of cells in which a row takes ``step`` cells."""

    us = 0
    unit_text = "a step"

    def __init__(self, order: "RowOrder", step: int) -> None:
        self.order = order
        self.step = step

    def place(self, point: RecordedMoment) -> float:
        """Return the middle of the cell of a point."""
        return self.order.row(point.record) * self.step + 0.5

    def key(self, point: RecordedMoment) -> int:
        return point.record

    def span(self, top: int, along: int) -> tuple[int, int]:
        order = self.order
        first = bisect_left(order.rows, top // self.step)
        last = bisect_right(order.rows, (top + along - 1) // self.step) - 1
        return (
            order.numbers[first] if first < len(order.numbers) else sys.maxsize,
            order.numbers[last] if last >= 0 else -1,
        )

    def ticks(self, top: int, along: int, down: bool) -> Iterator[tuple[int, str]]:
        before, free_from = "", 0
        for place, row in self._rows(top, along):
            found = self.order.at(row)
            clock = "" if found is None else f"{found[1] / 1e6:.3f}"
            if clock not in ("", before) and place >= free_from:
                yield place, clock
                before, free_from = clock, place + (0 if down else len(clock) + 2)

    def idle_periods(self, top: int, along: int) -> Iterator[tuple[int, int]]:
        for place, row in self._rows(top, along):
            idle_us = self.order.idle_us(row)
            if idle_us is not None:
                yield place, idle_us

    def _rows(self, top: int, along: int) -> Iterator[tuple[int, int]]:
        """Yield the cells after ``top`` in which a row begins, and the rows."""
        return ((place, (place + top) // self.step) for place in range(along) if not (place + top) % self.step)


Axis = LinearAxis | RecordAxis


_SEEN = ("dropped", "held", "released")


class RowOrder:
    """The rows of records, numbered from 0 at the first one observed.

    ``numbers`` are the records that have a row, ``rows`` their rows. Messages of the kinds ``hidden`` have no
    rows; ``in_flight`` are the messages in flight at the start.
    """

    def __init__(self, hidden: Iterable[str], idle_us: int, in_flight: Iterable[InFlightMessage] = ()) -> None:
        self.numbers: list[int] = []
        self.rows: list[int] = []
        self._times_us: list[int] = []
        self._kinds = frozenset(hidden)
        self._idle_us = idle_us
        self._newest_us: int | None = None
        self._hidden = DeliveryTracker()
        """The messages without rows, as long as copies of them are in flight."""
        for flight in in_flight:
            if flight.kind in self._kinds:
                self._hidden.sent((flight.source, flight.serial), flight.copies)

    @property
    def end(self) -> int:
        """The row after the last one."""
        return self.rows[-1] + 1 if self.rows else 0

    def observe(self, number: int, record: Record | None) -> None:
        if record is None or isinstance(record, Header):
            return
        shows = self._shows(record)
        self._hidden.observe(record)
        if not shows:
            return
        is_idle = self._newest_us is not None and record.at_us - self._newest_us > self._idle_us
        self.rows.append(self.end + is_idle)
        self.numbers.append(number)
        self._newest_us = max(self._newest_us or 0, record.at_us)
        self._times_us.append(self._newest_us)

    def row(self, record: int) -> int:
        """Return the row of a record, or of the last one before it that has a row; -1 if there is none."""
        place = bisect_right(self.numbers, record) - 1
        return self.rows[place] if place >= 0 else (self.rows[0] - 1 if self.rows else -1)

    def at(self, row: int) -> tuple[int, int] | None:
        """Return (record, time) of a row; None for an idle row, and for no row."""
        place = bisect_left(self.rows, row)
        if place < len(self.rows) and self.rows[place] == row:
            return self.numbers[place], self._times_us[place]
        return None

    def idle_us(self, row: int) -> int | None:
        """Return the length of an idle row; None for any other row."""
        place = bisect_left(self.rows, row)
        if not 0 < place < len(self.rows) or self.rows[place] == row:
            return None
        return self._times_us[place] - self._times_us[place - 1]

    def forget(self, before: int) -> None:
        """Forget the records before this one. The rows keep their numbers."""
        place = bisect_left(self.numbers, before)
        del self.numbers[:place], self.rows[:place], self._times_us[:place]

    def _shows(self, record: Record) -> bool:
        if isinstance(record, Step):
            return self._shows_step(record)
        if isinstance(record, Routed):
            return record.fate in _SEEN and (record.source, record.serial) not in self._hidden
        return isinstance(record, Process) or (not isinstance(record, Keyframe) and count_lines(record) > 0)

    def _shows_step(self, step: Step) -> bool:
        unseen = [message for message in step.sent if message.kind in self._kinds]
        for message in unseen:
            self._hidden.sent((step.node, message.serial))
        given = step.input
        received = isinstance(given, Received) and (given.source, given.serial) not in self._hidden
        return received or count_lines(step) > len(unseen)

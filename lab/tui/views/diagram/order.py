"""The finest scale of the diagram: a row for each record that shows anything.

Many things happen within a millisecond, and then nothing for a second. So rows count records, not time. Where
nothing happened for longer than a message may take, an extra row tells how long.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from lab.analysis.delivery import DeliveryTracker
from lab.kernel import Received, Step
from lab.recording.log_lines import count_lines
from lab.recording.records import Header, Keyframe, Process, Record, Routed
from lab.recording.snapshot import InFlightMessage

__all__ = ["RowOrder"]

_SEEN = ("dropped", "held", "released")


class RowOrder:
    """The rows, numbered from 0 at the window's start.

    ``numbers`` are the records that have a row, ``rows`` their rows. Messages of the kinds ``hidden`` have no
    rows; ``in_flight`` are the messages in flight at the start.
    """

    def __init__(self, hidden: Iterable[str], quiet_us: int, in_flight: Iterable[InFlightMessage] = ()) -> None:
        self.numbers: list[int] = []
        self.rows: list[int] = []
        self._times_us: list[int] = []
        self._kinds = frozenset(hidden)
        self._quiet_us = quiet_us
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
        """Add the next record."""
        if record is None or isinstance(record, Header):
            return
        shows = self._shows(record)
        self._hidden.observe(record)
        if not shows:
            return
        quiet = self._newest_us is not None and record.at_us - self._newest_us > self._quiet_us
        self.rows.append(self.end + quiet)
        self.numbers.append(number)
        self._newest_us = max(self._newest_us or 0, record.at_us)
        self._times_us.append(self._newest_us)

    def row(self, record: int) -> int:
        """Return the row of a record, or of the last one before it that has a row; -1 if there is none."""
        place = bisect_right(self.numbers, record) - 1
        return self.rows[place] if place >= 0 else (self.rows[0] - 1 if self.rows else -1)

    def at(self, row: int) -> tuple[int, int] | None:
        """Return (record, time) of a row; None for a quiet row, and for no row."""
        place = bisect_left(self.rows, row)
        if place < len(self.rows) and self.rows[place] == row:
            return self.numbers[place], self._times_us[place]
        return None

    def quiet_us(self, row: int) -> int | None:
        """Return the length of a quiet row; None for any other row."""
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

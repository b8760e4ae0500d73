"""Filter the lines of a log by a query, a chunk at a time, so that the interface can redraw in between.

A line is identified by one number: its record, and its position among the lines of that record. The matching lines
are a sorted array of these numbers, eight bytes each, so counting the lines up to a record is a bisection.

The outcome of a message is known only later. ``fate:`` refers to the last known outcome among the records
examined: the final one in a recording, the present one in a run in progress. So a line may start or stop matching
after later lines have been examined.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator

from lab.analysis.delivery import DeliveryTracker
from lab.recording.log_lines import LogLine, lines_of
from lab.recording.reader import FileRecords, RecordStore
from lab.recording.records import Header, Record
from lab.script.predicate_fold import PredicateFold
from lab.script.query import Query, matches

__all__ = ["LogFilter"]

_BITS = 20
_PLACES = (1 << _BITS) - 1
_AT_ONCE = 200
_CHUNK = 1 << 18
_RECORD_OF = {"process": "process", "command": "command", "expectation": "expected", "end": "end"}
"""For a sort of line: the only kind of record with such lines."""


class LogFilter:
    """The lines of a log that match ``query``. Messages of the ``hidden`` kinds never match.

    ``text`` returns a line as it is shown, in lower case. ``done``: how many records have been examined.
    """

    def __init__(
        self, query: Query, lines: RecordStore, hidden: Collection[str], text: Callable[[LogLine], str]
    ) -> None:
        self.query = query
        self.done = 0
        self._lines = lines
        self._hidden = frozenset(hidden)
        self._text = text
        self._hits = array("Q")
        self._fold = None if query.predicate is None else PredicateFold(query.predicate, lines.header)
        self._outcomes = DeliveryTracker()
        self._open: dict[tuple[int, int], tuple[int, LogLine]] = {}
        """Lines of messages whose outcome is not final yet, by message; each with its number."""

    def __len__(self) -> int:
        return len(self._hits)

    @property
    def complete(self) -> bool:
        """True if all records that exist by now have been examined."""
        return self.done >= len(self._lines)

    def work(self) -> Iterator[None]:
        """Examine the records that exist by now; yield after each chunk."""
        needle = _needle(self.query)
        if needle and isinstance(self._lines, FileRecords) and not self.done:
            for share, numbers in self._lines.find((needle,), _CHUNK):
                for number in numbers:
                    self._examine(number, self._lines.record(number))
                self.done = bisect_left(self._lines.offsets, round(share * self._lines.offsets[-1]))
                yield
            self.done = len(self._lines)
        while not self.complete:
            end = min(self.done + _AT_ONCE, len(self._lines))
            for number in range(self.done, end):
                self._examine(number, self._lines.record(number))
            self.done = end
            yield

    def upto(self, record: int) -> int:
        """Return the number of matching lines up to this record."""
        return bisect_left(self._hits, (record + 1) << _BITS)

    def at(self, index: int) -> tuple[int, int]:
        """Return (record, position in it) of the matching line with this index."""
        hit = self._hits[index]
        return hit >> _BITS, hit & _PLACES

    def index(self, record: int, place: int) -> int:
        """Return the number of matching lines before this position."""
        return bisect_left(self._hits, record << _BITS | place)

    def has(self, record: int, place: int) -> bool:
        """Return whether the line at this position matches."""
        index = self.index(record, place)
        return index < len(self._hits) and self._hits[index] == record << _BITS | place

    def near(self, record: int, place: int | None, forward: bool) -> int | None:
        """Return the index of the nearest matching line after, or before, a position in a record; None if none.

        Without a ``place``, the search starts after, or before, the whole record.
        """
        if forward:
            index = bisect_right(self._hits, record << _BITS | (_PLACES if place is None else place))
            return index if index < len(self._hits) else None
        index = bisect_left(self._hits, record << _BITS | (place or 0)) - 1
        return index if index >= 0 else None

    def _examine(self, number: int, record: Record | None) -> None:
        holds = self._fold is None or self._fold.observe(record)
        if record is None or isinstance(record, Header):
            return
        if self._open:
            self._on_delivery(record)
        if not holds:
            return
        for place, line in enumerate(lines_of(number, record)[:_PLACES]):
            if line.kind in self._hidden:
                continue
            hit = number << _BITS | place
            if line.what == "message" and self.query.depends_on_outcome:
                self._open[line.message] = (hit, line)
                self._outcomes.sent(line.message)
            if matches(self.query, line, "in flight", self._text):
                self._hits.append(hit)

    def _on_delivery(self, record: Record) -> None:
        """Add or remove the line of a message whose outcome this record changes."""
        turn = self._outcomes.observe(record)
        if turn is None or turn.again:
            return
        hit, line = self._open[turn.message]
        if turn.is_final:
            del self._open[turn.message]
        index = bisect_left(self._hits, hit)
        is_found = index < len(self._hits) and self._hits[index] == hit
        if matches(self.query, line, turn.fate, self._text) != is_found:
            if is_found:
                del self._hits[index]
            else:
                self._hits.insert(index, hit)


def _needle(query: Query) -> bytes:
    """Return bytes that occur in every record with a matching line; empty if none are known."""
    if query.predicate is not None or query.depends_on_outcome:
        return b""
    for term in query.terms:
        if term.field == "kind" and not term.negated:
            return f'"kind":"{term.value}"'.encode()
        if term.field == "what" and not term.negated and term.value in _RECORD_OF:
            return f'{{"record":"{_RECORD_OF[term.value]}"'.encode()
    return b""

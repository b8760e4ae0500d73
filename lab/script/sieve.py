"""Which lines of a log match a query: found a piece at a time, so that whoever looks for them can go on drawing.

A line is known by one number, of its record and its place among the record's lines. So the lines found are an
array of numbers in order, eight bytes each; how many there are up to a record is found by bisection.

What became of a message is known only later. ``fate:`` means the last that is known of it at the end of what was
sifted: in a recording its final fate, in a run that goes on the one it has now. So a line may be found later than
those behind it, or be lost again.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator

from lab.analysis.delivery import Fates
from lab.recording.log_lines import LogLine, lines_of
from lab.recording.reader import FileRecords, RecordStore
from lab.recording.records import Header, Record
from lab.script.query import Query, matches
from lab.script.sight import Sight

__all__ = ["Sieve"]

_BITS = 20
_PLACES = (1 << _BITS) - 1
_AT_ONCE = 200
_CHUNK = 1 << 18
_RECORD_OF = {"process": "process", "command": "command", "expectation": "expected", "end": "end"}
"""The records whose only line is of such a sort."""


class Sieve:
    """The lines of ``query`` among those of a log. ``hidden`` are kinds of messages that are never found.

    ``text`` tells how a line is shown, in small letters. ``done`` is how many records were sifted so far.
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
        self._sight = None if query.predicate is None else Sight(query.predicate, lines.header)
        self._fates = Fates()
        self._open: dict[tuple[int, int], tuple[int, LogLine]] = {}
        """Lines that may be found, or lost again, when their messages meet their fates."""

    def __len__(self) -> int:
        return len(self._hits)

    @property
    def complete(self) -> bool:
        """Whether all records that there are by now were sifted."""
        return self.done >= len(self._lines)

    def work(self) -> Iterator[None]:
        """Sift what there is by now, a piece at a time."""
        needle = _needle(self.query)
        if needle and isinstance(self._lines, FileRecords) and not self.done:
            for share, numbers in self._lines.find((needle,), _CHUNK):
                for number in numbers:
                    self._sift(number, self._lines.record(number))
                self.done = bisect_left(self._lines.offsets, round(share * self._lines.offsets[-1]))
                yield
            self.done = len(self._lines)
        while not self.complete:
            end = min(self.done + _AT_ONCE, len(self._lines))
            for number in range(self.done, end):
                self._sift(number, self._lines.record(number))
            self.done = end
            yield

    def upto(self, record: int) -> int:
        """How many lines were found up to that record."""
        return bisect_left(self._hits, (record + 1) << _BITS)

    def at(self, index: int) -> tuple[int, int]:
        """(record, place in it) of one of the lines found."""
        hit = self._hits[index]
        return hit >> _BITS, hit & _PLACES

    def index(self, record: int, place: int) -> int:
        """How many lines were found before that one."""
        return bisect_left(self._hits, record << _BITS | place)

    def has(self, record: int, place: int) -> bool:
        """Whether that line was found."""
        index = self.index(record, place)
        return index < len(self._hits) and self._hits[index] == record << _BITS | place

    def near(self, record: int, place: int | None, forward: bool) -> int | None:
        """The index of the first line found after that place of the record, or before it; None: there is none.

        Without a ``place`` it is after the whole record, or before it.
        """
        if forward:
            index = bisect_right(self._hits, record << _BITS | (_PLACES if place is None else place))
            return index if index < len(self._hits) else None
        index = bisect_left(self._hits, record << _BITS | (place or 0)) - 1
        return index if index >= 0 else None

    def _sift(self, number: int, record: Record | None) -> None:
        holds = self._sight is None or self._sight.observe(record)
        if record is None or isinstance(record, Header):
            return
        if self._open:
            self._settle(record)
        if not holds:
            return
        for place, line in enumerate(lines_of(number, record)[:_PLACES]):
            if line.kind in self._hidden:
                continue
            hit = number << _BITS | place
            if line.what == "message" and self.query.names_fates:
                self._open[line.message] = (hit, line)
                self._fates.sent(line.message)
            if matches(self.query, line, "in flight", self._text):
                self._hits.append(hit)

    def _settle(self, record: Record) -> None:
        """See whether a message has another fate by this record, and is found by that, or is not any more."""
        turn = self._fates.observe(record)
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
    """What is in the bytes of every record that has a line of the query; nothing, where that is not known."""
    if query.predicate is not None or query.names_fates:
        return b""
    for term in query.terms:
        if term.field == "kind" and not term.negated:
            return f'"kind":"{term.value}"'.encode()
        if term.field == "what" and not term.negated and term.value in _RECORD_OF:
            return f'{{"record":"{_RECORD_OF[term.value]}"'.encode()
    return b""

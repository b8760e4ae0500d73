"""The rows of the message log: any of a million, without reading the million.

Keyframes say how many lines the log has at them, and how many of those are heartbeats; so the page that a
row is on is found by bisection, with heartbeats shown or hidden, and only that page is decoded. Where a filter
is on, its sieve knows the records of the rows, and each of them is a page of its own.
"""

from bisect import bisect_right

from lab.analysis.delivery import Ending, LogPage
from lab.recording.cluster_state import ClusterState
from lab.recording.log_lines import LogLine, lines_of
from lab.recording.reader import RecordStore
from lab.script import Sieve

__all__ = ["LogRows"]

_KEPT_PAGES = 12
_KEPT_RECORDS = 400
_LOOK_AHEAD = 4000
"""So many records past a page's end the fates of its messages are looked for."""


class _Page(LogPage):
    def __init__(self, start: int, end: int | None) -> None:
        super().__init__(start, end)
        self.visible: list[LogLine] = []
        self.sifted = 0


class LogRows:
    """Rows of the log up to a record. ``heartbeats``: whether they are shown.

    With a ``filter`` there are the rows of its lines alone, as far as it has found them.
    """

    def __init__(self, lines: RecordStore, growing: bool) -> None:
        self.heartbeats = False
        self.filter: Sieve | None = None
        self._lines = lines
        self._growing = growing
        self._hidden = frozenset(lines.header.protocol.heartbeats)
        self._pages: dict[int, _Page] = {}
        self._records: dict[int, LogPage] = {}
        self._first_rows = [0]
        self._starts_of = (0, False)

    def count(self, cluster: ClusterState) -> int:
        """How many rows there are up to the record that the cluster is at."""
        return self.count_of_all(cluster) if self.filter is None else self.filter.upto(cluster.record)

    def count_of_all(self, cluster: ClusterState) -> int:
        """How many there would be without a filter."""
        return cluster.lines if self.heartbeats else cluster.lines - self.hidden_count(cluster)

    def hidden_count(self, cluster: ClusterState) -> int:
        """How many of the lines so far are heartbeats."""
        return sum(cluster.messages.get(kind, 0) for kind in self._hidden)

    def counts(self, cluster: ClusterState) -> tuple[int, int]:
        """(rows, heartbeats) up to there."""
        return self.count(cluster), self.hidden_count(cluster)

    def hid(self, before: tuple[int, int], cluster: ClusterState, said: str) -> bool:
        """Whether what happened since those counts was a heartbeat without a row; ``said`` is that in words."""
        rows, heartbeats = self.counts(cluster)
        if self.heartbeats or rows != before[0]:
            return False
        return heartbeats > before[1] or said.partition(" ")[0] in self._hidden

    def row(self, index: int, number: int) -> tuple[LogLine, Ending | None] | None:
        """(line, fate) of a row as of record ``number``; None where there is no such row."""
        if self.filter is not None:
            return self._sifted_row(self.filter, index, number)
        starts = self._starts()
        place = bisect_right(starts, index) - 1
        page = self._page(place, number)
        lines = page.lines if self.heartbeats else page.visible
        inside = index - starts[place]
        if inside >= len(lines) or lines[inside].record > number:
            return None
        line = lines[inside]
        return line, page.ending(line, number)

    def row_of(self, record: int, place: int, cluster: ClusterState) -> int:
        """The row of the line with that place in the record that the cluster is at."""
        if self.filter is not None:
            return self.filter.index(record, place)
        after = self._lines_in(record)[place:]
        return self.count(cluster) - sum(line.kind not in self.hidden_kinds for line in after)

    def place_of(self, line: LogLine) -> int:
        """Its place among the lines of its record."""
        return self._lines_in(line.record).index(line)

    @property
    def hidden_kinds(self) -> frozenset[str]:
        """The kinds of messages that have no rows now."""
        return frozenset() if self.heartbeats else self._hidden

    def _lines_in(self, number: int) -> list[LogLine]:
        record = self._lines.record(number)
        return [] if record is None else lines_of(number, record)

    def _sifted_row(self, sieve: Sieve, index: int, number: int) -> tuple[LogLine, Ending | None] | None:
        if index >= len(sieve):
            return None
        record, place = sieve.at(index)
        if record > number:
            return None
        page = self._records.pop(record, None) or LogPage(record, record + 1)
        self._records[record] = page
        if len(self._records) > _KEPT_RECORDS:
            del self._records[next(iter(self._records))]
        self._feed(page, number)
        return page.lines[place], page.ending(page.lines[place], number)

    def _starts(self) -> list[int]:
        """The first row of each page."""
        at = self._lines.lines_at
        if self._starts_of != (len(at), self.heartbeats):
            hidden = [0] * len(at) if self.heartbeats else self._lines.heartbeats_at
            self._first_rows = [0, *(lines - of_them for lines, of_them in zip(at, hidden, strict=True))]
            self._starts_of = (len(at), self.heartbeats)
        return self._first_rows

    def _page(self, place: int, number: int) -> _Page:
        keyframes = self._lines.keyframes
        page = self._pages.pop(place, None)
        if page is None:
            page = _Page(keyframes[place - 1] if place else 0, None)
        self._pages[place] = page
        if len(self._pages) > _KEPT_PAGES:
            del self._pages[next(iter(self._pages))]
        if page.end is None:
            if place < len(keyframes):
                page.end = keyframes[place]
            elif not self._growing:
                page.end = len(self._lines)
        self._feed(page, number)
        if page.sifted < len(page.lines):
            page.visible += [line for line in page.lines[page.sifted :] if line.kind not in self._hidden]
            page.sifted = len(page.lines)
        return page

    def _feed(self, page: LogPage, number: int) -> None:
        """Give the page what it needs to tell its lines and their fates as of that record."""
        upto = min(len(self._lines), number + 1)
        if page.end is not None:
            upto = min(upto, max(page.end, page.fed_to) + _LOOK_AHEAD)
        while page.fed_to < upto and not page.settled:
            page.feed(self._lines.record(page.fed_to))

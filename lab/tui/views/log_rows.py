"""The rows of the message log: any one of a million, without reading the million.

Keyframes hold the number of log lines before them, and how many of those are heartbeats. So the page of a row is
found by bisection, with heartbeats shown or hidden, and only that page is decoded. With a filter, the filter knows
the records of the matching lines, and each record is a page of its own.
"""

from bisect import bisect_right

from lab.analysis.delivery import DeliveryOutcome, LogPage
from lab.recording.cluster_state import ClusterState
from lab.recording.log_lines import LogLine, lines_of
from lab.recording.reader import RecordStore
from lab.script.query import LogFilter

_KEPT_PAGES = 12
_KEPT_RECORDS = 400
_OUTCOME_WINDOW = 4000
"""Records after a page's end that are searched for the delivery outcomes of its messages."""


class _Page(LogPage):
    def __init__(self, start: int, end: int | None) -> None:
        super().__init__(start, end)
        self.visible: list[LogLine] = []
        self.filtered = 0


class LogRows:
    """The rows of the log up to a record. ``heartbeats``: whether they are shown.

    With a ``filter``, only the matching lines found so far.
    """

    def __init__(self, store: RecordStore, growing: bool) -> None:
        self.heartbeats = False
        self.filter: LogFilter | None = None
        self._store = store
        self._growing = growing
        self._hidden = frozenset(store.header.protocol.heartbeats)
        self._pages: dict[int, _Page] = {}
        self._records: dict[int, LogPage] = {}
        self._first_rows = [0]
        self._starts_of = (0, False)

    def count(self, cluster: ClusterState) -> int:
        """Return the number of rows up to the cluster's record."""
        return self.count_of_all(cluster) if self.filter is None else self.filter.upto(cluster.record)

    def count_of_all(self, cluster: ClusterState) -> int:
        """Return the number of rows without a filter."""
        return cluster.lines if self.heartbeats else cluster.lines - self.hidden_count(cluster)

    def hidden_count(self, cluster: ClusterState) -> int:
        """Return the number of heartbeats so far."""
        return sum(cluster.messages.get(kind, 0) for kind in self._hidden)

    def counts(self, cluster: ClusterState) -> tuple[int, int]:
        """Return (rows, heartbeats) so far."""
        return self.count(cluster), self.hidden_count(cluster)

    def is_hidden_step(self, before: tuple[int, int], cluster: ClusterState, label: str) -> bool:
        """Return whether the event since ``before`` was a heartbeat without a row; ``label`` describes it."""
        rows, heartbeats = self.counts(cluster)
        if self.heartbeats or rows != before[0]:
            return False
        return heartbeats > before[1] or label.partition(" ")[0] in self._hidden

    def row(self, index: int, number: int) -> tuple[LogLine, DeliveryOutcome | None] | None:
        """Return (line, delivery outcome) of a row as of record ``number``, or None if there is no such row."""
        if self.filter is not None:
            return self._filtered_row(self.filter, index, number)
        starts = self._starts()
        place = bisect_right(starts, index) - 1
        page = self._page(place, number)
        lines = page.lines if self.heartbeats else page.visible
        inside = index - starts[place]
        if inside >= len(lines) or lines[inside].record > number:
            return None
        line = lines[inside]
        return line, page.outcome(line, number)

    def row_of(self, record: int, place: int, cluster: ClusterState) -> int:
        """Return the row of the line at ``place`` in ``record``, which is the cluster's record."""
        if self.filter is not None:
            return self.filter.index(record, place)
        after = self._lines_in(record)[place:]
        return self.count(cluster) - sum(line.kind not in self.hidden_kinds for line in after)

    def place_of(self, line: LogLine) -> int:
        """Return the line's place among the lines of its record."""
        return self._lines_in(line.record).index(line)

    @property
    def hidden_kinds(self) -> frozenset[str]:
        """The message kinds that are hidden now."""
        return frozenset() if self.heartbeats else self._hidden

    def _lines_in(self, number: int) -> list[LogLine]:
        record = self._store.record(number)
        return [] if record is None else lines_of(number, record)

    def _filtered_row(
        self, log_filter: LogFilter, index: int, number: int
    ) -> tuple[LogLine, DeliveryOutcome | None] | None:
        if index >= len(log_filter):
            return None
        record, place = log_filter.at(index)
        if record > number:
            return None
        page = self._records.pop(record, None) or LogPage(record, record + 1)
        self._records[record] = page
        if len(self._records) > _KEPT_RECORDS:
            del self._records[next(iter(self._records))]
        self._feed(page, number)
        return page.lines[place], page.outcome(page.lines[place], number)

    def _starts(self) -> list[int]:
        """Return the first row of each page."""
        at = self._store.lines_at
        if self._starts_of != (len(at), self.heartbeats):
            hidden = [0] * len(at) if self.heartbeats else self._store.heartbeats_at
            self._first_rows = [0, *(lines - of_them for lines, of_them in zip(at, hidden, strict=True))]
            self._starts_of = (len(at), self.heartbeats)
        return self._first_rows

    def _page(self, place: int, number: int) -> _Page:
        keyframes = self._store.keyframes
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
                page.end = len(self._store)
        self._feed(page, number)
        if page.filtered < len(page.lines):
            page.visible += [line for line in page.lines[page.filtered :] if line.kind not in self._hidden]
            page.filtered = len(page.lines)
        return page

    def _feed(self, page: LogPage, number: int) -> None:
        """Feed the page the records that decide its lines and their outcomes as of ``number``."""
        upto = min(len(self._store), number + 1)
        if page.end is not None:
            upto = min(upto, max(page.end, page.fed_to) + _OUTCOME_WINDOW)
        while page.fed_to < upto and not page.settled:
            page.feed(self._store.record(page.fed_to))

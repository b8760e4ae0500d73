"""The marks on the scrub bar, computed fast enough for recordings of a million records."""

from bisect import bisect_left
from collections.abc import Iterator

from lab.analysis.marks import Places
from lab.recording.log_lines import lines_of
from lab.text import sanitize
from lab.tui.run.source import Source
from lab.units import format_count

__all__ = ["BarMarks"]

_ORDER = ("bookmark", "violation", "unmet", "fault", "mark", "caption", "election", "status")
"""The kinds of marks by weight; the user's own bookmarks are never hidden."""
_MOST_TEXTS = 4
_LONGEST = 60


class BarMarks:
    """The marks of a run in the cells of a bar, from the start of the run to ``end_us``."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._violated = Places()

    @property
    def count(self) -> tuple[int, ...]:
        """A value that changes whenever there is something new to draw."""
        source = self._source
        return len(source.marks.records), len(source.judge.violations), source.bookmarks.changes

    def cells(self, width: int, end_us: int) -> dict[int, str]:
        """Return the weightiest kind of mark in each cell that has one."""
        found: dict[int, str] = {}
        for kind, places in self._layers():
            for cell in _cells_of(places, width, end_us):
                found.setdefault(cell, kind)
        return found

    def marks_in_cell(self, cell: int, width: int, end_us: int) -> list[tuple[str, str]]:
        """Return (kind, text) of the marks in a cell, the weightiest first, and how many more there are."""
        texts: list[tuple[str, str]] = []
        more = 0
        for kind, places in self._layers():
            first = bisect_left(places.times_us, _begin_us(cell, width, end_us))
            behind = bisect_left(places.times_us, _begin_us(cell + 1, width, end_us))
            behind = len(places) if cell == width - 1 else behind
            for record in places.records[first : min(behind, first + _MOST_TEXTS - len(texts))]:
                texts.append((kind, self._describe(kind, record)))
                first += 1
            more += max(0, behind - first)
        return [*texts, *([("", f"and {format_count(more, 'mark')} more")] if more else [])]

    def _layers(self) -> Iterator[tuple[str, Places]]:
        """Return the places of each kind of mark, the weightiest kind first."""
        source = self._source
        places: dict[str, Places] = dict(source.marks.places.items())
        places |= {"bookmark": source.bookmarks.places, "violation": self._violations()}
        return ((kind, places[kind]) for kind in _ORDER if kind in places)

    def _violations(self) -> Places:
        violations = self._source.judge.violations
        if len(violations) != len(self._violated):
            self._violated = Places()
            for violation in violations:
                self._violated.add(violation.record, violation.at_us)
        return self._violated

    def _describe(self, kind: str, number: int) -> str:
        source = self._source
        if kind == "bookmark" and (bookmark := source.bookmarks.at(number)):
            return sanitize(bookmark.note, _LONGEST) or "a bookmark"
        if kind == "violation":
            return next(f"{each.assertion} violated" for each in source.judge.violations if each.record == number)
        record = source.store.record(number)
        line = next(iter(lines_of(number, record)), None) if record is not None else None
        if line is None:
            return kind
        who = "" if line.source is None else f"{line.source} "
        return sanitize(f"{who}{line.text}", _LONGEST)


def _cells_of(places: Places, width: int, end_us: int) -> Iterator[int]:
    """Yield each cell with a mark once, in one step per such cell, not per mark."""
    place = 0
    while place < len(places):
        cell = min(width - 1, places.times_us[place] * (width - 1) // end_us)
        yield cell
        if cell == width - 1:
            return
        place = bisect_left(places.times_us, _begin_us(cell + 1, width, end_us), place + 1)


def _begin_us(cell: int, width: int, end_us: int) -> int:
    """Return the first instant of a cell."""
    return -(-cell * end_us // (width - 1))

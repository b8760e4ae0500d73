"""The scrub bar: the whole run as a line, with the cursor, the marks, and above them the density of records.

The marks are found fast enough for recordings of a million records.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from math import isqrt

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget

from lab.analysis.marks import Places
from lab.recording.log_lines import LogLine, lines_of
from lab.styles import DIM, ThemeStyles
from lab.text import sanitize
from lab.tui.player import Player, format_pace
from lab.tui.source import Source
from lab.tui.terminal.terminal_app import Draggable
from lab.units import format_count
from lab.worlds.feed_protocol import Clock

_ORDER = (
    "bookmark",
    "violation",
    "unmet",
    "fault",
    "repair",
    "mark",
    "caption",
    "leader",
    "election",
    "command",
    "status",
)
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

    def record_in_cell(self, cell: int, width: int, end_us: int) -> int | None:
        """Return the record of the weightiest mark in a cell, the first of its kind there; None without one."""
        for _, places in self._layers():
            if here := _places_in(places, cell, width, end_us):
                return places.records[here[0]]
        return None

    def marks_in_cell(self, cell: int, width: int, end_us: int) -> list[tuple[str, str]]:
        """Return (kind, text) of the marks in a cell, the weightiest first, and how many more there are."""
        texts: list[tuple[str, str]] = []
        more = 0
        for kind, places in self._layers():
            here = _places_in(places, cell, width, end_us)
            shown = here[: _MOST_TEXTS - len(texts)]
            texts += [(kind, self._describe(kind, places.records[place])) for place in shown]
            more += len(here) - len(shown)
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
        records = range(source.marks.first.get(number, number), number + 1)
        line = next(chain.from_iterable(self._lines_of(each) for each in records), None)
        if line is None:
            return kind
        who = "" if line.source is None else f"{line.source} "
        return sanitize(f"{who}{line.text}", _LONGEST)

    def _lines_of(self, number: int) -> list[LogLine]:
        record = self._source.store.record(number)
        return [] if record is None else lines_of(number, record)


def _cells_of(places: Places, width: int, end_us: int) -> Iterator[int]:
    """Yield each cell with a mark once, in one step per such cell, not per mark."""
    place = 0
    while place < len(places):
        cell = min(width - 1, places.times_us[place] * (width - 1) // end_us)
        yield cell
        if cell == width - 1:
            return
        place = bisect_left(places.times_us, _begin_us(cell + 1, width, end_us), place + 1)


def _places_in(places: Places, cell: int, width: int, end_us: int) -> range:
    """Return the places in a cell; the last cell has all that follow as well."""
    first = bisect_left(places.times_us, _begin_us(cell, width, end_us))
    behind = bisect_left(places.times_us, _begin_us(cell + 1, width, end_us))
    return range(first, len(places) if cell == width - 1 else behind)


def _begin_us(cell: int, width: int, end_us: int) -> int:
    """Return the first instant of a cell."""
    return -(-cell * end_us // (width - 1))


_ROOM_FOR_DENSITY = 30
_COUNTED_AT_ONCE = 500
"""The histogram is redrawn each time this many records have arrived."""


class ScrubBar(Draggable, Widget, can_focus=True):
    """The bar: a click or drag moves the cursor in time, and a tooltip describes the marks under the mouse.

    A click on a mark goes to its record, and one on the right end to the end. One on the state before the bar
    plays or pauses; in the past of a live run, it returns to the present.

    On a high screen it has a second line above: a histogram of the number of records over time.
    """

    DEFAULT_CSS = "ScrubBar { height: 1; padding: 0 1; } ScrubBar.tall { height: 2; }"

    @dataclass
    class Sought(Message):
        """The user chose a place on the bar, from 0 to 1."""

        share: float

    @dataclass
    class MarkChosen(Message):
        """The user chose a mark, at this record."""

        record: int

    def __init__(self, styles: ThemeStyles, source: Source) -> None:
        super().__init__(id="scrub-bar")
        self._styles = styles
        self._density = source.density
        self._marks = BarMarks(source)
        self._player: Player | None = None
        self._clock: Clock | None = None
        self._drawn: tuple[object, ...] = ()
        self._dragged_to: int | None = None
        self._hides_future = False

    def show(self, player: Player, clock: Clock | None = None, hides_future: bool = False) -> None:
        """Draw the cursor and the pace of time; ``hides_future`` hides what comes after the cursor."""
        self._player = player
        self._hides_future = hides_future
        self._clock = clock if player.following else None
        self.set_class(self.app.size.height >= _ROOM_FOR_DENSITY, "tall")
        drawn = (
            round(player.now_us, -2 if self._clock else -5 if player.playing or player.following else -3),
            player.end_us // 100_000,
            player.speed,
            player.playing,
            player.following,
            self._clock,
            self._marks.count,
            self._density.observed // _COUNTED_AT_ONCE,
            self._density.observed == len(player.store),
            self.size,
            hides_future,
        )
        if drawn != self._drawn:
            self._drawn = drawn
            self.refresh()

    # mouse and keys

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Go to the mark or time under the mouse, and follow it while it is dragged."""
        offset, (left, width), player = event.get_content_offset(self), self._bar(), self._player
        if offset is None or player is None or offset.x >= left + width:
            return
        cell = offset.x - left
        if cell < 0:
            self.run_worker(self.run_action(f"screen.do('{'end' if player.is_in_past else 'play'}')"))
            return
        record = self._marks.record_in_cell(cell, width, self._end_us(player))
        if record is None or self._hides_future or cell == width - 1:
            self._drag_to(offset.x)
        else:
            self._dragged_to = cell
            self.post_message(self.MarkChosen(record))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow a drag, or else describe the marks under the mouse."""
        x = int(event.x) - self.gutter.left
        if self._dragged_to is not None:
            self._drag_to(x)
        else:
            self.tooltip = self._describe(x)

    def on_mouse_up(self) -> None:
        self._dragged_to = None

    async def on_key(self, event: events.Key) -> None:
        if event.key.isdigit():
            event.stop()
            self.post_message(self.Sought(int(event.key) / 10))
        elif event.key in ("left", "right"):
            event.stop()
            await self.run_action(f"screen.do('{'back' if event.key == 'left' else 'step'}')")

    def _drag_to(self, x: int) -> None:
        left, width = self._bar()
        cell = max(0, min(x - left, width - 1))
        if cell != self._dragged_to:
            self._dragged_to = cell
            self.post_message(self.Sought(cell / (width - 1)))

    def _describe(self, x: int) -> Text | None:
        """Return the time and the marks of a column, or None outside the bar."""
        (left, width), player = self._bar(), self._player
        if player is None or not 0 <= x - left < width:
            return None
        end_us = self._end_us(player)
        text = Text(f"{(x - left) * end_us / (width - 1) / 1e6:.2f} s")
        if self._hides_future and x - left > self._cursor_cell(player, width):
            return text
        for kind, mark_text in self._marks.marks_in_cell(x - left, width, end_us):
            text.append(f"\n{self._styles.glyphs.marks[kind]} " if kind else "\n", self._styles.mark(kind))
            text.append(mark_text)
        return text

    # drawing

    def render(self) -> Text:
        player = self._player
        if player is None:
            return Text()
        left, width = self._bar()
        text = Text(no_wrap=True)
        if self.size.height > 1:
            text.append(" " * left)
            text.append_text(self._columns(player, width))
            text.append("\n")
        text.append(self._state(player), self._styles.accent if self.has_focus else "")
        text.append_text(self._track(player, width))
        if self._clock is not None:  # the cursor is at the end, and a step may take microseconds only
            text.append(f" {player.now_us / 1e6:13.4f} s")
        else:
            end_us = max(player.end_us, player.now_us)
            places = 1 if player.playing or player.following else 3
            of_end = 1 if end_us >= 1_000_000 else places
            text.append(f" {player.now_us / 1e6:8.{places}f} / {end_us / 1e6:.{of_end}f} s")
        return text

    def _state(self, player: Player) -> str:
        glyphs = self._styles.glyphs
        if self._clock is not None:
            return f"{'frozen' if self._clock.frozen else glyphs.play:>6} {format_pace(self._clock):>5} "
        if player.following and player.store.header.world == "simulated":
            return f"{'starting':>10} "  # no clock was received yet
        stopped = "past" if player.is_in_past else glyphs.pause
        state = "live" if player.following else glyphs.play if player.playing else stopped
        return f"{state:>4} {player.speed:>4g}x "

    def _bar(self) -> tuple[int, int]:
        """Return (the first column of the track, its length)."""
        left = 11 if self._clock is None else 13
        return left, max(2, self.size.width - left - 24)

    def _end_us(self, player: Player) -> int:
        return max(1, player.end_us, player.now_us)

    def _columns(self, player: Player, width: int) -> Text:
        """Draw the histogram of records, brighter before the cursor."""
        end_us, levels = self._end_us(player), self._styles.glyphs.levels
        counts = self._density.cells(width, end_us)
        most, top = max(1, *counts), len(levels) - 1
        # the square root keeps small counts visible
        drawn = "".join(levels[0 if not count else max(1, isqrt(count * top * top // most))] for count in counts)
        here = self._cursor_cell(player, width) + 1
        after = " " * (width - here) if self._hides_future else drawn[here:]
        return Text.assemble((drawn[:here], self._styles.mark("caption")), (after, DIM))

    def _cursor_cell(self, player: Player, width: int) -> int:
        return min(width - 1, player.now_us * (width - 1) // self._end_us(player))

    def _track(self, player: Player, width: int) -> Text:
        styles = self._styles
        here = self._cursor_cell(player, width)
        cells = self._marks.cells(width, self._end_us(player))
        cells.pop(here, None)  # the cursor hides the mark under it
        if self._hides_future:
            cells = {cell: kind for cell, kind in cells.items() if cell < here}
        track = Text()
        for place, kind in sorted([*cells.items(), (here, "")]):
            self._append_track(track, place, here)
            if kind:
                track.append(styles.glyphs.marks[kind], styles.mark(kind))
            else:
                track.append(styles.glyphs.cursor, styles.leader)
        self._append_track(track, width, here)
        return track

    def _append_track(self, track: Text, upto: int, here: int) -> None:
        """Append plain track up to that cell: heavy before the cursor, light after it."""
        glyphs = self._styles.glyphs
        glyph = glyphs.full if len(track) < here else glyphs.rest
        track.append(glyph * (upto - len(track)), DIM)

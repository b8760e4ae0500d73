"""The whole run as a line: where the cursor is, what is marked, and, over that, how much happened where."""

from math import isqrt

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget

from lab.tui.frame.barmarks import BarMarks
from lab.tui.run.player import Player
from lab.tui.run.source import Source
from lab.tui.run.worldtime import pace_said
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.worlds.orders import Clock

__all__ = ["ScrubBar"]

_ROOM_FOR_DENSITY = 30
_COUNTED_AT_ONCE = 500
"""While so many records go by the density need not be drawn anew."""


class ScrubBar(Widget, can_focus=True):
    """Press or drag the mouse on it to move in time; over a mark, the mouse tells what that is.

    From so many rows on it has two lines: the upper one has a column for each stretch of time, the higher the more
    happened in it.
    """

    DEFAULT_CSS = "ScrubBar { height: 1; padding: 0 1; } ScrubBar.tall { height: 2; }"

    class Sought(Message):
        """A place on the bar was chosen, from 0 to 1."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def __init__(self, theme_styles: ThemeStyles, source: Source) -> None:
        super().__init__()
        self._look = theme_styles
        self._density = source.density
        self._marks = BarMarks(source)
        self._player: Player | None = None
        self._clock: Clock | None = None
        self._drawn: tuple[object, ...] = ()
        self._dragged_to: int | None = None
        self._hides_future = False

    def show(self, player: Player, clock: Clock | None = None, hides_future: bool = False) -> None:
        """Draw the player's place, and in a simulated run how its time goes; what is after it may be hidden."""
        self._player = player
        self._hides_future = hides_future
        self._clock = clock if player.following else None
        self.set_class(self.app.size.height >= _ROOM_FOR_DENSITY, "tall")
        drawn = (
            round(player.now_us, -5 if self._clock is None else -2),
            player.end_us // 100_000,
            player.speed,
            player.playing,
            player.following,
            self._clock,
            self._marks.count,
            self._density.observed // _COUNTED_AT_ONCE,
            self._density.observed == len(player.lines),
            self.size,
            hides_future,
        )
        if drawn != self._drawn:
            self._drawn = drawn
            self.refresh()

    # the mouse and the keys

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Go to where the mouse is, and wherever it is moved to from there."""
        offset = event.get_content_offset(self)
        if offset is not None and 0 <= offset.x - self._bar()[0] < self._bar()[1]:
            self.capture_mouse()
            self._drag_to(offset.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Dragged; or only moved, then it says what is there."""
        x = int(event.x) - self.gutter.left
        if self._dragged_to is not None:
            self._drag_to(x)
        else:
            self.tooltip = self._told(x)

    def on_mouse_up(self) -> None:
        """Let go."""
        self._dragged_to = None
        self.release_mouse()

    def on_key(self, event: events.Key) -> None:
        """Digits go to tenths of the run, while the bar has the focus."""
        if event.key.isdigit():
            event.stop()
            self.post_message(self.Sought(int(event.key) / 10))

    def _drag_to(self, x: int) -> None:
        left, width = self._bar()
        cell = max(0, min(x - left, width - 1))
        if cell != self._dragged_to:
            self._dragged_to = cell
            self.post_message(self.Sought(cell / (width - 1)))

    def _told(self, x: int) -> Text | None:
        """When that is, and what is marked there."""
        (left, width), player = self._bar(), self._player
        if player is None or not 0 <= x - left < width:
            return None
        end_us = self._end_us(player)
        text = Text(f"{(x - left) * end_us / (width - 1) / 1e6:.2f} s")
        if self._hides_future and x - left > self._here(player, width):
            return text
        for kind, said in self._marks.told(x - left, width, end_us):
            text.append(f"\n{self._look.glyphs.marks[kind]} " if kind else "\n", self._look.mark(kind))
            text.append(said)
        return text

    # drawing

    def render(self) -> Text:
        """The density, if there is room for it, and the bar."""
        player = self._player
        if player is None:
            return Text()
        left, width = self._bar()
        text = Text(no_wrap=True)
        if self.size.height > 1:
            text.append(" " * left)
            text.append_text(self._columns(player, width))
            text.append("\n")
        text.append(self._state(player), self._look.accent if self.has_focus else "")
        text.append_text(self._track(player, width))
        if self._clock is not None:  # the cursor is at the end, and a step may be of microseconds
            text.append(f" {player.now_us / 1e6:13.4f} s")
        else:
            text.append(f" {player.now_us / 1e6:8.1f} / {max(player.end_us, player.now_us) / 1e6:.1f} s")
        return text

    def _state(self, player: Player) -> str:
        glyphs = self._look.glyphs
        if self._clock is not None:
            return f"{'frozen' if self._clock.frozen else glyphs.play:>6} {pace_said(self._clock):>5} "
        if player.following and player.lines.header.world == "simulated":
            return f"{'starting':>10} "  # its clock has not been heard of yet
        state = "live" if player.following else glyphs.play if player.playing else glyphs.pause
        return f"{state:>4} {player.speed:>4g}x "

    def _bar(self) -> tuple[int, int]:
        """(where the track begins, how long it is)."""
        left = 11 if self._clock is None else 13
        return left, max(2, self.size.width - left - 24)

    def _end_us(self, player: Player) -> int:
        return max(1, player.end_us, player.now_us)

    def _columns(self, player: Player, width: int) -> Text:
        """How much happened where; what is before the cursor stands out. A root, so that a little is seen too."""
        end_us, levels = self._end_us(player), self._look.glyphs.levels
        counts = self._density.cells(width, end_us)
        most, top = max(1, *counts), len(levels) - 1
        drawn = "".join(levels[0 if not count else max(1, isqrt(count * top * top // most))] for count in counts)
        here = self._here(player, width) + 1
        after = " " * (width - here) if self._hides_future else drawn[here:]
        return Text.assemble((drawn[:here], self._look.mark("caption")), (after, DIM))

    def _here(self, player: Player, width: int) -> int:
        """The cell that the cursor is in."""
        return min(width - 1, player.now_us * (width - 1) // self._end_us(player))

    def _track(self, player: Player, width: int) -> Text:
        theme_styles = self._look
        here = self._here(player, width)
        cells = self._marks.cells(width, self._end_us(player))
        cells.pop(here, None)  # the cursor hides the mark under it
        if self._hides_future:
            cells = {cell: kind for cell, kind in cells.items() if cell < here}
        track = Text()
        for place, kind in sorted([*cells.items(), (here, "")]):
            self._lay(track, place, here)
            if kind:
                track.append(theme_styles.glyphs.marks[kind], theme_styles.mark(kind))
            else:
                track.append(theme_styles.glyphs.cursor, theme_styles.leader)
        self._lay(track, width, here)
        return track

    def _lay(self, track: Text, upto: int, here: int) -> None:
        """Lay plain track up to that cell: heavy before the cursor, light after it."""
        glyphs = self._look.glyphs
        glyph = glyphs.full if len(track) < here else glyphs.rest
        track.append(glyph * (upto - len(track)), DIM)

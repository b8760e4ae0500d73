"""A run as an asciicast (version 2): the interface itself, filmed.

The screen of the run plays in an application that nobody sees, and whose clock stands still: the cursor in time is
put where each frame has it, so a film is made as fast as it can be drawn, and twice the same. Of a frame only the
rows are written that differ from the one before.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any, TextIO

from rich.console import Console
from textual.app import App
from textual.pilot import Pilot
from textual.strip import Strip

from lab.export.chapters import chapters_of
from lab.export.excerpt import Excerpt, ExportError
from lab.export.film import Pace, frames
from lab.glyphs import UNICODE
from lab.recording.records import encode
from lab.text import sanitize
from lab.tui.actions import action_named
from lab.tui.offers import why_not
from lab.tui.run.source import FileSource
from lab.tui.screen import RunScreen
from lab.tui.terminal.app import TerminalApp
from lab.tui.terminal.theme_styles import ThemeStyles
from lab.tui.terminal.themes import DARK, OWN_THEMES
from lab.tui.views.views import VIEWS

__all__ = ["write_cast"]

_TURNS = 4
_WRITER = Console(color_system="truecolor", force_terminal=True)
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


class _Played(FileSource):
    """A recording of which it can be awaited that all is known that the interface finds out beside the drawing."""

    def __init__(self, excerpt: Excerpt) -> None:
        super().__init__(excerpt.lines.path)
        self.is_read = asyncio.Event()

    async def work(self) -> None:
        """Read it."""
        await super().work()
        self.is_read.set()


class _Studio(App[None]):
    """An application without a terminal: it takes no signals, and can run in any thread."""

    CSS = TerminalApp.CSS

    def __init__(self) -> None:
        super().__init__()
        for theme in OWN_THEMES:
            self.register_theme(theme)
        self.theme = DARK


def write_cast(excerpt: Excerpt, out: TextIO) -> None:
    """Write the film. ExportError where it has no such view, or was asked for some of the nodes."""
    if excerpt.nodes != excerpt.header.nodes:
        raise ExportError("a cast shows the interface, which has all nodes: leave out --nodes")
    asyncio.run(_write(excerpt, out))


async def _write(excerpt: Excerpt, out: TextIO) -> None:
    film = excerpt.wanted.film
    pace = Pace(_busy_us(excerpt), excerpt.from_us, excerpt.until_us, film)
    chapters = [(pace.seen_us(chapter.at_us), chapter.title) for chapter in chapters_of(excerpt)]
    rows: list[str] = []
    async with _playing(excerpt) as (pilot, screen):
        out.write(encode(_head(excerpt)).decode() + "\n")
        for seen_us, moment_us in frames(pace, film):
            screen.player.seek(moment_us)
            screen.draw()
            await _settle(pilot)
            before, rows = rows, [strip.render(_WRITER) for strip in _strips(screen)]
            if changed := "".join(_changes(before, rows)):
                _event(out, seen_us, "o", changed)
            while chapters and chapters[0][0] <= seen_us:
                # after the picture: who goes to a chapter is to see what it is called after
                _event(out, seen_us, "m", chapters.pop(0)[1])
            excerpt.tell(f"{seen_us / 1e6:.0f} of {pace.lasts_us / 1e6:.0f} s filmed")
    _event(out, pace.lasts_us, "o", f"\x1b[{film.rows};{film.columns}H{_SHOW_CURSOR}")


def _busy_us(excerpt: Excerpt) -> Iterator[int]:
    yield from (line.at_us for line in excerpt.events)
    for arrow in excerpt.arrows:
        yield arrow.sent.at_us
        if arrow.end is not None:
            yield arrow.end.at_us


def _head(excerpt: Excerpt) -> dict[str, Any]:
    header, film = excerpt.header, excerpt.wanted.film
    head = {"version": 2, "width": film.columns, "height": film.rows}
    with suppress(ValueError, OverflowError):  # a simulated run began at no time, a foreign one at any
        head["timestamp"] = round(datetime.fromisoformat(header.began).timestamp())
    return head | {"title": sanitize(header.run)}


def _event(out: TextIO, seen_us: int, what: str, data: str) -> None:
    out.write(encode((seen_us / 1e6, what, data)).decode() + "\n")


@asynccontextmanager
async def _playing(excerpt: Excerpt) -> AsyncIterator[tuple[Pilot[None], RunScreen]]:
    """The screen of the run, with all that there is to know of it known."""
    film, studio, source = excerpt.wanted.film, _Studio(), _Played(excerpt)
    try:
        async with studio.run_test(size=(film.columns, film.rows)) as pilot:
            theme_styles, title = ThemeStyles(UNICODE), sanitize(excerpt.header.run)
            screen = RunScreen(source, theme_styles, title, clock_s=lambda: 0.0)
            await studio.push_screen(screen)
            await source.is_read.wait()
            screen.views.rows.heartbeats = excerpt.wanted.heartbeats
            _turn(screen, film.view)
            screen.player.speed = film.speed
            screen.say("")
            yield pilot, screen
    finally:
        source.close()


async def _settle(pilot: Pilot[None]) -> None:
    """Let all widgets draw what they were shown, which takes turns."""
    for _ in range(_TURNS):
        await pilot.pause(0)


def _turn(screen: RunScreen, view: str) -> None:
    words = [kind.word for kind in VIEWS]
    action = action_named(view)
    if view not in words:
        raise ExportError(f"there is no view {view!r}; the views are {', '.join(words)}")
    if action is not None:  # there is none for the log, which is seen at first
        if missing := why_not(action, screen.source):
            raise ExportError(f"--view {view}: {missing}")
        screen.turn_to(view)


def _strips(screen: RunScreen) -> list[Strip]:
    return screen._compositor.render_strips(screen.app.size)


def _changes(before: list[str], rows: list[str]) -> Iterator[str]:
    """What makes of the one picture the other: all rows that differ, each put in its place."""
    if not before:
        yield f"{_HIDE_CURSOR}\x1b[2J"
    for number, row in enumerate(rows):
        if not before or row != before[number]:
            yield f"\x1b[{number + 1};1H{row}"

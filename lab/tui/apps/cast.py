"""Export a run, or a lecture, as an asciicast (version 2): a film of the interface.

The run screen plays in a headless application with a frozen clock. The cursor in time is set for each frame, so
the film is made as fast as frames can be drawn, and is the same every time. Only rows that differ from the frame
before are written.

The film of a lecture is one of its rehearsal, with a chapter for each step. Each step has its text for as long as
it takes to read; then its run plays to where it stops; then come its question, and, after some time to think, the
answer.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from textual.app import App
from textual.pilot import Pilot

from lab.export.excerpt import Excerpt, ExportError, ExportOptions, Film, read_excerpt
from lab.export.film import FilmPace, busy_us, chapters_of, frames
from lab.glyphs import UNICODE
from lab.lectures.lecture import LectureStep
from lab.lectures.presentation import THINKING_US, Presentation, reading_us
from lab.recording.reader import open_recording
from lab.recording.records import encode
from lab.styles import ThemeStyles
from lab.text import sanitize
from lab.tui.apps.steps import StepScreen, play_speed
from lab.tui.controllers.layout import LayoutSettings
from lab.tui.screen import RunScreen
from lab.tui.source import FileSource
from lab.tui.terminal.terminal_app import DARK, OWN_THEMES, TerminalApp, WithoutControls
from lab.units import CountText

_REDRAW_TURNS = 4
_SAME_PICTURES = 3
_WRITER = Console(color_system="truecolor", force_terminal=True)
_HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


class HeadlessApp(App[None]):
    """A headless application: it handles no signals and can run in any thread."""

    CSS = TerminalApp.CSS

    def __init__(self) -> None:
        super().__init__()
        self._filters.append(WithoutControls())
        for theme in OWN_THEMES:
            self.register_theme(theme)
        self.theme = DARK


def write_cast(excerpt: Excerpt, out: TextIO) -> None:
    """Write the film.

    Raises ExportError if the view is unknown or not available, or if only some of the nodes are to be exported.
    """
    if excerpt.nodes != excerpt.header.nodes:
        raise ExportError("a cast shows the interface with all nodes: leave out --nodes")
    asyncio.run(_write(excerpt, out))


async def _write(excerpt: Excerpt, out: TextIO) -> None:
    film = excerpt.options.film
    pace = FilmPace(busy_us(excerpt), excerpt.from_us, excerpt.until_us, film)
    chapters = [(pace.seen_us(chapter.at_us), chapter.title) for chapter in chapters_of(excerpt)]
    rows: list[str] = []
    async with _loaded_screen(excerpt) as (pilot, screen):
        out.write(encode(_cast_header(excerpt)).decode() + "\n")
        for seen_us, moment_us in frames(pace, film):
            screen.context.player.seek(moment_us)
            screen.draw()
            await wait_for_redraw(pilot)
            if not rows:
                await wait_for_layout(pilot, screen)
            before, rows = rows, picture_of(screen)
            if changed := "".join(changes_between(before, rows)):
                write_event(out, seen_us, "o", changed)
            while chapters and chapters[0][0] <= seen_us:
                # after the picture, so that jumping to a chapter shows the event that names it
                write_event(out, seen_us, "m", sanitize(chapters.pop(0)[1]))
            excerpt.progress(CountText(round(seen_us / 1e6), round(pace.lasts_us / 1e6), "second", "filmed"))
    write_event(out, pace.lasts_us, "o", f"\x1b[{film.rows};{film.columns}H{SHOW_CURSOR}")


def _cast_header(excerpt: Excerpt) -> dict[str, Any]:
    header, film = excerpt.header, excerpt.options.film
    head = {"version": 2, "width": film.columns, "height": film.rows}
    with suppress(ValueError, OverflowError):  # a simulated run has no start time; a foreign file may say anything
        head["timestamp"] = round(datetime.fromisoformat(header.began).timestamp())
    return head | {"title": sanitize(header.run)}


def write_event(out: TextIO, seen_us: int, what: str, data: str) -> None:
    """Write what happens at this time of the film: output (``o``) or a chapter (``m``)."""
    out.write(encode((seen_us / 1e6, what, data)).decode() + "\n")


@asynccontextmanager
async def _loaded_screen(excerpt: Excerpt) -> AsyncIterator[tuple[Pilot[None], RunScreen]]:
    """Yield the run screen once all background work is done."""
    film, app, source = excerpt.options.film, HeadlessApp(), FileSource(excerpt.store.path)
    try:
        async with app.run_test(size=(film.columns, film.rows)) as pilot:
            styles, title = ThemeStyles(UNICODE), sanitize(excerpt.header.run)
            screen = RunScreen(source, styles, title, clock_s=lambda: 0.0)
            await app.push_screen(screen)
            await pilot.pause()
            await app.workers.wait_for_complete()
            screen.views.rows.heartbeats = excerpt.options.heartbeats
            _show_view(screen, film.view)
            screen.context.player.speed = film.speed
            screen.context.notify("")
            yield pilot, screen
    finally:
        source.close()


async def wait_for_redraw(pilot: Pilot[None]) -> None:
    """Wait until all widgets have redrawn, which takes several turns of the event loop."""
    for _ in range(_REDRAW_TURNS):
        await pilot.pause(0)


async def wait_for_layout(pilot: Pilot[None], screen: RunScreen) -> None:
    """Draw until several pictures in a row are the same: a late resize changes what a view must draw."""
    pictures: list[list[str]] = []
    while len(pictures) < _SAME_PICTURES or any(each != pictures[-1] for each in pictures[-_SAME_PICTURES:]):
        screen.draw()
        await wait_for_redraw(pilot)
        pictures.append(picture_of(screen))


def _show_view(screen: RunScreen, view: str) -> None:
    actions = screen.context.actions
    action = actions.get(view)
    if view not in screen.views.hints:
        raise ExportError(f"unknown view {view!r}; the views are {', '.join(screen.views.hints)}")
    if action is not None:  # None for the log, which is already shown
        if missing := actions.reason_unavailable(action):
            raise ExportError(f"--view {view}: {missing}")
        screen.layout_controller.show_view(view)


def picture_of(screen: RunScreen) -> list[str]:
    """Return the rows of the screen, as a terminal gets them."""
    return [strip.render(_WRITER) for strip in screen._compositor.render_strips(screen.app.size)]


def changes_between(before: list[str], rows: list[str]) -> Iterator[str]:
    """Yield the terminal output that turns one picture into the next: each differing row, at its position."""
    if not before:
        yield f"{_HIDE_CURSOR}\x1b[2J"
    for number, row in enumerate(rows):
        if not before or row != before[number]:
            yield f"\x1b[{number + 1};1H{row}"


def write_lecture_cast(
    presentation: Presentation,
    out: TextIO,
    film: Film,
    report_progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Write the film. ``report_progress`` is called with the number of steps filmed. Raises ExportError."""
    asyncio.run(_LectureCast(presentation, out, film).write(report_progress))


class _LectureCast:
    """The film so far: it lasts ``_seen_us``, and its last picture has these ``_rows``."""

    def __init__(self, presentation: Presentation, out: TextIO, film: Film) -> None:
        self._presentation = presentation
        self._out = out
        self._film = film
        self._seen_us = 0
        self._rows: list[str] = []

    async def write(self, report_progress: Callable[[int], None]) -> None:
        film, presentation = self._film, self._presentation
        head = {"version": 2, "width": film.columns, "height": film.rows, "title": sanitize(presentation.title)}
        self._out.write(encode(head).decode() + "\n")
        app = HeadlessApp()
        async with app.run_test(size=(film.columns, film.rows)) as pilot:
            for run, presented in enumerate(presentation.runs):
                steps = [step for step in presentation.steps if (step.run or 0) == run]
                with closing(FileSource(Path(presented.file))) as source:
                    styles, layout = ThemeStyles(UNICODE), LayoutSettings()
                    screen = StepScreen(source, styles, presentation.title, clock_s=lambda: 0.0, layout=layout)
                    await app.push_screen(screen)
                    await pilot.pause()
                    await app.workers.wait_for_complete()
                    for step in steps:
                        await self._film_step(pilot, screen, step)
                        report_progress(step.number)
                    screen.is_ready = False
                    await app.pop_screen()
        write_event(self._out, self._seen_us, "o", f"\x1b[{film.rows};{film.columns}H{SHOW_CURSOR}")

    async def _film_step(self, pilot: Pilot[None], screen: StepScreen, step: LectureStep) -> None:
        begin, stop = self._presentation.begin_of(step), self._presentation.stop_of(step)
        screen.show_text(self._presentation, step, step.text)
        screen.play(begin.record, None, 1.0, plays=False)
        screen.point_at(step.view if stop is not None else "", step.node)
        screen.context.notify("")
        await wait_for_layout(pilot, screen)
        self._show(screen)
        write_event(self._out, self._seen_us, "m", sanitize(f"{step.number}. {step.title}"))
        self._wait(step.text)
        if stop is not None:
            film = Film(frames_per_s=self._film.frames_per_s, speed=play_speed(stop.at_us - begin.at_us))
            with closing(open_recording(Path(self._presentation.run_of(step).file))) as store:
                excerpt = read_excerpt(store, ExportOptions(begin.at_us or None, stop.at_us))
                pace = FilmPace(busy_us(excerpt), begin.at_us, stop.at_us, film)
                began_us = self._seen_us
                for seen_us, moment_us in frames(pace, film):
                    screen.context.player.seek(moment_us)
                    screen.draw()
                    await wait_for_redraw(pilot)
                    self._seen_us = began_us + seen_us
                    self._show(screen)
            screen.play(stop.record, None, 1.0, plays=False)
        if (question := step.question) is not None:
            options = "\n".join(f"- {option}" for option in question.options)
            asked = f"{step.text}\n\n*{question.text.strip()}*\n\n{options}"
            answer = f"The answer: **{question.answer}**. {question.explanation}"
            await self._show_text(pilot, screen, step, asked)
            self._seen_us += THINKING_US
            await self._show_text(pilot, screen, step, f"{asked}\n\n{answer}")
            self._wait(answer)
        else:
            await wait_for_layout(pilot, screen)
            self._show(screen)
            self._wait("")

    async def _show_text(self, pilot: Pilot[None], screen: StepScreen, step: LectureStep, text: str) -> None:
        """Show the end of this text with the step."""
        screen.show_text(self._presentation, step, text)
        await wait_for_layout(pilot, screen)
        screen.panel.scroll_end(animate=False)
        await wait_for_redraw(pilot)
        self._show(screen)
        self._wait("")

    def _show(self, screen: StepScreen) -> None:
        before, self._rows = self._rows, picture_of(screen)
        if changed := "".join(changes_between(before, self._rows)):
            write_event(self._out, self._seen_us, "o", changed)

    def _wait(self, text: str) -> None:
        """Let the picture stand for as long as it takes to read this."""
        self._seen_us += reading_us(text)

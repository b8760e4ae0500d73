"""A lecture as an asciicast (version 2): a film of the rehearsal, with a chapter for each step.

Each step has its text for as long as it takes to read; then its run plays to where it stops; then come its
question, and, after some time to think, the answer.
"""

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TextIO

from textual.pilot import Pilot

from lab.export.excerpt import ExportOptions, Film, read_excerpt
from lab.export.film import Pace, busy_us, frames
from lab.glyphs import UNICODE
from lab.lectures.lecture import Step
from lab.lectures.presentation import THINKING_US, Presentation, reading_us
from lab.recording.reader import open_recording
from lab.recording.records import encode
from lab.styles import ThemeStyles
from lab.text import sanitize
from lab.tui.apps.cast import (
    SHOW_CURSOR,
    HeadlessApp,
    changes_between,
    picture_of,
    wait_for_layout,
    wait_for_redraw,
    write_event,
)
from lab.tui.apps.steps import StepScreen, play_speed
from lab.tui.controllers.layout import LayoutSettings
from lab.tui.source import FileSource


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

    async def _film_step(self, pilot: Pilot[None], screen: StepScreen, step: Step) -> None:
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
                pace = Pace(busy_us(excerpt), begin.at_us, stop.at_us, film)
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

    async def _show_text(self, pilot: Pilot[None], screen: StepScreen, step: Step, text: str) -> None:
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

"""The screen of a step of a lecture: its text beside or above its run, or in place of one."""

import time
from collections.abc import Callable, Iterator

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from lab.exercises.teacher import VoteTally
from lab.lectures.lecture import LectureStep
from lab.lectures.presentation import Presentation, Stop
from lab.styles import ThemeStyles
from lab.text import sanitize
from lab.tui.controllers.layout import LayoutSettings
from lab.tui.player import SPEEDS
from lab.tui.screen import RunScreen
from lab.tui.source import Source
from lab.tui.user_keys import UserKeys
from lab.tui.views.exercise_view import markdown_lines
from lab.units import format_count

_SIDE_BY_SIDE_WIDTH = 110
"""The least columns for the text beside the run; below that, it is above it."""
_SHARE_ABOVE, _LEAST_ABOVE = 0.4, 5
_SHARE_WITH_VOTES = 0.6
_FOOTER_ROWS = 1
_WIDEST_OPTION, _WIDEST_BAR, _ROOM_FOR_VOTES = 30, 24, 12
_LONGEST_PLAY_US = 6_000_000
"""The real time that a run may take to where it stops."""


def play_speed(span_us: int) -> float:
    """Return the least speed at which this much of a run is played soon enough."""
    return next((speed for speed in SPEEDS if span_us <= _LONGEST_PLAY_US * speed), SPEEDS[-1])


def format_steps(presentation: Presentation, count: int) -> dict[str, int]:
    """Return a text for each of the first ``count`` steps, for a list, with its place."""
    steps = presentation.steps[:count]
    titles = [f"{step.title}{' (a question)' if step.question else ''}" for step in steps]
    return {
        title if titles.count(title) == 1 else f"{title} (step {place + 1})": place
        for place, title in enumerate(titles)
    }


def format_result(tally: VoteTally, width: int, styles: ThemeStyles, own: str = "") -> Iterator[Text]:
    """Yield a closed vote as bars, the answer, and its explanation; ``own`` is the student's choice."""
    most = max(1, *tally.votes)
    longest = min(_WIDEST_OPTION, width // 2, max(len(option) for option in tally.options))
    widest = max(1, min(_WIDEST_BAR, width - longest - _ROOM_FOR_VOTES))
    for option, votes in zip(tally.options, tally.votes, strict=True):
        is_right = option == tally.answer
        sign = styles.glyphs.marks["met"] if is_right else " "
        line = Text(f"{sign} {sanitize(option, longest):{longest}} ", styles.accent if is_right else Style())
        bar = styles.glyphs.full * (widest * votes // most)
        line.append(bar, styles.leader).append(f"{' ' if bar else ''}{votes}")
        yield line.append("  you", styles.accent) if option == own else line
    yield Text(format_count(sum(tally.votes), "answer"), "dim")
    if tally.answer:
        yield Text()
        yield Text(sanitize(f"the answer: {tally.answer}", 300), styles.accent + Style(bold=True))
        yield from markdown_lines(tally.explanation, width, styles)


class StepPanel(VerticalScroll):
    """The text of a step, in a frame with its number and title; with the result of its vote, and its notes."""

    DEFAULT_CSS = """
    StepPanel { border: round $accent; padding: 0 1; background: $background; }
    StepPanel Static { height: auto; }
    """

    def __init__(self, styles: ThemeStyles) -> None:
        super().__init__(id="step", can_focus=False)
        self._styles = styles
        self._title = self._text = self._notes = self._own_vote = ""
        self.tally: VoteTally | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="step-text", markup=False)

    def show(self, title: str, text: str, notes: str, tally: VoteTally | None, own_vote: str) -> None:
        """Show these texts, in Markdown, and the result of the vote; without ``notes``, none are shown."""
        is_new, has_new_votes = title != self._title, tally is not None and tally != self.tally
        self.border_title, self._title = Content(title), title
        self._text, self._notes, self.tally, self._own_vote = text, notes, tally, own_vote
        self._draw()
        if has_new_votes and not is_new:
            self.call_after_refresh(self.scroll_end, animate=False)
        elif is_new:
            self.scroll_home(animate=False)

    def turn_page(self, pages: int) -> bool:
        """Scroll the text by pages, down or up; return whether there was more of it."""
        is_more = self.scroll_offset.y < self.max_scroll_y if pages > 0 else self.scroll_offset.y > 0
        if is_more:
            self.scroll_relative(y=pages * max(1, self.size.height - 1), animate=False)
        return is_more

    def show_keys(self, keys: str) -> None:
        """Show these keys in the frame."""
        self.border_subtitle = Content(keys)

    @property
    def best_rows(self) -> int:
        """The rows that show all of it, with its frame."""
        return len(self._lines()) + 2

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    def _lines(self) -> list[Text]:
        width = max(20, self.size.width - 3)
        lines = markdown_lines(self._text, width, self._styles)
        if self.tally is not None:
            lines += [Text(), *format_result(self.tally, width, self._styles, self._own_vote)]
        if self._notes:
            notes = markdown_lines(self._notes, width, self._styles)
            lines += [Text(), Text("notes", self._styles.warning + Style(bold=True)), *notes]
        return lines

    def _draw(self) -> None:
        self.query_one(Static).update(Text("\n").join(self._lines()))


class StepScreen(RunScreen):
    """The screen of a run, with the text of a step of a lecture beside or above it, or in its place."""

    DEFAULT_CSS = """
    StepScreen StepPanel { dock: left; width: 40%; max-width: 66; height: 100%; }
    StepScreen.above StepPanel { dock: top; width: 100%; max-width: 100%; }
    StepScreen.text-only StepPanel { layer: above; width: 100%; max-width: 100%; height: 100%; }
    """

    def __init__(
        self,
        source: Source,
        styles: ThemeStyles,
        title: str,
        at: int | None = None,
        clock_s: Callable[[], float] = time.monotonic,
        layout: LayoutSettings | None = None,
        keys: UserKeys | None = None,
    ) -> None:
        super().__init__(source, styles, title, at or 0, clock_s, layout, keys)
        self.panel = StepPanel(styles)
        self.context.hides_future = True

    def compose(self) -> ComposeResult:
        yield self.panel
        yield from super().compose()

    def on_resize(self, event: events.Resize) -> None:
        self.fit_panel()

    def fit_panel(self) -> None:
        """Put the text beside the run if there is room, else above it, and give the run the rest."""
        width, height = self.size
        is_narrow = width < _SIDE_BY_SIDE_WIDTH
        self.set_class(is_narrow, "above")
        share = _SHARE_ABOVE if self.panel.tally is None else _SHARE_WITH_VOTES
        rows = min(self.panel.best_rows, max(_LEAST_ABOVE, round(height * share)))
        is_above = is_narrow and not self.has_class("text-only")
        full = "100%" if self.has_class("text-only") else max(1, height - _FOOTER_ROWS)
        self.panel.styles.height = rows if is_above else full
        self.layout_controller.reserved_rows = rows if is_above else 0
        self.layout_controller.fit()

    def show_text(
        self,
        presentation: Presentation,
        step: LectureStep,
        text: str,
        notes: str = "",
        tally: VoteTally | None = None,
        own_vote: str = "",
    ) -> None:
        """Show the text of a step, in Markdown, and what belongs to it."""
        title = f"{step.number}/{len(presentation.steps)}  {sanitize(step.title)}"
        self.panel.show(title, text, notes, tally, own_vote)
        self.set_class(presentation.stop_of(step) is None, "text-only")
        self.fit_panel()

    def show_step(self, step: LectureStep, begin: Stop, stop: Stop | None, plays: bool) -> None:
        """Show the run of a step: from where it begins if it ``plays``, else where it stops."""
        if stop is None:
            return
        at = begin if plays else stop
        self.play(at.record, stop.record, play_speed(stop.at_us - begin.at_us), plays)
        self.point_at(step.view, step.node)

    def play(self, record: int, stops_at: int | None, speed: float, plays: bool) -> None:
        """Go to a record; if it ``plays``, from there to where it stops."""
        player = self.context.player
        player.stops_at = stops_at
        player.go(record)
        player.speed = speed
        player.playing = plays
        self.draw()

    def point_at(self, view: str, node: int | None) -> None:
        """Select this node, and open this view; empty: leave them as they are."""
        if node is not None:
            self.context.selected = node
        if view and view != self.views.chosen:
            self.layout_controller.show_view(view)
        self.draw()

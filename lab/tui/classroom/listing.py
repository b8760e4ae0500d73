"""The list of exercises: how each stands, and at the cursor what it is about."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widgets import OptionList, Static

from lab.exercises.exercise import KINDS, LEVELS, Exercise
from lab.exercises.home import Home, Standing
from lab.text import sanitize
from lab.tui.classroom.markdown import lines_of, wrapped
from lab.tui.frame.keyline import KeyLine
from lab.tui.frame.lines import TitleLine
from lab.tui.siftedlist import Entry, SiftedList
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.terminal.themes import DARK, LIGHT
from lab.units import count_of

__all__ = ["GOING_ON", "ListScreen", "Resumed"]

GOING_ON = "/"
"""The row of the attempt that goes on; no exercise is called so."""
_ROOM_BESIDE = 132
_BOLD = Style(bold=True)
_KIND, _NUMBERS = 12, 20
_SIGN = 10
_LONGEST_TITLE = 60
_HINT = "arrows choose, Enter begins an attempt, letters seek, PgDn reads on"


class Resumed(Struct, frozen=True):
    """An attempt that still goes on."""

    exercise: Exercise
    attempt: int
    socket: str
    recording: str


class ListScreen(Screen[None]):
    """Below the runs of attempts.."""

    DEFAULT_CSS = """
    ListScreen #head { height: 1; }
    ListScreen #box { layout: vertical; height: 1fr; }
    ListScreen #box.beside { layout: horizontal; }
    ListScreen SiftedList {
        height: 3fr; width: 1fr; border: none; padding: 0 1; background: $background; text-wrap: nowrap;
        &:focus { border: none; }
    }
    ListScreen #about { height: 2fr; width: 1fr; padding: 0 2; background: $surface; }
    ListScreen #box.beside #about { height: 1fr; width: 60; padding: 1 2; }
    ListScreen #box.beside SiftedList { height: 1fr; }
    ListScreen #about Static { height: auto; }
    ListScreen #said { height: auto; max-height: 3; padding: 0 1; text-wrap: wrap; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "begin", key_display="Enter", priority=True),
        Binding("q", "leave", "quit"),
        Binding("t", "theme", "light or dark"),
        Binding("pagedown", "more(1)", show=False, priority=True),
        Binding("pageup", "more(-1)", show=False, priority=True),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
    ]

    class Begun(Message):
        """A new attempt at that exercise is wanted."""

        def __init__(self, exercise: Exercise) -> None:
            super().__init__()
            self.exercise = exercise

    class GoneOn(Message):
        """The attempt that goes on is wanted."""

        def __init__(self, resumed: Resumed) -> None:
            super().__init__()
            self.resumed = resumed

    def __init__(
        self, home: Home, exercises: Sequence[Exercise], is_served: bool, theme_styles: ThemeStyles
    ) -> None:
        super().__init__()
        self._home = home
        self._exercises = {each.name: each for each in exercises}
        self._is_served = is_served
        self._look = theme_styles
        self.resumed: Resumed | None = None

    def compose(self) -> ComposeResult:
        """What was reached in all, the list, what is at its cursor."""
        yield TitleLine("head")
        with Container(id="box"):
            yield SiftedList([], "qjkt")
            with VerticalScroll(id="about", can_focus=False):
                yield Static(markup=False)
        yield TitleLine("said")
        yield KeyLine()

    def on_mount(self) -> None:
        """Follow the theme."""
        self.app.theme_changed_signal.subscribe(self, lambda theme: self._redraw())

    def on_screen_resume(self) -> None:
        """Seen, or seen again."""
        self.query_one(SiftedList).focus()
        self._redraw()

    def on_resize(self, event: events.Resize) -> None:
        """As wide as there is room for."""
        self.query_one("#box").set_class(event.size.width >= _ROOM_BESIDE, "beside")
        self.call_after_refresh(self._redraw)

    def offer(self, resumed: Resumed | None) -> None:
        """Offer to go on with this attempt, or with none; at the first time, the cursor goes there."""
        is_new = resumed is not None and self.resumed is None
        self.resumed = resumed
        self._redraw()
        if is_new:
            listed = self.query_one(SiftedList)
            listed.highlighted = listed.get_option_index(GOING_ON)
            self.say("an attempt of yours still goes on: Enter goes on with it")

    def say(self, text: str, warn: bool = False) -> None:
        """Answer, in the line for that."""
        style = self._look.warning if warn else self._look.accent
        self.query_one("#said", TitleLine).put(Text(sanitize(text, 300), style), wraps=True)

    # what the user does

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click."""
        if event.option_id == GOING_ON and self.resumed is not None:
            self.post_message(self.GoneOn(self.resumed))
            return
        exercise = self._exercises[event.option_id or ""]
        if exercise.repairs is not None:
            self.say(f"{exercise.title}: {self._elsewhere(exercise)}", warn=True)
        else:
            self.post_message(self.Begun(exercise))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Tell of another one."""
        self._tell()

    def on_sifted_list_sifted(self, event: SiftedList.Sifted) -> None:
        """Say what is sought."""
        left = "" if self.query_one(SiftedList).option_count else "; nothing has that in it"
        self.say(_HINT if event.typed is None else f"seek: {event.typed}{left}; Esc ends that")
        self._tell()

    def action_choose(self) -> None:
        """Enter, by a click on the footer."""
        self.query_one(SiftedList).action_select()

    def action_move(self, by: int) -> None:
        """To the next row, or the one before."""
        listed = self.query_one(SiftedList)
        (listed.action_cursor_down if by > 0 else listed.action_cursor_up)()

    def action_more(self, pages: int) -> None:
        """More of what is told of an exercise."""
        about = self.query_one("#about", VerticalScroll)
        about.scroll_relative(y=pages * max(1, about.size.height - 1), animate=False)

    def action_theme(self) -> None:
        """Light, or dark."""
        self.app.theme = LIGHT if self.app.current_theme.dark else DARK

    def action_leave(self) -> None:
        """Out."""
        self.app.exit(return_code=0)

    # drawing

    def _redraw(self) -> None:
        if not self.query(SiftedList):
            return  # it is being left
        self._look.dark = self.app.current_theme.dark
        self.query_one("#head", TitleLine).put(self._head())
        self.query_one(SiftedList).put(self._entries())
        self._tell()
        if not self.query_one("#said", TitleLine).plain:
            self.say(_HINT)

    def _head(self) -> Text:
        standings = [(each, self._home.standing(each.name)) for each in self._exercises.values()]
        solved = sum(bool(stands.first_solved) for _, stands in standings)
        points = sum(stands.points for _, stands in standings)
        most = sum(each.points for each in self._exercises.values())
        said = f"{solved} of {count_of(len(standings), 'exercise')} solved, {points} of {most} points"
        name = sanitize(self._home.student, 40)
        dot = self._look.glyphs.dot
        return Text.assemble(("lab exercises", "bold"), f" {dot} ", (name, self._look.accent), f" {dot} {said}")

    def _entries(self) -> Iterator[Entry]:
        width = self.query_one(SiftedList).size.width - 3
        if self.resumed is not None:
            going = self.resumed
            yield Entry(Text("GOING ON", self._look.accent), head=True)
            said = f"  {self._look.glyphs.play} go on with attempt {going.attempt}: {going.exercise.title}"
            yield Entry(Text(sanitize(said, max(2, width)), _BOLD), GOING_ON)
        for level, called in LEVELS.items():
            of_level = [each for each in self._exercises.values() if each.level == level]
            if of_level:
                yield Entry(Text(called.upper(), self._look.accent), head=True)
            for exercise in of_level:
                yield Entry(self._row(exercise, self._home.standing(exercise.name), width), exercise.name)

    def _row(self, exercise: Exercise, stands: Standing, width: int) -> Text:
        sign, style = self._sign(stands)
        room = max(12, min(width - _SIGN - _KIND - _NUMBERS - 2, _LONGEST_TITLE))
        title = sanitize(exercise.title, room)
        row = Text.assemble("  ", (set_cell_size(sign, _SIGN), style), set_cell_size(title, room))
        row.append(f"  {exercise.kind:{_KIND}}", DIM)
        if exercise.repairs is not None:
            row.append("not on the server" if self._is_served else "in your editor", DIM)
        elif not exercise.points:
            row.append("by the teacher", DIM)
        else:
            row.append(f"{stands.points:2} of {exercise.points:2}", style)
            row.append(f"{f'{stands.attempts}x' if stands.attempts else '':>5}", DIM)
        row.truncate(width)
        return row

    def _sign(self, stands: Standing) -> tuple[str, Style]:
        theme_styles = self._look
        if stands.first_solved:
            return f"{theme_styles.glyphs.marks['met']} solved", theme_styles.mark("met") + _BOLD
        if stands.attempts:
            return f"{theme_styles.glyph('Waiting')} begun", theme_styles.status("Waiting")
        return f"{theme_styles.glyph('Working')} new", Style()

    def _tell(self) -> None:
        """Of the exercise at the cursor."""
        about = self.query_one("#about", VerticalScroll)
        option = self.query_one(SiftedList).highlighted_option
        exercise = None if option is None else self._chosen(option.id or "")
        width = about.scrollable_content_region.width - 1
        text = Text() if exercise is None else Text("\n").join(self._about(exercise, max(20, width)))
        about.query_one(Static).update(text)
        about.scroll_home(animate=False)

    def _chosen(self, name: str) -> Exercise | None:
        if name == GOING_ON and self.resumed is not None:
            return self.resumed.exercise
        return self._exercises.get(name)

    def _about(self, exercise: Exercise, width: int) -> Iterator[Text]:
        theme_styles, stands = self._look, self._home.standing(exercise.name)
        yield from wrapped(Text(sanitize(exercise.title), theme_styles.accent), width)
        yield from wrapped(Text(f"{exercise.kind}: {KINDS[exercise.kind]}", DIM), width)
        teaches = sanitize(", ".join(exercise.teaches))
        yield from wrapped(Text.assemble(("teaches ", DIM), teaches), width)
        if exercise.repairs is not None:
            yield from wrapped(Text(self._elsewhere(exercise), theme_styles.warning), width)
        yield Text()
        yield from lines_of(exercise.intro, width, theme_styles)
        yield Text()
        results = {result.task: result for result in stands.best}
        for task in exercise.tasks:
            result = results.get(task.number)
            is_done = result is not None and result.state == "done"
            sign = theme_styles.glyphs.marks["met"] if is_done else theme_styles.glyph("Working")
            had = f"{result.points if result is not None else 0} of {count_of(task.points, 'point')}"
            worth = "for your teacher" if task.way == "explain" else had
            title = sanitize(task.title, max(2, width - 24))
            style = theme_styles.mark("met") if is_done else Style()
            gap = " " * max(2, width - cell_len(title) - 5 - len(worth))
            yield Text.assemble((f"{sign} {task.number:2} ", style), title, gap, (worth, DIM))
        if stands.attempts:
            yield Text(f"best of {count_of(stands.attempts, 'attempt')}", DIM)

    def _elsewhere(self, exercise: Exercise) -> str:
        """Where what is not done with a cluster is done."""
        where = "it is not on the server; " if self._is_served else ""
        return f"{where}where lab is installed: lab exercise start {exercise.name}"

"""Dialogs: the common frame, and the forms to read a text, choose from a list, answer a question, name a file.

In all of them Enter or a double click confirms, and Escape or a click outside leaves; no other key has an effect
that lasts. A digit or a click selects, and typing in a list filters it. The last line, in the frame, has the keys.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

from msgspec import Struct
from rich.console import Console, ConsoleOptions, Group
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from lab.script.commands import escape
from lab.styles import ThemeStyles
from lab.text import sanitize

R = TypeVar("R")


class Dialog(ModalScreen[R]):
    """A framed box over the screen, in one style, open until it has a result.

    A subclass may bind more keys to ``leave``; the ones here stay bound.
    """

    DEFAULT_CSS = """
    Dialog { align: center middle; }
    Dialog > Vertical, Dialog > VerticalScroll {
        width: 92; max-width: 100%; height: auto; max-height: 90%;
        border: round $accent; background: $surface; padding: 0 1;
    }
    Dialog OptionList {
        height: auto; max-height: 100%; border: none; padding: 0; background: $surface;
        text-wrap: nowrap; text-overflow: ellipsis;
        &:focus { border: none; }
    }
    Dialog Input { height: 1; border: none; padding: 0; &:focus { border: none; } }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "leave", "close"), ("ctrl+c", "app.help_quit", "")]

    box: Widget

    def __init__(self, title: str, keys: str) -> None:
        super().__init__()
        self._title_and_keys = title, keys

    def compose(self) -> ComposeResult:
        with Vertical() as self.box:
            self.frame(*self._title_and_keys)
            yield from self.compose_box()

    def compose_box(self) -> ComposeResult:
        """Yield the content of the box."""
        raise NotImplementedError

    def frame(self, title: str | None = None, keys: str | None = None) -> None:
        """Set the title and the keys in the frame as plain text: Textual would parse brackets as markup."""
        if title is not None:
            self.box.border_title = Content(title)
        if keys is not None:
            self.box.border_subtitle = Content(keys)

    def dismiss(self, result: R | None = None) -> AwaitComplete:
        """Close the dialog; do nothing if it is closed already."""
        # a second key that came too fast would otherwise close the screen below
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def action_leave(self) -> None:
        self.dismiss(None)

    async def on_click(self, event: events.Click) -> None:
        """Leave if it was outside the box."""
        if not self.box.region.contains(event.screen_x, event.screen_y):
            await self.run_action("leave")


# read a text


class TextBox(Dialog[str]):
    """A text that fills the box and scrolls."""

    BINDINGS: ClassVar[list[BindingType]] = [("q,enter,question_mark", "leave", "close")]

    def __init__(self, title: str, keys: str = "Enter or Esc closes") -> None:
        super().__init__(title, keys)

    def compose(self) -> ComposeResult:
        with VerticalScroll() as self.box:
            self.frame(*self._title_and_keys)
            yield Static(self._visual(), markup=False)

    def content(self) -> Text | Group:
        """Return the text."""
        raise NotImplementedError

    def redraw(self) -> None:
        self.query_one(Static).update(self._visual())

    def _visual(self) -> "Text | RenderedOnce":
        content = self.content()
        return content if isinstance(content, Text) else RenderedOnce(content)


class RenderedOnce:
    """A renderable that is rendered once for each width, however often its height and its lines are asked for."""

    def __init__(self, renderable: Group) -> None:
        self._renderable = renderable
        self._segments: dict[int, list[Segment]] = {}
        self._measurements: dict[int, Measurement] = {}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        if options.max_width not in self._segments:
            self._segments[options.max_width] = [*console.render(self._renderable, options.reset_height())]
        yield from self._segments[options.max_width]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        if options.max_width not in self._measurements:
            self._measurements[options.max_width] = Measurement.get(console, options, self._renderable)
        return self._measurements[options.max_width]


# choose from a list


class DialogEntry(Struct, frozen=True):
    """A row. Without an ``id`` it cannot be chosen; a ``head`` is the title of the rows up to the next head.

    A folded row is shown only if it matches a filter, and one that ``unfolds`` others only without a filter. A
    filter finds what is in ``also``, too; rows whose ``name`` it begins come first. A row chosen ``by_hand`` gets
    the cursor from nobody but the user.
    """

    text: Text
    id: str | None = None
    head: bool = False
    is_folded: bool = False
    also: str = ""
    name: str = ""
    unfolds: bool = False
    by_hand: bool = False


def contains_words(text: str, words: str) -> bool:
    """Return whether the text contains all these words, ignoring case."""
    return all(word in text.lower() for word in words.lower().split())


class RowList(OptionList):
    """A list in which a click selects a row, and a double click chooses it. The cursor stays in sight."""

    class Resized(Message):
        """The list has a new size."""

    _clicked: str | None = None
    """The id of the row that was clicked last, unless that chose it."""

    def unfolds(self, row: str | None) -> bool:
        """Return whether a single click chooses the row with this id: it only unfolds others."""
        return False

    def move_to(self, row: str | None) -> bool:
        """Move the cursor to the row with this id; return whether there is one."""
        for place, option in enumerate(self.options):
            if option.id == row and not option.disabled:
                self.highlighted = place
                return True
        return False

    def action_select(self) -> None:
        """Choose the row at the cursor; if the wheel has moved it out of sight, only show it again."""
        line, height = self.line_on_screen, self.scrollable_content_region.height
        if line is None or not height or 0 <= line < height:
            super().action_select()
        else:
            self.scroll_to_highlight()

    @property
    def line_on_screen(self) -> int | None:
        """The line of the row at the cursor, counted from the first one in sight."""
        self._update_lines()
        line = None if self.highlighted is None else self._index_to_line.get(self.highlighted)
        return None if line is None else line - self.scroll_offset.y

    def on_resize(self) -> None:
        self.call_after_refresh(self.scroll_to_highlight)
        self.post_message(self.Resized())

    async def _on_click(self, event: events.Click) -> None:
        event.prevent_default()  # the list of Textual chooses a row at the first click
        place: int | None = event.style.meta.get("option")
        if place is None or self.get_option_at_index(place).disabled:
            return
        row = self.get_option_at_index(place).id
        # the rows may have moved between the two clicks
        chooses = self.unfolds(row) or (event.chain > 1 and row == self._clicked)
        self._clicked = None if chooses else row
        self.highlighted = place
        if chooses:
            self.action_select()


class FilterableList(RowList):
    """A list filtered by typed words. Backspace deletes a letter, Escape clears the filter.

    ``keys`` are letters bound here or by the screen: they do not begin a filter, except after a slash. One that
    ``is_short`` is not filtered.
    """

    @dataclass
    class FilterChanged(Message):
        """The filter text changed; None means that there is no filter."""

        typed: str | None

    def __init__(self, entries: Iterable[DialogEntry], keys: str = "", is_short: bool = False) -> None:
        self._entries = list(entries)
        self._keys = keys
        self._is_short = is_short
        self.typed: str | None = None
        super().__init__(*self._as_options(self._matching("")))

    def put(self, entries: Iterable[DialogEntry], at: str | None = None) -> None:
        """Replace the rows; the cursor goes to the row ``at``, or stays on its own.

        It keeps its line on the screen. If there is no such row any more, it goes to the first one.
        """
        before, line = self.highlighted_option, self.line_on_screen
        at = at or (None if before is None else before.id)
        self._entries = list(entries)
        self._show(at)
        after, moved = self.highlighted_option, self.line_on_screen
        if after is not None and after.id == at and line is not None and moved is not None:
            self.scroll_relative(y=moved - line, animate=False, immediate=True)

    def unfolds(self, row: str | None) -> bool:
        return any(entry.unfolds for entry in self._entries if entry.id == row)

    def set_filter(self, typed: str | None) -> None:
        """Show the rows that contain these words; None: all that are not folded."""
        self.typed = typed
        self._show()
        self.post_message(self.FilterChanged(typed))

    def on_key(self, event: events.Key) -> None:
        if self._is_short:
            return
        letter = event.character if event.is_printable else None
        if event.key == "escape" and self.typed is not None:
            typed = None
        elif event.key == "backspace" and self.typed is not None:
            typed = self.typed[:-1] or None
        elif letter is None or (self.typed is None and (letter in self._keys or letter == " ")):
            return
        else:
            typed = (self.typed or "") + (letter if self.typed is not None or letter != "/" else "")
        event.stop()
        event.prevent_default()
        self.set_filter(typed)

    def _show(self, at: str | None = None) -> None:
        """Show the rows, the cursor at the one with the id ``at``, else at the first."""
        self.clear_options()
        self.add_options(self._as_options(self._matching(self.typed or "")))
        if at is None or not self.move_to(at):
            by_hand = {entry.id for entry in self._entries if entry.by_hand}
            self.move_to(next((each.id for each in self.options if each.id and each.id not in by_hand), None))

    def _matching(self, typed: str) -> list[DialogEntry]:
        """Return the rows that contain these words, counting those of their head; each group with its head."""
        groups: list[tuple[DialogEntry | None, list[DialogEntry]]] = [(None, [])]
        for entry in self._entries:
            head, found = groups[-1]
            if entry.head:
                groups.append((entry, []))
            elif entry.unfolds if typed else entry.is_folded:
                continue
            elif contains_words(f"{head.text.plain if head else ''} {entry.text.plain} {entry.also}", typed):
                found.append(entry)
        filled = [(head, found) for head, found in groups if found]
        if typed:
            for _, found in filled:
                found.sort(key=lambda entry: _distance(entry.name, typed))
            filled.sort(key=lambda group: _distance(group[1][0].name, typed))
        return [row for head, found in filled for row in ([] if head is None else [head]) + found]

    @staticmethod
    def _as_options(entries: Sequence[DialogEntry]) -> list[Option | None]:
        options: list[Option | None] = []
        for entry in entries:
            options += [None] if entry.head and options else []
            options.append(Option(entry.text, entry.id, disabled=entry.id is None))
        return options


def _distance(name: str, typed: str) -> int:
    """Return how far a name is from what was typed: 0 if it is the same, 1 if it begins so, else 2."""
    name, typed = name.lower(), typed.lower().strip()
    return 2 - name.startswith(typed) - (name == typed)


class ListDialog(Dialog[R]):
    """A list of rows, filtered by typing; the result is that of the chosen row.

    ``letters`` are bound here: they do not begin a filter.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("q", "leave", "close")]
    letters: ClassVar[str] = "q"

    def compose_box(self) -> ComposeResult:
        yield FilterableList([], self.letters)

    def on_mount(self) -> None:
        self.query_one(FilterableList).focus()

    def put(self, rows: Iterable[tuple[Text, R | None]], at: int = 0) -> None:
        """Show these rows with their results, the cursor at row ``at``; one without a result cannot be chosen."""
        texts_and_results = list(rows)
        self._results = [result for _, result in texts_and_results]
        listed = self.query_one(FilterableList)
        listed.put(
            DialogEntry(text, None if result is None else str(place))
            for place, (text, result) in enumerate(texts_and_results)
        )
        if listed.typed is None:
            listed.highlighted = at if self._results else None

    def on_filterable_list_filter_changed(self, event: FilterableList.FilterChanged) -> None:
        note = "" if self.query_one(FilterableList).option_count else "no match · "
        keys = self._title_and_keys[1] if event.typed is None else note + describe_filter(event.typed)
        self.frame(keys=keys)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        place = int(event.option_id or 0)
        if place >= len(self._results):
            return  # other rows were put between the key and this event
        result = self._results[place]
        assert result is not None
        self.submit(result)

    def submit(self, result: R) -> None:
        self.dismiss(result)


def describe_filter(typed: str) -> str:
    """Return the line of keys while a list is filtered."""
    return f"filter: {sanitize(typed, 40)} · Enter selects · Esc clears"


# answer a question


LONGEST_ANSWER = 900

ROOM = 76
"""The width of the text in a dialog."""


def as_line(text: str) -> str:
    """Return the text on one line, without control characters."""
    return sanitize(" ".join(text.split()))


def as_lines(text: str) -> str:
    """Return the text line by line, without control characters and blanks at the end."""
    return "\n".join(sanitize(line.rstrip()) for line in text.strip().split("\n"))


class TypedNumber:
    """Numbers typed by digits, of which several typed quickly make one number."""

    _WITHIN_S = 0.7

    def __init__(self) -> None:
        self._typed = ""
        self._typed_at_s = 0.0

    def enter(self, digit: str, numbers: Collection[int]) -> int | None:
        """Return which of ``numbers`` is typed with this digit, if any."""
        now_s = time.monotonic()
        typed = self._typed + digit if now_s - self._typed_at_s < self._WITHIN_S else digit
        self._typed = typed if int(typed) in numbers else digit
        self._typed_at_s = now_s
        return int(self._typed) if int(self._typed) in numbers else None


_SUBMITS = "Enter submits · Esc closes"
_HANDS_IN = "Enter twice hands it in"
_HANDS_IN_NOW = "Enter again hands it in: only this answer counts · Esc closes"


class QuestionDialog(Dialog[R]):
    """A text with controls below it; the result is the user's answer.

    If only the first answer counts, it is confirmed by a second Enter: see ``is_confirmed``.
    """

    DEFAULT_CSS = """
    QuestionDialog > Vertical { width: 84; max-height: 100%; }
    QuestionDialog VerticalScroll { height: auto; max-height: 50vh; margin-bottom: 1; }
    QuestionDialog Input { background: $boost; }
    """

    def __init__(self, title: str, body: Sequence[Text], keys: str) -> None:
        super().__init__(sanitize(title, 70), keys)
        self._body = Text("\n").join(body)
        self._given = ""

    def compose_box(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static(self._body, markup=False)
        yield from self.compose_controls()

    def compose_controls(self) -> ComposeResult:
        """Yield the controls below the text."""
        yield from ()

    def is_confirmed(self, answer: str) -> bool:
        """Return whether this answer was given twice in succession; ask for that if it was given once."""
        before, self._given = self._given, answer
        if answer != before:
            self.frame(keys=_HANDS_IN_NOW)
        return answer == before

    def withdraw_answer(self) -> None:
        """Forget what was given once: the user goes on to change it."""
        if self._given:
            self._given = ""
            self.frame(keys=self._title_and_keys[1])


class TextDialog(QuestionDialog[None]):
    """A text to read."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,enter", "leave", "close"),
        ("down", "by(1)", ""),
        ("up", "by(-1)", ""),
    ]

    def __init__(self, title: str, body: Sequence[Text]) -> None:
        super().__init__(title, body, "Up Down scroll · Enter or Esc closes")

    def action_by(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


class ChoiceDialog(QuestionDialog[str]):
    """A choice among ``options``. ``leaves`` is the text about Esc in the last line.

    A digit selects the option at that place, which each row shows, even if the options are numbers themselves. A
    digit without an option, and Enter without a selection, say so in the last line.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("q", "leave", "")]
    enter: ClassVar[str] = "Enter confirms"
    """The effect of Enter, as the last line has it."""
    preselects: ClassVar[bool] = True

    def __init__(
        self, title: str, body: Sequence[Text], options: Sequence[str], leaves: str = "Esc closes"
    ) -> None:
        digits = "the digit of a row" if any(map(str.isdecimal, options)) else "a digit"
        selects = f"arrows or {digits} select · " if len(options) > 1 else ""
        super().__init__(title, body, f"{selects}{self.enter} · {leaves}")
        self._options = options
        self._typed = TypedNumber()
        self._is_refused = False

    def compose_controls(self) -> ComposeResult:
        rows = (DialogEntry(self._row(place), str(place)) for place in range(len(self._options)))
        yield FilterableList(rows, "q0123456789", is_short=len(self._options) == 1)

    def on_mount(self) -> None:
        listed = self.query_one(FilterableList)
        listed.focus()
        listed.highlighted = 0 if self.preselects else None

    def on_key(self, event: events.Key) -> None:
        listed = self.query_one(FilterableList)
        if event.key.isdecimal():
            event.stop()
            number = self._typed.enter(event.key, range(1, len(self._options) + 1))
            if number is None:
                self._refuse(f"there is no row {event.key}; the rows are 1 to {len(self._options)}")
            else:
                self._accept()
                listed.highlighted = number - 1
        elif event.key == "enter" and listed.highlighted is None:
            self._refuse(f"nothing is selected: arrows or a digit select · {self.enter}")

    def _refuse(self, why: str) -> None:
        """Show why a key does nothing, until another one selects a row."""
        self._is_refused = True
        self.frame(keys=why)

    def _accept(self) -> None:
        if self._is_refused:
            self._is_refused = False
            self.frame(keys=self._title_and_keys[1])

    def on_option_list_option_highlighted(self) -> None:
        self._accept()

    def on_filterable_list_filter_changed(self, event: FilterableList.FilterChanged) -> None:
        self.frame(keys=self._title_and_keys[1] if event.typed is None else describe_filter(event.typed))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.submit(self._options[int(event.option_id or 0)])

    def submit(self, answer: str) -> None:
        self.dismiss(answer)

    def _row(self, place: int) -> Text:
        number = f" {place + 1}  " if len(self._options) > 1 else " "
        return Text.assemble((number, "bold"), sanitize(self._options[place], 200))


class AnswerDialog(ChoiceDialog):
    """A question. Nothing is preselected: it may come while the user presses Enter."""

    enter = "Enter answers"
    preselects = False


class FinalAnswerDialog(AnswerDialog):
    """A question whose first answer counts, so it takes a second Enter."""

    enter = _HANDS_IN

    def submit(self, answer: str) -> None:
        if self.is_confirmed(answer):
            super().submit(answer)

    def on_option_list_option_highlighted(self) -> None:
        self.withdraw_answer()


class LineDialog(QuestionDialog[str]):
    """A line to type into."""

    DEFAULT_CSS = "LineDialog #note { height: auto; }"
    placeholder: ClassVar[str] = ""

    def __init__(self, title: str, body: Sequence[Text], initial: str = "", keys: str = _SUBMITS) -> None:
        super().__init__(title, body, keys)
        self._initial = initial

    def compose_controls(self) -> ComposeResult:
        # what stands in it is selected: the first key replaces it
        yield Input(self._initial, placeholder=self.placeholder, max_length=LONGEST_ANSWER)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Submit the line, unless it is empty."""
        if answer := as_line(event.value):
            self.submit(answer)

    def submit(self, answer: str) -> None:
        self.dismiss(answer)


class FinalLineDialog(LineDialog):
    """A line whose first answer counts, so it takes a second Enter.

    ``suggestion`` says what the initial text is. ``refuse`` returns why an answer is not possible; empty if it is.
    """

    placeholder = "your answer"

    def __init__(
        self,
        title: str,
        body: Sequence[Text],
        styles: ThemeStyles,
        refuse: Callable[[str], str] = lambda answer: "",
        initial: str = "",
        suggestion: str = "",
    ) -> None:
        super().__init__(title, body, initial, f"{_HANDS_IN} · Esc closes")
        self._styles = styles
        self._refuse = refuse
        self._suggestion = suggestion

    def compose_controls(self) -> ComposeResult:
        yield from super().compose_controls()
        yield Static(Text(self._suggestion, "dim"), id="note", markup=False)

    def submit(self, answer: str) -> None:
        if reason := self._refuse(answer):
            self._note(Text(sanitize(reason, 200), self._styles.warning))
        elif self.is_confirmed(answer):
            super().submit(answer)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Ask again for an answer that has changed."""
        self.withdraw_answer()
        self._note(Text(self._suggestion if event.value == self._initial else "", "dim"))

    def _note(self, text: Text) -> None:
        self.query_one("#note", Static).update(text)


class Explanation(Struct, frozen=True):
    """A written explanation: its text, and whether the student submitted it."""

    text: str
    is_submitted: bool


class ExplanationDialog(QuestionDialog[Explanation]):
    """A text of several lines; the draft is kept if it is not submitted."""

    DEFAULT_CSS = """
    ExplanationDialog TextArea {
        height: 8; border: none; padding: 0; background: $boost; &:focus { border: none; }
    }
    ExplanationDialog Static { height: auto; }
    ExplanationDialog Button { height: 1; min-width: 20; border: none; margin-top: 1; }
    """

    def __init__(self, title: str, body: Sequence[Text], draft: str, styles: ThemeStyles) -> None:
        super().__init__(title, body, "Tab, then Enter submits · Esc closes and keeps your draft")
        self._draft = draft
        self._styles = styles

    def compose_controls(self) -> ComposeResult:
        yield TextArea(self._draft, tab_behavior="focus", show_line_numbers=False)
        yield Static(id="left", markup=False)
        yield Button("submit this answer", compact=True)

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()
        self._show_room()

    def on_text_area_changed(self) -> None:
        self._show_room()

    def on_button_pressed(self) -> None:
        """Submit the text, unless it is empty or too long."""
        answer = as_lines(self._text)
        if answer and len(escape(answer)) <= LONGEST_ANSWER:
            self.dismiss(Explanation(answer, True))

    def action_leave(self) -> None:
        self.dismiss(Explanation(self._text, False))

    @property
    def _text(self) -> str:
        return self.query_one(TextArea).text

    def _show_room(self) -> None:
        left = LONGEST_ANSWER - len(escape(as_lines(self._text)))
        text = f"{left} characters left" if left >= 0 else f"{-left} characters too long"
        self.query_one("#left", Static).update(Text(text, self._styles.warning if left < 0 else "dim"))


# name a file


class CancelledError(Exception):
    """The dialog was closed, so its work is cancelled."""


class FileDialog(Dialog[str]):
    """A dialog that writes a file in a thread; the result is a message about the file.

    An existing file is overwritten only when Enter is pressed again.
    """

    refusals: ClassVar[tuple[type[Exception], ...]] = ()
    """The errors of ``make`` whose text says all that the user needs to know."""
    control: ClassVar[type[Widget]] = Input
    """The widget that gets the focus again after an error."""

    def __init__(self, title: str, keys: str, styles: ThemeStyles) -> None:
        super().__init__(title, keys)
        self._styles = styles
        self._warned: Path | None = None
        self._progress = ""
        self._cancelled = threading.Event()

    def make(self, path: Path) -> str:
        """Write the file and return the message. It runs in a thread, so it must not touch widgets."""
        raise NotImplementedError

    def begin(self, path: Path) -> None:
        """Write the file, unless it is a folder or exists. Raises OSError or ValueError."""
        if path.is_dir():
            self.show_text(f"{path} is a folder; type the name of a file", warn=True)
        elif path.exists() and path != self._warned:
            self._warned = path
            self.show_text(f"{path} exists: press Enter again to overwrite it, or type another name", warn=True)
        else:
            self._write(path)

    def show_text(self, text: str, warn: bool = False) -> None:
        """Show a text in the line of the answer."""
        style = self._styles.warning if warn else self._styles.accent
        self.query_one("#answer", Static).update(Text(sanitize(text, 400), style))

    def on_progress(self, text: str) -> None:
        """Note how far ``make`` is. Raises CancelledError once the dialog is closed."""
        if self._cancelled.is_set():
            raise CancelledError
        self._progress = text

    def on_input_changed(self) -> None:
        self._warned = None

    def on_unmount(self) -> None:
        """Cancel the work: its thread stops when it next notes progress."""
        self._cancelled.set()

    @work(exclusive=True)
    async def _write(self, path: Path) -> None:
        self._progress = "reading the recording …"
        self.box.disabled = True
        progress = self.set_interval(0.1, lambda: self.show_text(self._progress))
        error = ""
        try:
            self.dismiss(await asyncio.to_thread(self.make, path))
        except CancelledError:
            pass
        except self.refusals as refusal:
            error = str(refusal)
        except (OSError, ValueError) as reason:  # ValueError: a NUL in the name
            error = f"{path} cannot be written: {getattr(reason, 'strerror', None) or reason}"
        finally:
            progress.stop()
        if error:
            self.box.disabled = False
            self.query_one(self.control).focus()
            self.show_text(error, warn=True)

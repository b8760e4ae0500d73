"""Dialogs: their common frame, and the forms to read a text, choose, type a line or type a longer text."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeVar

from msgspec import Struct
from rich.text import Text
from textual import events
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

from lab.text import sanitize
from lab.tui.terminal.styles import ThemeStyles

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

    def dismiss(self, result: R | None = None) -> AwaitComplete:
        """Close the dialog; do nothing if it is closed already."""
        # a second key that came too fast would otherwise close the screen below
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def action_leave(self) -> None:
        """Close without a result."""
        self.dismiss(None)


def frame(box: Widget, title: str | None = None, subtitle: str | None = None) -> None:
    """Set the title and subtitle of a box's frame as plain text: Textual would parse brackets as markup."""
    if title is not None:
        box.border_title = Content(title)
    if subtitle is not None:
        box.border_subtitle = Content(subtitle)


class Entry(Struct, frozen=True):
    """A row. Without an ``id`` it cannot be chosen; a ``head`` is the title of the rows up to the next head."""

    text: Text
    id: str | None = None
    head: bool = False


def contains_words(text: str, words: str) -> bool:
    """Return whether the text contains all these words, ignoring case."""
    return all(word in text.lower() for word in words.lower().split())


class FilterableList(OptionList):
    """A list filtered by typed words. Backspace deletes a letter, Escape clears the filter.

    ``keys`` are letters bound by the screen: they do not begin a filter, except after a slash.
    """

    class FilterChanged(Message):
        """The filter text changed; None means that there is no filter."""

        def __init__(self, typed: str | None) -> None:
            super().__init__()
            self.typed = typed

    def __init__(self, entries: Iterable[Entry], keys: str = "") -> None:
        self._entries = list(entries)
        self._keys = keys
        self.typed: str | None = None
        super().__init__(*self._as_options(self._entries))

    def put(self, entries: Iterable[Entry]) -> None:
        """Replace the rows; the cursor stays on its row, if that is still there."""
        before = self.highlighted_option
        self._entries = list(entries)
        self._show()
        if before is not None and any(option.id == before.id for option in self.options):
            self.highlighted = self.get_option_index(before.id or "")

    def on_key(self, event: events.Key) -> None:
        letter = event.character if event.is_printable else None
        if event.key == "escape" and self.typed is not None:
            typed = None
        elif event.key == "backspace" and self.typed is not None:
            typed = self.typed[:-1] if self.typed else None
        elif letter is None or (self.typed is None and (letter in self._keys or letter == " ")):
            return
        else:
            typed = (self.typed or "") + (letter if self.typed is not None or letter != "/" else "")
        event.stop()
        event.prevent_default()
        self._set_filter(typed)

    def _set_filter(self, typed: str | None) -> None:
        self.typed = typed
        self._show()
        self.post_message(self.FilterChanged(typed))

    def _show(self) -> None:
        self.clear_options()
        self.add_options(self._as_options(self._matching(self.typed or "")))
        self.action_first()

    def _matching(self, typed: str) -> list[Entry]:
        """Return the rows that contain these words, counting those of their head; each group with its head."""
        left: list[Entry] = []
        head: Entry | None = None
        for entry in self._entries:
            if entry.head:
                head = entry
            elif contains_words(f"{head.text.plain if head else ''} {entry.text.plain}", typed):
                left += [head, entry] if head is not None and head not in left else [entry]
        return left

    @staticmethod
    def _as_options(entries: Sequence[Entry]) -> list[Option | None]:
        options: list[Option | None] = []
        for entry in entries:
            options += [None] if entry.head and options else []
            options.append(Option(entry.text, entry.id, disabled=entry.id is None))
        return options


LONGEST_ANSWER = 900

_CSS = """
    {name} > Vertical {{ width: 84; max-height: 100%; }}
    {name} VerticalScroll {{ height: auto; max-height: 50vh; margin-bottom: 1; }}
"""
ROOM = 76
"""The width of the text in a dialog."""


def as_line(text: str) -> str:
    """Return the text as it can be quoted in a command: on one line, with single instead of double quotes."""
    return sanitize(" ".join(text.split())).replace('"', "'")


class _QuestionDialog(Dialog[str | None]):
    """A text with controls below it; the result is the user's answer, or None."""

    leaves = "Esc closes"

    def __init__(self, title: str, body: Sequence[Text], theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._title_text = title
        self._body = Text("\n").join(body)
        self.theme_styles = theme_styles

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            frame(box, sanitize(self._title_text, 70), self.leaves)
            with VerticalScroll(can_focus=False):
                yield Static(self._body, markup=False)
            yield from self.compose_controls()

    def compose_controls(self) -> ComposeResult:
        """Yield the controls below the text."""
        raise NotImplementedError


class TextDialog(_QuestionDialog):
    """A text to read."""

    DEFAULT_CSS = _CSS.format(name="TextDialog")
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,enter", "leave", "close"),
        ("down", "by(1)", ""),
        ("up", "by(-1)", ""),
    ]
    leaves = "Esc closes"

    def compose_controls(self) -> ComposeResult:
        yield from ()

    def action_by(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


class ChoiceDialog(_QuestionDialog):
    """A choice among ``options``, by Enter or by number. ``leaves`` is the text about Esc in the frame."""

    DEFAULT_CSS = _CSS.format(name="ChoiceDialog")
    BINDINGS: ClassVar[list[BindingType]] = [("q", "leave", "")]

    def __init__(
        self,
        title: str,
        body: Sequence[Text],
        options: Sequence[str],
        theme_styles: ThemeStyles,
        leaves: str = "Esc closes",
    ) -> None:
        super().__init__(title, body, theme_styles)
        self._options = options
        self.leaves = f"Enter selects; {leaves}" if len(options) > 1 else f"Enter confirms; {leaves}"

    def compose_controls(self) -> ComposeResult:
        yield OptionList(
            *(
                Option(
                    Text.assemble(
                        (f" {place}  " if len(self._options) > 1 else " ", "bold"), sanitize(option, 200)
                    )
                )
                for place, option in enumerate(self._options, 1)
            )
        )

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()
        self.query_one(OptionList).action_first()

    def on_key(self, event: events.Key) -> None:
        """Choose by number."""
        if event.key.isdigit() and 1 <= int(event.key) <= len(self._options):
            event.stop()
            self.dismiss(self._options[int(event.key) - 1])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._options[event.option_index])


class LineDialog(_QuestionDialog):
    """A line to type into."""

    DEFAULT_CSS = (
        _CSS.format(name="LineDialog")
        + """
    LineDialog Input { background: $boost; }
    """
    )
    leaves = "Enter submits; Esc closes"

    def __init__(self, title: str, body: Sequence[Text], initial: str, theme_styles: ThemeStyles) -> None:
        super().__init__(title, body, theme_styles)
        self._initial = initial

    def compose_controls(self) -> ComposeResult:
        yield Input(self._initial, placeholder="your answer", max_length=LONGEST_ANSWER, select_on_focus=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Submit the line, unless it is empty."""
        if answer := as_line(event.value):
            self.dismiss(answer)


class Explanation(Struct, frozen=True):
    """A written explanation: its text, and whether the student submitted it."""

    text: str
    is_submitted: bool


class ExplanationDialog(Dialog[Explanation]):
    """A text of several lines; the draft is kept if it is not submitted."""

    DEFAULT_CSS = (
        _CSS.format(name="ExplanationDialog")
        + """
    ExplanationDialog TextArea {
        height: 8; border: none; padding: 0; background: $boost; &:focus { border: none; }
    }
    ExplanationDialog Static { height: auto; }
    ExplanationDialog Button { height: 1; min-width: 20; border: none; margin-top: 1; }
    """
    )

    def __init__(self, title: str, body: Sequence[Text], draft: str, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._title_text = title
        self._body = Text("\n").join(body)
        self._draft = draft
        self._theme_styles = theme_styles

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            frame(box, sanitize(self._title_text, 70), "Tab, then Enter submits; Esc closes and keeps your draft")
            with VerticalScroll(can_focus=False):
                yield Static(self._body, markup=False)
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
        answer = as_line(self._text)
        if answer and len(answer) <= LONGEST_ANSWER:
            self.dismiss(Explanation(answer, True))

    def action_leave(self) -> None:
        self.dismiss(Explanation(self._text, False))

    @property
    def _text(self) -> str:
        return self.query_one(TextArea).text

    def _show_room(self) -> None:
        left = LONGEST_ANSWER - len(as_line(self._text))
        text = f"{left} characters left" if left >= 0 else f"{-left} characters too long"
        self.query_one("#left", Static).update(Text(text, self._theme_styles.warning if left < 0 else "dim"))

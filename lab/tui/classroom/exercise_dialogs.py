"""The dialogs of exercises: a text to read, a choice, a line or a longer text to type."""

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Button, Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from lab.text import sanitize
from lab.tui.dialog import Dialog, frame
from lab.tui.terminal.theme_styles import ThemeStyles

__all__ = [
    "LONGEST_ANSWER",
    "ChoiceDialog",
    "Explanation",
    "ExplanationDialog",
    "LineDialog",
    "TextDialog",
    "as_line",
]

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

"""What an exercise asks: which answer, in what words, whether a hint is wanted, whether to end the attempt."""

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

__all__ = ["LONGEST_ANSWER", "ChoiceDialog", "LineDialog", "TextDialog", "Words", "WordsDialog", "as_line"]

LONGEST_ANSWER = 900

_CSS = """
    {name} > Vertical {{ width: 84; max-height: 100%; }}
    {name} VerticalScroll {{ height: auto; max-height: 50vh; margin-bottom: 1; }}
"""
ROOM = 76
"""How wide the text in a dialog is."""


def as_line(text: str) -> str:
    """As it can be given with a command: in a line, without the quotes that end it there."""
    return sanitize(" ".join(text.split())).replace('"', "'")


class _Asking(Dialog[str | None]):
    """A text, and below it what is to be done about it; the result is what was chosen, or None."""

    leaves = "Esc leaves"

    def __init__(self, title: str, said: Sequence[Text], theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._titled = title
        self._said = Text("\n").join(said)
        self.theme_styles = theme_styles

    def compose(self) -> ComposeResult:
        """The text, and the rest."""
        with Vertical() as box:
            frame(box, sanitize(self._titled, 70), self.leaves)
            with VerticalScroll(can_focus=False):
                yield Static(self._said, markup=False)
            yield from self.below()

    def below(self) -> ComposeResult:
        """What is to be done about it."""
        raise NotImplementedError


class TextDialog(_Asking):
    """Nothing is to be done: a text to read."""

    DEFAULT_CSS = _CSS.format(name="TextDialog")
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,enter", "leave", "close"),
        ("down", "by(1)", ""),
        ("up", "by(-1)", ""),
    ]
    leaves = "Esc closes"

    def below(self) -> ComposeResult:
        """Nothing."""
        yield from ()

    def action_by(self, lines: int) -> None:
        """See more of it."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


class ChoiceDialog(_Asking):
    """One of these; its number takes it as well. ``keys`` says what Enter does."""

    DEFAULT_CSS = _CSS.format(name="ChoiceDialog")
    BINDINGS: ClassVar[list[BindingType]] = [("q", "leave", "")]

    def __init__(
        self,
        title: str,
        said: Sequence[Text],
        choices: Sequence[str],
        theme_styles: ThemeStyles,
        leaves: str = "Esc leaves",
    ) -> None:
        super().__init__(title, said, theme_styles)
        self._choices = choices
        self.leaves = f"Enter takes one; {leaves}" if len(choices) > 1 else f"Enter does it; {leaves}"

    def below(self) -> ComposeResult:
        """A row for each."""
        yield OptionList(
            *(
                Option(
                    Text.assemble(
                        (f" {place}  " if len(self._choices) > 1 else " ", "bold"), sanitize(choice, 200)
                    )
                )
                for place, choice in enumerate(self._choices, 1)
            )
        )

    def on_mount(self) -> None:
        """Begin at the first."""
        self.query_one(OptionList).focus()
        self.query_one(OptionList).action_first()

    def on_key(self, event: events.Key) -> None:
        """The number of one."""
        if event.key.isdigit() and 1 <= int(event.key) <= len(self._choices):
            event.stop()
            self.dismiss(self._choices[int(event.key) - 1])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click."""
        self.dismiss(self._choices[event.option_index])


class LineDialog(_Asking):
    """A line to type."""

    DEFAULT_CSS = (
        _CSS.format(name="LineDialog")
        + """
    LineDialog Input { background: $boost; }
    """
    )
    leaves = "Enter answers; Esc leaves"

    def __init__(self, title: str, said: Sequence[Text], typed: str, theme_styles: ThemeStyles) -> None:
        super().__init__(title, said, theme_styles)
        self._typed = typed

    def below(self) -> ComposeResult:
        """The line."""
        yield Input(self._typed, placeholder="your answer", max_length=LONGEST_ANSWER, select_on_focus=False)

    def on_mount(self) -> None:
        """Begin to type."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter; of nothing it is no answer."""
        if answer := as_line(event.value):
            self.dismiss(answer)


class Words(Struct, frozen=True):
    """What was written, and whether it is to be given."""

    text: str
    is_given: bool


class WordsDialog(Dialog[Words]):
    """Several lines to write, which are kept, whether they are given or not."""

    DEFAULT_CSS = (
        _CSS.format(name="WordsDialog")
        + """
    WordsDialog TextArea { height: 8; border: none; padding: 0; background: $boost; &:focus { border: none; } }
    WordsDialog Static { height: auto; }
    WordsDialog Button { height: 1; min-width: 20; border: none; margin-top: 1; }
    """
    )

    def __init__(self, title: str, said: Sequence[Text], draft: str, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._titled = title
        self._said = Text("\n").join(said)
        self._draft = draft
        self._look = theme_styles

    def compose(self) -> ComposeResult:
        """The question, room to write, and what gives it."""
        with Vertical() as box:
            frame(
                box, sanitize(self._titled, 70), "Tab, then Enter gives it; Esc leaves, and keeps what you wrote"
            )
            with VerticalScroll(can_focus=False):
                yield Static(self._said, markup=False)
            yield TextArea(self._draft, tab_behavior="focus", show_line_numbers=False)
            yield Static(id="left", markup=False)
            yield Button("give this answer", compact=True)

    def on_mount(self) -> None:
        """Begin to write."""
        self.query_one(TextArea).focus()
        self._tell()

    def on_text_area_changed(self) -> None:
        """Say how much is left."""
        self._tell()

    def on_button_pressed(self) -> None:
        """Give it, if it is not too long, nor nothing."""
        answer = as_line(self._text)
        if answer and len(answer) <= LONGEST_ANSWER:
            self.dismiss(Words(answer, True))

    def action_leave(self) -> None:
        """Not now."""
        self.dismiss(Words(self._text, False))

    @property
    def _text(self) -> str:
        return self.query_one(TextArea).text

    def _tell(self) -> None:
        left = LONGEST_ANSWER - len(as_line(self._text))
        said = f"{left} characters left" if left >= 0 else f"{-left} characters too long"
        self.query_one("#left", Static).update(Text(said, self._look.warning if left < 0 else "dim"))

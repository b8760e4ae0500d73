"""What the teacher says, as a line over the line of answers: it stays until it is put away, or is over."""

from rich.text import Text
from textual import events
from textual.message import Message

from lab.tui.frame.lines import Line

__all__ = ["TeacherLine"]


class TeacherLine(Line):
    """Some lines, each with what a click on it does."""

    DEFAULT_CSS = """
    TeacherLine { height: auto; max-height: 6; padding: 0 1; text-wrap: wrap; text-overflow: fold;
        background: $panel; }
    """

    class Clicked(Message):
        """A click."""

    def put_lines(self, lines: list[Text]) -> None:
        """Show these; without any it takes no room."""
        self.display = bool(lines)
        self.put(Text("\n").join(lines), wraps=True)

    def on_click(self, event: events.Click) -> None:
        """As its key."""
        self.post_message(self.Clicked())

"""The lines from the teacher, above the message line; they stay until dismissed or over."""

from rich.text import Text
from textual import events
from textual.message import Message

from lab.tui.frame.status_lines import Line

__all__ = ["TeacherLine"]


class TeacherLine(Line):
    """Lines of text; a click on them acts like their key."""

    DEFAULT_CSS = """
    TeacherLine { height: auto; max-height: 6; padding: 0 1; text-wrap: wrap; text-overflow: fold;
        background: $panel; }
    """

    class Clicked(Message):
        """The user clicked the lines."""

    def put_lines(self, lines: list[Text]) -> None:
        """Show these lines; without any, hide the widget."""
        self.display = bool(lines)
        self.put(Text("\n").join(lines), wraps=True)

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Clicked())

"""Drawing with ASCII alone, for terminals that have nothing else: whatever a widget draws is put in other letters.

The glyphs of a ``ThemeStyles`` are ASCII there already; this is for all that comes from elsewhere: borders and scroll
bars, punctuation in texts, names and messages of a recording.
"""

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

__all__ = ["AsciiOnly", "ascii_of"]

_OTHERS = str.maketrans(
    {
        **dict.fromkeys("─━═▔▀", "-"),
        **dict.fromkeys("│┃║▐▕", "|"),
        **dict.fromkeys("▁▂▃▄▅▆▇▉▊▋▌▍▎▏", " "),  # the ends of scroll bars, which are seen by their colours
        **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼┏┓┗┛", "+"),
        "·": ".",
        "×": "x",
        "…": "~",  # a full stop would look like the end of what it cuts
        **dict.fromkeys("→▶", ">"),
        **dict.fromkeys("←◀", "<"),
        "\N{NO-BREAK SPACE}": " ",
    }
)


def ascii_of(text: str) -> str:
    """``text`` in ASCII, just as wide: what has no likeness there is a question mark for each cell."""
    if text.isascii():
        return text
    alike = text.translate(_OTHERS)
    return "".join(letter if letter.isascii() else "?" * cell_len(letter) for letter in alike)


class AsciiOnly(LineFilter):
    """Lets nothing but ASCII through."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same line in ASCII."""
        return [Segment(ascii_of(text), style, control) for text, style, control in segments]

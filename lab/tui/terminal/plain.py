"""A filter that replaces all non-ASCII characters, for terminals that draw nothing else.

The glyphs of ``ThemeStyles`` are ASCII on such a terminal already. The filter handles the rest: borders, scroll
bars, punctuation, and names and messages from a recording.
"""

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

__all__ = ["AsciiOnly", "to_ascii"]

_REPLACEMENTS = str.maketrans(
    {
        **dict.fromkeys("─━═▔▀", "-"),
        **dict.fromkeys("│┃║▐▕", "|"),
        **dict.fromkeys("▁▂▃▄▅▆▇▉▊▋▌▍▎▏", " "),  # ends of scroll bars, which are visible by their colours
        **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼┏┓┗┛", "+"),
        "·": ".",
        "×": "x",
        "…": "~",  # a full stop would look like the end of the sentence
        **dict.fromkeys("→▶", ">"),
        **dict.fromkeys("←◀", "<"),
        "\N{NO-BREAK SPACE}": " ",
    }
)


def to_ascii(text: str) -> str:
    """Return ``text`` in ASCII with the same width; a character without an equivalent becomes question marks."""
    if text.isascii():
        return text
    replaced = text.translate(_REPLACEMENTS)
    return "".join(letter if letter.isascii() else "?" * cell_len(letter) for letter in replaced)


class AsciiOnly(LineFilter):
    """A line filter that lets only ASCII through."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]

"""Styled text: styles by purpose, in colours that colour-blind people can distinguish, and text cut to a width.

What is shown by a colour is also shown by a glyph or a word.
"""

import re
from collections.abc import Iterable
from functools import cache

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.style import Style
from rich.text import Text

from lab.glyphs import Glyphs
from lab.palette import Palette, text_colour_on

DIM = Style(dim=True)
_EMPHASIZED = ("unmet", "violation", "caption", "mark", "bookmark")
_DIMMED = ("delivered", "receiver down")


class ThemeStyles:
    """Styles by purpose. ``dark`` selects the palette for a dark background."""

    def __init__(self, glyphs: Glyphs) -> None:
        self.glyphs = glyphs
        self._dark = Palette(dark=True)
        self._light = Palette(dark=False)
        self.dark = True

    def status(self, status: str) -> Style:
        """Return the style of a status, or of the state of a process."""
        return _styled(self._palette.status(status))

    def state(self, state: str) -> Style:
        return _styled(self._palette.state(state))

    def glyph(self, status: str) -> str:
        """Return the symbol of a status."""
        return self.glyphs.status.get(status, self.glyphs.dot)

    def fate(self, fate: str) -> Style:
        """Return the style of a message's delivery outcome."""
        return _styled(self._palette.fate(fate), dim=fate in _DIMMED and self.dark)

    def kind(self, kind: str) -> Style:
        """Return the style of a kind of message; an answer has the style of its request, dimmed."""
        return _styled(self._palette.kind(kind), dim=kind.endswith("Answer") and self.dark)

    def mark(self, kind: str) -> Style:
        """Return the style of a kind of mark, as on the scrub bar and in the script."""
        return _styled(self._palette.mark(kind), bold=kind in _EMPHASIZED)

    def verdict(self, word: str) -> Style:
        """Return the style of a verdict: *holds*, *excused* (violated), *fails*, or not known yet."""
        if word == "fails":
            return self.warning
        colour = {"holds": "green", "excused": "orange"}.get(word)
        return _styled(None if colour is None else self._palette.named(colour), bold=word == "excused")

    def group(self, hue: int) -> Style:
        """Return the style of a group by the number of its colour; its identifier always stands beside it."""
        return _styled(self._palette.group(hue))

    def badge(self, hue: int) -> Style:
        """Return the style of a group's badge: its colour as the background of its identifier."""
        ground = self._palette.group(hue)
        return Style(color=text_colour_on(ground), bgcolor=ground, bold=True)

    def ground(self, colour: str) -> Style:
        """Return the style of text on a ground of this colour."""
        ground = self._palette.named(colour)
        return Style(color=text_colour_on(ground), bgcolor=ground)

    def status_ground(self, status: str) -> Style:
        """Return the style of text on a ground of the colour of a status, or of the state of a process."""
        ground = self._palette.status(status)
        return Style(reverse=True) if ground is None else Style(color=text_colour_on(ground), bgcolor=ground)

    @property
    def warning(self) -> Style:
        return _styled(self._palette.named("vermilion"), bold=True)

    @property
    def accent(self) -> Style:
        """The style of what is selected."""
        return _styled(self._palette.named("sky"), bold=True)

    @property
    def picked(self) -> Style:
        """The ground of what is selected in another view, and of lines that ran; a sign stands beside it."""
        return Style(bgcolor="#15384a" if self.dark else "#d3e9f7")

    @property
    def code(self) -> Style:
        return _styled(self._palette.named("sky"))

    @property
    def highlight(self) -> Style:
        return self.leader + Style(reverse=True)

    @property
    def leader(self) -> Style:
        return _styled(self._palette.named("yellow"), bold=True)

    @property
    def _palette(self) -> Palette:
        return self._dark if self.dark else self._light


@cache
def _styled(colour: str | None, bold: bool = False, dim: bool = False) -> Style:
    return Style(color=colour, bold=bold or None, dim=dim or None)


# text of a limited width

Piece = tuple[str, Style]
Line = list[Piece]
_MORE = "…"


def width_of(line: Line) -> int:
    """Return the width of a line in cells."""
    return sum(cell_len(text) for text, _ in line)


def fit(pieces: Line, width: int) -> Line:
    """Cut or pad these pieces to exactly ``width`` cells, with an ellipsis if more than blanks is cut off."""
    if width <= 0:
        return []
    is_cut = cell_len("".join(text for text, _ in pieces).rstrip()) > width
    left = width - is_cut
    fitted: Line = []
    for text, style in pieces:
        kept = _kept(text, left)
        fitted.append((kept + _MORE if is_cut and len(kept) < len(text) else kept, style))
        left -= cell_len(kept)
        if len(kept) < len(text):
            break
    blank = width - width_of(fitted)
    return [*fitted, (" " * blank, Style())] if blank > 0 else fitted


def _kept(text: str, width: int) -> str:
    """Return as much of the text as fits; a number is dropped rather than cut, as it would read as another one."""
    if cell_len(text) <= width:
        return text
    kept = set_cell_size(text, width).rstrip()
    return kept.rstrip("0123456789") if text[len(kept)].isdigit() else kept


@cache
def plain_console() -> Console:
    """Return a console for measuring and wrapping text."""
    return Console(color_system=None)


def pieces_of(text: Text) -> Line:
    """Return a line as pieces of one style each."""
    if not text.spans:  # without spans, Rich ignores the base style
        return [(text.plain, plain_console().get_style(text.style))]
    return [(segment.text, segment.style or Style()) for segment in text.render(plain_console())]


def wrap_words(words: Line, width: int) -> list[Line]:
    """Wrap words to lines of ``width`` columns. A longer word gets a line of its own."""
    lines: list[Line] = [[]]
    left = width
    for text, style in words:
        if lines[-1] and cell_len(text) + 1 > left:
            lines.append([])
            left = width
        if lines[-1]:
            lines[-1].append((" ", Style()))
            left -= 1
        lines[-1].append((text, style))
        left -= cell_len(text)
    return lines


def highlight(pieces: Line, texts: Iterable[str], style: Style) -> Line:
    """Return the pieces with every occurrence of these texts in this style, ignoring case."""
    sought = "|".join(re.escape(text) for text in texts if text)
    if not sought:
        return pieces
    found = []
    for text, before in pieces:
        parts = re.split(f"({sought})", text, flags=re.IGNORECASE)
        found += [(part, before + style if place % 2 else before) for place, part in enumerate(parts) if part]
    return found


# terminals that draw nothing but ASCII

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

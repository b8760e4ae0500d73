"""A protocol's source text, coloured by syntax and wrapped to a width."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from lab.palette import Palette
from lab.text import sanitize
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["CodeRow", "colour_lines", "shade_style", "wrap_lines"]

_MOST_LINES = 20_000
_LONGEST_LINE = 1_000
_MOST_COLOURED = 200_000
"""Characters beyond this number stay uncoloured."""
_LEAST_WIDTH = 16
_HANGING = 8
_TAB = 4
_SHADES = {True: "#15384a", False: "#d3e9f7"}


class CodeRow(Struct, frozen=True):
    """One row on the screen. Line ``line`` has ``parts`` rows; this is number ``part`` of them, from 0."""

    line: int
    pieces: list[Piece]
    part: int
    parts: int

    @property
    def is_last(self) -> bool:
        """True if the line ends with this row."""
        return self.part == self.parts - 1


def shade_style(theme_styles: ThemeStyles) -> Style:
    """Return the background of executed lines, which a bar marks too."""
    return Style(bgcolor=_SHADES[theme_styles.dark])


def colour_lines(lines: Sequence[str], theme_styles: ThemeStyles) -> list[list[Piece]]:
    """Return the coloured pieces of every line, sanitized."""
    from rich.syntax import ANSISyntaxTheme, Syntax  # noqa: PLC0415 - slow, and not needed before the first screen

    safe = [sanitize(line[:_LONGEST_LINE].expandtabs(_TAB), _LONGEST_LINE) for line in lines[:_MOST_LINES]]
    text = "\n".join(safe)
    syntax = Syntax("", "python", theme=ANSISyntaxTheme(_styles(Palette(theme_styles.dark))))
    head = syntax.highlight(text[:_MOST_COLOURED]).split("\n", allow_blank=True)
    pieces = [list(_line_pieces(line)) for line in head[: len(safe)]]
    for place, line in enumerate(safe):
        if place >= len(pieces):
            pieces.append([(line, Style())])
        elif "".join(each for each, _ in pieces[place]) != line:  # the line at which the colour ends
            pieces[place] = [(line, Style())]
    return pieces


def wrap_lines(
    lines: Sequence[list[Piece]], width: int, room_left: int, reserved: frozenset[int]
) -> list[CodeRow]:
    """Wrap the lines into rows.

    The last row of each line in ``reserved``, counted from 1, leaves ``room_left`` columns free.
    """
    rows = []
    for number, pieces in enumerate(lines, 1):
        parts = list(_wrap(pieces, max(_LEAST_WIDTH, width), room_left if number in reserved else 0))
        rows += [CodeRow(number, part, place, len(parts)) for place, part in enumerate(parts)]
    return rows


def _styles(palette: Palette) -> dict[tuple[str, ...], Style]:
    purple, green, sky = (Style(color=palette.named(each)) for each in ("purple", "green", "sky"))
    return {
        ("Comment",): DIM,
        ("Keyword",): purple,
        ("Operator", "Word"): purple,
        ("Literal", "String"): green,
        ("Literal", "String", "Doc"): DIM,
        ("Literal", "Number"): green,
        ("Name", "Decorator"): sky,
        ("Name", "Function"): sky + Style(bold=True),
        ("Name", "Class"): sky + Style(bold=True),
        ("Name", "Builtin", "Pseudo"): Style(italic=True),
    }


def _line_pieces(line: Text) -> Iterator[Piece]:
    done = 0
    for span in line.spans:
        if span.start > done:
            yield line.plain[done : span.start], Style()
        yield line.plain[span.start : span.end], span.style if isinstance(span.style, Style) else Style()
        done = span.end
    if done < len(line.plain):
        yield line.plain[done:], Style()


def _wrap(pieces: list[Piece], width: int, room_left: int) -> Iterator[list[Piece]]:
    """Yield rows of the given width, broken at blanks if possible. Rows after the first are indented."""
    text = "".join(each for each, _ in pieces)
    indent = len(text) - len(text.lstrip())
    hanging = min(indent + _HANGING, width // 2)
    start, room = 0, width
    while (rest := cell_len(text[start:])) > room - room_left:
        end = _row_end(text, start, min(room, rest - 1))
        blank = text.rfind(" ", start + (0 if start else indent) + 1, end + 1)
        if blank <= start and rest <= room:
            break
        if blank > start:
            end = blank + 1
        yield ([(" " * hanging, Style())] if start else []) + _slice_pieces(pieces, start, end)
        start, room = end, width - hanging
    yield ([(" " * hanging, Style())] if start else []) + _slice_pieces(pieces, start, len(text))


def _row_end(text: str, start: int, room: int) -> int:
    """Return the end of a row of ``room`` cells that begins at ``start``."""
    end = start
    while end < len(text) and (room := room - cell_len(text[end])) >= 0:
        end += 1
    return end


def _slice_pieces(pieces: list[Piece], start: int, end: int) -> list[Piece]:
    found: list[Piece] = []
    at = 0
    for text, style in pieces:
        part = text[max(0, start - at) : max(0, end - at)]
        if part:
            found.append((part, style))
        at += len(text)
    return found

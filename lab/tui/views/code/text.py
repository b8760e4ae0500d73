"""The text of a protocol as it is drawn: each of its lines in the colours of its syntax, and broken to a width."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from lab.palette import Palette
from lab.text import sanitize
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["CodeRow", "coloured", "rows_of", "shade_of"]

_MOST_LINES = 20_000
_LONGEST_LINE = 1_000
_MOST_COLOURED = 200_000
"""What is behind so many characters stays without colour."""
_LEAST_WIDTH = 16
_HANGING = 8
_TAB = 4
_SHADES = {True: "#15384a", False: "#d3e9f7"}


class CodeRow(Struct, frozen=True):
    """One row on the screen: of the line of the listing with this number, from its ``part`` on, of ``parts``."""

    line: int
    pieces: list[Piece]
    part: int
    parts: int

    @property
    def is_last(self) -> bool:
        """Whether the line ends with this row."""
        return self.part == self.parts - 1


def shade_of(theme_styles: ThemeStyles) -> Style:
    """The ground of what ran; beside it there is always a bar."""
    return Style(bgcolor=_SHADES[theme_styles.dark])


def coloured(lines: Sequence[str], theme_styles: ThemeStyles) -> list[list[Piece]]:
    """The pieces of every line, safe to be shown."""
    from rich.syntax import ANSISyntaxTheme, Syntax  # noqa: PLC0415 - not before the first screen

    safe = [sanitize(line[:_LONGEST_LINE].expandtabs(_TAB), _LONGEST_LINE) for line in lines[:_MOST_LINES]]
    text = "\n".join(safe)
    syntax = Syntax("", "python", theme=ANSISyntaxTheme(_styles(Palette(theme_styles.dark))))
    head = syntax.highlight(text[:_MOST_COLOURED]).split("\n", allow_blank=True)
    pieces = [list(_pieces_of(line)) for line in head[: len(safe)]]
    for place, line in enumerate(safe):
        if place >= len(pieces):
            pieces.append([(line, Style())])
        elif "".join(each for each, _ in pieces[place]) != line:  # where the colour ends
            pieces[place] = [(line, Style())]
    return pieces


def rows_of(lines: Sequence[list[Piece]], width: int, left: int, leave: frozenset[int]) -> list[CodeRow]:
    """All rows. Those with which lines of ``leave`` end, which are numbered from 1, leave so much room free."""
    rows = []
    for number, pieces in enumerate(lines, 1):
        parts = list(_broken(pieces, max(_LEAST_WIDTH, width), left if number in leave else 0))
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


def _pieces_of(line: Text) -> Iterator[Piece]:
    done = 0
    for span in line.spans:
        if span.start > done:
            yield line.plain[done : span.start], Style()
        yield line.plain[span.start : span.end], span.style if isinstance(span.style, Style) else Style()
        done = span.end
    if done < len(line.plain):
        yield line.plain[done:], Style()


def _broken(pieces: list[Piece], width: int, left: int) -> Iterator[list[Piece]]:
    """In rows of that width, broken at blanks where there are any; from the second on they are set in."""
    text = "".join(each for each, _ in pieces)
    indent = len(text) - len(text.lstrip())
    hanging = min(indent + _HANGING, width // 2)
    start, room = 0, width
    while (rest := cell_len(text[start:])) > room - left:
        end = _end_of(text, start, min(room, rest - 1))
        blank = text.rfind(" ", start + (0 if start else indent) + 1, end + 1)
        if blank <= start and rest <= room:
            break
        if blank > start:
            end = blank + 1
        yield ([(" " * hanging, Style())] if start else []) + _cut(pieces, start, end)
        start, room = end, width - hanging
    yield ([(" " * hanging, Style())] if start else []) + _cut(pieces, start, len(text))


def _end_of(text: str, start: int, room: int) -> int:
    """Where a row of so many cells ends that begins there."""
    end = start
    while end < len(text) and (room := room - cell_len(text[end])) >= 0:
        end += 1
    return end


def _cut(pieces: list[Piece], start: int, end: int) -> list[Piece]:
    found: list[Piece] = []
    at = 0
    for text, style in pieces:
        part = text[max(0, start - at) : max(0, end - at)]
        if part:
            found.append((part, style))
        at += len(text)
    return found

"""What the script said, for those who watch: the last captions; before the first, what the run is to show."""

import textwrap
from collections.abc import Sequence
from itertools import islice

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from lab.recording.records import Captioned
from lab.text import sanitize
from lab.tui.frame.lines import Line
from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["MOST_CAPTIONS", "CaptionLine"]

MOST_CAPTIONS = 3
"""So many are seen at once, where there is room."""
_FEW_ROWS = 2
_ROOM_FOR_MOST = 30
_RECENT_US = 2_500_000
"""So long before the last caption another one may hardly have been read."""
_LONGEST = 200
_BOLD = Style(bold=True)


class CaptionLine(Line):
    """The last captions, the newest below; no line at all where nothing was said yet, nor is there to show.

    Where there is something to show it is of one height, so that what is below does not jump.
    """

    DEFAULT_CSS = "CaptionLine { height: auto; padding: 0 1; background: $boost; display: none; }"

    def show(self, said: Sequence[Captioned], about: str, theme_styles: ThemeStyles) -> None:
        """Show what was ``said`` last; ``about`` is what the run is to show."""
        width, height = self.app.size.width - 2, self.app.size.height
        most = MOST_CAPTIONS if height >= _ROOM_FOR_MOST else _FEW_ROWS
        shown = textwrap.wrap(about, max(1, width - 2), max_lines=most, placeholder=" …")
        rows = (
            _told(said, width, most, theme_styles) if said else [fit([(f"  {row}", DIM)], width) for row in shown]
        )
        if about:
            rows += [[]] * (most - len(rows))
        self.display = bool(rows)
        self.put(Text("\n").join(Text.assemble(*row) for row in rows))


def _told(said: Sequence[Captioned], width: int, most: int, theme_styles: ThemeStyles) -> list[list[Piece]]:
    """As many captions as there is room for: the newest in full, those before it in a row each."""
    newest = said[-1]
    rows = _rows(newest, width, most, theme_styles, _BOLD)
    for caption in islice(reversed(said), 1, 1 + most - len(rows)):
        recent = newest.at_us - caption.at_us <= _RECENT_US
        rows = [*_rows(caption, width, 1, theme_styles, Style() if recent else DIM), *rows]
    return rows


def _rows(caption: Captioned, width: int, most: int, theme_styles: ThemeStyles, style: Style) -> list[list[Piece]]:
    """Its sign, its text, and at the right end when it was said, if there is room for that in the same row."""
    text, clock = sanitize(caption.text, _LONGEST), f"  {caption.at_us / 1e6:.3f} s"
    if cell_len(text + clock) > width - 2:
        clock = ""
    room = width - 2 - cell_len(clock)
    said = textwrap.wrap(text, max(1, room), max_lines=most, placeholder=" …")
    sign = (f"{theme_styles.glyphs.marks['caption']} ", theme_styles.mark("caption") if style != DIM else DIM)
    first, *others = said or [""]
    return [
        [sign, *fit([(first, style)], room), (clock, DIM)],
        *(fit([("  ", style), (row, style)], width) for row in others),
    ]

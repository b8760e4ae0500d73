"""The captions of a script: the latest ones, or the purpose of the run before the first one."""

import textwrap
from collections.abc import Sequence
from itertools import islice

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from lab.recording.records import Captioned
from lab.text import sanitize
from lab.tui.frame.status_lines import Line
from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["MOST_CAPTIONS", "CaptionLine"]

MOST_CAPTIONS = 3
"""The most rows that the captions take, if the screen is high enough."""
_FEW_ROWS = 2
_ROOM_FOR_MOST = 30
_RECENT_US = 2_500_000
"""If the newest caption came this soon after an earlier one, that one is not dimmed: it may still be unread."""
_LONGEST = 200
_BOLD = Style(bold=True)


class CaptionLine(Line):
    """The latest captions, the newest at the bottom; hidden if there is neither a caption nor a purpose.

    If the run has a purpose, the height is constant, so that the widgets below do not jump.
    """

    DEFAULT_CSS = "CaptionLine { height: auto; padding: 0 1; background: $boost; display: none; }"

    def show(self, captions: Sequence[Captioned], purpose: str, theme_styles: ThemeStyles) -> None:
        """Show the latest captions, or the purpose of the run if there is no caption."""
        width, height = self.app.size.width - 2, self.app.size.height
        most = MOST_CAPTIONS if height >= _ROOM_FOR_MOST else _FEW_ROWS
        purpose_rows = textwrap.wrap(purpose, max(1, width - 2), max_lines=most, placeholder=" …")
        rows = (
            _caption_rows(captions, width, most, theme_styles)
            if captions
            else [fit([(f"  {row}", DIM)], width) for row in purpose_rows]
        )
        if purpose:
            rows += [[]] * (most - len(rows))
        self.display = bool(rows)
        self.put(Text("\n").join(Text.assemble(*row) for row in rows))


def _caption_rows(
    captions: Sequence[Captioned], width: int, most: int, theme_styles: ThemeStyles
) -> list[list[Piece]]:
    """Return the rows of as many captions as fit: the newest in full, the earlier ones in a row each."""
    newest = captions[-1]
    rows = _rows(newest, width, most, theme_styles, _BOLD)
    for caption in islice(reversed(captions), 1, 1 + most - len(rows)):
        recent = newest.at_us - caption.at_us <= _RECENT_US
        rows = [*_rows(caption, width, 1, theme_styles, Style() if recent else DIM), *rows]
    return rows


def _rows(caption: Captioned, width: int, most: int, theme_styles: ThemeStyles, style: Style) -> list[list[Piece]]:
    """Return the rows of a caption: its sign, its text, and at the right end its time, if that fits."""
    text, clock = sanitize(caption.text, _LONGEST), f"  {caption.at_us / 1e6:.3f} s"
    if cell_len(text + clock) > width - 2:
        clock = ""
    room = width - 2 - cell_len(clock)
    lines = textwrap.wrap(text, max(1, room), max_lines=most, placeholder=" …")
    sign = (f"{theme_styles.glyphs.marks['caption']} ", theme_styles.mark("caption") if style != DIM else DIM)
    first, *others = lines or [""]
    return [
        [sign, *fit([(first, style)], room), (clock, DIM)],
        *(fit([("  ", style), (row, style)], width) for row in others),
    ]

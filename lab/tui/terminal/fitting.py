"""Fit styled text into a line of limited width, with a mark where it is cut."""

import re
from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size
from rich.style import Style

__all__ = ["Piece", "fit", "highlight"]

Piece = tuple[str, Style]
_MORE = "…"


def fit(pieces: list[Piece], width: int) -> list[Piece]:
    """Cut or pad these pieces to exactly ``width`` cells, with an ellipsis if more than blanks is cut off."""
    if width <= 0:
        return []
    is_cut = cell_len("".join(text for text, _ in pieces).rstrip()) > width
    left = width - is_cut
    fitted: list[Piece] = []
    for text, style in pieces:
        kept = _kept(text, left)
        fitted.append((kept + _MORE if is_cut and len(kept) < len(text) else kept, style))
        left -= cell_len(kept)
        if len(kept) < len(text):
            break
    blank = width - sum(cell_len(text) for text, _ in fitted)
    return [*fitted, (" " * blank, Style())] if blank > 0 else fitted


def _kept(text: str, width: int) -> str:
    """Return as much of the text as fits; a number is dropped rather than cut, as it would read as another one."""
    if cell_len(text) <= width:
        return text
    kept = set_cell_size(text, width).rstrip()
    return kept.rstrip("0123456789") if text[len(kept)].isdigit() else kept


def highlight(pieces: list[Piece], texts: Iterable[str], style: Style) -> list[Piece]:
    """Return the pieces with every occurrence of these texts in this style, ignoring case."""
    sought = "|".join(re.escape(text) for text in texts if text)
    if not sought:
        return pieces
    found = []
    for text, before in pieces:
        parts = re.split(f"({sought})", text, flags=re.IGNORECASE)
        found += [(part, before + style if place % 2 else before) for place, part in enumerate(parts) if part]
    return found

"""The widths of texts in Helvetica, in which pictures are lettered.

Arial and Liberation Sans, which stand in for it, have the same widths; so what is placed by these widths fits in
every viewer. A character outside of ASCII counts as wide as the widest of its kind.
"""

import unicodedata
from collections.abc import Sequence

_FIRST = ord(" ")
_REGULAR = (
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556),
    *(1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778),
    *(667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556),
    *(333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556),
    *(556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584),
)
_BOLD = (
    *(278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611),
    *(975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833, 722, 778),
    *(667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556),
    *(333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611),
    *(611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584),
)
"""Thousandths of the size, from the space to the tilde (Adobe's font metrics)."""
_OTHER = {"·": 278, "…": 1000, "“": 500, "”": 500, "–": 556, "µ": 611, "×": 584, "±": 584, "→": 1000}
_NARROW, _WIDE = 834, 1000


def text_width(words: str, size: float, bold: bool = False) -> float:
    """Return the width of a text."""
    widths = _BOLD if bold else _REGULAR
    return sum(_width(letter, widths) for letter in words) * size / 1000


def _width(letter: str, widths: Sequence[int]) -> int:
    place = ord(letter) - _FIRST
    if 0 <= place < len(widths):
        return widths[place]
    if letter in _OTHER:
        return _OTHER[letter]
    if unicodedata.combining(letter):
        return 0
    return _WIDE if unicodedata.east_asian_width(letter) in "WF" else _NARROW


def wrap_to_width(words: str, size: float, width: float, most: int = 100) -> list[str]:
    """Return the text in lines of at most this width, at most so many; a longer word is broken."""
    lines = [""]
    for word in words.split():
        rest = word
        if lines[-1] and text_width(f"{lines[-1]} {rest}", size) <= width:
            lines[-1] += f" {rest}"
            continue
        if lines[-1]:
            lines.append("")
        while (fits := _letters_that_fit(rest, size, width)) < len(rest):
            lines[-1:] = [rest[:fits], ""]
            rest = rest[fits:]
        lines[-1] = rest
    return lines if len(lines) <= most else [*lines[: most - 1], cut_to_width(f"{lines[most - 1]} …", size, width)]


def cut_to_width(words: str, size: float, width: float) -> str:
    """Return the text, cut with an ellipsis if it is wider."""
    if text_width(words, size) <= width:
        return words
    kept = _letters_that_fit(words, size, width - text_width("…", size))
    return f"{words[:kept].rstrip(' …')}…"


def _letters_that_fit(words: str, size: float, width: float) -> int:
    """Return how many letters fit, at least one."""
    count = 1
    while count < len(words) and text_width(words[: count + 1], size) <= width:
        count += 1
    return min(count, len(words))

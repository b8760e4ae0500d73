"""What a client may call itself, its terminal and its terminal's size: foreign words, checked in one place."""

import re

from lab.exercises.home import NAME

__all__ = ["GUEST", "NAME_RULE", "is_name", "size_of", "terminal_name"]

GUEST = "guest-"
"""Whom a server calls so is anybody; no student of a class has such a name."""

NAME_RULE = f"a letter or digit, then letters, digits, dots, dashes and underscores, 32 at most; not {GUEST}…"

_TERMINAL = re.compile(r"[a-z0-9][a-z0-9+._-]{0,31}")
_USUAL_TERMINAL = "xterm-256color"
_COLUMNS, _ROWS = (20, 500), (5, 200)


def is_name(text: str) -> bool:
    """Whether a student may be called so; the name is that of a folder, too."""
    return NAME.fullmatch(text) is not None and not text.lower().startswith(GUEST)


def terminal_name(text: str) -> str:
    """The client's TERM, where it can be the name of one; it is that of a file in the terminfo database."""
    return text if _TERMINAL.fullmatch(text) else _USUAL_TERMINAL


def size_of(columns: int, rows: int) -> tuple[int, int]:
    """(columns, rows), no larger than can be drawn at a bearable cost; 0 by 0 is how a client says nothing."""
    if not columns or not rows:
        return 80, 24
    return min(max(columns, _COLUMNS[0]), _COLUMNS[1]), min(max(rows, _ROWS[0]), _ROWS[1])

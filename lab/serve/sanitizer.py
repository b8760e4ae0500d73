"""Validate what a client sends as names, terminal name and terminal size."""

import re

from lab.exercises.student_folder import NAME

__all__ = ["GUEST", "NAME_RULE", "is_name", "size_of", "terminal_name"]

GUEST = "guest-"
"""The prefix of guests' names; no student of a class has such a name."""

NAME_RULE = f"a letter or digit, then letters, digits, dots, dashes and underscores, 32 at most; not {GUEST}…"

_TERMINAL = re.compile(r"[a-z0-9][a-z0-9+._-]{0,31}")
_USUAL_TERMINAL = "xterm-256color"
_COLUMNS, _ROWS = (20, 500), (5, 200)


def is_name(text: str) -> bool:
    """Return whether this is a valid student name, which is also a folder's name."""
    return NAME.fullmatch(text) is not None and not text.lower().startswith(GUEST)


def terminal_name(text: str) -> str:
    """Return the client's TERM if it is valid, else a default. It names a file in the terminfo database."""
    return text if _TERMINAL.fullmatch(text) else _USUAL_TERMINAL


def size_of(columns: int, rows: int) -> tuple[int, int]:
    """Return (columns, rows), limited to sizes that are affordable to draw; 0 by 0 means unknown."""
    if not columns or not rows:
        return 80, 24
    return min(max(columns, _COLUMNS[0]), _COLUMNS[1]), min(max(rows, _ROWS[0]), _ROWS[1])

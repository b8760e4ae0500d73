"""Whether somebody sits at a terminal."""

import os

from lab.cli.errors import UsageError

__all__ = ["has_terminal", "need_terminal"]


def has_terminal() -> bool:
    """Whether the interface can be shown."""
    return os.isatty(0) and os.isatty(1)


def need_terminal(instead: str) -> None:
    """UsageError where the interface cannot be shown; ``instead`` is the command that does without."""
    if not has_terminal():
        raise UsageError(f"the interface needs a terminal; without one: {instead}")

"""From exceptions to what a user sees: one line, and an exit status."""

import sys
from typing import NoReturn

from lab.text import sanitize

__all__ = ["EXIT_INTERRUPTED", "EXIT_NOT_AS_EXPECTED", "EXIT_USAGE", "UsageError", "fail"]

EXIT_NOT_AS_EXPECTED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


class UsageError(Exception):
    """The user's mistake: what was got, what was expected, what to do."""


def fail(text: str, status: int = EXIT_USAGE) -> NoReturn:
    """Say what is wrong in one line, and end."""
    print(f"lab: {sanitize(text)}", file=sys.stderr)
    raise SystemExit(status)

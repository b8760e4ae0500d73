"""Errors as the user sees them: one line on standard error, and an exit status."""

import sys
from typing import NoReturn

from lab.text import sanitize

__all__ = ["EXIT_INTERRUPTED", "EXIT_NOT_AS_EXPECTED", "EXIT_USAGE", "UsageError", "fail"]

EXIT_NOT_AS_EXPECTED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


class UsageError(Exception):
    """A mistake of the user. The message says what was given, what was expected, and what to do."""


def fail(text: str, status: int = EXIT_USAGE) -> NoReturn:
    """Print an error in one line and exit."""
    print(f"lab: {sanitize(text)}", file=sys.stderr)
    raise SystemExit(status)

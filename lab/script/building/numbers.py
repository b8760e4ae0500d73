"""Parse the whole numbers in a line."""

from lab.script.commands import CommandError

__all__ = ["whole_number"]

_MOST_DIGITS = 9


def whole_number(text: str) -> int:
    """Return the number. Raises CommandError if it has more than nine digits."""
    if len(text) > _MOST_DIGITS:
        raise CommandError(f"{text[:20]} is too large a number")
    return int(text)

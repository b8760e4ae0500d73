"""Texts for the user: foreign text is sanitized, a mistake says what to do."""

import difflib
import re
from collections.abc import Sequence

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class UserError(Exception):
    """Mistakes of the user, in a command line or in a file.

    Each says what was given, what was expected, and what to do.
    """

    def __init__(self, *mistakes: str) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = list(mistakes)


def sanitize(text: str, limit: int = 0) -> str:
    r"""Return ``text`` with control characters, bidirectional overrides and separators as ``\xNN``.

    Names, messages and recordings may contain escape codes of the terminal. Newlines and tabs become spaces. Text
    longer than ``limit``, if given, is cut and ends in ``…``.
    """
    shown = _CONTROL.sub(lambda hit: f"\\x{ord(hit.group()):02x}", text.replace("\n", " ").replace("\t", " "))
    return shown[: limit - 1] + "…" if limit and len(shown) > limit else shown


def did_you_mean(got: str, known: Sequence[str]) -> str:
    """Return ``"; did you mean EnterElection?"`` if a known word is similar; otherwise an empty string."""
    near = difflib.get_close_matches(got, known, 1)
    return f"; did you mean {near[0]}?" if near else ""

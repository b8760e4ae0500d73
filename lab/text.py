"""Texts for the user: foreign text is sanitized, a mistake says what to do.

Names, notes, messages and file names may come from anybody, and hold codes that a terminal obeys: they recolour,
retitle or clear it, hide lines, or type. ``Sanitized`` is a line of text without any. It is made here and nowhere
else, and it is what ``lab.output`` writes. ``TerminalConsole`` and the interface lay out text of many styles, and
remove such codes from all of it.
"""

import difflib
import re
from collections.abc import Sequence
from typing import NewType

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


Sanitized = NewType("Sanitized", str)
"""Text in one line, without anything that a terminal would obey."""


class UserError(Exception):
    """Mistakes of the user, in a command line or in a file.

    Each says what was given, what was expected, and what to do. They are sanitized: they quote names and files.
    """

    def __init__(self, *mistakes: str) -> None:
        self.mistakes = [sanitize(mistake) for mistake in mistakes]
        super().__init__("\n".join(self.mistakes))


def sanitize(text: str, limit: int = 0) -> Sanitized:
    r"""Return ``text`` with control characters, bidirectional overrides and separators as ``\xNN``.

    Names, messages and recordings may contain escape codes of the terminal. Newlines and tabs become spaces. Text
    longer than ``limit``, if given, is cut and ends in ``…``.
    """
    shown = _CONTROL.sub(lambda hit: f"\\x{ord(hit.group()):02x}", text.replace("\n", " ").replace("\t", " "))
    return Sanitized(shown[: limit - 1] + "…" if limit and len(shown) > limit else shown)


def sanitize_json(document: bytes) -> Sanitized:
    r"""Return the JSON document with those characters as ``\uNNNN``, in one line; its value is the same."""
    return Sanitized(_CONTROL.sub(lambda hit: f"\\u{ord(hit.group()):04x}", document.decode()))


def remove_controls(text: str) -> str:
    """Return the text without those characters, except for newlines and tabs.

    For text that is laid out already, in which every other character must stay in its place.
    """
    return _CONTROL.sub("", text)


def did_you_mean(got: str, known: Sequence[str]) -> str:
    """Return ``"; did you mean EnterElection?"`` if a known word is similar; otherwise an empty string."""
    near = difflib.get_close_matches(got, known, 1)
    return f"; did you mean {near[0]}?" if near else ""

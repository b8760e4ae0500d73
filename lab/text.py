"""Sanitize foreign text: names, messages and recordings may contain terminal escape codes."""

import difflib
import re
from collections.abc import Sequence

__all__ = ["did_you_mean", "sanitize"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def sanitize(text: str, limit: int = 0) -> str:
    r"""Return ``text`` with control characters, bidirectional overrides and separators as ``\xNN``.

    Newlines and tabs become spaces. Text longer than ``limit``, if given, is cut and ends in ``…``.
    """
    shown = _CONTROL.sub(lambda hit: f"\\x{ord(hit.group()):02x}", text.replace("\n", " ").replace("\t", " "))
    return shown[: limit - 1] + "…" if limit and len(shown) > limit else shown


def did_you_mean(got: str, known: Sequence[str]) -> str:
    """Return ``"; did you mean EnterElection?"`` if a known word is similar; otherwise an empty string."""
    near = difflib.get_close_matches(got, known, 1)
    return f"; did you mean {near[0]}?" if near else ""

"""Foreign text, made safe to show: node names, messages and recordings may hold terminal escape codes."""

import difflib
import re
from collections.abc import Sequence

__all__ = ["did_you_mean", "sanitize"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def sanitize(text: str, limit: int = 0) -> str:
    """``text`` with every control character shown as ``\\xNN``, bidirectional overrides and separators too.

    Newlines and tabs become spaces. With ``limit``, what is longer ends in ``…``.
    """
    shown = _CONTROL.sub(lambda hit: f"\\x{ord(hit.group()):02x}", text.replace("\n", " ").replace("\t", " "))
    return shown[: limit - 1] + "…" if limit and len(shown) > limit else shown


def did_you_mean(got: str, known: Sequence[str]) -> str:
    """``"; did you mean EnterElection?"``, where one of the known words is like the one got; else nothing."""
    near = difflib.get_close_matches(got, known, 1)
    return f"; did you mean {near[0]}?" if near else ""

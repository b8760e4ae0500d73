"""The symbols shown with every colour, in Unicode or ASCII."""

import locale
import os

from msgspec import Struct

__all__ = ["ASCII", "UNICODE", "Glyphs", "draws_unicode", "glyphs_for"]


class Glyphs(Struct, frozen=True):
    """A set of symbols."""

    status: dict[str, str]
    leads: str
    arrow: str
    answer: str
    box: str
    heavy: str
    full: str
    rest: str
    cursor: str
    play: str
    pause: str
    levels: str
    differs: str
    marks: dict[str, str]
    dot: str
    whole: str
    broken: str
    done: str
    states: dict[str, str]
    lock: str
    links: dict[str, str]


UNICODE = Glyphs(
    {
        "Normal": "●",
        "Election": "?",
        "Reorganization": "~",
        "Down": "✖",
        "Inside": "●",
        "Holding": "○",
        "Waiting": "…",
        "Working": "○",
        "Uncertain": "?",
        "Blocked": "■",
        "killed": "✖",
        "failed": "!",
        "paused": "‖",
        "absent": "·",
    },
    "★",
    "→",
    "↩",
    "╭─╮│╰╯",
    "┏━┓┃┗┛",
    "━",
    "─",
    "◆",
    "▶",
    "‖",
    " ▁▂▃▄▅▆▇█",
    "≠",
    {
        **{"fault": "✖", "election": "?", "status": "·", "caption": '"', "mark": "⚑", "met": "✓", "unmet": "✗"},
        **{"bookmark": "⚐", "violation": "▲", "leader": "★", "repair": "✚", "command": "▸"},
    },
    "·",
    "┃",
    "╎",
    " ",
    {"initial": "○", "uncertain": "?", "commitable": "◐", "abortable": "◑", "committed": "✓", "aborted": "✗"},
    "◆",
    {
        "open": "·",
        "cut": "╳",
        "hold": "‖",
        "lose": "−",
        "delay": "+",
        "reorder": "⇄",
        "duplicate": "⇉",
        "other": "!",
    },
)
ASCII = Glyphs(
    {
        "Normal": "*",
        "Election": "?",
        "Reorganization": "~",
        "Down": "x",
        "Inside": "*",
        "Holding": "o",
        "Waiting": "?",
        "Working": "o",
        "Uncertain": "?",
        "Blocked": "#",
        "killed": "x",
        "failed": "!",
        "paused": "=",
        "absent": ".",
    },
    "^",
    ">",
    "<",
    "+-+|++",
    "#=#|##",
    "=",
    "-",
    "#",
    ">",
    "=",
    " .:-=+*%@",
    "/",
    {
        **{"fault": "x", "election": "?", "status": ".", "caption": '"', "mark": "@", "met": "+", "unmet": "!"},
        **{"bookmark": "M", "violation": "V", "leader": "*", "repair": "+", "command": ">"},
    },
    "-",
    "|",
    ":",
    "#",
    {"initial": "o", "uncertain": "?", "commitable": ">", "abortable": "<", "committed": "+", "aborted": "x"},
    "#",
    {
        "open": ".",
        "cut": "X",
        "hold": "=",
        "lose": "-",
        "delay": "+",
        "reorder": "~",
        "duplicate": ":",
        "other": "!",
    },
)


def draws_unicode(environment: dict[str, str] | None = None) -> bool:
    """Return whether the terminal shows Unicode: not a Linux console, a dumb terminal, or a non-UTF-8 locale."""
    env = dict(os.environ) if environment is None else environment
    named = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    utf8 = "utf" in (named or locale.getpreferredencoding(False)).lower()
    return utf8 and env.get("TERM", "") not in ("linux", "dumb")


def glyphs_for(environment: dict[str, str] | None = None) -> Glyphs:
    """Return the symbols for this terminal."""
    return UNICODE if draws_unicode(environment) else ASCII

"""How things look: colours that colour-blind people tell apart, and a glyph and a word beside every colour."""

import locale
import os
import zlib

from msgspec import Struct
from rich.style import Style

__all__ = ["DIM", "Glyphs", "Look", "draws_unicode", "glyphs_for"]

DIM = Style(dim=True)

_COLOURS = ("green", "orange", "sky", "vermilion", "purple", "yellow")
_ON_DARK = dict(zip(_COLOURS, ("#009e73", "#e69f00", "#56b4e9", "#e8641b", "#cc79a7", "#d3c100"), strict=True))
_ON_LIGHT = dict(zip(_COLOURS, ("#00664b", "#945700", "#0b5e8e", "#a83a00", "#8f3d6b", "#655800"), strict=True))
"""Okabe and Ito's colours, which colour-blind people tell apart; darker on a light ground."""

_STATUS = {
    "Normal": "green",
    "Election": "orange",
    "Reorganization": "sky",
    "Down": "vermilion",
    "Inside": "green",
    "Holding": "sky",
    "Waiting": "orange",
    "Working": "sky",
    "Uncertain": "orange",
    "Blocked": "vermilion",
    "killed": "vermilion",
    "failed": "vermilion",
    "paused": "purple",
}
_STATES = {
    "initial": "sky",
    "uncertain": "orange",
    "commitable": "green",
    "abortable": "purple",
    "committed": "green",
    "aborted": "vermilion",
}
"""What a transaction is to a participant."""
_MARKS = {"fault": "vermilion", "unmet": "vermilion", "election": "orange", "caption": "sky", "mark": "purple"}
_LOUD = ("unmet", "caption", "mark")
_FATES = {
    "delivered": "green",
    "too late": "orange",
    "lost": "vermilion",
    "cut": "vermilion",
    "receiver down": "vermilion",
    "not sent": "vermilion",
    "held": "purple",
}
_GROUPS_ON_DARK = (
    *("#66eeee", "#ee88ee", "#eeee22", "#6666ee", "#88cc22"),
    *("#eeccaa", "#aa4466", "#0088aa", "#88aa88", "#448800"),
)
_GROUPS_ON_LIGHT = (
    *("#6666ee", "#448822", "#662244", "#004466", "#8866aa"),
    *("#442200", "#226666", "#440088", "#006600", "#4444aa"),
)
"""Found by search: as far apart as ten colours can be, with red-green blindness too, and none like a warning."""
_BRIGHT = 1000 * 128
"""What is brighter is written on in black."""
_QUIET = ("delivered", "receiver down")
_KINDS = ("sky", "orange", "green", "purple", "yellow", "vermilion")


class Glyphs(Struct, frozen=True):
    """The symbols, for terminals with UTF-8 or without."""

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
    marks: dict[str, str]
    dot: str
    whole: str
    broken: str
    done: str
    states: dict[str, str]
    lock: str


_UNICODE = Glyphs(
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
    {"fault": "✖", "election": "?", "status": "·", "caption": '"', "mark": "⚑", "met": "✓", "unmet": "✗"},
    "·",
    "┃",
    "╎",
    " ",
    {"initial": "○", "uncertain": "?", "commitable": "◐", "abortable": "◑", "committed": "✓", "aborted": "✗"},
    "◆",
)
_ASCII = Glyphs(
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
    {"fault": "x", "election": "?", "status": ".", "caption": '"', "mark": "@", "met": "+", "unmet": "!"},
    "-",
    "|",
    ":",
    "#",
    {"initial": "o", "uncertain": "?", "commitable": ">", "abortable": "<", "committed": "+", "aborted": "x"},
    "#",
)


def draws_unicode(environment: dict[str, str] | None = None) -> bool:
    """Not on a Linux console, nor a dumb terminal, nor in a locale without UTF-8."""
    env = dict(os.environ) if environment is None else environment
    named = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    utf8 = "utf" in (named or locale.getpreferredencoding(False)).lower()
    return utf8 and env.get("TERM", "") not in ("linux", "dumb")


def glyphs_for(environment: dict[str, str] | None = None) -> Glyphs:
    """Those that the terminal can draw."""
    return _UNICODE if draws_unicode(environment) else _ASCII


class Look:
    """Styles by what they are for. ``dark``: what they are to be seen on."""

    def __init__(self, glyphs: Glyphs) -> None:
        self.glyphs = glyphs
        self.dark = True

    def status(self, status: str) -> Style:
        """The style of a status, or of what a process does."""
        return self._style(_STATUS.get(status))

    def state(self, state: str) -> Style:
        """The style of what a transaction is to a participant."""
        return self._style(_STATES.get(state))

    def glyph(self, status: str) -> str:
        """Its symbol."""
        return self.glyphs.status.get(status, self.glyphs.dot)

    def fate(self, fate: str) -> Style:
        """The style of a message's fate."""
        return self._style(_FATES.get(fate), dim=fate in _QUIET and self.dark)

    def kind(self, kind: str) -> Style:
        """The style of a kind of message; an answer looks like its request, but dimmer."""
        base = kind.removesuffix("Answer")
        # salted so that the kinds of one protocol fall on different colours
        place = zlib.crc32(f"94{base}".encode()) % len(_KINDS)
        return self._style(_KINDS[place], dim=base != kind and self.dark)

    def mark(self, kind: str) -> Style:
        """The style of a mark on the scrub bar, and of what a script said or expected."""
        return self._style(_MARKS.get(kind, "green"), bold=kind in _LOUD)

    def verdict(self, word: str) -> Style:
        """The style of a verdict: it holds, is outside the promise, fails, or is not known yet."""
        if word == "fails":
            return self.warning
        return self._style({"holds": "green", "outside": "orange"}.get(word), bold=word == "outside")

    def group(self, hue: int) -> Style:
        """The style of a group, by the number of its colour. Beside it there is always its identifier."""
        return Style(color=(_GROUPS_ON_DARK if self.dark else _GROUPS_ON_LIGHT)[hue])

    def plate(self, hue: int) -> Style:
        """The same as a ground to write the identifier on."""
        ground = (_GROUPS_ON_DARK if self.dark else _GROUPS_ON_LIGHT)[hue]
        red, green, blue = bytes.fromhex(ground.removeprefix("#"))
        ink = "#ffffff" if 299 * red + 587 * green + 114 * blue < _BRIGHT else "#121212"
        return Style(color=ink, bgcolor=ground, bold=True)

    @property
    def warning(self) -> Style:
        """For what is not as it should be."""
        return self._style("vermilion", bold=True)

    @property
    def accent(self) -> Style:
        """For what is selected."""
        return self._style("sky", bold=True)

    @property
    def leader(self) -> Style:
        """For the coordinator."""
        return self._style("yellow", bold=True)

    def _style(self, colour: str | None, bold: bool = False, dim: bool = False) -> Style:
        if colour is None:
            return Style(bold=bold or None, dim=dim or None)
        palette = _ON_DARK if self.dark else _ON_LIGHT
        return Style(color=palette[colour], bold=bold or None, dim=dim or None)

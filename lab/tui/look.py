"""How things look: colours that colour-blind people tell apart, and a glyph and a word beside every colour."""

import locale
import os
import zlib

from msgspec import Struct
from rich.style import Style

__all__ = ["DIM", "Glyphs", "Look", "glyphs_for"]

_GREEN, _ORANGE, _SKY, _VERMILION, _PURPLE, _YELLOW = (
    "#009e73",
    "#e69f00",
    "#3a9bd9",
    "#d55e00",
    "#cc79a7",
    "#b8a000",
)
DIM = Style(dim=True)

_STATUS = {
    "Normal": _GREEN,
    "Election": _ORANGE,
    "Reorganization": _SKY,
    "Down": _VERMILION,
    "killed": _VERMILION,
    "failed": _VERMILION,
    "paused": _PURPLE,
}
_FATES = {
    "delivered": Style(color=_GREEN, dim=True),
    "too late": Style(color=_ORANGE),
    "lost": Style(color=_VERMILION),
    "cut": Style(color=_VERMILION),
    "receiver down": Style(color=_VERMILION, dim=True),
    "not sent": Style(color=_VERMILION),
    "held": Style(color=_PURPLE),
    "in flight": Style(),
}
_KINDS = (_SKY, _ORANGE, _GREEN, _PURPLE, _YELLOW, _VERMILION)


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


_UNICODE = Glyphs(
    {
        "Normal": "●",
        "Election": "?",
        "Reorganization": "~",
        "Down": "✖",
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
    {"fault": "✖", "election": "?", "status": "·"},
    "·",
)
_ASCII = Glyphs(
    {
        "Normal": "*",
        "Election": "?",
        "Reorganization": "~",
        "Down": "x",
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
    {"fault": "x", "election": "?", "status": "."},
    "-",
)


def glyphs_for(environment: dict[str, str] | None = None) -> Glyphs:
    """ASCII on a Linux console, a dumb terminal, or in a locale without UTF-8; else Unicode."""
    env = dict(os.environ) if environment is None else environment
    named = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    utf8 = "utf" in (named or locale.getpreferredencoding(False)).lower()
    return _ASCII if env.get("TERM", "") in ("linux", "dumb") or not utf8 else _UNICODE


class Look:
    """Styles by what they are for."""

    def __init__(self, glyphs: Glyphs) -> None:
        self.glyphs = glyphs

    def status(self, status: str) -> Style:
        """The style of a status, or of what a process does."""
        return Style(color=_STATUS.get(status))

    def glyph(self, status: str) -> str:
        """Its symbol."""
        return self.glyphs.status.get(status, self.glyphs.dot)

    def fate(self, fate: str) -> Style:
        """The style of a message's fate."""
        return _FATES.get(fate, Style())

    def kind(self, kind: str) -> Style:
        """The style of a kind of message; an answer looks like its request, but dimmer."""
        base = kind.removesuffix("Answer")
        # salted so that the kinds of one protocol fall on different colours
        return Style(color=_KINDS[zlib.crc32(f"94{base}".encode()) % len(_KINDS)], dim=base != kind)

    def mark(self, kind: str) -> Style:
        """The style of a mark on the scrub bar."""
        return Style(color={"fault": _VERMILION, "election": _ORANGE}.get(kind, _GREEN))

    @property
    def warning(self) -> Style:
        """For what is not as it should be."""
        return Style(color=_VERMILION, bold=True)

    @property
    def accent(self) -> Style:
        """For what is selected."""
        return Style(color=_SKY, bold=True)

    @property
    def leader(self) -> Style:
        """For the coordinator."""
        return Style(color=_YELLOW, bold=True)

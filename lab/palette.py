"""The colours of everything by what they are for, on dark ground and on light, in the terminal and in pictures.

Beside a colour there is always a word or a sign.
"""

import zlib

__all__ = ["Palette", "ink_on"]

_COLOURS = ("green", "orange", "sky", "vermilion", "purple", "yellow")
_ON_DARK = dict(zip(_COLOURS, ("#009e73", "#e69f00", "#56b4e9", "#e8641b", "#cc79a7", "#d3c100"), strict=True))
_ON_LIGHT = dict(zip(_COLOURS, ("#00664b", "#945700", "#0b5e8e", "#a83a00", "#8f3d6b", "#655800"), strict=True))
"""Okabe and Ito's colours, which colour-blind people tell apart; darker on a light ground."""

_STATUSES = {
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
_MARKS = {
    **{"fault": "vermilion", "unmet": "vermilion", "violation": "vermilion", "election": "orange"},
    **{"command": "orange", "caption": "sky", "mark": "purple", "bookmark": "purple"},
}
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
_KINDS = ("sky", "orange", "green", "purple", "yellow", "vermilion")


class Palette:
    """Colours as #rrggbb, for a dark ground or a light one; None: as what is beside it."""

    def __init__(self, dark: bool) -> None:
        self._named = _ON_DARK if dark else _ON_LIGHT
        self._groups = _GROUPS_ON_DARK if dark else _GROUPS_ON_LIGHT

    def named(self, colour: str) -> str:
        """One of green, orange, sky, vermilion, purple and yellow. KeyError."""
        return self._named[colour]

    def status(self, status: str) -> str | None:
        """Of a status, or of what a process does."""
        return self._named.get(_STATUSES.get(status, ""))

    def state(self, state: str) -> str | None:
        """Of what a transaction is to a participant."""
        return self._named.get(_STATES.get(state, ""))

    def fate(self, fate: str) -> str | None:
        """Of a message's fate."""
        return self._named.get(_FATES.get(fate, ""))

    def mark(self, kind: str) -> str:
        """Of a mark on the scrub bar, and of what a script said or expected."""
        return self._named[_MARKS.get(kind, "green")]

    def kind(self, kind: str) -> str:
        """Of a kind of message: an answer has that of its request."""
        # salted so that the kinds of one protocol fall on different colours
        place = zlib.crc32(f"94{kind.removesuffix('Answer')}".encode()) % len(_KINDS)
        return self._named[_KINDS[place]]

    def group(self, hue: int) -> str:
        """Of a group, by the number of its colour."""
        return self._groups[hue]


def ink_on(ground: str) -> str:
    """What to write with on that colour."""
    red, green, blue = bytes.fromhex(ground.removeprefix("#"))
    return "#ffffff" if 299 * red + 587 * green + 114 * blue < _BRIGHT else "#121212"

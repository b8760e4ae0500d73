"""The colours of the interface and of pictures by meaning, for dark and light backgrounds.

A colour is always accompanied by a word or symbol.
"""

import zlib

__all__ = ["Palette", "text_colour_on"]

_COLOURS = ("green", "orange", "sky", "vermilion", "purple", "yellow")
_ON_DARK = dict(zip(_COLOURS, ("#009e73", "#e69f00", "#56b4e9", "#e8641b", "#cc79a7", "#d3c100"), strict=True))
_ON_LIGHT = dict(zip(_COLOURS, ("#00664b", "#945700", "#0b5e8e", "#901020", "#8f3d6b", "#655800"), strict=True))
"""Okabe and Ito's colours, which colour-blind people can distinguish; darker on a light background."""

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
"""The states of a transaction at a participant."""
_MARKS = {
    **{"fault": "vermilion", "unmet": "vermilion", "violation": "vermilion", "election": "orange"},
    **{"command": "orange", "caption": "sky", "mark": "purple", "bookmark": "purple"},
}
_DELIVERIES = {
    "delivered": "green",
    "timed out": "orange",
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
"""Found by search: ten colours of maximal contrast, under red-green blindness too, none similar to a warning."""
_BRIGHT = 1000 * 128
"""Brighter backgrounds get black text."""
_KINDS = ("sky", "orange", "green", "purple", "yellow", "vermilion")


class Palette:
    """Colours as #rrggbb, for a dark or light background. None stands for the colour of the surrounding text."""

    def __init__(self, dark: bool) -> None:
        self._named = _ON_DARK if dark else _ON_LIGHT
        self._groups = _GROUPS_ON_DARK if dark else _GROUPS_ON_LIGHT

    def named(self, colour: str) -> str:
        """Return green, orange, sky, vermilion, purple or yellow. Raises KeyError."""
        return self._named[colour]

    def status(self, status: str) -> str | None:
        """Return the colour of a status, or of the state of a process."""
        return self._named.get(_STATUSES.get(status, ""))

    def state(self, state: str) -> str | None:
        """Return the colour of a participant's transaction state."""
        return self._named.get(_STATES.get(state, ""))

    def fate(self, fate: str) -> str | None:
        """Return the colour of a delivery outcome."""
        return self._named.get(_DELIVERIES.get(fate, ""))

    def mark(self, kind: str) -> str:
        """Return the colour of a mark in the timeline, or of a caption or expectation."""
        return self._named[_MARKS.get(kind, "green")]

    def kind(self, kind: str) -> str:
        """Return the colour of a kind of message; an answer has that of its request."""
        # salted so that the kinds of one protocol get different colours
        place = zlib.crc32(f"94{kind.removesuffix('Answer')}".encode()) % len(_KINDS)
        return self._named[_KINDS[place]]

    def group(self, hue: int) -> str:
        """Return the colour of a group, by the number of its hue."""
        return self._groups[hue]


def text_colour_on(ground: str) -> str:
    """Return the text colour with good contrast on this background."""
    red, green, blue = bytes.fromhex(ground.removeprefix("#"))
    return "#ffffff" if 299 * red + 587 * green + 114 * blue < _BRIGHT else "#121212"

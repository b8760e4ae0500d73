"""The themes of pictures: colours, sizes of letters, widths of lines. Lengths are pixels, 96 to the inch."""

import re

from msgspec import Struct

from lab.palette import Palette

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
_UNITS_PX = {"px": 1.0, "": 1.0, "pt": 96 / 72, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0}
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)(px|pt|mm|cm|in|)")


class Theme(Struct, frozen=True):
    """A theme. ``size`` is that of a label; ``described``: the head has the settings of the run.

    ``width`` is that of the picture, if none is asked for; None: as wide as the nodes need. A page with the theme
    *auto* is dark where its reader prefers that.
    """

    name: str
    dark: bool
    size: float
    described: bool = True
    lane: float = 6.0
    stroke: float = 1.2
    width: float | None = None

    @property
    def palette(self) -> Palette:
        return Palette(dark=self.dark)

    @property
    def ink(self) -> str:
        return "#e6e6e6" if self.dark else "#222222"

    @property
    def faint(self) -> str:
        return "#9a9a9a" if self.dark else "#6a6a6a"

    @property
    def rule(self) -> str:
        return "#2e2e2e" if self.dark else "#e4e4e4"

    @property
    def paper(self) -> str:
        return "#16181c" if self.dark else "#ffffff"


THEMES = {
    each.name: each
    for each in (
        Theme("auto", False, 11.0),
        Theme("light", False, 11.0),
        Theme("dark", True, 11.0),
        Theme("paper", False, 9.6, described=False, lane=4.5, stroke=0.9, width=17 * 96 / 2.54),
        Theme("slide", False, 19.0, described=False, lane=9.0, stroke=2.2, width=1600.0),
    )
}


def parse_length(text: str) -> float:
    """Return a length such as 16cm, 6.5in, 480pt or 800 in pixels. Raises ValueError."""
    found = _LENGTH.fullmatch(text.strip())
    if found is None or not (px := float(found[1]) * _UNITS_PX[found[2]]):
        raise ValueError(f"{text}: expected a length such as 16cm, 6.5in, 480pt or 800px")
    return px

"""The options of a picture, the texts by which a user gives them, and the themes to choose from.

A theme is colours, sizes of letters and widths of lines. Lengths are pixels, 96 to the inch.
"""

import re
from typing import Literal

import msgspec
from msgspec import Struct

from lab.palette import Palette
from lab.text import did_you_mean
from lab.units import parse_us

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


SCALES = ("log", "true", "broken")
LABELS = ("full", "short", "legend")
_LEVELS = ("auto", "events", "page")
_NARROWEST, _WIDEST = parse_length("6cm"), parse_length("200cm")


class FigureOptions(Struct, frozen=True):
    """The options of a picture. ``width`` is in pixels; None is that of the theme.

    ``zoom`` is the time of a row in microseconds, in which many messages are drawn together; *events* draws each
    event, *page* fits one page, and *auto* does that for papers and slides; on the screen, it draws each event
    where it can. ``scale`` is that of the time.
    """

    title: str = ""
    caption: str = ""
    width: float | None = None
    theme: str = "auto"
    zoom: int | Literal["auto", "events", "page"] = "auto"
    scale: Literal["log", "true", "broken"] = "log"
    labels: Literal["full", "short", "legend"] = "full"


def figure_options(
    title: str = "",
    caption: str = "",
    width: str | None = None,
    theme: str = "auto",
    zoom: str = "auto",
    scale: str = "log",
    labels: str = "full",
) -> FigureOptions:
    """Return the options that these texts mean: a width such as 16cm, a zoom such as page or 500ms.

    Raises ValueError, which begins with the name of the option.
    """
    for name, value, known in (("theme", theme, (*THEMES,)), ("scale", scale, SCALES), ("labels", labels, LABELS)):
        if value not in known:
            raise ValueError(f"{name} {value}: expected {' or '.join(known)}{did_you_mean(value, known)}")
    level = _zoom(zoom)
    if isinstance(level, int) and scale == "broken":
        raise ValueError(f"zoom {zoom} has a row for each time; leave out scale broken")
    options = (title, caption, _width(width), theme, level, scale, labels)
    return msgspec.convert(dict(zip(FigureOptions.__struct_fields__, options, strict=True)), FigureOptions)


def _width(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        width = parse_length(text)
    except ValueError as error:
        raise ValueError(f"width {error}") from None
    if not _NARROWEST <= width <= _WIDEST:
        raise ValueError(f"width {text}: expected from 6cm to 200cm")
    return width


def _zoom(text: str) -> int | str:
    if text in _LEVELS:
        return text
    try:
        row_us = parse_us(text)
    except ValueError:
        row_us = 0
    if row_us <= 0:
        raise ValueError(f"zoom {text}: expected events, page, or the time of a row, such as 500ms")
    return row_us

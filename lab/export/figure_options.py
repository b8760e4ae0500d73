"""The options of a picture, and the texts by which a user gives them."""

from typing import Literal

import msgspec
from msgspec import Struct

from lab.export.figure_themes import THEMES, parse_length
from lab.text import did_you_mean
from lab.units import parse_us

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

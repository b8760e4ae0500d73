"""The space-time diagram as a page: one file, for use offline.

The names of the nodes and the time axis stay in sight beside the diagram, as panels of their own. A cursor in
time, moved by a slider, by the keys or by playing, shows the state of every node, what happened, and the verdicts;
see ``page_time.js``. A message shows its causal past and future; see ``page_messages.js``. The scripts read the
run from a JSON element. The content security policy of the page allows only these scripts, so foreign text in the
page cannot run code.
"""

import base64
import hashlib
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, TextIO

import drawsvg
import msgspec
from msgspec import Struct

from lab.export.annotations import describe_excerpt, printable
from lab.export.excerpt import Excerpt
from lab.export.figure_axes import Knot
from lab.export.figure_frame import with_zoom
from lab.export.figure_themes import FONT, THEMES, Theme
from lab.export.page_data import RunData, run_data
from lab.export.svg_diagram import Picture, Shapes
from lab.export.svg_shapes import group
from lab.palette import Palette

MOST_ARROWS = 3_000
"""Beyond this many messages, a page has rows of time, unless each is asked for."""
_MOST_ASKED_FOR = 20_000
_MOST_ROWS = 800
_LEGEND_WIDTH = 300.0
_OVERLAP = 8.0
"""By how much the diagram begins before its lanes, so that what is at their very beginning is not cut off."""
_COLOURS = ("green", "orange", "sky", "vermilion", "purple", "yellow")
_SCRIPTS = ("page_messages.js", "page_time.js")


class AxisData(Struct, frozen=True):
    """The positions of times and nodes in the diagram, in pixels: those of times are linear between ``knots``."""

    down: bool
    knots: list[Knot]
    lanes: list[float]


class PageData(Struct, frozen=True):
    """The content of the JSON element that the scripts of a page read."""

    axis: AxisData
    run: RunData


def write_html(excerpt: Excerpt, out: TextIO) -> None:
    """Write the page as one file. Raises ExportError."""
    if excerpt.options.figure.zoom == "events":
        excerpt.need_at_most(_MOST_ASKED_FOR, "a page")
    if THEMES[excerpt.options.figure.theme].described:  # the others fit one page
        excerpt = with_zoom(excerpt, MOST_ARROWS, _MOST_ROWS)
    picture = Picture(excerpt, "page")
    theme = picture.frame.theme
    folder = files("lab.export")
    script = "\n".join((folder / name).read_text("utf-8") for name in _SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    figure = excerpt.options.figure
    title = printable(figure.title or excerpt.header.title, 200)
    caption = printable(figure.caption, 2000)
    panels = _Panels(picture)
    page = Template((folder / "page.html").read_text("utf-8")).substitute(
        title=escape(title),
        description=escape(describe_excerpt(excerpt)),
        settings="<br>".join(map(escape, picture.settings)),
        caption=f'<p class="caption">{escape(caption)}</p>' if caption else "",
        digest=digest,
        colours=_colours(theme),
        style=(folder / "page.css").read_text("utf-8"),
        direction="down" if picture.frame.down else "right",
        columns=f"{panels.left:.0f}px auto",
        corner=f"{panels.top:.0f}px",
        above=panels.top_panel(),
        beside=panels.side_panel(),
        body=panels.body(),
        legend=_svg(picture.legend(_LEGEND_WIDTH * picture.frame.scale)),
        data=_in_script(PageData(panels.axis(), run_data(excerpt, picture.drawn))),
        script=script,
    )
    out.write(page)


class _Panels:
    """The panels of a page: the names of the nodes, the times, and the body, each a picture of its own.

    The panels in the same row or column have the same extent, so they scroll together. ``left`` and ``top`` are
    the sizes of the panels beside and above the body.
    """

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        frame = picture.frame
        self._down = frame.down
        overlap = _OVERLAP * frame.scale
        along, across = frame.begin - overlap, frame.near - overlap
        self._x, self._y = (across, along) if self._down else (along - 2 * overlap, across)
        self.left, self.top = (across, along + overlap / 2) if self._down else (along, across + overlap / 2)

    def top_panel(self) -> str:
        """Return the panel that stays at the top: the names if time flows down, otherwise the times."""
        shapes = self._picture.parts.names if self._down else self._picture.parts.ticks
        return _panel(shapes, (self._x, 0), (self._picture.frame.width - self._x, self.top))

    def side_panel(self) -> str:
        """Return the panel that stays at the left: the times if time flows down, otherwise the names."""
        shapes = self._picture.parts.ticks if self._down else self._picture.parts.names
        return _panel(shapes, (0, self._y), (self.left, self._picture.parts.height - self._y))

    def body(self) -> str:
        parts = self._picture.parts
        shapes = [*parts.faults, *parts.rules, *parts.lanes, *parts.labels]
        size = self._picture.frame.width - self._x, parts.height - self._y
        return _panel(shapes, (self._x, self._y), size)

    def axis(self) -> AxisData:
        """Return the positions in pixels of the body."""
        frame = self._picture.frame
        along, across = (self._y, self._x) if self._down else (self._x, self._y)
        return AxisData(
            self._down,
            [(at_us, round(place - along, 1)) for at_us, place in frame.axis.knots],
            [round(lane - across, 1) for lane in frame.layout.lanes.values()],
        )


def _panel(shapes: Shapes, origin: tuple[float, float], size: tuple[float, float]) -> str:
    place, extent = ((round(each, 1) for each in pair) for pair in (origin, size))
    drawing = drawsvg.Drawing(*extent, origin=tuple(place), font_family=FONT)
    drawing.append(group(shapes))
    return _svg(drawing)


def _svg(drawing: drawsvg.Drawing) -> str:
    return str(drawing.as_svg(header=""))


def _in_script(value: Any) -> str:
    """Encode as JSON that cannot end the script element."""
    return msgspec.json.encode(value).decode().replace("<", "\\u003c")


def _colours(theme: Theme) -> str:
    """Return the colours of the page; with the theme *auto*, dark ones where the reader prefers that."""
    if theme.name != "auto":
        return f"{_variables(theme)}"
    dark = THEMES["dark"]
    return f"{_variables(theme)}\n@media (prefers-color-scheme: dark) {{\n{_variables(dark)}\n{_dark()}\n}}"


def _variables(theme: Theme) -> str:
    palette = theme.palette
    colours = {name: getattr(theme, name) for name in ("paper", "ink", "faint", "rule")}
    colours |= {
        "past": palette.named("sky"),
        "future": palette.named("orange"),
        "fault": palette.named("vermilion"),
    }
    colours |= {"good": palette.named("green"), "shade": "#1d2025" if theme.dark else "#f3f4f6"}
    values = " ".join(f"--{name}: {colour};" for name, colour in colours.items())
    statuses = " ".join(f".status-{colour} {{ color: {palette.named(colour)}; }}" for colour in _COLOURS)
    return f":root {{ color-scheme: {'dark' if theme.dark else 'light'}; {values} }}\n{statuses}"


def _dark() -> str:
    """Return the style rules that replace the diagram's colours on a dark background."""
    light, dark = THEMES["light"], THEMES["dark"]
    before, after = Palette(dark=False), Palette(dark=True)
    colours = {getattr(light, each): getattr(dark, each) for each in ("ink", "faint", "rule", "paper")}
    colours |= {before.named(each): after.named(each) for each in _COLOURS}
    return "\n".join(
        f'  svg [{paint}="{on_light}"] {{ {paint}: {on_dark}; }}'
        for on_light, on_dark in colours.items()
        for paint in ("fill", "stroke")
    )

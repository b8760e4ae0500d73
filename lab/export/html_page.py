"""The space-time diagram as a page: one file, for use offline.

The names of the nodes and the time axis stay in sight beside the diagram, as panels of their own. A cursor in
time, moved by a slider, by the keys or by playing, shows the state of every node, what happened, and the verdicts;
see ``page_time.js``. A message shows its causal past and future; see ``page_messages.js``. The scripts read the
run from a JSON element. The content security policy of the page allows only these scripts, so foreign text in the
page cannot run code.

Times in that element are microseconds since the run began. Every fact has the number of its record, so that two
events at the same time are still in order.
"""

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, TextIO

import drawsvg
import msgspec
from msgspec import Struct

from lab.analysis.spacetime import MessageEdge
from lab.export.annotations import describe_excerpt, describe_fault, describe_message, printable, status_label
from lab.export.excerpt import Excerpt
from lab.export.figure_axes import Knot
from lab.export.figure_frame import with_zoom
from lab.export.figure_options import FONT, THEMES, Theme
from lab.export.film import chapters_of
from lab.export.svg_diagram import Picture, Shapes
from lab.export.svg_shapes import group
from lab.palette import Palette
from lab.properties.assertions import ASSERTIONS
from lab.recording.log_lines import LogLine
from lab.units import CountText

_LONGEST_LINE = 1000


class StateChange(Struct, frozen=True, array_like=True):
    """The state of a node from a record on. ``node`` is its place in ``RunData.nodes``, ``leads`` a part of it."""

    node: int
    record: int
    at_us: int
    shown: str
    coordinator: int | None
    group: str | None
    leads: bool


class MessageData(Struct, frozen=True):
    """A message: its nodes by place, the points at which it was sent and ended, and its full text.

    ``taken`` is the record of its arrival, ``clock`` the vector clock of its sender; it is empty if the message is
    not drawn by itself.
    """

    source: int
    target: int
    sent: tuple[int, int]
    end: tuple[int, int] | None
    taken: int | None
    fate: str
    text: str
    clock: tuple[int, ...] = ()


class EventLine(Struct, frozen=True, array_like=True):
    """An event other than a message, at a node by place, or at none."""

    record: int
    at_us: int
    node: int | None
    text: str


class ChapterData(Struct, frozen=True, array_like=True):
    record: int
    at_us: int
    title: str
    is_violation: bool


class VerdictData(Struct, frozen=True):
    """The verdict on an assertion: judged from the record ``since`` on, and where it was first violated.

    ``excused`` and ``failed`` are (record, text).
    """

    name: str
    statement: str
    since: int | None
    excused: tuple[int, str] | None
    failed: tuple[int, str] | None


class RunData(Struct, frozen=True):
    """The facts of the window from the record ``first`` to ``last``."""

    first: int
    last: int
    from_us: int
    until_us: int
    nodes: tuple[int, ...]
    states: list[StateChange]
    messages: list[MessageData]
    lines: list[EventLine]
    chapters: list[ChapterData]
    verdicts: list[VerdictData]


def run_data(excerpt: Excerpt, drawn: frozenset[int]) -> RunData:
    """Return the facts of an excerpt. ``drawn`` are the numbers of the messages that are drawn by themselves."""
    violated = {violation.record for violation in excerpt.violations}
    return RunData(
        excerpt.first,
        excerpt.last,
        excerpt.from_us,
        excerpt.until_us,
        excerpt.nodes,
        [*_states(excerpt)],
        [*_messages(excerpt, drawn)],
        [_event_line(excerpt, line) for line in excerpt.events],
        [
            ChapterData(each.record, each.at_us, each.title, each.record in violated)
            for each in chapters_of(excerpt)
        ],
        [*_verdicts(excerpt)],
    )


def _states(excerpt: Excerpt) -> Iterator[StateChange]:
    place = {node: n for n, node in enumerate(excerpt.nodes)}
    for interval in excerpt.status_intervals:
        group = None if interval.group is None else f"{interval.group[0]}.{interval.group[1]}"
        has_state = interval.process in ("running", "paused")
        yield StateChange(
            place[interval.node],
            interval.since.record,
            interval.since.at_us,
            status_label(interval.shown),
            interval.coordinator if has_state else None,
            group if has_state else None,
            interval.leads,
        )


def _messages(excerpt: Excerpt, drawn: frozenset[int]) -> Iterator[MessageData]:
    place = {node: n for n, node in enumerate(excerpt.nodes)}
    faults = {each.fault.id: describe_fault(each.fault) for each in excerpt.space.fault_intervals}
    for number, edge in enumerate(excerpt.messages):
        end = edge.end
        yield MessageData(
            place[edge.ends[0]],
            place[edge.ends[1]],
            (edge.sent.record, edge.sent.at_us),
            None if end is None else (end.record, end.at_us),
            end.record if edge.arrived and end is not None else None,
            edge.fate,
            describe_message(edge, faults),
            _clock(excerpt, edge) if number in drawn else (),
        )
        excerpt.progress(CountText(number, len(excerpt.messages), "message", "described"))


def _clock(excerpt: Excerpt, edge: MessageEdge) -> tuple[int, ...]:
    """Return the vector clock with which a message was sent, at the nodes of the excerpt; none if forged."""
    clock = dict(zip(excerpt.header.all_nodes, excerpt.clocks.get(edge.line.message, ()), strict=False))
    return tuple(clock[node] for node in excerpt.nodes if node in clock)


def _event_line(excerpt: Excerpt, line: LogLine) -> EventLine:
    node = None if line.source is None else excerpt.nodes.index(line.source)
    word = {"log": "log ", "protocol-command": "command ", "command": "command "}.get(line.what, "")
    return EventLine(line.record, line.at_us, node, f"{word}{printable(line.text, _LONGEST_LINE)}")


def _verdicts(excerpt: Excerpt) -> Iterator[VerdictData]:
    first: dict[tuple[str, bool], tuple[int, str]] = {}
    for violation in excerpt.judge.violations:
        text = printable(f"{violation}", _LONGEST_LINE)
        first.setdefault((violation.assertion, violation.is_failure), (violation.record, text))
    for verdict in excerpt.judge.verdicts():
        name = verdict.assertion
        found = ASSERTIONS.get(name)
        statement = "" if found is None else printable(found.statement)
        yield VerdictData(
            printable(name), statement, verdict.evidence.since, first.get((name, False)), first.get((name, True))
        )


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

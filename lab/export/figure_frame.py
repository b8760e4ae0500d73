"""The frame of a picture: its size, its lanes, its axis of time. Lengths are pixels.

A picture with a width keeps the size of its letters, and its lanes and margins get narrower. One that must fit a
page has its waits shortened, up to a point; then a row stands for a time, and what happened in it is drawn
together.
"""

from collections.abc import Sequence
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from lab.export.diagram_layout import ROWS_US, Layout, Position
from lab.export.excerpt import Excerpt
from lab.export.figure_axes import LogarithmicAxis, PictureAxis, TrueAxis
from lab.export.figure_options import THEMES, Theme
from lab.export.placement import text_width

_MOST_ON_A_PAGE = 600
"""A page with more arrows is black."""
_LONGEST, _MANY = 20_000.0, 1_000
"""The longest picture, and the most arrows, in which each event is drawn without being asked for."""
_SHORTENED = 0.25
"""Waits are shortened by no more than this to fit a page."""
_PAGE = 1.3
"""The height of a page by its width, without the head and the legend."""
_NATURAL_PAGE = 1000.0
_ROW = 6.0
_STRETCH = {True: 1.0, False: 1.7}
"""Lengths along the axis, if time flows down and if it flows to the right."""
_CLOCK_ROWS, _FILM_CLOCK_ROWS = 34.0, 25.0
_FLIGHTS = 6
_SIZE = 11.0
"""The lengths here are those of labels of this size."""


class Frame(Struct, frozen=True):
    """Lanes lie between ``near`` and ``far`` across, time between ``begin`` and ``axis.end`` along.

    ``scale`` is the size of the letters, 1 for those on the screen. Notes begin at ``notes`` and are
    ``notes_width`` wide. ``pad`` is the empty border.
    """

    theme: Theme
    scale: float
    layout: Layout[float]
    axis: PictureAxis
    near: float
    far: float
    begin: float
    width: float
    notes: float
    notes_width: float
    pad: float

    @property
    def down(self) -> bool:
        return self.layout.down

    def xy(self, along: float, across: float) -> Position:
        return self.layout.xy(along, across)

    def cell_begin(self, cell: int, from_us: int) -> float:
        """Return where a row of time begins along the axis."""
        return self.axis.place(from_us + cell * self.axis.row_us)


def frame_of(excerpt: Excerpt, times_us: Sequence[int], has_notes: bool) -> Frame:
    """Return the frame of the picture of an excerpt. ``times_us`` are the times that its axis shows."""
    theme = THEMES[excerpt.options.figure.theme]
    down = excerpt.options.time == "down"
    return (_frame_down if down else _frame_right)(excerpt, theme, times_us, has_notes)


def _frame_down(excerpt: Excerpt, theme: Theme, times_us: Sequence[int], has_notes: bool) -> Frame:
    k, size, count = theme.size / _SIZE, theme.size, len(excerpt.nodes)
    pad = _pad(theme)
    near = pad + text_width(f"{excerpt.until_us / 1e6:.4f}", size) + 16 * k
    width = excerpt.options.figure.width or theme.width
    notes_width = 0.0
    if width is None:
        pitch = max(26 * k, min(144 * k, 1100 * k / count))
        far = near + pitch * count + 40 * k
        notes_width = 330 * k if has_notes else 0.0
        width = max(far + (24 * k if has_notes else 0) + notes_width + pad, 520 * k)
    else:
        if has_notes:
            notes_width = max(118 * k, min(330 * k, 0.27 * width))
        room = width - near - pad - notes_width - (18 * k if has_notes else 0)
        pitch = max(room / (count + 0.15), 4.0)
        far = near + room
    lanes = {node: near + pitch * (n + 0.5) for n, node in enumerate(excerpt.nodes)}
    begin = 30 * k
    page = _PAGE * width
    axis = _axis(excerpt, times_us, begin, k, page)
    layout = Layout[float](True, lanes, pitch, 0)
    return Frame(theme, k, layout, axis, near, far, begin, width, far + 18 * k, notes_width, pad)


def _frame_right(excerpt: Excerpt, theme: Theme, times_us: Sequence[int], has_notes: bool) -> Frame:
    k, count = theme.size / _SIZE, len(excerpt.nodes)
    pad = _pad(theme)
    begin = pad + text_width(f"node {max(excerpt.nodes)}", theme.size, bold=True) + 28 * k
    width = excerpt.options.figure.width or theme.width
    pitch = max(13 * k, min(84 * k, 560 * k / count))
    near = _CLOCK_ROWS * k
    lanes = {node: near + pitch * (n + 0.5) for n, node in enumerate(excerpt.nodes)}
    far = near + pitch * count
    after = pad + 10 * k if width is not None else 110 * k
    room = None if width is None else width - begin - after
    axis = _axis(excerpt, times_us, begin, k, _NATURAL_PAGE * k if room is None else room, room)
    width = width or max(axis.end + after, 640 * k)
    layout = Layout[float](False, lanes, pitch, 0)
    notes_width = 300 * k if has_notes else 0.0
    return Frame(theme, k, layout, axis, near, far, begin, width, far + 12 * k, notes_width, pad)


def with_zoom(excerpt: Excerpt, most_arrows: int, most_rows: int) -> Excerpt:
    """Return the excerpt with each event drawn or, if it has more messages and no zoom, with rows of time."""
    figure = excerpt.options.figure
    if figure.zoom != "auto":
        return excerpt
    lasts_us = excerpt.until_us - excerpt.from_us
    row_us = next((us for us in ROWS_US if lasts_us / us <= most_rows), ROWS_US[-1])
    figure = replace(figure, zoom="events" if len(excerpt.messages) <= most_arrows else row_us)
    return replace(excerpt, options=replace(excerpt.options, figure=figure))


def frame_in_band(
    excerpt: Excerpt, times_us: Sequence[int], theme: Theme, begin: float, height: float, stretch: float
) -> Frame:
    """Return a frame without margins, for a film: its lanes in a band of this height, time to the right.

    The lanes begin at ``begin``, and end where the time does; ``stretch`` is the length of the axis by its length
    in a picture with labels of normal size.
    """
    k, count = theme.size / _SIZE, len(excerpt.nodes)
    near = max(1.9 * theme.size, _FILM_CLOCK_ROWS * stretch)
    pitch = (height - near) / count
    lanes = {node: near + pitch * (n + 0.5) for n, node in enumerate(excerpt.nodes)}
    to_the_right = replace(excerpt, options=replace(excerpt.options, time="right"))
    axis = _axis(to_the_right, times_us, begin, stretch, _NATURAL_PAGE * stretch)
    return Frame(
        theme,
        k,
        Layout[float](False, lanes, pitch, 0),
        axis,
        near,
        height,
        begin,
        axis.end + begin,
        height,
        0.0,
        0.0,
    )


def _pad(theme: Theme) -> float:
    return 24.0 if theme.described else 0.45 * theme.size


def _axis(
    excerpt: Excerpt,
    times_us: Sequence[int],
    begin: float,
    k: float,
    page: float,
    room: float | None = None,
) -> PictureAxis:
    """Return the axis. ``page`` is its greatest length on one page; ``room`` is its exact length, if any."""
    options, down = excerpt.options.figure, excerpt.options.time == "down"
    lasts_us = max(1, excerpt.until_us - excerpt.from_us)
    if isinstance(options.zoom, int):
        return _in_rows(times_us, begin, options.zoom, lasts_us, k, room)
    if options.scale != "log":
        break_us = _longest_wait_us(excerpt) if options.scale == "broken" else None
        row_us = _row_for(lasts_us, page, k) if len(excerpt.messages) > _MANY and options.zoom != "events" else 0
        return TrueAxis(times_us, begin, room or page, break_us, row_us)
    stretch = _STRETCH[down] * k
    natural = LogarithmicAxis(times_us, begin, stretch)
    share = (room or page) / max(1.0, natural.end - begin)
    count = len(excerpt.messages)
    is_for_screen = options.zoom == "auto" and THEMES[options.theme].described
    if options.zoom == "events" or (is_for_screen and count <= _MANY and _is_short(natural, room, k)):
        return natural if room is None else LogarithmicAxis(times_us, begin, stretch * share)
    if share >= _SHORTENED and count <= _MOST_ON_A_PAGE:
        return LogarithmicAxis(times_us, begin, stretch * (share if room else min(1.0, share)))
    return _in_rows(times_us, begin, _row_for(lasts_us, page, k), lasts_us, k, room)


def _longest_wait_us(excerpt: Excerpt) -> int:
    """Return the longest wait that a broken axis shows: several times that of a message for its delivery."""
    flights_us = [edge.end.at_us - edge.line.at_us for edge in excerpt.messages if edge.arrived and edge.end]
    return int(_FLIGHTS * median(flights_us)) + 1 if flights_us else excerpt.header.timing.tm_us


def _is_short(natural: LogarithmicAxis, room: float | None, k: float) -> bool:
    return natural.end <= (_LONGEST * k if room is None else room / _SHORTENED)


def _row_for(lasts_us: int, page: float, k: float) -> int:
    """Return the finest level of zoom with which the time fits a page."""
    return next((us for us in ROWS_US if lasts_us / us * _ROW * k <= page), ROWS_US[-1])


def _in_rows(
    times_us: Sequence[int], begin: float, row_us: int, lasts_us: int, k: float, room: float | None
) -> TrueAxis:
    return TrueAxis(times_us, begin, room or max(1.0, lasts_us / row_us) * _ROW * k, row_us=row_us)

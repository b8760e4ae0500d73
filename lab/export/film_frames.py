"""The frames of a film of the space-time diagram, as pixels.

The diagram is drawn once, by the means of all pictures, and converted by CairoSVG (extra ``figures``). A frame
shows it up to the cursor: a message in flight is an arrow that has not arrived. A label appears as a whole when
the cursor comes to it. At the left are the nodes with their Status at the cursor, below is the title of the
chapter, large.
"""

import importlib
import io
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import drawsvg
from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.spacetime import StatusInterval
from lab.export.annotations import printable, status_label
from lab.export.excerpt import Excerpt, ExportError
from lab.export.figure_frame import Frame, frame_in_band, with_zoom
from lab.export.figure_options import FONT, THEMES, Theme
from lab.export.film import Screen, Shot, chapters_of, interpolate, shots_of
from lab.export.placement import PlacedText, cut_to_width, text_width, wrap_to_width
from lab.export.svg_diagram import Picture, Shapes, load_cairosvg
from lab.export.svg_shapes import group, star, status_sign, symbol, text
from lab.units import CountText

_HEIGHT = 720
"""The height of the screen for which lengths are given here."""
_LETTERS, _SMALLEST_LETTERS = 17.0, 8.0
_PITCH_PER_LETTER = 1.7
_PAD, _TITLE, _CAPTION = 26.0, 30.0, 33.0
_BOLD = 1.08
"""The width of bold letters, as a multiple of that of others."""
_CAPTION_ROWS = 2
_MOST_ARROWS, _MOST_ROWS = 1_000, 800
_STRETCH = 1.3
"""The length of the time axis, as a multiple of that on a page."""
_TILE = 8_000
"""The greatest width of what CairoSVG draws at once; it could not draw 32,768 pixels."""
_MOST_PIXELS = 150_000_000
"""The pixels of the longest diagram, which takes twice three bytes for each."""
_AHEAD = 1.0
"""How far before a label the cursor is when it appears, in sizes of its letters."""


class FilmFrame(Struct, frozen=True):
    """An image of Pillow, and for how long it is shown."""

    image: Any
    lasts_us: int


class FilmFrames:
    """The frames of the film of an excerpt. Raises ExportError without the extra, or if the film is too long.

    On the screen, the diagram is right of ``left``, in a band of the height ``band`` below ``top``; ``frame`` is
    that of the whole diagram.
    """

    def __init__(self, excerpt: Excerpt, frames_per_s: int) -> None:
        self._pillow = load_pillow()
        self._excerpt = with_zoom(excerpt, _MOST_ARROWS, _MOST_ROWS)
        film, figure = excerpt.options.diagram_film, excerpt.options.figure
        self.size = film.width, film.height
        self._u = film.height / _HEIGHT
        self._theme = _film_theme(THEMES[figure.theme], len(excerpt.nodes), self._u)
        self._title = printable(figure.title or excerpt.header.title, 200)
        self._subtitle = printable(figure.caption, 500)
        self.chapters = chapters_of(excerpt)
        self.top = (_PAD + 1.3 * _TITLE + (26 if self._subtitle else 0)) * self._u
        self.band = film.height - self.top - (_PAD + _CAPTION * 1.3 * _CAPTION_ROWS + 8) * self._u
        self.left = _column_width(self._excerpt, self._u)
        self._picture = Picture(self._excerpt, "film", self._make_frame)
        self.frame = self._picture.frame
        if self.frame.width * self.band > _MOST_PIXELS:
            raise ExportError(
                f"the diagram of this film is {self.frame.width:,.0f} pixels long, too many for its height: "
                "choose a shorter window with --from and --until, --zoom 500ms, or a smaller --size"
            )
        self.knots = self.frame.axis.knots
        screen = Screen(film.width - self.left, 14 * self._u)
        self.shots = shots_of(self._excerpt, self.knots, self.chapters, screen, frames_per_s)

    def __iter__(self) -> Iterator[FilmFrame]:
        for number, shot in enumerate(self.shots):
            self._excerpt.progress(CountText(number, len(self.shots), "frame", "filmed"))
            yield FilmFrame(self._drawn(shot), shot.lasts_us)

    @property
    def theme(self) -> Theme:
        return self._theme

    def _make_frame(self, excerpt: Excerpt, times_us: Sequence[int], has_notes: bool) -> Frame:
        return frame_in_band(
            excerpt, times_us, self._theme, begin=14 * self._u, height=self.band, stretch=_STRETCH * self._u
        )

    # what is drawn once

    @cached_property
    def _diagram(self) -> Any:
        """The whole diagram, with its labels."""
        parts = self._picture.parts
        return self._tiles([*parts.faults, *parts.times, *parts.lanes, *parts.labels], self._theme.paper)

    @cached_property
    def _labels(self) -> Any:
        """The labels alone, on the background."""
        parts = self._picture.parts
        return self._tiles(parts.labels, self._theme.paper)

    @cached_property
    def _texts(self) -> list[tuple[float, float, PlacedText]]:
        """The begin and the end along the axis of every text beside the lanes."""
        texts = (each for each in self._picture.parts.texts if each.at[1] > self.frame.near)
        reach = [([x for x, _ in each.corners], each) for each in texts]
        return sorted(((min(xs), max(xs), each) for xs, each in reach), key=lambda each: each[:2])

    @cached_property
    def _longest_text(self) -> float:
        return max((right - left for left, right, _ in self._texts), default=0.0)

    def _tiles(self, shapes: Shapes, ground: str) -> Any:
        """Draw the shapes in tiles; return them as one image."""
        width, height = round(self.frame.width), round(self.band)
        image = self._pillow.new("RGB", (width, height), ground)
        for left in range(0, width, _TILE):
            size = min(_TILE, width - left), height
            image.paste(self._rendered(shapes, size, (left, 0)), (left, 0))
            self._excerpt.progress(CountText(left, width, "pixel", "rendered"))
        return image

    def _rendered(self, shapes: Shapes, size: tuple[int, int], origin: tuple[int, int] = (0, 0)) -> Any:
        """Return an image of the shapes on the background."""
        drawing = drawsvg.Drawing(*size, origin=origin, font_family=FONT)
        drawing.append(drawsvg.Rectangle(*origin, *size, fill=self._theme.paper))
        drawing.append(group(shapes))
        png = load_cairosvg().svg2png(bytestring=str(drawing.as_svg()).encode())
        return self._pillow.open(io.BytesIO(png)).convert("RGB")

    # a frame

    def _drawn(self, shot: Shot) -> Any:
        left, top = round(self.left), round(self.top)
        image = self._background(shot.chapter).copy()
        camera, place = round(shot.camera), round(shot.place)
        seen = self._diagram.crop((max(0, camera), 0, max(0, camera, place), round(self.band)))
        image.paste(seen, (left + max(0, -camera), top))
        self._paste_labels(image, camera, place)
        image.paste(self._column(place), (0, top))
        self._draw_cursor(image, left + place - camera, place)
        return image

    def _paste_labels(self, image: Any, camera: int, place: int) -> None:
        """Paste the rest of the labels that the cursor has come to, but not passed."""
        ahead, left, top = _AHEAD * self._theme.size, round(self.left), round(self.top)
        first = bisect_right(self._texts, place - self._longest_text, key=lambda each: each[0])
        for begin, end, each in self._texts[first:]:
            if begin > place + ahead:
                break
            if end <= place:
                continue
            low = min(y for _, y in each.corners)
            high = max(y for _, y in each.corners)
            box = max(0, place, int(begin) - 1), max(0, int(low)), int(end) + 2, int(high) + 2
            mask = self._pillow.new("L", (box[2] - box[0], box[3] - box[1]), 0)
            corners = [(x - box[0], y - box[1]) for x, y in each.corners]
            importlib.import_module("PIL.ImageDraw").Draw(mask).polygon(corners, fill=255)
            image.paste(self._labels.crop(box), (left + box[0] - camera, top + box[1]), mask)

    def _draw_cursor(self, image: Any, x: int, place: int) -> None:
        u, top = self._u, round(self.top)
        colour = self._theme.palette.named("sky")
        half = max(1, round(1.5 * u))
        image.paste(colour, (x - half, top, x + half, top + round(self.band)))
        times_us, places = zip(*self.knots, strict=True)
        badge = self._badge(f"{interpolate(place, places, times_us) / 1e6:.3f} s")
        at_x = max(0, min(x - badge.width // 2, self.size[0] - badge.width - half))
        image.paste(badge, (at_x, top))

    def _badge(self, clock: str) -> Any:
        """Return the time that stands at the cursor, put together of its letters."""
        letters = [self._letter(each) for each in clock]
        pad = round(7 * self._u)
        size = sum(each.width for each in letters) + 2 * pad, letters[0].height
        image = self._pillow.new("RGB", size, self._theme.palette.named("sky"))
        for letter in letters:
            image.paste(letter, (pad, 0))
            pad += letter.width
        return image

    def _letter(self, letter: str) -> Any:
        if letter not in self._letters:
            size = 20 * self._u
            wide, high = round(text_width(letter, size, bold=True)), round(1.4 * size)
            ground = drawsvg.Rectangle(0, 0, wide, high, fill=self._theme.palette.named("sky"))
            drawn = text(letter, size, (0, 1.04 * size), self._theme.paper, font_weight="bold")
            self._letters[letter] = self._rendered([ground, drawn], (wide, high))
        return self._letters[letter]

    @cached_property
    def _letters(self) -> dict[str, Any]:
        return {}

    # the words around the diagram

    def _background(self, chapter: int) -> Any:
        """Return the title and the caption of a chapter, with no diagram."""
        if chapter not in self._backgrounds:
            self._backgrounds[chapter] = self._rendered([*self._head(), *self._caption(chapter)], self.size)
        return self._backgrounds[chapter]

    @cached_property
    def _backgrounds(self) -> dict[int, Any]:
        return {}

    def _head(self) -> Iterator[drawsvg.DrawingElement]:
        u, room = self._u, self.size[0] - 2 * _PAD * self._u
        y = (_PAD + 0.8 * _TITLE) * u
        title = cut_to_width(self._title, _TITLE * u, room / _BOLD)
        yield text(title, _TITLE * u, (_PAD * u, y), self._theme.ink, font_weight="bold")
        if self._subtitle:
            words = cut_to_width(self._subtitle, 20 * u, room)
            yield text(words, 20 * u, (_PAD * u, y + 30 * u), self._theme.faint)

    def _caption(self, number: int) -> Iterator[drawsvg.DrawingElement]:
        if number < 0:
            return
        u, size, pad = self._u, _CAPTION * self._u, _PAD * self._u
        chapter = self.chapters[number]
        is_violation = any(each.record == chapter.record for each in self._excerpt.violations)
        colour = self._theme.palette.named("vermilion") if is_violation else self._theme.ink
        y = self.top + self.band + 14 * u
        clock = f"{chapter.at_us / 1e6:.3f} s"
        wide = text_width("000.000 s", size) + 24 * u
        yield text(clock, size, (pad, y + size), self._theme.faint)
        room = (self.size[0] - 2 * pad - wide) / _BOLD
        lines = wrap_to_width(printable(chapter.title, 200), size, room, _CAPTION_ROWS)
        for row, words in enumerate(lines):
            yield text(words, size, (pad + wide, y + size + 1.3 * size * row), colour, font_weight="bold")

    # the nodes

    def _column(self, place: int) -> Any:
        """Return the nodes with their Status at the cursor."""
        shown = tuple(
            intervals[max(0, bisect_right(self._begins[node], place) - 1)]
            for node, intervals in self._intervals.items()
        )
        key = tuple((each.shown, each.coordinator, each.leads) for each in shown)
        if key not in self._columns:
            size = round(self.left), round(self.band)
            self._columns[key] = self._rendered([*self._node_texts(shown)], size)
        return self._columns[key]

    @cached_property
    def _columns(self) -> dict[Any, Any]:
        return {}

    @cached_property
    def _intervals(self) -> dict[int, list[StatusInterval]]:
        every = self._excerpt.status_intervals
        return {node: [each for each in every if each.node == node] for node in self._excerpt.nodes}

    @cached_property
    def _begins(self) -> dict[int, list[float]]:
        clip, axis = self._excerpt.clip, self.frame.axis
        return {
            node: [axis.place(clip(each.since.at_us)) for each in intervals]
            for node, intervals in self._intervals.items()
        }

    def _node_texts(self, shown: Sequence[StatusInterval]) -> Iterator[drawsvg.DrawingElement]:
        u, theme, pitch = self._u, self._theme, self.frame.layout.pitch
        two_rows = pitch > 54 * u
        size = min(20 * u, 0.86 * pitch)
        sign_x = self.left - 14 * u
        for interval, lane in zip(shown, self.frame.layout.lanes.values(), strict=True):
            colour = theme.palette.status(interval.shown) or theme.faint
            words = _status_words(interval)
            if two_rows:
                yield text(
                    f"node {interval.node}", size, (_PAD * u, lane - 0.1 * size), theme.ink, font_weight="bold"
                )
                yield text(words, 0.85 * size, (_PAD * u, lane + 0.95 * size), colour)
            else:
                y = lane + 0.36 * size
                yield text(f"{interval.node}", size, (_PAD * u, y), theme.ink, font_weight="bold")
                yield text(words, 0.85 * size, (_PAD * u + 1.5 * size, y), colour)
            scale = min(1.6 * u, pitch / 9)
            if interval.leads:
                yield star((sign_x, lane), 5.5 * scale, colour)
            else:
                yield symbol(status_sign(interval.shown), (sign_x, lane), colour, scale)


def _status_words(interval: StatusInterval) -> str:
    label = status_label(interval.shown)
    if interval.leads:
        return "leads"
    if interval.shown in ("Normal", "Reorganization") and interval.coordinator is not None:
        return f"{label} → {interval.coordinator}" if interval.coordinator != interval.node else label
    return label


def _column_width(excerpt: Excerpt, u: float) -> float:
    words = {_status_words(each) for each in excerpt.status_intervals} | {f"node {max(excerpt.nodes)}"}
    return _PAD * u + max(text_width(each, 20 * u, bold=True) for each in words) + 62 * u


def _film_theme(theme: Theme, nodes: int, u: float) -> Theme:
    """Return the theme with letters for a screen; those of many nodes have less room."""
    band = (_HEIGHT - 210) * u
    size = max(_SMALLEST_LETTERS * u, min(_LETTERS * u, band / nodes / _PITCH_PER_LETTER))
    share = size / (_LETTERS * u)
    return replace(
        theme, size=size, described=False, lane=max(3.0, 9 * u * share), stroke=max(1.0, 2 * u * share), width=None
    )


def load_pillow() -> Any:
    """Return the module ``PIL.Image``. Raises ExportError without the extra."""
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        raise ExportError(
            "this requires Pillow: pip install 'coordinator-lab[figures]'; or export to cast, for asciinema"
        ) from None

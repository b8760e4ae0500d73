"""The shots of a film of the space-time diagram: where the cursor and the camera are, and for how long.

The cursor moves along the time axis: at the same pace everywhere, so that a burst of messages can be followed as
well as a wait, or in recorded time at a given speed. It stops at every chapter for as long as its title takes to
read. The camera stands still, and turns to the next part of the diagram when the cursor comes near the border:
what stands still can be read, and takes no bytes.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from lab.export.excerpt import Excerpt, ExportError, Film
from lab.export.figure_axes import Knot
from lab.export.film import Chapter, Pace, busy_us, frames, interpolate

_SCREENS_PER_S = 0.2
"""The share of the width of the screen that the cursor passes in a second."""
_OPENING_US, _CLOSING_US = 1_200_000, 4_000_000
_READ_US, _READ_PER_LETTER_US, _LONGEST_READ_US = 900_000, 40_000, 4_500_000
_TURN_US = 600_000
_TURN_AT, _TURN_TO = 0.85, 0.12
"""Where on the screen the cursor is when the camera turns, and after that."""
_LONGEST_US = 600_000_000


class Shot(Struct, frozen=True):
    """A view of the diagram for ``lasts_us``: where the cursor and the left border are, in its pixels.

    ``chapter`` is the number of the chapter, -1 before the first.
    """

    lasts_us: int
    place: float
    camera: float
    chapter: int


class Screen(Struct, frozen=True):
    """The part of the frame in which the diagram is seen, in pixels: its width, and a margin before its begin."""

    width: float
    margin: float


def shots_of(
    excerpt: Excerpt, knots: Sequence[Knot], chapters: Sequence[Chapter], screen: Screen, frames_per_s: int
) -> list[Shot]:
    """Return the shots, in order. Raises ExportError if the film would last for more than ten minutes."""
    frame_us = 1_000_000 // frames_per_s
    film = excerpt.options.diagram_film
    if film.speed is None:
        places = _even_places(knots, screen.width * _SCREENS_PER_S / frames_per_s)
    else:
        places = _recorded_places(excerpt, knots, film.speed, frames_per_s)
    if len(places) * frame_us > _LONGEST_US:
        raise ExportError(
            f"this film would last {len(places) * frame_us // 60_000_000} minutes (10 at most): choose a shorter "
            "window with --from and --until, or --zoom 500ms, or a greater --speed"
        )
    return [*_with_camera(_with_stops(places, knots, chapters, frame_us), knots, screen, frame_us)]


def _even_places(knots: Sequence[Knot], step: float) -> list[float]:
    begin, end = knots[0][1], knots[-1][1]
    return [*(begin + step * number for number in range(int((end - begin) / step) + 1)), end]


def _recorded_places(excerpt: Excerpt, knots: Sequence[Knot], speed: float, frames_per_s: int) -> list[float]:
    """Return the place at each frame, with waits shortened."""
    film = Film(frames_per_s=frames_per_s, speed=speed, idle_us=excerpt.options.diagram_film.idle_us)
    pace = Pace(busy_us(excerpt), excerpt.from_us, excerpt.until_us, film)
    times_us, places = zip(*knots, strict=True)
    return [float(interpolate(moment_us, times_us, places)) for _, moment_us in frames(pace, film)]


def _with_stops(
    places: Sequence[float], knots: Sequence[Knot], chapters: Sequence[Chapter], frame_us: int
) -> Iterator[Shot]:
    """Yield a shot for each place and for each chapter on the way; the last lasts."""
    times_us, along = zip(*knots, strict=True)
    yield Shot(_OPENING_US, places[0], 0.0, -1)
    latest = -1
    for place in places:
        while (
            latest + 1 < len(chapters)
            and (stop := interpolate(chapters[latest + 1].at_us, times_us, along)) <= place
        ):
            latest += 1
            read_us = min(_READ_US + _READ_PER_LETTER_US * len(chapters[latest].title), _LONGEST_READ_US)
            yield Shot(read_us, float(stop), 0.0, latest)
        yield Shot(frame_us, place, 0.0, latest)
    yield Shot(_CLOSING_US, places[-1], 0.0, latest)


def _with_camera(shots: Iterator[Shot], knots: Sequence[Knot], screen: Screen, frame_us: int) -> Iterator[Shot]:
    camera = knots[0][1] - screen.margin
    last = max(camera, knots[-1][1] + screen.margin - screen.width)
    place = knots[0][1]
    for shot in shots:
        if shot.place > camera + _TURN_AT * screen.width and camera < last:
            turned = min(last, shot.place - _TURN_TO * screen.width)
            count = max(1, _TURN_US // frame_us)
            for number in range(1, count + 1):
                share = number / count
                eased = share * share * (3 - 2 * share)
                moved = place + (shot.place - place) * eased  # at a high speed, from one screen to another
                yield replace(shot, lasts_us=frame_us, place=moved, camera=camera + (turned - camera) * eased)
            camera = turned
        place = shot.place
        yield replace(shot, camera=camera)

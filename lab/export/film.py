"""A run as a film: the mapping between time in the film and time in the run, the chapters, and the shots.

Time passes as in the run, at the given speed, except that no wait in the film is longer than ``idle_us``. Chapters
begin at faults, elections, captions and marks of the script, and verdicts.

A shot of the space-time diagram is where the cursor and the camera are, and for how long. The cursor moves along
the time axis: at the same pace everywhere, so that a burst of messages can be followed as well as a wait, or in
recorded time at a given speed. It stops at every chapter for as long as its title takes to read. The camera stands
still, and turns to the next part of the diagram when the cursor comes near the border: what stands still can be
read, and takes no bytes.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.elections import agreed_coordinator
from lab.export.annotations import describe_fault
from lab.export.excerpt import Excerpt, ExportError, Film
from lab.export.figure_axes import Knot
from lab.recording.snapshot import NodeState
from lab.text import sanitize


class FilmPace:
    """The mapping between film time and run time, from ``from_us`` to ``until_us``, in microseconds.

    ``busy_us`` are the times of the run at which something happens.
    """

    def __init__(self, busy_us: Iterable[int], from_us: int, until_us: int, film: Film) -> None:
        self.until_us = until_us
        inside = (at_us for at_us in busy_us if from_us < at_us < until_us)
        self._moments_us: list[float] = [from_us, *sorted(set(inside)), until_us]
        lasts_us = (
            min((after_us - before_us) / film.speed, film.idle_us)
            for before_us, after_us in pairwise(self._moments_us)
        )
        self._seen_us = list(accumulate(lasts_us, initial=0.0))

    @property
    def lasts_us(self) -> int:
        return round(self._seen_us[-1])

    def seen_us(self, moment_us: int) -> int:
        """Return the film time at which that moment of the run is shown."""
        return interpolate(moment_us, self._moments_us, self._seen_us)

    def moment_us(self, seen_us: int) -> int:
        """Return the moment of the run shown at that film time."""
        return interpolate(seen_us, self._seen_us, self._moments_us)


def frames(pace: FilmPace, film: Film) -> Iterator[tuple[int, int]]:
    """Yield (film time, moment of the run) of every frame; the last is the end."""
    last = pace.lasts_us * film.frames_per_s // 1_000_000
    for number in range(last + 1):
        seen_us = number * 1_000_000 // film.frames_per_s
        yield seen_us, pace.moment_us(seen_us)
    yield pace.lasts_us, pace.until_us


def busy_us(excerpt: Excerpt) -> Iterator[int]:
    """Yield the times at which something happens."""
    yield from (line.at_us for line in excerpt.events)
    for edge in excerpt.messages:
        yield edge.sent.at_us
        if edge.end is not None:
            yield edge.end.at_us


def interpolate(value: float, xs: Sequence[float], ys: Sequence[float]) -> int:
    """Map ``value`` from the rising ``xs`` to the rising ``ys``, linearly between two of them."""
    place = max(1, min(bisect_right(xs, value), len(xs) - 1))
    low, high = xs[place - 1], xs[place]
    share = (max(low, min(value, high)) - low) / (high - low) if high > low else 1.0
    return round(ys[place - 1] + share * (ys[place] - ys[place - 1]))


# chapters

_LONGEST = 100
_CAPTIONS = ("caption", "mark")


class Chapter(Struct, frozen=True, order=True):
    """A chapter: the record and time at which it begins, and its title."""

    record: int
    at_us: int
    title: str


def chapters_of(excerpt: Excerpt) -> list[Chapter]:
    """Return the chapters in the window, in the order of the records."""
    every = [*_faults(excerpt), *_elections(excerpt), *_script_chapters(excerpt), *_verdicts(excerpt)]
    inside = sorted(each for each in every if excerpt.first <= each.record <= excerpt.last)
    return [Chapter(each.record, excerpt.clip(each.at_us), sanitize(each.title, _LONGEST)) for each in inside]


def _faults(excerpt: Excerpt) -> Iterator[Chapter]:
    for fault_interval in excerpt.fault_intervals:
        text = describe_fault(fault_interval.fault)
        yield Chapter(fault_interval.since.record, fault_interval.since.at_us, text)
        if fault_interval.until is not None:
            yield Chapter(fault_interval.until.record, fault_interval.until.at_us, f"end of {text}")


def _elections(excerpt: Excerpt) -> Iterator[Chapter]:
    """Yield where a first node calls an election, and where all nodes of the run agree again."""
    views = {node: NodeState(node) for node in excerpt.header.nodes}
    agreed, is_called = None, False
    for _, those in groupby(excerpt.space.status_intervals, key=lambda interval: interval.since.record):
        for interval in those:
            state = {"status": interval.status, "coordinator": interval.coordinator}
            views[interval.node] = NodeState(interval.node, interval.process, state=state)
            if interval.shown == "Election" and not is_called:
                is_called = True
                yield Chapter(
                    interval.since.record, interval.since.at_us, f"node {interval.node} calls an election"
                )
        before, agreed = agreed, agreed_coordinator(views)
        if agreed is not None and before is None and is_called:
            is_called = False
            yield Chapter(interval.since.record, interval.since.at_us, f"all agree on node {agreed}")


def _script_chapters(excerpt: Excerpt) -> Iterator[Chapter]:
    for line in excerpt.events:
        if line.what in _CAPTIONS or (line.what, line.kind) == ("expectation", "unmet"):
            yield Chapter(line.record, line.at_us, line.text)


def _verdicts(excerpt: Excerpt) -> Iterator[Chapter]:
    """Yield, for each assertion, the first failure and the first violation that is not a failure."""
    known = set()
    for violation in excerpt.violations:
        kind = violation.assertion, violation.is_failure
        if kind not in known:
            known.add(kind)
            yield Chapter(violation.record, violation.at_us, f"{violation}")


_SCREENS_PER_S = 0.2
"""The share of the width of the screen that the cursor passes in a second."""
_OPENING_US, _CLOSING_US = 1_200_000, 4_000_000
_READ_US, _READ_PER_LETTER_US, _LONGEST_READ_US = 900_000, 40_000, 4_500_000
_TURN_US = 600_000
_TURN_AT, _TURN_TO = 0.85, 0.12
"""The place of the cursor, as a share of the screen, when the camera turns, and after that."""
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
    pace = FilmPace(busy_us(excerpt), excerpt.from_us, excerpt.until_us, film)
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

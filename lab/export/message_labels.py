"""The labels of messages in a picture: one for a fan-out, one for the answers to it.

A label stands along an arrow, else beside it, else at a short distance with a leader line. If there is no room for
the name of the kind, its initials are tried, which the legend explains; if there is none for these either, the
legend names the kind by its colour.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from math import atan2, cos, degrees, hypot, radians, sin, tan

from msgspec import Struct

from lab.analysis.spacetime import MessageEdge
from lab.export.diagram_layout import fan_out_of
from lab.export.placement import Labels, PlacedText, Position

Way = tuple[Position, Position]

LINE = "line"
"""The owner of lines in ``Labels``: a leader may cross them, a text may not."""
_SHARES = (0.5, 0.38, 0.62, 0.26, 0.74, 0.16, 0.84)
_STEEP = 58.0
"""An arrow that rises by more degrees has its label beside it, upright."""
_MOST_WAYS = 4
_FAR = ((0, -2.1), (0, 2.5), (2.6, -1.7), (-2.6, -1.7), (2.6, 2.1), (-2.6, 2.1))
"""The places of a label with a leader line, in sizes of its letters."""


class FanOut(Struct):
    """The messages that share a label, and their arrows."""

    kind: str
    is_answer: bool
    start: Position
    ways: list[Way]


class Label(Struct, frozen=True):
    """A label, and the leader line to its arrow, if it has one."""

    text: PlacedText
    leader: Way | None = None


def fan_outs_of(edges: Sequence[MessageEdge], ways: Sequence[Way]) -> list[FanOut]:
    """Return the messages that share a label: those of a fan-out, and the answers to one."""
    sent = {edge.line.message: edge for edge in edges}
    found: dict[Hashable, FanOut] = {}
    for edge, way in zip(edges, ways, strict=True):
        target = edge.ends[1]
        request = sent.get((target, edge.line.reply_to)) if edge.line.reply_to else None
        key: Hashable = fan_out_of(edge)
        if request is not None:
            key = (target, edge.line.kind, fan_out_of(request))
        if key not in found:
            found[key] = FanOut(edge.line.kind, bool(edge.line.reply_to), way[0], [])
        found[key].ways.append(way)
    return [*found.values()]


def initials_of(kinds: Iterable[str]) -> dict[str, str]:
    """Return short names of kinds, all different: the capitals of a name, or its first letters."""
    found: dict[str, str] = {}
    for kind in kinds:
        capitals = "".join(letter for letter in kind if letter.isupper() or letter.isdigit())
        short = capitals if 2 <= len(capitals) <= 5 else kind[:3]
        number = 1
        while (name := short if number == 1 else f"{short}{number}") in found.values():
            number += 1
        found[kind] = name
    return found


def place_label(labels: Labels, fan_out: FanOut, names: Sequence[tuple[str, float]]) -> Label | None:
    """Reserve a place for one of the names of a fan-out, with their sizes, the first that fits."""
    for words, size in names:
        text = labels.place(_along(fan_out, words, size))
        if text is not None:
            return Label(text)
        for text, leader in _apart(fan_out, words, size):
            if labels.is_free(text.corners) and labels.is_free(leader, LINE):
                labels.reserve(text.corners)
                labels.reserve(leader, LINE)
                return Label(text, leader)
    return None


def _along(fan_out: FanOut, words: str, size: float) -> Iterator[PlacedText]:
    """Yield the places along the arrows: of a fan-out first on its outer arrows, near the sender."""
    ways = _outer_first(fan_out)
    shares = _SHARES if len(ways) == 1 else sorted(_SHARES[:-1])
    for share in shares:
        for way in ways:
            yield from _next_to(way, share, words, size)


def _outer_first(fan_out: FanOut) -> list[Way]:
    turned = sorted(fan_out.ways, key=_angle)
    outer = [turned[0], turned[-1], *turned[1:-1]]
    return list(dict.fromkeys(outer))[:_MOST_WAYS]


def _angle(way: Way) -> float:
    (x, y), (to_x, to_y) = way
    return atan2(to_y - y, to_x - x)


def _next_to(way: Way, share: float, words: str, size: float) -> Iterator[PlacedText]:
    """Yield the places on both sides of a point of an arrow."""
    (x, y), (to_x, to_y) = way
    at = x + (to_x - x) * share, y + (to_y - y) * share
    angle = degrees(_angle(way))
    angle -= 180 if angle > 90 else -180 if angle < -90 else 0
    if abs(angle) <= _STEEP:
        up = sin(radians(angle)), -cos(radians(angle))
        for rise in (0.24 * size + 1.4, -0.76 * size - 1.6):
            yield PlacedText(words, size, (at[0] + up[0] * rise, at[1] + up[1] * rise), "middle", round(angle, 1))
        return
    aside = 3 + size / 2 / tan(radians(abs(angle)))
    yield PlacedText(words, size, (at[0] + aside, at[1] + 0.26 * size))
    yield PlacedText(words, size, (at[0] - aside, at[1] + 0.26 * size), "end")


def _apart(fan_out: FanOut, words: str, size: float) -> Iterator[tuple[PlacedText, Way]]:
    """Yield the places at a distance, with their leader lines."""
    for share in (0.3, 0.6):
        for (x, y), (to_x, to_y) in _outer_first(fan_out)[:2]:
            if hypot(to_x - x, to_y - y) < size:
                continue
            at = x + (to_x - x) * share, y + (to_y - y) * share
            for across, down in _FAR:
                text = PlacedText(words, size, (at[0] + across * size, at[1] + down * size), "middle")
                edge = text.at[1] + (0.3 * size if down < 0 else -0.85 * size)
                yield text, (at, (text.at[0], edge))


def kind_names(mode: str, kind: str, initials: Mapping[str, str], size: float) -> list[tuple[str, float]]:
    """Return the names to try for a kind, with their sizes."""
    short = (initials[kind], size * 0.92)
    return {"full": [(kind, size), short], "short": [short], "legend": []}[mode]

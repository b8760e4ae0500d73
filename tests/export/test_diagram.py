"""The space-time diagram as SVG: everything is drawn, at the position of its node and time."""

import re
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from lab.export.annotations import status_label
from lab.export.diagram_layout import LogarithmicAxis, fan_out_of
from lab.export.excerpt import Excerpt, ExportError
from lab.export.svg_diagram import MOST_ARROWS, diagram_of, write_svg
from lab.export.svg_shapes import Box, text_width
from lab.recording.reader import FileRecords, open_recording
from tests.export.windows import EVIL, RECORDINGS, eventful_recording, evil_recording, excerpt_in, written
from tests.recording.samples import eventful_lines, write_lines

SVG = "{http://www.w3.org/2000/svg}"
TIMES = ("down", "right")


class Drawn(NamedTuple):
    """A drawn message: its ends as (along time, across time), and the symbol at its end."""

    start: tuple[float, float]
    stop: tuple[float, float]
    tip: str
    title: str


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> FileRecords:
    """A recording with all kinds of events."""
    return eventful_recording(tmp_path_factory.mktemp("run"))


def _root(excerpt: Excerpt) -> ElementTree.Element:
    return ElementTree.fromstring(written(write_svg, excerpt))


def _texts(root: ElementTree.Element) -> list[str]:
    return ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]


def _groups(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [group for group in root.iter(f"{SVG}g") if group.get("class") == name]


def _drawn(root: ElementTree.Element, right: bool) -> list[Drawn]:
    return [_of(group, right) for group in _groups(root, "m")]


def _of(group: ElementTree.Element, right: bool) -> Drawn:
    way = next(path for path in group.iter(f"{SVG}path") if path.get("class") == "way")
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", way.get("d", ""))]
    start, stop = ((numbers[0], numbers[1]), (numbers[2], numbers[3]))
    if not right:
        start, stop = (start[1], start[0]), (stop[1], stop[0])
    others = [path for path in group.iter(f"{SVG}path") if path.get("class") not in ("way", "hit")]
    tip = "none"
    if group.find(f"{SVG}circle") is not None:
        tip = "circle"
    elif others:
        tip = "head" if others[0].get("class") == "tip" else "cross"
    return Drawn(start, stop, tip, group.findtext(f"{SVG}title") or "")


def _lanes(root: ElementTree.Element, excerpt: Excerpt, right: bool) -> dict[int, float]:
    """Return the positions of the lanes, across time, from the names of the nodes."""
    lanes = {}
    for each in root.iter(f"{SVG}text"):
        named = re.fullmatch(r"node (\d+)", "".join(each.itertext()))
        if named and each.get("font-weight") == "bold":
            lanes[int(named[1])] = float(each.get("y" if right else "x", "nan")) - (2 if right else 0)
    assert set(lanes) == set(excerpt.nodes)
    return lanes


@pytest.mark.parametrize("time", TIMES)
def test_every_message_is_an_arrow_between_its_lanes(store: FileRecords, time: str) -> None:
    """It ends at its receiver's lane if and only if it was received; a lost one ends earlier, with a cross."""
    excerpt = excerpt_in(store, heartbeats=True, time=time)
    root = _root(excerpt)
    lanes = _lanes(root, excerpt, time == "right")
    drawn = _drawn(root, time == "right")
    assert len(drawn) == len(excerpt.messages) > 100
    for edge, each in zip(excerpt.messages, drawn, strict=True):
        source, target = edge.line.source, edge.line.target
        assert source is not None
        assert target is not None
        assert each.start[1] == lanes[source]
        assert (each.stop[1] == lanes[target]) == edge.arrived
        assert min(lanes[source], lanes[target]) <= each.stop[1] <= max(lanes[source], lanes[target])
        assert each.tip == ("head" if edge.arrived else "circle" if edge.end is None else "cross")
        assert each.title.startswith(f"{edge.line.kind} {source} → {target}, number {edge.line.serial}\n")
    assert {each.tip for each in drawn} == {"head", "cross"}


def test_a_message_in_flight_at_the_end_has_no_arrow_head(tmp_path: Path) -> None:
    """It ends near its receiver's lane, at the last instant, with an open circle."""
    path = write_lines(tmp_path / "cut.jsonl", eventful_lines()[:30])
    excerpt = excerpt_in(open_recording(path))
    drawn = _drawn(_root(excerpt), False)
    going = [each for edge, each in zip(excerpt.messages, drawn, strict=True) if edge.end is None]
    assert {each.tip for each in going} == {"circle"}
    assert {each.stop[0] for each in going} == {max(each.stop[0] for each in drawn)}
    assert all("in flight" in each.title for each in going)


@pytest.mark.parametrize("time", TIMES)
def test_positions_are_in_the_order_of_times(store: FileRecords, time: str) -> None:
    """Earlier means before, simultaneous means the same position: for all ends of all arrows."""
    excerpt = excerpt_in(store, heartbeats=True, time=time)
    places: dict[int, float] = {}
    for edge, each in zip(excerpt.messages, _drawn(_root(excerpt), time == "right"), strict=True):
        points = [(edge.line.at_us, each.start[0])]
        if edge.arrived and edge.end is not None:
            points.append((edge.end.at_us, each.stop[0]))
        for at_us, place in points:
            assert places.setdefault(at_us, place) == place
    ordered = [places[at_us] for at_us in sorted(places)]
    assert all(one < other for one, other in pairwise(ordered))


def test_lanes_are_coloured_by_status(store: FileRecords) -> None:
    """Each status interval has a line with a tooltip, and each status is in the legend."""
    excerpt = excerpt_in(store)
    root = _root(excerpt)
    status_intervals = _groups(root, "s")
    assert len(status_intervals) == len(excerpt.status_intervals)
    for interval, group in zip(excerpt.status_intervals, status_intervals, strict=True):
        assert (group.findtext(f"{SVG}title") or "").startswith(
            f"node {interval.node}: {status_label(interval.shown)}"
        )
    colours = {
        (interval.shown, group.findall(f"{SVG}path")[0].get("stroke"))
        for interval, group in zip(excerpt.status_intervals, status_intervals, strict=True)
    }
    assert len(colours) == len({shown for shown, _ in colours})  # one colour for each
    shown = {each.shown for each in excerpt.status_intervals} - {"absent"}
    assert shown > {"Normal", "Election", "killed", "paused"}
    texts = _texts(root)
    assert all(any(text.startswith(each) for text in texts) for each in shown)
    assert "Normal ★" in texts


def test_a_partition_is_a_background_and_a_wall() -> None:
    """The wall lies between the lanes of 2 and 3 while the partition is in force."""
    store = open_recording(RECORDINGS / "scenarios" / "partition-in-two.jsonl")
    excerpt = excerpt_in(store)
    root = _root(excerpt)
    lanes = _lanes(root, excerpt, False)
    (fault,) = _groups(root, "f")
    (wall,) = fault.findall(f"{SVG}path")
    x, y, to_x, to_y = (float(number) for number in re.findall(r"[\d.]+", wall.get("d", "")))
    assert x == to_x == (lanes[2] + lanes[3]) / 2
    ground = fault.find(f"{SVG}rect")
    assert ground is not None
    assert float(ground.get("height", "nan")) == pytest.approx(to_y - y)
    assert (fault.findtext(f"{SVG}title") or "").startswith(
        "partition 1 2 | 3 4 5\nfrom 0.343115 s until 2.445282 s"
    )


def test_the_margin_has_commands_captions_and_violations() -> None:
    """Each violated assertion occurs once, with the number of violations."""
    excerpt = excerpt_in(open_recording(RECORDINGS / "scenarios" / "partition-in-two.jsonl"))
    output = " ".join(_texts(_root(excerpt)))
    assert "▶ when all normal: partition 1 2 | 3 4 5 · 12 links" in output
    assert "“ Two coordinators: 2 of 1 and 2, and 5 of the rest" in output
    assert "✓ expect all normal · met" in output
    assert output.count("excused: A1.2") == 1
    assert "(and 5 more)" in output


def test_a_window_is_cut_at_its_edges(store: FileRecords) -> None:
    """Arrows across the edge are cut there, between the lanes, and have no head outside."""
    store = open_recording(RECORDINGS / "two-coordinators.jsonl")
    excerpt = excerpt_in(store, from_us=5_200_000, until_us=5_600_000)
    lanes = set(_lanes(_root(excerpt), excerpt, False).values())
    crossing = 0
    for edge, each in zip(excerpt.messages, _drawn(_root(excerpt), False), strict=True):
        assert edge.end is not None
        assert (each.start[1] in lanes) == (edge.line.at_us >= excerpt.from_us)
        assert (each.tip == "none") == (edge.end.at_us > excerpt.until_us)
        crossing += edge.line.at_us < excerpt.from_us < excerpt.until_us < edge.end.at_us
    assert crossing == 4  # messages to a paused node, sent before, taken after
    assert "from 5.2s until 5.6s" in " ".join(_texts(_root(excerpt)))


def test_foreign_text_stays_text(tmp_path: Path) -> None:
    """Hostile names, kinds and texts give valid XML without scripts, and never appear in attributes."""
    root = _root(excerpt_in(open_recording(evil_recording(tmp_path)), heartbeats=True))
    assert "document.title" in " ".join(root.itertext())
    for element in root.iter():
        assert element.tag.removeprefix(SVG) != "script"
        assert all("title" not in value and "onload" not in value for value in element.attrib.values())
        assert not any(name.startswith("on") for name in element.attrib)
    assert "\x1b" not in "".join(root.itertext())
    assert EVIL[-1] not in "".join(root.itertext())


def test_too_many_messages_are_refused(store: FileRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the number, and what to do."""
    monkeypatch.setattr("lab.export.svg_diagram.MOST_ARROWS", 100)
    with pytest.raises(ExportError, match=r"too many for a picture \(100 at most\).*--from"):
        diagram_of(excerpt_in(store))
    assert MOST_ARROWS == 3_000


def test_a_longer_wait_is_drawn_longer() -> None:
    """From a microsecond to an hour; equal times have equal positions."""
    waits_us = (1, 10, 100, 1_000, 10_000, 1_000_000, 60_000_000, 3_600_000_000)
    instants = [sum(waits_us[:count]) for count in range(len(waits_us) + 1)]
    scale = LogarithmicAxis([*instants, *instants], 5.0)
    places = [scale.place(at_us) for at_us in instants]
    lengths = [other - one for one, other in pairwise(places)]
    assert places[0] == 5.0
    assert lengths == sorted(lengths)
    assert lengths[0] > 8
    assert scale.end == places[-1]


@pytest.mark.parametrize(
    "name", ["3pc-a-partition-breaks-it", "figure-10-9", "two-coordinators-invite-each-other"]
)
def test_no_annotation_ends_outside_the_picture(name: str) -> None:
    """If time runs to the right, the last annotations are moved inwards."""
    with closing(open_recording(RECORDINGS / "scenarios" / f"{name}.jsonl")) as found:
        excerpt = excerpt_in(found, time="right")
        root = _root(excerpt)
    width = float(root.get("width", "nan"))
    output = [
        each for each in root.iter(f"{SVG}text") if each.get("text-anchor") == "start" and each.get("stroke")
    ]
    assert output
    for each in output:
        assert float(each.get("x", "nan")) + text_width("".join(each.itertext()), 12) <= width


def _labels(root: ElementTree.Element) -> list[tuple[str, Box]]:
    """Return the labels of messages and statuses, and where they are."""
    found = []
    for each in root.iter(f"{SVG}text"):
        if each.get("text-anchor") == "middle" and each.get("stroke"):
            words, size = "".join(each.itertext()), float(each.get("font-size", "nan"))
            x, y = (float(each.get(axis, "nan")) for axis in "xy")
            half = text_width(words, size) / 2
            found.append((words, (x - half, y - size, x + half, y + 2)))
    return found


def _is_passed(box: Box, arrow: Drawn) -> bool:
    """Return whether an arrow, as (y, x), has a point in a box."""
    (y, x), (to_y, to_x) = arrow.start, arrow.stop
    points = ((x + (to_x - x) * n / 500, y + (to_y - y) * n / 500) for n in range(501))
    return any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in points)


@pytest.mark.parametrize("time", TIMES)
def test_a_label_is_on_no_other_arrow(store: FileRecords, time: str) -> None:
    """A fan-out has one label; an answer has its own kind."""
    excerpt = excerpt_in(store, time=time)
    groups = _groups(_root(excerpt), "m")
    arrows = [_of(group, False) for group in groups]
    keys = [(fan_out_of(edge), edge.fate == "timed out") for edge in excerpt.messages]
    named: dict[object, str] = {}
    for key, edge, group in zip(keys, excerpt.messages, groups, strict=True):
        for words, box in _labels(group):
            assert words.removesuffix(" (late)") == edge.line.kind
            assert key not in named
            named[key] = words
            assert not any(
                _is_passed(box, arrow) for other, arrow in zip(keys, arrows, strict=True) if other != key
            )
    assert len(set(keys)) / 3 < len(named) <= len(set(keys)) < len(excerpt.messages)
    assert any(words.endswith("Answer") for words in named.values())


@pytest.mark.parametrize("time", TIMES)
def test_every_label_is_inside_the_picture(time: str) -> None:
    """Also those of the last node, and of a status that begins at the end."""
    with closing(open_recording(RECORDINGS / "two-coordinators.jsonl")) as found:
        for until_us in (156_000, 1_666_000, 3_010_500):
            root = _root(excerpt_in(found, time=time, until_us=until_us))
            labels = _labels(root)
            assert "Reorganization ★" in [words for words, _ in labels]
            assert all(0 <= left <= right <= float(root.get("width", "nan")) for _, (left, _, right, _) in labels)

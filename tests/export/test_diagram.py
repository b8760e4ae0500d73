"""The space-time diagram as SVG: everything that there is, each thing where its node and its time are."""

import re
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from lab.export.diagram import MOST_ARROWS, diagram_of, write_svg
from lab.export.excerpt import Excerpt, ExportError
from lab.export.paper import letters
from lab.export.scale import Scale
from lab.recording.reader import FileRecords, open_recording
from tests.export.cutting import EVIL, RECORDINGS, eventful_recording, evil_recording, excerpt_in, written
from tests.recording.samples import eventful_lines, write_lines

SVG = "{http://www.w3.org/2000/svg}"
TIMES = ("down", "right")


class Drawn(NamedTuple):
    """A message as it is drawn: where it begins and ends, as (along time, across it), and what is at its end."""

    start: tuple[float, float]
    stop: tuple[float, float]
    tip: str
    title: str


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> FileRecords:
    """A run with a little of everything."""
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
    """Where the nodes' names stand, across time; that is where their lanes are."""
    lanes = {}
    for each in root.iter(f"{SVG}text"):
        named = re.fullmatch(r"node (\d+)", "".join(each.itertext()))
        if named and each.get("font-weight") == "bold":
            lanes[int(named[1])] = float(each.get("y" if right else "x", "nan")) - (2 if right else 0)
    assert set(lanes) == set(excerpt.nodes)
    return lanes


@pytest.mark.parametrize("time", TIMES)
def test_every_message_is_an_arrow_between_its_lanes(lines: FileRecords, time: str) -> None:
    """It ends at its target's lane exactly if a step took it; what was lost ends before, in a cross."""
    excerpt = excerpt_in(lines, heartbeats=True, time=time)
    root = _root(excerpt)
    lanes = _lanes(root, excerpt, time == "right")
    drawn = _drawn(root, time == "right")
    assert len(drawn) == len(excerpt.arrows) > 100
    for arrow, each in zip(excerpt.arrows, drawn, strict=True):
        source, target = arrow.line.source, arrow.line.target
        assert source is not None
        assert target is not None
        assert each.start[1] == lanes[source]
        assert (each.stop[1] == lanes[target]) == arrow.arrived
        assert min(lanes[source], lanes[target]) <= each.stop[1] <= max(lanes[source], lanes[target])
        assert each.tip == ("head" if arrow.arrived else "circle" if arrow.end is None else "cross")
        assert each.title.startswith(f"{arrow.line.kind} {source} → {target}, number {arrow.line.serial}\n")
    assert {each.tip for each in drawn} == {"head", "cross"}


def test_what_is_on_its_way_as_the_recording_ends_has_no_end(tmp_path: Path) -> None:
    """It comes near its target's lane, at the last instant, to an open circle."""
    path = write_lines(tmp_path / "cut.jsonl", eventful_lines()[:30])
    excerpt = excerpt_in(open_recording(path))
    drawn = _drawn(_root(excerpt), False)
    going = [each for arrow, each in zip(excerpt.arrows, drawn, strict=True) if arrow.end is None]
    assert {each.tip for each in going} == {"circle"}
    assert {each.stop[0] for each in going} == {max(each.stop[0] for each in drawn)}
    assert all("in flight" in each.title for each in going)


@pytest.mark.parametrize("time", TIMES)
def test_places_are_in_the_order_of_times(lines: FileRecords, time: str) -> None:
    """What was earlier is before, what was at once is at one place: for all ends of all arrows."""
    excerpt = excerpt_in(lines, heartbeats=True, time=time)
    places: dict[int, float] = {}
    for arrow, each in zip(excerpt.arrows, _drawn(_root(excerpt), time == "right"), strict=True):
        points = [(arrow.line.at_us, each.start[0])]
        if arrow.arrived and arrow.end is not None:
            points.append((arrow.end.at_us, each.stop[0]))
        for at_us, place in points:
            assert places.setdefault(at_us, place) == place
    ordered = [places[at_us] for at_us in sorted(places)]
    assert all(one < other for one, other in pairwise(ordered))


def test_lanes_are_coloured_by_status_with_words(lines: FileRecords) -> None:
    """A stretch for each stretch, with what it is under the mouse; every status that there is is named."""
    excerpt = excerpt_in(lines)
    root = _root(excerpt)
    stretches = _groups(root, "s")
    assert len(stretches) == len(excerpt.stretches)
    for stretch, group in zip(excerpt.stretches, stretches, strict=True):
        assert (group.findtext(f"{SVG}title") or "").startswith(f"node {stretch.node}: {stretch.shown}")
    colours = {
        (stretch.shown, group.findall(f"{SVG}path")[0].get("stroke"))
        for stretch, group in zip(excerpt.stretches, stretches, strict=True)
    }
    assert len(colours) == len({shown for shown, _ in colours})  # one colour for each
    shown = {each.shown for each in excerpt.stretches} - {"absent"}
    assert shown > {"Normal", "Election", "killed", "paused"}
    texts = _texts(root)
    assert all(any(text.startswith(each) for text in texts) for each in shown)
    assert "Normal ★" in texts


def test_a_partition_is_a_ground_and_a_wall_between_its_sides() -> None:
    """As long as it is in force, between the lanes of 2 and 3."""
    lines = open_recording(RECORDINGS / "scenarios" / "partition-in-two.jsonl")
    excerpt = excerpt_in(lines)
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
        "partition 1 2 | 3 4 5\nfrom 0.221580 s until 2.323747 s"
    )


def test_the_margin_has_what_was_commanded_said_and_violated() -> None:
    """Each violated assertion once, with how often."""
    excerpt = excerpt_in(open_recording(RECORDINGS / "scenarios" / "partition-in-two.jsonl"))
    said = " ".join(_texts(_root(excerpt)))
    assert "▶ when all normal: partition 1 2 | 3 4 5 · 12 links" in said
    assert "“ Two coordinators: 2 of 1 and 2, and 5 of the rest" in said
    assert "✓ expect all normal · met" in said
    assert said.count("outside the promise: A1.2") == 1
    assert "(and 5 more)" in said


def test_a_window_is_cut_at_its_edges(lines: FileRecords) -> None:
    """What comes in or goes out begins or ends at the edge, between the lanes, and has no head out there."""
    lines = open_recording(RECORDINGS / "two-coordinators.jsonl")
    excerpt = excerpt_in(lines, from_us=5_200_000, until_us=5_600_000)
    lanes = set(_lanes(_root(excerpt), excerpt, False).values())
    crossing = 0
    for arrow, each in zip(excerpt.arrows, _drawn(_root(excerpt), False), strict=True):
        assert arrow.end is not None
        assert (each.start[1] in lanes) == (arrow.line.at_us >= excerpt.from_us)
        assert (each.tip == "none") == (arrow.end.at_us > excerpt.until_us)
        crossing += arrow.line.at_us < excerpt.from_us < excerpt.until_us < arrow.end.at_us
    assert crossing == 4  # messages to a paused node, sent before, taken after
    assert "from 5.2s until 5.6s" in " ".join(_texts(_root(excerpt)))


def test_foreign_text_stays_text(tmp_path: Path) -> None:
    """Whatever names, kinds and texts hold: it is whole XML without a script, and none is in an attribute."""
    root = _root(excerpt_in(open_recording(evil_recording(tmp_path)), heartbeats=True))
    assert "document.title" in " ".join(root.itertext())
    for element in root.iter():
        assert element.tag.removeprefix(SVG) != "script"
        assert all("title" not in value and "onload" not in value for value in element.attrib.values())
        assert not any(name.startswith("on") for name in element.attrib)
    assert "\x1b" not in "".join(root.itertext())
    assert EVIL[-1] not in "".join(root.itertext())


def test_too_many_messages_are_refused(lines: FileRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the number, and what to do."""
    monkeypatch.setattr("lab.export.diagram.MOST_ARROWS", 100)
    with pytest.raises(ExportError, match=r"too many for a picture \(100 at most\).*--from"):
        diagram_of(excerpt_in(lines))
    assert MOST_ARROWS == 3_000


def test_a_longer_wait_looks_longer_and_none_is_nothing() -> None:
    """From a microsecond to an hour; the same instant has one place."""
    waits_us = (1, 10, 100, 1_000, 10_000, 1_000_000, 60_000_000, 3_600_000_000)
    instants = [sum(waits_us[:count]) for count in range(len(waits_us) + 1)]
    scale = Scale([*instants, *instants], 5.0)
    places = [scale.place(at_us) for at_us in instants]
    lengths = [other - one for one, other in pairwise(places)]
    assert places[0] == 5.0
    assert lengths == sorted(lengths)
    assert lengths[0] > 8
    assert scale.end == places[-1]


@pytest.mark.parametrize(
    "name", ["3pc-a-partition-breaks-it", "figure-10-9", "two-coordinators-invite-each-other"]
)
def test_no_remark_ends_outside_the_picture(name: str) -> None:
    """Where time flows to the right, what is said last is turned inward."""
    with closing(open_recording(RECORDINGS / "scenarios" / f"{name}.jsonl")) as found:
        excerpt = excerpt_in(found, time="right")
        root = _root(excerpt)
    width = float(root.get("width", "nan"))
    said = [each for each in root.iter(f"{SVG}text") if each.get("text-anchor") == "start" and each.get("stroke")]
    assert said
    for each in said:
        assert float(each.get("x", "nan")) + letters("".join(each.itertext()), 12) <= width

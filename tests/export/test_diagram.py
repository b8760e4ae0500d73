"""The space-time diagram as SVG: everything is drawn, at the position of its node and time."""

import re
from contextlib import closing
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from lab.export.annotations import status_label
from lab.export.diagram_layout import fan_out_of
from lab.export.excerpt import Excerpt, ExportError
from lab.export.figure_axes import LogarithmicAxis
from lab.export.figure_options import FigureOptions
from lab.export.html_page import write_html
from lab.export.svg_diagram import Picture, diagram_of, write_svg
from lab.recording.reader import FileRecords, open_recording
from tests.export.windows import EVIL, RECORDINGS, eventful_recording, evil_recording, excerpt_in, written
from tests.harness import Rig
from tests.profile import SOAK, sampled
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
            lanes[int(named[1])] = round(
                float(each.get("y" if right else "x", "nan")) - (4.158 if right else 0), 1
            )
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
    assert "Normal, leads" in texts


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
    assert "when all normal: partition 1 2 | 3 4 5 · 12 links" in output
    assert "Two coordinators: 2 of 1 and 2, and 5 of the rest" in output
    assert "expect all normal · met" in output
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


def test_too_many_messages_are_drawn_in_rows(store: FileRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    """The head has the time of a row; that of a page too, unless each message is asked for."""
    monkeypatch.setattr("lab.export.figure_frame._MANY", 100)
    monkeypatch.setattr("lab.export.figure_frame._MOST_ON_A_PAGE", 100)
    assert "; a row is " in diagram_of(excerpt_in(store))
    monkeypatch.setattr("lab.export.html_page.MOST_ARROWS", 100)
    assert "; a row is " in written(write_html, excerpt_in(store))
    monkeypatch.setattr("lab.export.html_page._MOST_ASKED_FOR", 100)
    with pytest.raises(ExportError, match=r"too many for a page \(100 at most\).*--from"):
        written(write_html, excerpt_in(store, figure=FigureOptions(zoom="events")))


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


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("name", ["3pc-a-partition-breaks-it", "figure-10-9"])
def test_no_text_ends_outside_the_picture(name: str, time: str) -> None:
    """If time runs to the right, the last annotations are moved inwards."""
    with closing(open_recording(RECORDINGS / "scenarios" / f"{name}.jsonl")) as found:
        picture = Picture(excerpt_in(found, time=time))
    corners = [corner for each in picture.texts for corner in each.corners]
    assert all(0 <= x <= picture.drawing.width and 0 <= y <= picture.drawing.height for x, y in corners)


@pytest.mark.parametrize("time", TIMES)
def test_a_fan_out_has_one_label(store: FileRecords, time: str) -> None:
    """And so have the answers to it, if they have room."""
    excerpt = excerpt_in(store, time=time)
    labels = ["".join(each.itertext()) for each in _root(excerpt).iter(f"{SVG}text") if each.get("class") == "k"]
    requests = {fan_out_of(edge) for edge in excerpt.messages if not edge.line.reply_to}
    assert len(requests) / 3 < len(labels) < len(excerpt.messages)
    kinds = {edge.line.kind for edge in excerpt.messages}
    assert len(kinds & set(labels)) > len(kinds) / 2


@pytest.mark.parametrize(("time", "scale"), sampled([*product(TIMES, ("log", "true", "broken"))], 2))
def test_no_two_ticks_are_equal(time: str, scale: str) -> None:
    """They were where less than a tenth of a millisecond lay between."""
    with closing(open_recording(RECORDINGS / "two-coordinators.jsonl")) as found:
        for until_us in sampled((156_000, 7_500_000, 8_000_000), 2):
            figure = FigureOptions(scale=scale)  # type: ignore[arg-type]
            root = _root(excerpt_in(found, time=time, from_us=100_000, until_us=until_us, figure=figure))
            ticks = [float(each.text or "") for each in root.iter(f"{SVG}text") if each.get("class") == "tick"]
            assert len(ticks) > 2
            assert ticks == sorted(set(ticks))


@pytest.fixture(scope="module")
def forty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording of a minute of forty nodes; in the profile ``quick``, of a third of it."""
    third_s = 20 if SOAK else 7
    rig = Rig(range(1, 41)).started()
    rig.do(f"at {third_s}s kill 40", f"at {2 * third_s}s restart 40")
    return rig.run(3 * third_s * 1_000_000).write(tmp_path_factory.mktemp("forty") / "forty.jsonl")


@pytest.mark.parametrize("time", TIMES)
def test_forty_nodes_and_a_minute_fit_a_page(forty: Path, time: str) -> None:
    """Many messages of a row are one shade; none is left out without one."""
    with closing(open_recording(forty)) as found:
        root = _root(excerpt_in(found, time=time, figure=FigureOptions(theme="paper")))
    width, height = (float(root.get(each, "nan")) for each in ("width", "height"))
    assert width == pytest.approx(643, abs=1)
    assert height < 1.5 * width
    assert len(_groups(root, "d")) > 40


@pytest.mark.parametrize("name", ["3pc-a-partition-breaks-it", "partition-in-two", "figure-10-9"])
def test_a_picture_for_a_paper_fits_a_page(name: str) -> None:
    """Unless each event is asked for."""
    with closing(open_recording(RECORDINGS / "scenarios" / f"{name}.jsonl")) as found:
        roots = [
            _root(excerpt_in(found, figure=FigureOptions(theme="paper", zoom=zoom))) for zoom in ("auto", "events")
        ]
    page, whole = (float(root.get("height", "nan")) / float(root.get("width", "nan")) for root in roots)
    assert page < 1.6 < whole

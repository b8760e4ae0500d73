"""No text of a picture covers another: computed from the widths of Helvetica, over recordings and random runs."""

import re
from collections.abc import Iterable
from contextlib import closing
from itertools import product
from operator import itemgetter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lab.export.excerpt import Excerpt, ExportError, ExportOptions, read_excerpt
from lab.export.figure_options import FigureOptions
from lab.export.placement import Labels, PlacedText, cut_to_width, overlap, rectangle, text_width, wrap_to_width
from lab.export.svg_diagram import Picture, diagram_of
from lab.recording.reader import open_recording
from tests.export.fault_recordings import excerpt_in, runs, windows
from tests.export.windows import RECORDINGS
from tests.harness import Rig
from tests.profile import amount, sampled

SVG = "{http://www.w3.org/2000/svg}"
THEMES = ("light", "paper", "slide")
LABELS = ("full", "short", "legend")
SCALES = ("log", "true", "broken")
RECORDED = sorted(RECORDINGS.rglob("*.jsonl"))
_figures = st.builds(
    FigureOptions,
    title=st.sampled_from(("", "A title, longer than most, " * 4)),
    caption=st.sampled_from(("", "A caption")),
    width=st.sampled_from((None, 320.0, 700.0)),
    theme=st.sampled_from(THEMES),
    zoom=st.sampled_from(("auto", "events", "page", 5_000, 500_000)),
    scale=st.sampled_from(SCALES),
    labels=st.sampled_from(LABELS),
)
_times = st.sampled_from(("down", "right"))


def texts_in(svg: str) -> list[PlacedText]:
    """Return the texts of an SVG file where it draws them, without help of the code that placed them."""
    root, found = ElementTree.fromstring(svg), []

    def walk(element: ElementTree.Element, right: float, down: float) -> None:
        moved = re.match(r"translate\(([-\d.]+),([-\d.]+)\)", element.get("transform", ""))
        if moved:
            right, down = right + float(moved[1]), down + float(moved[2])
        if element.tag == f"{SVG}text":
            turned = re.match(r"rotate\(([-\d.]+),", element.get("transform", ""))
            at = float(element.get("x", "nan")) + right, float(element.get("y", "nan")) + down
            anchor = element.get("text-anchor", "start")
            assert anchor in ("start", "middle", "end")
            angle = float(turned[1]) if turned else 0.0
            bold = element.get("font-weight") == "bold"
            words = "".join(element.itertext())
            found.append(PlacedText(words, float(element.get("font-size", "nan")), at, anchor, angle, bold))  # type: ignore[arg-type]
        for child in element:
            walk(child, right, down)

    walk(root, 0.0, 0.0)
    return found


def overlapping(texts: Iterable[PlacedText]) -> list[tuple[PlacedText, PlacedText]]:
    """Return the pairs of texts that cover each other, of those that have some horizontal position in common."""
    spans = []
    for text in texts:
        xs = [x for x, _ in text.corners]
        spans.append((min(xs), max(xs), text))
    spans.sort(key=itemgetter(0))
    pairs = []
    for place, (_, right, text) in enumerate(spans):
        for left, _, other in spans[place + 1 :]:
            if left > right:
                break
            if overlap(text.corners, other.corners):
                pairs.append((text, other))
    return pairs


def covered(excerpt: Excerpt) -> list[tuple[str, str]]:
    """Return the texts of the picture that cover each other."""
    svg = diagram_of(excerpt)
    return [(one.words, other.words) for one, other in overlapping(texts_in(svg))]


@pytest.mark.parametrize(
    ("path", "time"),
    sampled([*product(RECORDED, ("down", "right"))], 13),
    ids=lambda each: getattr(each, "stem", each),
)
def test_no_text_covers_another(path: Path, time: str) -> None:
    """In every recording of the program, on the screen and on paper."""
    for theme, labels, zoom in (("light", "full", "auto"), ("paper", "full", "page")):
        with closing(open_recording(path)) as store:
            figure = FigureOptions(theme=theme, labels=labels, zoom=zoom)  # type: ignore[arg-type]
            excerpt = read_excerpt(store, ExportOptions(time=time, figure=figure))  # type: ignore[arg-type]
            assert covered(excerpt) == []


@settings(max_examples=amount(quick=8, soak=200), deadline=None)
@given(run=runs(), window=windows(), figure=_figures, time=_times)
def test_no_text_covers_another_in_random_runs(
    tmp_path_factory: pytest.TempPathFactory, run: Rig, window: ExportOptions, figure: FigureOptions, time: str
) -> None:
    """Whatever the faults, the window, the theme, the width, the zoom and the scale."""
    path = run.write(tmp_path_factory.mktemp("run") / "run.jsonl")
    options = ExportOptions(
        window.from_us,
        window.until_us,
        window.nodes,
        window.heartbeats,
        time,  # type: ignore[arg-type]
        figure=figure,
    )
    try:
        excerpt = excerpt_in(path, options)
    except ExportError:  # nothing was recorded in the window
        assume(False)
    assert covered(excerpt) == []


def test_the_picture_knows_where_its_texts_are() -> None:
    """``Picture.texts`` are those of the file."""
    with closing(open_recording(RECORDINGS / "two-coordinators.jsonl")) as store:
        excerpt = read_excerpt(store, ExportOptions())
        known = {(each.words, round(each.at[0]), round(each.at[1])) for each in Picture(excerpt).texts}
        drawn = {(each.words, round(each.at[0]), round(each.at[1])) for each in texts_in(diagram_of(excerpt))}
    assert {words for words, _, _ in known} == {words for words, _, _ in drawn}
    assert len(known & drawn) > 0.9 * len(drawn)


def test_the_measure_finds_what_overlaps() -> None:
    """It fails on texts that do: a check that cannot fail proves nothing."""
    upright = PlacedText("AreYouUp", 10, (0, 0))
    assert overlap(upright.corners, PlacedText("Election", 10, (40, 2)).corners)
    assert not overlap(upright.corners, PlacedText("Election", 10, (upright.width, 0)).corners)
    assert overlap(upright.corners, PlacedText("Election", 10, (0, 15), angle=-60).corners)
    assert not overlap(upright.corners, PlacedText("Election", 10, (0, 40), angle=-30).corners)
    assert overlap(upright.corners, ((10, -30), (10, 30)))
    assert not overlap(upright.corners, ((10, 5), (60, 30)))
    assert len(overlapping([upright, upright, PlacedText("far", 10, (300, 0))])) == 1


def test_a_label_gets_the_first_free_place() -> None:
    """And none if all are occupied, or outside."""
    labels = Labels(rectangle(0, 0, 100, 100))
    candidates = [PlacedText("kind", 10, (x, 20)) for x in (-5, 10, 50)]
    assert labels.place(candidates) == candidates[1]
    assert labels.place(candidates) == candidates[2]
    assert labels.place(candidates) is None


@given(st.text(max_size=60), st.floats(5, 30), st.floats(30, 400))
def test_wrapped_text_fits(words: str, size: float, width: float) -> None:
    """Every line is as wide as asked for, and nothing is lost."""
    lines = wrap_to_width(words, size, width)
    assert "".join(lines).replace(" ", "") == "".join(words.split())
    assert all(text_width(row, size) <= width or len(row) == 1 for row in lines)
    assert text_width(cut_to_width(words, size, width), size) <= width + size

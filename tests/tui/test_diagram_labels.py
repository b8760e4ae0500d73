"""Labels and statuses in the diagram of random runs: nothing covers them, and they cover nothing else."""

from collections import defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rich.style import Style

import lab.tui.views.diagram_picture as picture
from lab.analysis.spacetime import MessageEdge
from lab.export.diagram_layout import fan_out_of
from lab.script.parse import parse
from lab.tui.views.diagram_canvas import Canvas
from lab.tui.views.diagram_scene import Scene
from tests.harness import T_US, Rig
from tests.profile import amount, sampled
from tests.tui.pictured import pictured

_LAYERS = ("draw_names", "draw_axis", "draw_lines", "draw_arrows", "draw_words", "draw_events", "draw_labels")
_SIZES = ((56, 20), (80, 24), (120, 40), (200, 60))
_FAULTS = ("lose all 20%", "duplicate all 20%", "delay all 30ms ±20ms", "heal", "pause 2", "resume 2")
Cell = tuple[int, int]


class Text:
    """A text as it was written: its layer, cells and owner."""

    def __init__(self, layer: str, x: int, y: int, text: str, owner: object) -> None:
        self.layer = layer
        self.cells = [(place, y) for place in range(x, x + len(text))]
        self.text = text
        self.owner = owner


class Recorder(Canvas):
    """A canvas that keeps every text, and the messages whose lines pass each cell."""

    drawn: "Recorder"

    def __init__(self, width: int, height: int, fine: bool) -> None:
        super().__init__(width, height, fine)
        self.layer = ""
        self.scene: Scene | None = None
        self.texts: list[Text] = []
        self.lines: defaultdict[Cell, set[tuple[int, int]]] = defaultdict(set)
        self.arrows: set[tuple[int, int]] = set()
        Recorder.drawn = self

    def put(self, x: int, y: int, text: str, style: Style, owner: object = None) -> None:
        self.texts.append(Text(self.layer, x, y, text, owner))
        super().put(x, y, text, style, owner)

    def line(self, *args: Any, **options: Any) -> None:
        edge = args[3]
        blank = Canvas(self.width, self.height, self._fine)
        blank.line(*args, **options)
        self.arrows.add(edge.line.message)
        for y, row in enumerate(blank._groups):
            for x, group in enumerate(row):
                if group is not None:
                    self.lines[x, y].add(edge.line.message)
        super().line(*args, **options)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The picture is drawn on a recorder that knows its layers."""

    def announced(layer: str) -> Callable[..., Any]:
        draw = getattr(picture, layer)

        def wrapped(canvas: Recorder, scene: Scene, *others: Any) -> Any:
            canvas.layer, canvas.scene = layer, scene
            try:
                return draw(canvas, scene, *others)
            finally:
                canvas.layer = ""

        return wrapped

    for layer in _LAYERS:
        monkeypatch.setattr(picture, layer, announced(layer))
    monkeypatch.setattr(picture, "Canvas", Recorder)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int, int], Path]:
    """Write a run of some nodes under random faults, once for each seed."""
    folder, known = tmp_path_factory.mktemp("labels"), dict[tuple[int, int], Path]()

    def run(nodes: int, seed: int) -> Path:
        if (nodes, seed) not in known:
            chance = Random(f"labels/{nodes}/{seed}")
            rig = Rig(range(1, nodes + 1), seed=seed, jitter_us=8_000).started()
            for _ in range(8):
                rig.run(chance.randrange(4 * T_US))
                victim = chance.randrange(1, nodes + 1)
                command = chance.choice((*_FAULTS, f"kill {victim}", f"restart {victim}"))
                rig.control.execute(parse(command))  # some change nothing
            known[nodes, seed] = rig.run(4 * T_US).write(folder / f"{nodes}-{seed}.jsonl")
        return known[nodes, seed]

    return run


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(("nodes", "down"), sampled([*product((2, 3, 5, 12, 40), (True, False))], 3))
@pytest.mark.parametrize("seed", range(amount(quick=1, soak=3)))
def test_nothing_covers_a_label(runs: Callable[[int, int], Path], down: bool, nodes: int, seed: int) -> None:
    """In any window, scale and size. A message without a label has no room for one, and still has its arrow."""
    chance, path = Random(f"{seed}/{nodes}/{down}"), runs(nodes, seed)
    labels = 0
    for size in _SIZES:
        at_us, zoom, fine = chance.randrange(16 * T_US), chance.choice((0, 0, 0, 1, 2, 3)), chance.random() < 0.7
        pictured(path, at_us, size, zoom, down, fine, heartbeats=chance.random() < 0.5)
        drawn = Recorder.drawn
        _assert_nothing_is_covered(drawn, down)
        _assert_every_message_is_drawn(drawn)
        _assert_labels_are_missing_for_want_of_room(drawn)
        labels += len(_labels(drawn))
    assert labels or nodes == 40


def _labels(drawn: Recorder) -> list[Text]:
    return [each for each in drawn.texts if each.layer == "draw_labels"]


def _group(edge: MessageEdge) -> tuple[object, bool]:
    return fan_out_of(edge), bool(edge.by) and edge.arrived


def _assert_nothing_is_covered(drawn: Recorder, down: bool) -> None:
    """Labels and statuses are on free cells, and stay. Labels cover only the lines that they name.

    None begins before its message was sent: where the future is hidden, it would show it.
    """
    written: dict[Cell, Text] = {}
    for each in drawn.texts:
        for cell in each.cells:
            before = written.get(cell)
            if each.layer in ("draw_labels", "draw_words") and (down or each.layer == "draw_labels"):
                assert before is None, f"{each.text!r} covers {before.text!r}"
            if before is not None:
                assert before.layer not in ("draw_labels", "draw_words"), f"{each.text!r} covers {before.text!r}"
            written[cell] = each
    assert drawn.scene is not None
    edges = {edge.line.message: edge for edge in drawn.scene.messages()}
    for label in _labels(drawn):
        assert isinstance(label.owner, MessageEdge)
        x, y = label.cells[0]
        assert drawn.scene.plane.along_at(x, y) >= drawn.scene.place(label.owner.sent) // 1
        for cell in label.cells:
            assert {_group(edges[message]) for message in drawn.lines[cell]} <= {_group(label.owner)}


def _assert_every_message_is_drawn(drawn: Recorder) -> None:
    """As an arrow, or in the number of those that are too many for a cell; with one label for each fan-out."""
    scene = drawn.scene
    assert scene is not None
    for edge in scene.messages():
        first, last = scene.place(edge.sent), scene.place(edge.end or scene.last)
        is_counted = scene.axis.us and edge.end and first // 1 == last // 1
        if scene.plane.ends(edge) is not None and scene.is_seen(first, last) and not is_counted:
            assert edge.line.message in drawn.arrows or edge.end is None
    named = [label.owner for label in _labels(drawn) if isinstance(label.owner, MessageEdge)]
    sent_here = [
        _group(edge)
        for edge in named
        if 0 <= scene.place(edge.sent) < scene.plane.along and edge.ends[0] in scene.plane.lanes
    ]
    assert len(sent_here) == len(set(sent_here))


def _assert_labels_are_missing_for_want_of_room(drawn: Recorder) -> None:
    """Next to the head of an arrow without a label are a text, another arrow or the end of the picture."""
    scene = drawn.scene
    assert scene is not None
    named = {_group(label.owner) for label in _labels(drawn) if isinstance(label.owner, MessageEdge)}
    taken = {cell for each in drawn.texts for cell in each.cells}
    edges = {edge.line.message: edge for edge in scene.messages()}
    way_of = {sign: -way for sign, way in zip("▶◀▷◁><)(", (1, -1) * 4, strict=True)}
    for head in drawn.texts:
        edge = head.owner
        if head.layer != "draw_arrows" or not isinstance(edge, MessageEdge) or head.text not in way_of:
            continue
        if _group(edge) in named or edge.again:
            continue
        (x, y), way = head.cells[0], way_of[head.text]
        cells = [(x + way * place, y) for place in range(1, 8)]
        free = [
            cell not in taken
            and scene.plane.left <= cell[0]
            and {_group(edges[message]) for message in drawn.lines[cell]} <= {_group(edge)}
            for cell in cells
        ]
        assert not all(free), f"{edge.line.kind} has room at {x}, {y}"

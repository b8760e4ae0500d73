"""A protocol that elects nobody: its own Status, and its state in place of a coordinator."""

import re
from pathlib import Path

import pytest

from lab.glyphs import glyphs_for
from lab.protocols import Token
from lab.recording.records import Commanded
from lab.recording.snapshot import NodeState, Snapshot
from lab.styles import ThemeStyles
from lab.tui.widgets.pane import leaders_of, pane_of, panes_of
from tests.harness import Rig
from tests.tui.seen import Seen, replay


def _view(node: int, status: str, process: str = "running", **more: object) -> NodeState:
    return NodeState(node, process, 1, 100 + node, {"status": status, **more})  # type: ignore[arg-type]


def _snapshot(*views: NodeState) -> Snapshot:
    return Snapshot(9, 0, views, (), (), {}, 0)


def test_the_state_takes_the_coordinator_s_place() -> None:
    """Plain values in the order of declaration; none is left out, so each keeps its place."""
    view = _view(1, "Inside", guess=3, next=None, entries=2, nested=[1, 2])
    pane = pane_of(view, _snapshot(view), 0)
    assert pane.facts == ("guess 3", "next -", "entries 2")
    assert (pane.shown, pane.coordinator, pane.leads, pane.waits) == (
        "Inside",
        None,
        "",
        "waits for a message or a timer",
    )


def test_the_state_keeps_its_order_after_a_restart() -> None:
    """Stored values do not move to the front."""
    rig = Rig((1, 2, 3), protocol=Token).started()
    first = list(rig.cluster.nodes[1].state)
    rig.do("kill 1", "restart 1")
    rig.run(30_000)
    assert rig.cluster.nodes[1].incarnation == 2
    assert list(rig.cluster.nodes[1].state) == first


def test_a_command_without_nodes_goes_to_all_running_nodes() -> None:
    rig = Rig((1, 2, 3), protocol=Token).started()
    rig.do("kill 2", "request")
    (given,) = (each for each in rig.records if isinstance(each, Commanded) and each.text == "request")
    assert (given.outcome, given.reached) == ("1 3 told", (1, 3))


def test_an_election_shows_its_coordinator() -> None:
    """Also while it has none."""
    view = _view(1, "Election", coordinator=None, version=3)
    assert pane_of(view, _snapshot(view), 0).facts == ()


def test_nodes_are_listed_by_status() -> None:
    """Without a coordinator to have, no node lacks one."""
    views = [_view(1, "Idle", guess=2), _view(2, "Inside", guess=2), _view(3, "Idle", process="paused", guess=1)]
    killed = NodeState(4, "killed", 1, 104, {"status": "Down"})
    leaders = leaders_of(panes_of(_snapshot(*views, killed), 0)).texts
    assert leaders == (("1 3 Idle", "Idle"), ("2 Inside", "Inside"))
    assert leaders_of(panes_of(_snapshot(killed), 0)).texts == (("no node is up", None),)


def test_each_status_has_a_glyph_of_its_own() -> None:
    """With and without UTF-8."""
    for environment in ({"LANG": "C.UTF-8", "TERM": "xterm"}, {"LANG": "C", "TERM": "linux"}):
        styles = ThemeStyles(glyphs_for(environment))
        assert len({styles.glyph(status) for status in ("Idle", "Waiting", "Inside", "Holding")}) == 4


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_on_the_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    """Statuses, guesses and the verdict on K1."""
    rig = Rig((1, 2, 3), protocol=Token).started()
    rig.do("tell 1 request", "tell 2 request")
    rig.run(30_000)

    async def test(seen: Seen) -> None:
        await seen.press("end")
        assert "· 3 Idle  ·  ● 1 Inside  ·  … 2 Waiting " in seen.leaders
        assert re.search(" 1 +● Inside ", seen.text)
        assert re.search(" 2 +… Waiting ", seen.text)
        assert "guess 2  next 2" in seen.text
        assert "the token" in seen.text
        assert "1 hold so far, 3 not judged" in seen.leaders
        assert "coordinator" not in seen.text

    replay(test, rig.write(tmp_path / "token.jsonl"), size)


def test_a_list_of_many(tmp_path: Path) -> None:
    """One line for each node, if boxes would be too high."""
    rig = Rig(range(1, 13), protocol=Token).started()
    rig.do("tell 12 request")
    rig.run(50_000)

    async def test(seen: Seen) -> None:
        await seen.press("end")
        assert "guess 12  next -  entries 0  number 1" in seen.text

    replay(test, rig.write(tmp_path / "token.jsonl"), (80, 24))

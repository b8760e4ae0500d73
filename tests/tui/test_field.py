"""The map of the field: who surveys which region in which group, how far that is, and who surveys nothing."""

import functools
from pathlib import Path

import pytest

from lab.journal import Cluster, Link, MemoryLog, NodeView, Record, Writer
from lab.kernel import Timing
from lab.protocols import Bully, Field, stacked
from lab.script import parse
from lab.tui.fieldmap import idle_said, maps_of
from lab.tui.fieldview import FieldView
from lab.worlds.simulated.simulation import Simulation
from tests.harness import simulated_header
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, replay

TIMING = Timing(400_000, 200_000)
NODES = (1, 2, 3, 4, 5)
COMMANDS = (
    "at 8s publish",
    "at 12s partition 1 2 | 3 4 5",
    "at 29s publish coordinators",
    "at 30s kill 4",
    "at 30s pause 3",
)
SPLIT_US, STRUCK_US = 29_900_000, 30_100_000


@functools.cache
def split_run() -> tuple[Record, ...]:
    """The field above the bully, cut in two."""
    protocol = stacked(Field, Bully)
    log = MemoryLog(simulated_header(protocol, NODES, TIMING, Link(100_000, 30_000), 5))
    simulation = Simulation(protocol, log.header, log)
    for command in COMMANDS:
        simulation.director.add(parse(command))
    simulation.start()
    simulation.run_to(32_000_000)
    return tuple(log.records)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """The same as a file."""
    header, *records = split_run()
    writer = Writer(tmp_path / "split.jsonl", header)  # type: ignore[arg-type]
    for record in records:
        writer.append(record)
    writer.close()
    return writer.path


def cluster_at(at_us: int) -> Cluster:
    """The cluster as of that instant."""
    header, *records = split_run()
    cluster = Cluster.of(header)  # type: ignore[arg-type]
    cluster.apply(header)
    for record in records:
        if getattr(record, "at_us", 0) > at_us:
            break
        cluster.apply(record)
    return cluster


def test_one_map_of_one_group() -> None:
    """All regions are given, done ones have who did them, and each member surveys at most one."""
    (shown,) = maps_of(cluster_at(11_000_000).nodes)
    assert shown.leads
    assert (shown.coordinator, shown.others, shown.edition) == (5, (1, 2, 3, 4), 1)
    assert shown.outcome == "edition 1 is published"
    assert len(shown.cells) == 64
    assert {node for node, _ in shown.cells} == set(NODES)
    assert shown.done == [how for _, how in shown.cells].count("done")
    surveying = [node for node, how in shown.cells if how == "surveying"]
    assert len(surveying) == len(set(surveying)) <= 5
    assert idle_said(cluster_at(11_000_000).nodes) == ()


def test_one_map_for_each_group() -> None:
    """Both sides of a cut cover all of it, each by its own members."""
    upper, lower = maps_of(cluster_at(SPLIT_US).nodes)
    assert (upper.coordinator, upper.others, lower.coordinator, lower.others) == (5, (3, 4), 2, (1,))
    assert {node for node, _ in upper.cells} == {3, 4, 5}
    assert {node for node, _ in lower.cells} == {1, 2}
    assert lower.outcome == "refused: 2 of 5 nodes are no majority"
    assert (upper.edition, lower.edition) == (2, 1)


def test_a_node_that_stops_is_seen_to_stop() -> None:
    """A dead node, and one that stands still, survey nothing: it is said, and they have no region under survey."""
    nodes = cluster_at(STRUCK_US).nodes
    assert idle_said(nodes) == ((3, "paused"), (4, "killed"))
    upper, _ = maps_of(nodes)
    assert not [node for node, how in upper.cells if how == "surveying" and node in (3, 4)]


def test_members_that_have_not_noticed_the_crash_of_their_coordinator_survey_on() -> None:
    """They are Normal: the map is what they know."""
    cluster = cluster_at(11_000_000)
    nodes = {node: view for node, view in cluster.nodes.items() if node != 5}
    (shown,) = maps_of(nodes)
    assert (shown.coordinator, shown.leads, shown.others) == (5, False, (1, 2, 3, 4))
    assert len(shown.cells) == 64
    assert {node for node, how in shown.cells if how == "surveying"} <= {1, 2, 3, 4}


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"survey": 3, "definition": {}},
        {"survey": {"number": "x"}, "definition": {}},
        {"survey": {}, "definition": {"regions": ["a"]}},
        {"survey": {}, "definition": {}, "published": [1]},
        {"survey": {"done": [1]}, "definition": {"regions": []}},
    ],
)
def test_what_a_foreign_recording_may_have(state: dict[str, object]) -> None:
    """No map, or one of no region."""
    view = NodeView(1, "running", state={"status": "Normal", "coordinator": 1, **state})
    assert all(shown.cells == () for shown in maps_of({1: view}))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_the_map_takes_the_place_of_the_log(recording: Path, size: tuple[int, int]) -> None:
    """``m`` turns to it and back. At each size both maps are there, with what is known of them."""

    async def test(seen: Seen) -> None:
        seen.player.seek(SPLIT_US)
        await seen.press("m")
        assert seen.run.query_one(FieldView).display
        assert "★ 5" in seen.text
        assert "★ 2" in seen.text
        assert "refused: 2 of 5" in seen.text
        assert "edition 2 is published" in seen.text
        lines = seen.text.splitlines()
        assert any("4 4" in line and "2 2" in line for line in lines) or size[0] > 80
        await seen.press("m")
        assert not seen.run.query_one(FieldView).display
        assert "the log again" in seen.said

    replay(test, recording, size)


def test_who_surveys_nothing_is_said(recording: Path) -> None:
    """In the last line of the map."""

    async def test(seen: Seen) -> None:
        seen.player.seek(STRUCK_US)
        await seen.press("m")
        assert "survey nothing: ‖ 3 paused   ✖ 4 killed" in seen.text

    replay(test, recording)


def test_a_run_of_something_else() -> None:
    """It is said that there is no field, and how to see one."""

    async def test(seen: Seen) -> None:
        await seen.press("m")
        assert "this run has no field; lab run field has one" in seen.text

    replay(test, SHIPPED)


def test_without_utf8(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done has a mark that needs no colour."""
    monkeypatch.setenv("LC_ALL", "C")

    async def test(seen: Seen) -> None:
        seen.player.seek(SPLIT_US)
        await seen.press("m")
        drawn = "".join(
            segment.text for y in range(20) for segment in seen.run.query_one(FieldView).render_line(y)
        )
        assert "#4" in drawn
        assert "★" not in drawn

    replay(test, recording)

"""The tour: each step completes when the records and the screen show it, driven by real keys."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.protocols import Bully
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Link
from lab.tui.controllers.tour import STEPS, ScreenState, TourLog
from lab.tui.widgets.status_lines import Line
from lab.worlds.loading.config import HostReady, RunConfig
from tests.harness import T_US, TIMING, Rig
from tests.serve.forked_servers import fork_shell
from tests.tui.seen import Seen, attached, replay, served
from tests.tui.terminal import Terminal
from tests.waiting import wait_for

KILL, WATCH, FIND, EXPLAIN, EXPORT = (step.is_done for step in STEPS)
ANYWHERE = ScreenState(0, following=True)


def _log(*commands: str) -> TourLog:
    """Return the tour log of three settled nodes that were then given these commands."""
    rig = Rig(range(1, 4), protocol=Bully).started()
    rig.run_until_agreed()
    begun = len(rig.records)
    cluster = ClusterState.of(rig.header)
    for record in rig.records[:begun]:
        cluster.apply(record)
    for command in commands:
        rig.do(command)
    rig.run(30 * T_US)
    log = TourLog(cluster)
    for record in rig.records[begun:]:
        log.observe(record)
    return log


def test_there_are_five_steps() -> None:
    assert len(STEPS) == 5


def test_step_1_completes_when_the_leader_was_killed() -> None:
    """Not when another node was killed, nor by a pause."""
    assert "node 3 leads" in STEPS[0].instruction(_log())
    assert not KILL(_log(), ANYWHERE)
    assert not KILL(_log("kill 1"), ANYWHERE)
    assert not KILL(_log("pause 3"), ANYWHERE)
    assert KILL(_log("kill 3"), ANYWHERE)


def test_step_2_completes_when_another_node_leads() -> None:
    """With a single survivor, that one; with none, never."""
    log = _log("kill 3")
    assert (log.leader, WATCH(log, ANYWHERE)) == (2, True)
    assert not WATCH(_log("kill 3", "kill 2", "kill 1"), ANYWHERE)


def test_step_3_completes_with_the_cursor_at_the_election() -> None:
    """From the step in which the node became coordinator until all agreed."""
    log = _log("kill 3")
    assert log.found is not None
    first, last = log.found
    assert first < last
    assert log.loss is not None
    assert log.loss.began < first
    for record, is_found in ((first - 1, False), (first, True), (last, True), (last + 1, False)):
        assert FIND(log, ScreenState(record, following=False)) == is_found
    assert not FIND(log, ScreenState(last, following=True)), "where the run is, it is not looked for"


def test_step_4_completes_with_the_diagram_or_an_open_record() -> None:
    log = _log()
    assert not EXPLAIN(log, ANYWHERE)
    assert EXPLAIN(log, ScreenState(0, following=False, view="diagram"))
    assert EXPLAIN(log, ScreenState(0, following=False, opened=True))


def test_step_5_completes_when_a_file_was_exported() -> None:
    assert not EXPORT(_log(), ANYWHERE)
    assert EXPORT(_log(), ScreenState(0, following=False, exported=True))


@pytest.fixture
def host(runs: Path) -> Iterator[HostReady]:
    """A running cluster of five nodes."""
    recording = str(runs.parent / "run.jsonl")
    nodes = (1, 2, 3, 4, 5)
    with served(RunConfig("live", "bully", nodes, TIMING, {}, Link(), 1, recording, (), 60_000_000)) as ready:
        yield ready


@pytest.mark.live
def test_a_step_can_be_skipped_and_the_tour_ended(host: HostReady) -> None:
    """By key and by word; afterwards the line is hidden, and S says that no tour is running."""

    def line(seen: Seen) -> str:
        shown = seen.run.query_one("#tour", Line)
        return shown.plain if shown.display else ""

    async def test(seen: Seen) -> None:
        assert line(seen) == ""
        seen.run.action_do("tour")
        await seen.until(lambda: line(seen).startswith("tour 1/5"), "the first step")
        await seen.press(":skip")
        await seen.until(lambda: line(seen).startswith("tour 2/5"), "the second step")
        seen.run.action_do("tour")
        await seen.until(lambda: line(seen) == "", "no tour")
        await seen.press(":skip")
        assert "no tour is running" in seen.message
        seen.run.action_do("tour")
        await seen.press(":skip", ":skip", ":skip", ":skip", ":skip")
        await seen.until(lambda: "that was the tour" in seen.message, "the end")
        assert line(seen) == ""

    attached(test, host.socket)


def test_a_recording_has_no_tour() -> None:
    async def test(seen: Seen) -> None:
        seen.run.action_do("tour")
        await seen.until_message("lab tour starts one")

    replay(test)


def _type_until(terminal: Terminal, key: str, text: str) -> None:
    """Press keys repeatedly, as a slow machine may have held one more election."""
    for _ in range(20):
        terminal.type(key)
        with contextlib.suppress(AssertionError):
            wait_for(lambda: text.encode() in terminal.output, text, 2, 0.02)
            return
    terminal.shows(text)


def test_the_whole_tour_by_keys(tmp_path: Path) -> None:
    """Each key is the one that the step asks for."""
    with Terminal("tour", folder=tmp_path, start_shell=fork_shell) as terminal:
        terminal.shows("tour 1/5")
        terminal.shows("node 5 leads")
        terminal.type("5")
        terminal.shows("node 5 selected")
        terminal.type("k")
        terminal.shows("tour 2/5")
        terminal.shows("tour 3/5")
        _type_until(terminal, "[", "tour 4/5")
        terminal.type("s")
        terminal.shows("tour 5/5")
        terminal.type(":export\r")
        terminal.shows("export this run")
        terminal.type("\r")
        terminal.shows("that was the tour")
        [file] = tmp_path.glob("bully-*.svg")
        assert "</svg>" in file.read_text("utf-8")
        terminal.type("q")
        assert terminal.status() == 0, terminal.last()
        terminal.is_as_before()
        terminal.all_gone()

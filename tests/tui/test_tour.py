"""The tour: each step is done when the records and the screen show it, and real keys go through all of it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.protocols import Bully
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Link
from lab.tui.frame.status_lines import Line
from lab.tui.tour import STEPS, ScreenState, TourLog
from lab.worlds.config import HostReady, RunConfig
from tests.harness import T_US, TIMING, Rig
from tests.tui.seen import Seen, attached, replay, served
from tests.tui.terminal import Terminal
from tests.waiting import wait_for

KILL, WATCH, FIND, LOOK, EXPORT = (step.is_done for step in STEPS)
ANYWHERE = ScreenState(0, following=True)


def _log(*commands: str) -> TourLog:
    """The tour in a run of three nodes that are settled, in which these commands are then given."""
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


def test_the_first_is_done_when_the_one_that_led_was_killed() -> None:
    """Another node will not do; nor will a pause."""
    assert "node 3 leads" in STEPS[0].instruction(_log())
    assert not KILL(_log(), ANYWHERE)
    assert not KILL(_log("kill 1"), ANYWHERE)
    assert not KILL(_log("pause 3"), ANYWHERE)
    assert KILL(_log("kill 3"), ANYWHERE)


def test_the_second_is_done_when_another_leads() -> None:
    """With all but one dead, that one; with all dead, never."""
    log = _log("kill 3")
    assert (log.leader, WATCH(log, ANYWHERE)) == (2, True)
    assert not WATCH(_log("kill 3", "kill 2", "kill 1"), ANYWHERE)


def test_the_third_is_done_with_the_cursor_where_the_new_one_was_set() -> None:
    """From the step in which it took itself for the coordinator until all agreed."""
    log = _log("kill 3")
    assert log.found is not None
    first, last = log.found
    assert first < last
    assert log.loss is not None
    assert log.loss.began < first
    for record, is_found in ((first - 1, False), (first, True), (last, True), (last + 1, False)):
        assert FIND(log, ScreenState(record, following=False)) == is_found
    assert not FIND(log, ScreenState(last, following=True)), "where the run is, it is not looked for"


def test_the_fourth_is_done_with_the_diagram_or_with_a_record_that_was_opened() -> None:
    log = _log()
    assert not LOOK(log, ANYWHERE)
    assert LOOK(log, ScreenState(0, following=False, view="diagram"))
    assert LOOK(log, ScreenState(0, following=False, opened=True))


def test_the_fifth_is_done_when_a_file_was_written() -> None:
    assert not EXPORT(_log(), ANYWHERE)
    assert EXPORT(_log(), ScreenState(0, following=False, exported=True))


@pytest.fixture
def host(runs: Path) -> Iterator[HostReady]:
    """A run of five nodes that goes on."""
    recording = str(runs.parent / "run.jsonl")
    nodes = (1, 2, 3, 4, 5)
    with served(RunConfig("live", "bully", nodes, TIMING, {}, Link(), 1, recording, (), 60_000_000)) as ready:
        yield ready


def test_a_step_can_be_skipped_and_the_tour_ended(host: HostReady) -> None:
    """By key and by word; afterwards the line is gone, and S says that there is no tour."""

    def line(seen: Seen) -> str:
        shown = seen.run.query_one("#tour", Line)
        return shown.plain if shown.display else ""

    async def test(seen: Seen) -> None:
        assert line(seen) == ""
        seen.run.action_do("tour")
        await seen.until(lambda: line(seen).startswith("tour 1/5"), "the first step")
        await seen.press("S")
        await seen.until(lambda: line(seen).startswith("tour 2/5"), "the second step")
        seen.run.action_do("tour")
        await seen.until(lambda: line(seen) == "", "no tour")
        await seen.press("S")
        assert "no tour is running" in seen.said
        seen.run.action_do("tour")
        await seen.press("S", "S", "S", "S", "S")
        await seen.until(lambda: "that was the tour" in seen.said, "the end")
        assert line(seen) == ""

    attached(test, host.socket)


def test_a_recording_has_no_tour() -> None:
    async def test(seen: Seen) -> None:
        seen.run.action_do("tour")
        assert "lab tour starts one" in seen.said

    replay(test)


def _type_until(terminal: Terminal, key: str, text: str) -> None:
    """As the step says, from one change to the one before: nodes that are slow may have held one more election."""
    for _ in range(20):
        terminal.type(key)
        with contextlib.suppress(AssertionError):
            wait_for(lambda: text.encode() in terminal.output, text, 2, 0.02)
            return
    terminal.shows(text)


def test_real_keys_go_through_the_tour_to_the_exported_file(tmp_path: Path) -> None:
    """Each key is what the step before it said; nothing else is known of the program."""
    with Terminal("-m", "lab", "tour", folder=tmp_path) as terminal:
        terminal.shows("tour 1/5")
        terminal.shows("node 5 leads")
        terminal.type("5")
        terminal.shows("node 5 selected")
        terminal.type("k")
        terminal.shows("tour 2/5")
        terminal.shows("tour 3/5")
        _type_until(terminal, "[", "tour 4/5")
        terminal.type("D")
        terminal.shows("tour 5/5")
        terminal.type("X")
        terminal.shows("export this run")
        terminal.type("\r")
        terminal.shows("that was the tour")
        [file] = tmp_path.glob("bully-*.svg")
        assert "</svg>" in file.read_text("utf-8")
        terminal.type("q")
        assert terminal.status() == 0, terminal.last()
        terminal.is_as_before()
        terminal.all_gone()

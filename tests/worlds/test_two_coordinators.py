"""A paused coordinator has not crashed: it resumes and still believes that it leads (assumption 9)."""

from pathlib import Path

import pytest

from lab.recording.cluster_state import ClusterState
from lab.recording.records import Process
from tests.worlds.live import STEADY, LiveRun

pytestmark = pytest.mark.live


def _leaders(cluster: ClusterState, *processes: str) -> set[int]:
    return {
        view.id
        for view in cluster.nodes.values()
        if view.process in processes and view.state.get("status") == "Normal"
        if view.state.get("coordinator") == view.id
    }


def test_pause_past_the_timeout_gives_two_coordinators_and_then_one(tmp_path: Path) -> None:
    """While 5 is paused, 4 is elected; then both lead, until 5 hears of 4 and calls an election."""
    with LiveRun(tmp_path, commands=("when all normal pause coordinator",), timing=STEADY) as run:
        run.process_is(5, "paused")
        run.until(lambda cluster: _leaders(cluster, "running") == {4}, "4 leads while 5 stands")
        assert _leaders(run.cluster, "running", "paused") == {4, 5}
        run.order("resume 5")
        run.process_is(5, "running")
        run.settled(5)

        both, after = ClusterState(run.config.nodes), 0
        for record in run.tail.records:
            both.apply(record)
            if isinstance(record, Process) and record.event == "resumed":
                assert record.paused_us > STEADY.t_us * 3
            after += _leaders(both, "running") == {4, 5}
        assert after > 0, "two running coordinators in some recorded state"
        assert _leaders(run.cluster, "running", "paused") == {5}


def test_a_short_pause_changes_nobody(tmp_path: Path) -> None:
    """A participant paused for less than T is not missed: no election."""
    with LiveRun(tmp_path, parameters={"check_every_us": 2_000_000, "coordinator_timeout_us": 9_000_000}) as run:
        run.settled(5)
        run.order("pause 2")
        run.process_is(2, "paused")
        run.order("resume 2")
        run.process_is(2, "running")
        run.settled(5)
        assert len({view.state["definition"]["version"] for view in run.cluster.nodes.values()}) == 1
        assert all(len(election) == 1 for election in [{e.coordinator for e in run.tail.elections.settled}])

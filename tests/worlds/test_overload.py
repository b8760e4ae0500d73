"""A paused or slow node that others send to without end: the host's memory stays bounded."""

from pathlib import Path

import psutil
import pytest

from lab.recording.records import Routed
from lab.worlds.json_lines import MOST_PENDING
from tests.profile import amount
from tests.waiting import wait_for
from tests.worlds.live import LiveRun
from tests.worlds.protocols import Spill

pytestmark = pytest.mark.live


@pytest.mark.parametrize("ending", ["resume 2", "kill 2"])
def test_messages_to_a_paused_node(tmp_path: Path, ending: str) -> None:
    """A limited amount waits, and more is lost, as ``overflow``; then it resumes, or dies and restarts."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), protocol=Spill) as run:
        run.process_is(2, "running")
        host = psutil.Process(run.ready.pid)
        before = host.memory_info().rss
        run.order("pause 2")
        run.until(lambda _: any(r.why == "overflow" for r in run.tail.of(Routed)), "an overflow", 60)
        size = run.path.stat().st_size
        wait_for(lambda: run.path.stat().st_size > size + (10 << 20), "10 MB more")
        grown = host.memory_info().rss - before
        assert grown < 6 * MOST_PENDING, f"the host grew by {grown >> 20} MB"
        run.order(ending)
        if ending == "kill 2":
            run.process_is(2, "killed")
            run.order("restart 2")
            run.until(lambda cluster: cluster.nodes[2].incarnation == 2, "it is back")
        began = run.cluster.nodes[2].step_us
        run.until(lambda cluster: cluster.nodes[2].step_us > began, "node 2 takes messages again")
        run.order("kill 1")
        run.process_is(1, "killed")


def test_a_node_killed_from_outside_with_much_data_queued(tmp_path: Path) -> None:
    """Its connection closes while the host waits to write; its successor gets the same file descriptor."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), protocol=Spill) as run:
        run.process_is(2, "running")
        for incarnation in range(1, amount(quick=3, soak=5)):
            run.order("pause 2")
            run.process_is(2, "paused")
            size = run.path.stat().st_size
            wait_for(lambda size=size: run.path.stat().st_size > size + (9 << 20), "its socket is full")  # type: ignore[misc]
            psutil.Process(run.pid(2)).kill()
            run.process_is(2, "killed")
            run.order("restart 2")
            run.until(lambda cluster, nth=incarnation + 1: cluster.nodes[2].incarnation == nth, "it is back")  # type: ignore[misc]
            began = run.cluster.nodes[2].step_us
            run.until(lambda cluster, us=began: cluster.nodes[2].step_us > us, "it takes messages")  # type: ignore[misc]

"""Figure 10.9 with real processes: the same phases as in simulation (tests/papers/test_invitation_figure.py)."""

from pathlib import Path

import pytest

from lab.kernel import Step, Timing
from lab.protocols import InvitationElection
from lab.recording.cluster_state import ClusterState
from tests.papers import figure_10_9
from tests.papers.figure_10_9 import CHECK_T, NODES
from tests.worlds.live import LiveRun

pytestmark = pytest.mark.live

TIMING = Timing(40_000, 20_000)
"""T = 100 ms: the run takes five seconds, and what has to come before something else does so by 200 ms."""


def _in_one_group(cluster: ClusterState) -> bool:
    views = cluster.nodes.values()
    groups = {view.group for view in views if view.status == "Normal" and view.coordinator == 1}
    return len(groups) == 1 and all(view.status == "Normal" and view.group in groups for view in views)


def test_figure_10_9_live(tmp_path: Path) -> None:
    """I5, I6: 1 merges 2 and the group of 3, which passes the invitation on to 4 and 5."""
    with LiveRun(
        tmp_path,
        nodes=NODES,
        commands=figure_10_9.script(TIMING),
        timing=TIMING,
        protocol=InvitationElection,
        parameters={"check_every_us": CHECK_T * TIMING.t_us},
    ) as run:
        run.until(_in_one_group, "all in one group under 1")
        steps = run.tail.of(Step)
    found = next(
        place
        for place, step in enumerate(steps)
        if step.node == 1 and any(message.kind == "Invitation" for message in step.sent)
    )
    figure_10_9.assert_phases(steps[found:], TIMING.t_us)

"""Figure 3-12 with real processes."""

from pathlib import Path

import pytest

from lab.kernel import Timing
from lab.protocols import BullyTanenbaum
from tests.papers import figure_3_12
from tests.worlds.live import LiveRun

pytestmark = pytest.mark.live

TIMING = Timing(100_000, 50_000)
"""T = 250 ms: the nodes' questions are some milliseconds apart, and 7 answers them all before it crashes."""


def test_T5_figure_3_12_live(tmp_path: Path) -> None:
    """T5: the messages (a) to (e) of the figure, and no others; within a stage in any order."""
    with LiveRun(
        tmp_path,
        nodes=figure_3_12.NODES,
        commands=figure_3_12.script(TIMING),
        timing=TIMING,
        protocol=BullyTanenbaum,
        parameters={"ask_every_us": figure_3_12.ask_every_us(TIMING)},
    ) as run:
        run.settled(7)
        run.process_is(7, "killed")
        run.settled(6)
        heartbeats = [kind.__name__ for kind in BullyTanenbaum.heartbeats]
        figure_3_12.assert_stages(figure_3_12.messages_since_crash(run.tail.records, heartbeats))

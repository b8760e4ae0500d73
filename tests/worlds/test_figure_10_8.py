"""Figure 10.8 with real processes: the same stages as in simulation (tests/papers/test_bully_figure.py)."""

from itertools import groupby, pairwise
from pathlib import Path

import pytest

from lab.kernel import Step
from tests.worlds.live import STEADY, LiveRun

pytestmark = pytest.mark.live

STAGES = ("EnterElection", "SetCoordinator", "NewState")


def test_figure_10_8_live(tmp_path: Path) -> None:
    """B4-B7: node 4 is killed; 3 asks above, halts those below, leads them, and sends the new state."""
    with LiveRun(tmp_path, nodes=(1, 2, 3, 4), timing=STEADY) as run:
        run.settled(4)
        since = len(run.tail.read().records)
        run.order("kill 4")
        run.settled(3)
        sent = [message for step in run.tail.read().of(Step, since) for message in step.sent]

    asks = [message for message in sent if not message.reply_to and message.kind != "AreYouNormal"]
    of_three = [message for message in asks if message.source == 3]
    stages = [
        (kind, sorted(message.target for message in messages))
        for kind, messages in groupby(of_three, lambda message: message.kind)
    ]
    # to 4 it may be two questions in a row: that of Coordinator_Timeout, and that of stage 1
    asked = [targets for kind, targets in stages[: -len(STAGES)] if kind == "AreYouUp"]
    assert asked
    assert all(target == 4 for targets in asked for target in targets)
    assert stages[-len(STAGES) :] == [(kind, [1, 2]) for kind in STAGES]
    for before, after in pairwise(STAGES):
        answered = [place for place, message in enumerate(sent) if message.kind == f"{before}Answer"]
        begun = next(place for place, message in enumerate(sent) if message.kind == after)
        assert len([place for place in answered if place < begun]) == 2, f"{after} before all answered {before}"

"""Stable storage under invitation, with real processes: no identifier recurs after a kill at an Invitation."""

from pathlib import Path

import pytest

from lab.analysis.elections import agreed_coordinator
from lab.kernel import Started, Step
from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.protocols import InvitationElection
from tests.worlds.live import STEADY, LiveRun

pytestmark = pytest.mark.live

ON = "on send Invitation 3->1"


def _violations(run: LiveRun) -> list[Violation]:
    records = run.tail.read().records
    judge = Judge(records[0])  # type: ignore[arg-type]
    for record in records:
        judge.observe(record)
    return [violation for violation in judge.violations if violation.assertion in ("A3.1", "A3.2", "A5")]


@pytest.mark.parametrize("wipe", [False, True])
def test_I1_killed_as_the_invitation_leaves(tmp_path: Path, wipe: bool) -> None:
    """I1: 3 raises its counter, dies at its first use, and continues to count.

    Wiped, it begins anew: A5 is broken, excused by assumption 4.
    """
    wiped = (f"{ON}: wipe 3",) if wipe else ()
    commands = (f"{ON}: kill 3", *wiped, f"{ON}: restart 3")
    with LiveRun(tmp_path, nodes=(1, 2, 3), timing=STEADY, commands=commands, protocol=InvitationElection) as run:
        run.until(lambda cluster: cluster.nodes[3].incarnation == 2, "the second life of 3")
        # on a busy machine another may form the group that they end in
        run.until(lambda cluster: agreed_coordinator(cluster.nodes) is not None, "all agree")
        events = [record.event for record in run.processes(3)]
        assert events == ["started", "killed", *(["wiped"] if wipe else []), "started"]
        steps = [step for step in run.tail.of(Step) if step.node == 3]
        died = next(place for place, step in enumerate(steps[1:], 1) if isinstance(step.input, Started))
        raised = [step.stored["counter"] for step in steps[:died] if "counter" in step.stored]
        began = steps[died].input
        assert isinstance(began, Started)
        assert began.stored.get("counter", 0) == (0 if wipe else raised[-1])
        assert any(message.kind == "Invitation" for message in steps[died - 1].sent), "it died there"
        assert steps[died - 1].stored == {"counter": raised[-1]}, "stored in the step that uses it"
        found = _violations(run)
    if wipe:
        assert "A5" in {violation.assertion for violation in found}
        assert {tuple(broken.assumption for broken in each.broken) for each in found} == {(4,)}
    else:
        assert found == []

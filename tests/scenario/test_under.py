"""``expect violation … under …``: the cause of a violation, in the report and in outcomes."""

from pathlib import Path

import pytest

from lab.kernel import Timing
from lab.properties.judge import Judge
from lab.properties.verdicts import Broken, Violation
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Link, ProtocolInfo
from lab.scenario.report import matches_violation
from lab.scenario.run_scenario import run_simulated
from lab.scenario.script_search import ExpectedOutcome
from lab.script.statements import ExpectViolation
from tests.scenario.writing import written

PAUSE, SEEN_LATE = Broken(9, "pause of 5", 1, ("pause",)), Broken(9, "node 5 was 130ms late", 1)
CUT = Broken(8, "lose 1", 1, ("cut", "lose"))
HEADER = Header(
    *(1, "lab", "a run", "", "simulated", ProtocolInfo("bully", {}, "", "", promises=("A1.1",))),
    *((1, 2), Timing(1, 1), Link(), 1),
)


def _violation(*broken: Broken, other_broken: tuple[Broken, ...] = ()) -> Violation:
    return Violation("A1.1", 4, 0, (), {}, broken, "", other_broken)


@pytest.mark.parametrize(
    ("violation", "under", "meant"),
    [
        (_violation(PAUSE), "pause", True),
        (_violation(PAUSE), "slow", False),
        (_violation(PAUSE), "", True),
        (_violation(SEEN_LATE), "pause", True),
        (_violation(SEEN_LATE), "slow", True),
        (_violation(SEEN_LATE), "lose", False),
        (_violation(CUT), "cut", True),
        (_violation(CUT), "lose", True),
        (_violation(CUT), "delay", False),
        (_violation(CUT, PAUSE), "pause", True),
        (_violation(other_broken=(PAUSE,)), "pause", False),
        (_violation(CUT, other_broken=(PAUSE,)), "pause", False),
        (_violation(other_broken=(PAUSE,)), "", True),
    ],
)
def test_the_cause_is_a_fault_that_broke_an_assumption(violation: Violation, under: str, meant: bool) -> None:
    """Any such fault; if none is known, any that breaks the same assumption."""
    expected = ExpectViolation("A1.1", under)
    assert matches_violation(expected, violation) is meant
    judge = Judge(HEADER)
    judge.violations.append(violation)
    outcome = ExpectedOutcome(None, (), (expected,))
    assert outcome.missed(ClusterState((1, 2)), judge) == ([] if meant else [expected])


def test_no_violation_is_unmet_if_there_is_one() -> None:
    """And met if there is none."""
    outcome = ExpectedOutcome(None, (), (ExpectViolation("A1.1", none=True), ExpectViolation("A1.2", none=True)))
    judge = Judge(HEADER)
    assert outcome.missed(ClusterState((1, 2)), judge) == []
    judge.violations.append(_violation())
    assert outcome.missed(ClusterState((1, 2)), judge) == [ExpectViolation("A1.1", none=True)]


@pytest.mark.parametrize(
    ("fault", "right", "wrong"),
    [("pause coordinator", "pause", "slow"), ("lose 5 100%", "lose", "partition"), ("cut 5", "cut", "hold")],
)
def test_a_scenario_fails_if_another_fault_is_the_cause(
    tmp_path: Path, fault: str, right: str, wrong: str
) -> None:
    """Even one that would have broken the same assumption."""
    script = f"when all normal: {fault}\nexpect 4 leads within 2s\nexpect violation A1.1 under "
    assert run_simulated(written(tmp_path, script + right)).passed
    (finding,) = run_simulated(written(tmp_path, script + wrong)).findings
    assert finding.was.startswith(f"not under {wrong}, which breaks assumption ")

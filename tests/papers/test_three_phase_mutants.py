"""Each rule of three-phase commit is necessary: without it, crashes alone cause a commit and an abort (A6)."""

import pytest

from lab.protocols.three_phase import ThreePhaseCommit
from tests.harness import Rig
from tests.papers.three_phase_schedules import MUTANTS, Schedule, log_of, six


def _outcomes(rig: Rig) -> set[str]:
    return {what for node in rig.ids for what in log_of(rig, node) if what in ("committed", "aborted")}


def _is_open(rig: Rig) -> bool:
    return any(view.state["open"] for view in rig.cluster.nodes.values())


_SCHEDULES = list(dict.fromkeys(schedule for _, schedule in MUTANTS))


@pytest.mark.parametrize("schedule", _SCHEDULES, ids=lambda schedule: schedule.__name__)
def test_the_protocol_survives_it(schedule: Schedule) -> None:
    """One outcome at all six nodes, and nothing left open."""
    rig = six()
    schedule(rig)
    assert len(_outcomes(rig)) == 1
    assert not _is_open(rig)


@pytest.mark.parametrize(("mutant", "schedule"), MUTANTS, ids=lambda each: each.__name__)
def test_A6_a_mutant_does_not(mutant: type[ThreePhaseCommit], schedule: Schedule) -> None:
    """One node commits, another aborts, in the same schedule."""
    rig = six(mutant)
    schedule(rig)
    assert _outcomes(rig) == {"committed", "aborted"}

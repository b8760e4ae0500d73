"""Shrinking: the same violation, no other assumption broken, and nothing superfluous left."""

import time
from functools import cache

import pytest
from msgspec.structs import replace

from lab.protocols import Bully
from lab.worlds.campaign.campaign import Campaign
from lab.worlds.campaign.finding import OUT_OF_TIME, Finding, shrink_finding
from lab.worlds.campaign.schedule import Schedule, draw
from lab.worlds.campaign.trial import SearchGoal, run_trial
from tests.campaign import mutants
from tests.campaign.trials import base_of, caught, plan

Case = tuple[type[Bully], str, str]

CASES: list[Case] = [
    (Bully, "kill,pause", "A1.1"),
    (Bully, "partition,loss,duplicate", "A1.1"),
    (Bully, "delay,reorder", "A1.2"),
    (mutants.NoHalt, "kill", "A1.1"),
    (mutants.FollowsAnyone, "kill", "A1.1"),
    (mutants.BlindCheck, "kill", "A2"),
]


def _campaign(case: Case) -> Campaign:
    protocol, faults, assertion = case
    return Campaign("", base_of(protocol), plan(protocol, *faults.split(",")), SearchGoal(assertion), 1, 0)


@cache
def _first(case: Case) -> int:
    """Return the first seed with that violation."""
    campaign = _campaign(case)
    return next(seed for seed in range(1, 500) if _shows(case, draw(campaign.plan, seed), extend=True))


def _shows(case: Case, schedule: Schedule, extend: bool = False) -> list[tuple[bool, set[int | str]]]:
    """Return (whether it is a failure, the assumptions broken) of each such violation."""
    violations = run_trial(case[0], _campaign(case).base, schedule, extend).violations
    return [
        (violation.is_failure, {broken.assumption for broken in violation.broken})
        for violation in violations
        if violation.assertion == case[2]
    ]


@cache
def _shrunk(case: Case) -> Finding:
    campaign = _campaign(case)
    return shrink_finding(case[0], campaign.base, campaign.goal, draw(campaign.plan, _first(case)))[0]


@pytest.mark.parametrize("case", [*CASES[:4], *(pytest.param(case, marks=pytest.mark.soak) for case in CASES[4:])])
def test_the_result_is_minimal(case: Case) -> None:
    """It shows the same; without any of its faults or nodes it does not; its times are whole milliseconds."""
    found = _shrunk(case)
    least, violation = found.least, found.violation
    broken = {each.assumption for each in violation.broken}
    assert violation.assertion == case[2]
    assert (violation.is_failure, broken) in _shows(case, least)
    before = _shows(case, found.drawn, extend=True)
    assert any(failure == violation.is_failure and broken <= all_ for failure, all_ in before)
    smaller = [
        replace(least, faults=(*least.faults[:n], *least.faults[n + 1 :])) for n in range(len(least.faults))
    ]
    smaller += [least.without_node(node) for node in least.nodes if len(least.nodes) > 2]
    for schedule in smaller:
        shown = _shows(case, schedule)
        assert not any(failure == violation.is_failure and all_ <= broken for failure, all_ in shown), schedule
    assert all(strike.at_us % 1000 == 0 for strike in least.faults)
    assert least.end_us % 1000 == 0
    assert violation.at_us < least.end_us <= violation.at_us + 1000
    assert len(least.faults) <= len(found.drawn.faults)
    assert len(least.nodes) <= 4
    assert len(least.faults) <= 8
    assert found.tried < 600


def test_the_same_again() -> None:
    """Shrinking is deterministic, and reports its progress with every run."""
    case = CASES[3]
    progress: list[int] = []
    campaign = _campaign(case)
    drawn = draw(campaign.plan, _first(case))
    one, interrupted = shrink_finding(case[0], campaign.base, campaign.goal, drawn, progress.append)
    assert not interrupted
    assert one == _shrunk(case)
    assert progress == list(range(1, one.tried + 1))


def test_ctrl_c_keeps_what_is_found() -> None:
    """The schedule as small as it was then, still with the violation."""
    case = CASES[3]

    def press(tried: int) -> None:
        if tried == 7:
            raise KeyboardInterrupt

    campaign = _campaign(case)
    drawn = draw(campaign.plan, _first(case))
    found, interrupted = shrink_finding(case[0], campaign.base, campaign.goal, drawn, press)
    assert interrupted
    assert found.tried == 7
    assert _shows(case, found.least)


def test_the_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found by then is kept, and not called minimal; with time enough, it is minimal."""
    case = CASES[3]
    campaign = _campaign(case)
    args = (case[0], campaign.base, campaign.goal, draw(campaign.plan, _first(case)))
    at_once, interrupted = shrink_finding(*args, ends_s=time.monotonic())
    assert (at_once.tried, at_once.untried, at_once.is_minimal, interrupted) == (0, OUT_OF_TIME, False, False)
    assert at_once.least == at_once.drawn
    whole, _ = shrink_finding(*args, ends_s=time.monotonic() + 3_600)
    assert whole == _shrunk(case)
    assert whole.is_minimal
    asked = iter([False] * 7)
    monkeypatch.setattr("lab.worlds.campaign.finding.is_past", lambda ends_s: next(asked, True))
    partly, _ = shrink_finding(*args, ends_s=0.0)
    assert (partly.tried, partly.untried) == (7, OUT_OF_TIME)
    assert _shows(case, partly.least)


def test_a_failure_stays_a_failure() -> None:
    """The run has excused violations as well."""
    protocol = mutants.NoHalt
    faults = ("kill", "pause", "loss")
    found = caught(protocol, 300, *faults)
    assert found is not None
    campaign = Campaign("", base_of(protocol), plan(protocol, *faults), SearchGoal(), 1, 0)
    shrunk, _ = shrink_finding(protocol, campaign.base, campaign.goal, draw(campaign.plan, found.seed))
    assert shrunk.violation.is_failure


def test_the_paused_coordinator() -> None:
    """Issue 3: A1.1 under broken assumption 9, with at most 3 nodes and 2 faults."""
    found = _shrunk((Bully, "kill,pause", "A1.1"))
    assert [broken.assumption for broken in found.violation.broken] == [9]
    assert len(found.least.nodes) <= 3
    assert len(found.least.faults) <= 2

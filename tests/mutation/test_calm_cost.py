"""Calm runs: their faults strike, each finds the cluster at rest, and what only costs more costs more there."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from lab.kernel import Step, Timing
from lab.recording.records import Process, Routed
from lab.worlds.campaign.schedule import Schedule, SchedulePlan, plan_of
from lab.worlds.campaign.trial import run_trial
from lab.worlds.loading.config import simulation_header
from lab.worlds.loading.targets import load_protocol
from lab.worlds.mutation.calm_cost import CalmCost, calm_schedules, measure
from tests.profile import sampled

TIMING = Timing(80_000, 40_000)
NODES = (3, 5)


def _plan(name: str) -> SchedulePlan:
    return plan_of(load_protocol(name), NODES, ("kill",), TIMING)


def _cost(name: str, schedules: tuple[Schedule, ...], **parameters: object) -> CalmCost:
    protocol = load_protocol(name)
    base = simulation_header(protocol, (1, 2, 3, 4, 5), TIMING, parameters)
    return sum((measure(protocol, base, schedule) for schedule in schedules), CalmCost())


@pytest.mark.parametrize("name", sampled(["bully", "ring", "2pc", "token", "e3pc", "field"], 2))
def test_every_crash_happens(name: str) -> None:
    """But for those that wait for a message which the reaction does not have; nothing fails by itself.

    Commands do something: for each kind of message that they lead to, a node crashes.
    """
    protocol = load_protocol(name)
    base = simulation_header(protocol, (1, 2, 3, 4, 5), TIMING, {})
    struck = 0
    for schedule in calm_schedules(_plan(name)):
        trial = run_trial(protocol, base, schedule, extend=False)
        assert not any(violation.is_failure for violation in trial.violations)
        assert not any(record.failed for record in trial.records if isinstance(record, Step))
        kills = [each for each in schedule.faults if each.command.startswith("kill")]
        crashes = [each for each in trial.records if isinstance(each, Process) and each.event == "killed"]
        assert len(crashes) >= sum(not fault.on for fault in kills)
        struck += any(fault.on for fault in kills) and len(crashes) > sum(not fault.on for fault in kills)
    assert struck >= 2


@pytest.mark.parametrize("name", ["bully", "2pc"])
def test_messages_are_lost(name: str) -> None:
    """Of each kind that the reaction has, and of no other; in time, the cluster is at rest again."""
    protocol = load_protocol(name)
    base = simulation_header(protocol, (1, 2, 3, 4, 5), TIMING, {})
    lost = 0
    for schedule in calm_schedules(_plan(name)):
        kinds = {each.command.split()[2] for each in schedule.faults if each.command.startswith("lose")}
        if not kinds:
            continue
        records = run_trial(protocol, base, schedule, extend=False).records
        sent = {
            (each.node, message.serial): message.kind
            for each in records
            if isinstance(each, Step)
            for message in each.sent
        }
        dropped = [each for each in records if isinstance(each, Routed) and each.fate == "dropped" and each.by]
        assert {sent[each.source, each.serial] for each in dropped} <= kinds
        lost += bool(dropped)
    assert lost >= 5


def test_a_longer_wait_for_a_lost_message_costs_time() -> None:
    """A participant waits before it asks for the decision."""
    losing = tuple(
        each for each in calm_schedules(_plan("2pc")) if each.faults[0].command == "lose all Commit 100%"
    )
    assert len(losing) == 1
    usual, slow = _cost("2pc", losing), _cost("2pc", losing, decision_timeout_us=8 * TIMING.t_us)
    assert "settled after " in slow.excess_over(usual)


def test_the_leader_is_given_the_commands_that_only_it_executes() -> None:
    """So a transaction of e3pc is terminated when its coordinator crashes."""
    protocol = load_protocol("e3pc")
    base = simulation_header(protocol, (1, 2, 3, 4, 5), TIMING, {})
    (schedule,) = (
        schedule
        for schedule in calm_schedules(_plan("e3pc"))
        if any(fault.on == "send Vote" for fault in schedule.faults)
    )
    records = run_trial(protocol, base, schedule, extend=False).records
    sent = {message.kind for record in records if isinstance(record, Step) for message in record.sent}
    assert {"Prepare", "Vote", "StateOf", "StateAnswer", "PreCommit", "Commit", "Abort"} <= sent


def test_commands_are_given_one_at_a_time() -> None:
    """To nodes that are up, each when the one before it is done."""
    given = [
        [fault for fault in schedule.faults if fault.command.startswith(("tell", "transfer"))]
        for schedule in calm_schedules(_plan("2pc"))
    ]
    assert all(given)
    for commands in given:
        times = [fault.at_us for fault in commands]
        assert all(later - earlier >= 7 * TIMING.t_us for earlier, later in pairwise(times))


def test_the_same_runs_cost_the_same() -> None:
    schedules = calm_schedules(_plan("bully"))[:3]
    assert _cost("bully", schedules) == _cost("bully", schedules)
    assert _cost("bully", schedules).excess_over(_cost("bully", schedules)) == ""


def test_longer_timeouts_cost_time() -> None:
    """And more frequent questions cost heartbeats."""
    schedules = calm_schedules(_plan("bully"))[:2]
    usual = _cost("bully", schedules)
    slow = _cost("bully", schedules, coordinator_timeout_us=6 * TIMING.t_us)
    assert slow.owed_us > usual.owed_us
    assert "settled after " in slow.excess_over(usual)
    often = _cost("bully", schedules, check_every_us=TIMING.t_us // 2)
    assert " heartbeats per second instead of " in often.excess_over(usual)


def test_to_settle_sooner_costs_no_messages() -> None:
    """Though the next coordinator then checks for longer: heartbeats count by the time of rest."""
    schedules = calm_schedules(_plan("bully"))[:2]
    quick = _cost("bully", schedules, coordinator_timeout_us=2 * TIMING.t_us)
    assert quick.owed_us < _cost("bully", schedules).owed_us
    assert quick.excess_over(_cost("bully", schedules)) == ""


def test_forced_writes_are_counted() -> None:
    """Each is a step that writes to stable storage."""
    schedules = calm_schedules(_plan("2pc"))[:1]
    assert _cost("2pc", schedules).forced_writes > 10
    assert CalmCost(0, 11, 0).excess_over(CalmCost(0, 10, 0)) == "11 forced writes instead of 10"


def test_what_the_moment_of_a_crash_may_change_is_no_excess() -> None:
    usual = CalmCost(10_000, 1_000, 10_000_000)
    assert CalmCost(10_049, 1_004, 10_049_000).excess_over(usual) == ""
    assert CalmCost(10_051, 1_006, 10_051_000).excess_over(usual).count("instead of") == 3


def test_a_cluster_has_as_many_nodes_as_the_campaign() -> None:
    assert {len(each.nodes) for each in calm_schedules(_plan("bully"))} == {3, 5}
    few = calm_schedules(replace(_plan("bully"), nodes=(2, 2)))
    assert {len(each.nodes) for each in few} == {2}
    assert {len(each.nodes) for each in calm_schedules(replace(_plan("bully"), nodes=(1, 1)))} == {1}

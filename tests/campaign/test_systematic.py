"""Bounded systematic testing: it tries every point, each event of its runs happens, and it finds what is known."""

from collections.abc import Iterator
from itertools import islice

import pytest

from lab.kernel import Step
from lab.protocols import Algorithm, Bully, TwoPhaseCommit
from lab.recording.records import Fault, Process
from lab.worlds.campaign.campaign import Campaign, run_campaign
from lab.worlds.campaign.systematic import TreeRun, roots
from lab.worlds.campaign.trial import SearchGoal, Trial, run_trial
from tests.campaign.commit_mutants import DecisionSentBeforeLogged, VoteNotForced
from tests.campaign.mutants import NoHalt
from tests.campaign.trials import base_of, plan
from tests.profile import amount

RUNS = amount(quick=40, soak=1_000)
ONE_IN = amount(quick=5, soak=1)
_VERBS = {"killed": "kill", "paused": "pause", "resumed": "resume", "started": "restart"}


def _tree(
    protocol: type[Algorithm], bound: int, nodes: int, *faults: str, one_in: int = 1
) -> Iterator[tuple[TreeRun, Trial]]:
    """Yield the runs of the tree, those with few events first; of the runs that follow one, one in ``one_in``."""
    wanted, base = plan(protocol, *faults, nodes=(nodes, nodes)), base_of(protocol)
    level = roots(wanted, bound)
    while level:
        following: list[TreeRun] = []
        for branch in level:
            trial = run_trial(protocol, base, branch.schedule(wanted, 1), branch=(wanted, branch))
            following += map(branch.followed_by, trial.events[::one_in])
            yield branch, trial
        level = following


def _strikes(trial: Trial) -> list[str]:
    """Return what happened to nodes and to the network before the run's last commands."""
    found: list[str] = []
    healed_us = -1
    for record in trial.records:
        if isinstance(record, Process | Fault) and record.at_us >= trial.schedule.end_us:
            break
        if isinstance(record, Process):
            if record.event in _VERBS and (record.event, record.incarnation) != ("started", 1):
                found.append(f"{_VERBS[record.event]} {record.node}")
        elif isinstance(record, Fault) and record.kind == "partition":
            if not record.lifted and found[-1:] == ["heal"] and record.at_us == healed_us:
                found.pop()  # another partition takes its place
            found.append("heal" if record.lifted else "partition")
            healed_us = record.at_us
    return found


@pytest.mark.parametrize(
    ("protocol", "nodes", "faults"),
    [(Bully, 2, ("kill",)), (Bully, 3, ("kill", "pause", "partition")), (TwoPhaseCommit, 3, ("kill",))],
)
def test_each_event_happens(protocol: type[Algorithm], nodes: int, faults: tuple[str, ...]) -> None:
    """At its point, in its order, and nothing else does."""
    for branch, trial in islice(_tree(protocol, 2, nodes, *faults, one_in=ONE_IN), RUNS):
        wanted = [event.command.partition(" |")[0] for event in branch.events]
        wanted = [command.partition(" ")[0] if command.startswith("partition") else command for command in wanted]
        assert _strikes(trial) == wanted, branch
    assert len(branch.events) == 2


def test_there_is_a_point_after_each_kind_of_message() -> None:
    """Of the run without faults; and both before and after a crash, for each node."""
    branch, trial = next(_tree(TwoPhaseCommit, 1, 3))
    sent = {(step.node, message.kind) for step in trial.records if isinstance(step, Step) for message in step.sent}
    struck = {
        (int(event.command.split()[1]), event.on.split()[-2])
        for event in trial.events
        if event.on.startswith(("send", "before send"))
    }
    assert not branch.events
    assert {kind for _, kind in struck} == {kind for _, kind in sent}
    assert "before send Vote 1->3" in {event.on for event in trial.events}


@pytest.mark.parametrize(
    ("mutant", "bound", "most"),
    [
        (NoHalt, 2, 200),
        pytest.param(DecisionSentBeforeLogged, 2, 400, marks=pytest.mark.soak),
        (VoteNotForced, 2, 10),
    ],
)
def test_it_finds_what_is_known(mutant: type[Algorithm], bound: int, most: int) -> None:
    """In few runs, and with few events: the first finding is the smallest."""
    for _, trial in islice(_tree(mutant, bound, 3), most):
        if any(violation.is_failure for violation in trial.violations):
            return
    pytest.fail(f"not within {most} runs")


def test_the_tree_is_the_same_for_any_number_of_workers() -> None:
    """And it is made completely: as many runs as were known."""
    wanted = plan(Bully, "kill", nodes=(2, 3))
    campaign = Campaign("bully", base_of(Bully), wanted, SearchGoal(), 1, 0, systematic=1)
    one, two = (list(run_campaign(campaign, workers)) for workers in (1, 2))
    assert [outcome.schedule for outcome in one] == [outcome.schedule for outcome in two]
    assert {len(outcome.schedule.nodes) for outcome in one} == {2, 3}
    assert len(one) == 2 + sum(len(outcome.events) for outcome in one)
    some = Campaign("bully", base_of(Bully), wanted, SearchGoal(), 1, 30, systematic=1)
    assert [outcome.schedule for outcome in run_campaign(some)] == [outcome.schedule for outcome in one[:30]]

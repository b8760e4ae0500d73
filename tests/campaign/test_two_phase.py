"""Campaigns of two-phase commit: under every fault, no transaction has two outcomes and no cent is lost.

The profile ``soak`` makes thousands of runs of each sort; a failure names its seed.
"""

from collections import Counter

import pytest

from lab.kernel import CommandInput, Step
from lab.protocols import Bully, Ring, TwoPhaseCommit, find_protocol
from lab.script.parse import parse
from lab.worlds.campaign.finding import Shrinking
from lab.worlds.campaign.schedule import FAULTS, draw
from lab.worlds.campaign.trial import run_trial
from tests.campaign.commit_mutants import EVERYTHING, CommitsAfterCrash
from tests.campaign.trials import base_of, caught, plan, trial
from tests.profile import amount

RUNS = amount(quick=2, soak=10000)
SORTS = [*FAULTS, "kill,pause", "kill,loss", EVERYTHING, ",".join(FAULTS)]


@pytest.mark.parametrize("faults", SORTS)
def test_it_keeps_its_promise(faults: str) -> None:
    """A6, A7, A8, and every transaction ends: no failure while stable storage works."""
    found = caught(TwoPhaseCommit, RUNS, *faults.split(","))
    assert found is None, f"lab check 2pc --faults {faults} --seed {found.seed} --runs 1: {found.assertion}"


def test_all_but_a_wipe_breaks_nothing() -> None:
    """A6, A7, A8 rely on assumption 4 alone: without a wipe there is no violation at all."""
    for seed in range(1, RUNS + 1):
        assert trial(TwoPhaseCommit, seed, *EVERYTHING.split(",")).violations == []


def test_wiped_logs_break_it() -> None:
    """Assumption 4 is broken: the violations are excused."""
    violations = [each for seed in range(1, 15) for each in trial(TwoPhaseCommit, seed, "wipe").violations]
    assert {each.assertion for each in violations} >= {"A8"}
    assert all([broken.assumption for broken in each.broken] == [4] for each in violations)


def test_nodes_are_kept_busy() -> None:
    """Nodes get the protocol's commands, so there are transactions to commit and to abort."""
    given, outcomes = 0, Counter[str]()
    for seed in range(1, 11):
        drawn = draw(plan(TwoPhaseCommit), seed)
        busy = [strike for strike in drawn.faults if strike.command.startswith("tell ")]
        assert len(busy) >= 4
        for strike in busy:
            _, node, command = strike.command.split(" ", 2)
            assert int(node) in drawn.nodes
            assert command in TwoPhaseCommit.workload
            assert parse(str(strike)).source == str(strike)
        steps = [record for record in trial(TwoPhaseCommit, seed).records if isinstance(record, Step)]
        given += sum(isinstance(step.input, CommandInput) for step in steps)
        outcomes.update(entry["what"] for step in steps for entry in step.logged.get("log", ()))
    assert given > 30
    assert outcomes["committed"] > 100
    assert outcomes["aborted"] > 100


def test_faults_aim_at_the_messages_of_a_task() -> None:
    """More often during a transaction than at an instant; faults do not aim at the election below."""
    drawn = [draw(plan(find_protocol("3pc"), "partition"), seed) for seed in range(1, 60)]
    cuts = [strike for each in drawn for strike in each.faults if strike.command.startswith("partition")]
    assert sum(bool(cut.on) for cut in cuts) > len(cuts) / 2
    assert {cut.on.split()[1] for cut in cuts if cut.on} >= {"Prepare", "Vote", "PreCommit", "PreAcknowledged"}
    assert not any(cut.on.split()[1] in Bully.payloads for cut in cuts if cut.on)


def test_a_protocol_without_commands_gets_none() -> None:
    """An election gets faults alone."""
    assert not any("tell" in strike.command for seed in range(1, 30) for strike in draw(plan(Ring), seed).faults)


def test_a_finding_is_shrunk_to_a_crash_and_what_it_hits() -> None:
    """Commands are shrunk like faults: superfluous ones are removed."""
    base, drawn = base_of(CommitsAfterCrash), draw(plan(CommitsAfterCrash, nodes=(3, 4)), 11)
    found = run_trial(CommitsAfterCrash, base, drawn)
    violation = next(each for each in found.violations if each.is_failure)
    shrinking = Shrinking(
        found, violation, lambda schedule: run_trial(CommitsAfterCrash, base, schedule, extend=False)
    )
    shrinking.run()
    verbs = Counter(strike.command.split()[0] for strike in shrinking.trial.schedule.faults)
    assert (verbs["kill"], verbs["restart"]) == (1, 1)
    assert 1 <= verbs["tell"] <= 2
    assert verbs.total() < len(drawn.faults)

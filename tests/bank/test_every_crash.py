"""A crash at every step of every node, one at a time and in pairs: A6, A7 and A8 hold, and everything ends.

The crashes strike at every step of a transaction among three nodes, and between every two messages of a step. The
node restarts at once, or after the others' timeouts. The second crash strikes at any later step of the resulting
run, including the first step of the restarted node.

The profile ``soak`` tries every pair of every case; otherwise some of one case of each protocol.
"""

from collections import Counter
from functools import cache
from itertools import chain
from typing import NamedTuple

import pytest

from lab.protocols import TwoPhaseCommit, find_protocol
from tests.bank.crashing import Crashed, every_run, second_crashes
from tests.campaign import commit_mutants as mutants
from tests.profile import SOAK, sampled


class Case(NamedTuple):
    """A protocol, and the command to one of the three nodes."""

    protocol: str
    command: str

    def __str__(self) -> str:
        return f"{self.protocol} {self.command}"


CASES = (
    Case("2pc", "tell 3 withdraw 350"),
    Case("2pc", "tell 2 withdraw 350"),
    Case("2pc", "tell 3 transfer 100 savings checking"),
    Case("2pc", "tell 1 transfer 100 savings checking"),
    Case("3pc", "tell 3 withdraw 350"),
    Case("3pc", "tell 3 transfer 100 savings checking"),
    Case("3pc", "tell 3 transfer 100 savings moneymarket"),
)
IN_PAIRS = dict.fromkeys(CASES, 1) if SOAK else {CASES[0]: 17, CASES[4]: 46}
"""Of how many second crashes one is tried: as few as still strike at every input."""

COORDINATES = {
    "2pc": {"Performed", "Vote", "Acknowledged"},
    "3pc": {"Performed", "Vote", "PreAcknowledged", "Acknowledged"},
}
PARTICIPATES = {
    "2pc": {"Perform", "Prepare", "Commit"},
    "3pc": {"Perform", "Prepare", "PreCommit", "Commit"},
}
COORDINATES_ON = {
    "2pc": {"started", "coordinate", "announce_outcome", "OutcomeOf"},
    "3pc": {"started", "coordinate", "announce_outcome"},
}
PARTICIPATES_ON = {
    "2pc": {"started", "participate", "inquire_and_wait", "Abort", "Outcome"},
    "3pc": {"started", "participate", "terminate", "lead_termination", "StateOf", "Abort"},
}
"""What nodes do when another has crashed; the first step is over by then."""


class Tried(NamedTuple):
    """Counts of all runs: the input and role at the last crash, and whether the transaction was committed."""

    struck: Counter[tuple[str, str]]
    committed: Counter[bool]


@cache
def singles(protocol: str, command: str) -> tuple[Crashed, ...]:
    """Return the run without a crash, and all with one; several tests look at them."""
    return tuple(every_run(find_protocol(protocol), command))


def tried(case: Case, most: int, one_in: int = 1) -> Tried:
    """Try every run with up to ``most`` crashes; of the last ones one in ``one_in``."""
    found = Tried(Counter(), Counter())
    first = singles(*case)
    for run in chain(first, chain.from_iterable(second_crashes(run, one_in) for run in first if most == 2)):
        faults = run.faults()
        assert not faults, f"{case}, {run.crashes}:\n" + "\n".join(faults)
        found.committed[run.committed] += 1
        if len(run.crashes) == most:
            found.struck[run.struck(run.crashes[-1].step)] += 1
    print(f"{case}: {found.committed.total()} runs, {found.committed[True]} committed; {dict(found.struck)}")
    return found


def by_role(coordinates: set[str], participates: set[str]) -> set[tuple[str, str]]:
    """Return the inputs, each with the role of the node."""
    return {(what, "coordinator") for what in coordinates} | {(what, "participant") for what in participates}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_C1_P1_without_a_crash_it_is_committed(case: Case) -> None:
    """C1, P1: all operations are done, and all vote YES."""
    run = Crashed(find_protocol(case.protocol), case.command)
    assert run.committed
    assert run.faults() == []


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=() if case in IN_PAIRS else pytest.mark.soak) for case in CASES], ids=str
)
def test_C5_P2_a_crash_at_every_step(case: Case) -> None:
    """Issue 6: A6, A7 and A8 hold and nothing is left, for a crash of any node at any step."""
    found = tried(case, 1)
    command = case.command.split()[2]
    steps = by_role(COORDINATES[case.protocol] | {command}, PARTICIPATES[case.protocol])
    assert set(found.struck) >= steps
    assert min(found.committed[True], found.committed[False]) > 10


@pytest.mark.parametrize(("case", "one_in"), IN_PAIRS.items(), ids=str)
def test_C5_P2_two_crashes_at_every_two_steps(case: Case, one_in: int) -> None:
    """Issue 6: the same for every pair of crashes, of two nodes, or of one that has just restarted."""
    found = tried(case, 2, one_in)
    name = case.protocol
    steps = by_role(COORDINATES[name] | COORDINATES_ON[name], PARTICIPATES[name] | PARTICIPATES_ON[name])
    assert set(found.struck) >= steps
    assert found.struck.total() > 150
    assert min(found.committed[True], found.committed[False]) > 50


def test_P3_a_crash_leads_to_every_rule() -> None:
    """P3: in the runs with one crash, elected coordinators take every action that the rules allow."""
    led = {
        kind
        for run in singles(*CASES[4])
        for source, kind, _ in run.sent("PreCommit", "PreAbort", "Commit", "Abort")
        if source != 3
    }
    assert led == {"PreCommit", "PreAbort", "Commit", "Abort"}


# that the runs can tell


MUTANTS: dict[type[TwoPhaseCommit], str] = {
    mutants.DecisionSentBeforeLogged: "A6",
    mutants.MissingVoteIsYes: "A7",
    mutants.NotAllAsked: "A7",
    mutants.HandedOutTooEarly: "A8",
    mutants.VoteNotForced: "A6",
    mutants.LossNotNoticed: "A8",
    mutants.UncertainAborts: "A6",
    mutants.UncertainCommits: "A7",
    mutants.AbortsWhenAsked: "A6",
    mutants.CommitsAfterCrash: "A7",
    mutants.DecisionLostAfterCrash: "3 has open left",
    mutants.UndoForgotten: "A8",
    mutants.RedoForgotten: "A8",
}
"""Those that one crash is enough for, and what is seen of it."""


@pytest.mark.parametrize(
    ("mutant", "expected"), sampled([*MUTANTS.items()], 3), ids=lambda each: getattr(each, "__name__", "")
)
def test_a_crash_at_some_step_finds_a_mutant(mutant: type[TwoPhaseCommit], expected: str) -> None:
    """Issue 6: the same runs find protocols that break a rule; the judge finds what the final state shows."""
    faults: list[str] = []
    for run in every_run(mutant, CASES[0].command):
        faults += run.faults()
        assert run.broken().keys() <= {violation.assertion for violation in run.violations()}
        if not SOAK and any(fault.startswith(expected) for fault in faults):
            break
    assert any(fault.startswith(expected) for fault in faults)

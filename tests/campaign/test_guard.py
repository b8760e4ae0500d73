"""Campaigns of A9: no edition is published twice, under every fault; and a guard with a hole is caught.

The profile ``soak`` makes thousands of runs above each election.
"""

import pytest

from lab.kernel import Step
from lab.properties.assertions import A9
from lab.properties.judge import Judge
from lab.protocols import Bully, BullyTanenbaum, Election, Field, InvitationElection, Ring, stacked
from lab.recording.records import Routed
from tests.campaign import guard_mutants as mutants
from tests.campaign.publishing import publishing_trial
from tests.harness import T_US, Rig
from tests.profile import amount

ELECTIONS = (Bully, BullyTanenbaum, Ring, InvitationElection)
RUNS = amount(quick=3, soak=10000)

CUT_AT_THE_DECISION = ("on send Published 5->1 partition 5 | 1 2 3 4", "publish")
CAUGHT: list[tuple[type[Field], tuple[str, ...], tuple[str, ...]]] = [
    (mutants.NoMajority, ("partition 1 2 | 3 4 5",), ()),
    (mutants.VotesTwice, CUT_AT_THE_DECISION, ()),
    (mutants.PledgeNotStored, CUT_AT_THE_DECISION, ("kill 1 2 3 4", "restart 1 2 3 4")),
    (mutants.DecisionNotStored, CUT_AT_THE_DECISION, ("kill 5", "restart 5", "heal")),
    (mutants.SilenceIsConsent, ("partition 5 | 1 2 3 4", "publish 5"), ()),
    (mutants.PledgedForAWhile, CUT_AT_THE_DECISION, ()),
    (mutants.UnknownMeansOver, CUT_AT_THE_DECISION, ()),
]
"""Each with what is done at once, and what is done 2·T later."""


@pytest.mark.parametrize("election", ELECTIONS, ids=lambda each: each.name)
def test_A9_no_edition_is_published_twice(election: type[Election]) -> None:
    """All faults but a wipe, with attempts of all leaders at random times; most runs publish something."""
    published = touched = 0
    for seed in range(1, RUNS + 1):
        trial = publishing_trial(election, seed)
        broken = [str(violation) for violation in trial.violations if violation.assertion == A9.id]
        assert not broken, f"publishing_trial({election.__name__}, {seed})"
        steps = [record for record in trial.records if isinstance(record, Step)]
        published += any("published" in step.stored and step.stored["published"][0] for step in steps)
        touched += any(isinstance(record, Routed) for record in trial.records)
    assert published > RUNS // 2
    assert touched > RUNS // 2


@pytest.mark.parametrize(("mutant", "first", "then"), CAUGHT, ids=lambda each: getattr(each, "__name__", ""))
def test_a_hole_is_caught(mutant: type[Field], first: tuple[str, ...], then: tuple[str, ...]) -> None:
    """One schedule breaks A9 with the hole, and not without it."""
    assert published_twice(mutant, first, then)
    assert not published_twice(Field, first, then)


def published_twice(field: type[Field], first: tuple[str, ...], then: tuple[str, ...]) -> bool:
    """Return whether A9 is broken under these commands with repeated attempts of all leaders to publish."""
    protocol = stacked(field, Bully)
    parameters = protocol.Parameters(reading_every_us=100 * T_US, halting="at_once")
    rig = Rig((1, 2, 3, 4, 5), protocol=protocol, parameters=parameters).started()
    rig.run_until_agreed()
    rig.run(5 * T_US)
    rig.do(*first)
    rig.run(2 * T_US)
    rig.do(*then)
    for _ in range(8):
        rig.run(8 * T_US)
        rig.do("publish all")
    judge = Judge(rig.header)
    for record in rig.records:
        judge.observe(record)
    return any(violation.assertion == A9.id for violation in judge.violations)


def test_all_are_tried() -> None:
    """Every mutant of the file is in the list."""
    there = {each for each in vars(mutants).values() if isinstance(each, type) and issubclass(each, Field)}
    assert there - {Field} == {mutant for mutant, _, _ in CAUGHT}

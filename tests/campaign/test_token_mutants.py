"""Each removed or inverted rule of the token is caught: by K1, or by requests that are not served."""

import pytest

from lab.protocols import Token
from tests.campaign import token_mutants as mutants
from tests.campaign.trials import caught
from tests.papers.test_token import ask, at_rest, entries, late_copy, rig_of

BREAK_K1: list[tuple[type[Token], str, int]] = [
    (mutants.KeptWhenPassed, "kill", 1),
    (mutants.GivenFromInside, "kill", 50),
    (mutants.MadeAnew, "kill", 50),
]
BREAK_K2: list[type[Token]] = [mutants.GuessKept, mutants.NextForgotten, mutants.NotForwarded]


@pytest.mark.parametrize(("mutant", "faults", "runs"), BREAK_K1)
def test_it_breaks_K1(mutant: type[Token], faults: str, runs: int) -> None:
    """It fails with stable storage intact, the only assumption of K1, within this many runs."""
    found = caught(mutant, runs, faults)
    assert found is not None, mutant.__doc__
    assert found.assertion == "K1"


def test_copies_that_are_taken_break_K1() -> None:
    """Not in a campaign: there copies arrive at once, while a node that has the token takes no other."""
    assert [violation.assertion for violation in late_copy(mutants.CopiesTaken)] == ["K1"]


@pytest.mark.parametrize("mutant", BREAK_K2)
def test_it_leaves_a_node_waiting(mutant: type[Token]) -> None:
    """Three nodes want to enter, one shortly after the other, and not all of them do."""
    assert _served(Token)
    assert not _served(mutant)


def _served(protocol: type[Token]) -> bool:
    rig = rig_of(4, protocol=protocol)
    for node in (2, 3, 4):
        ask(rig, node)
        rig.run(500)
    rig.run(100_000)
    return at_rest(rig) and entries(rig) == {1: 0, 2: 1, 3: 1, 4: 1}


def test_all_are_tried() -> None:
    """Each is in one of the two lists, or has a test of its own."""
    named = [mutant for mutant, *_ in BREAK_K1] + BREAK_K2 + [mutants.CopiesTaken]
    there = [each for each in vars(mutants).values() if isinstance(each, type) and issubclass(each, Token)]
    assert sorted(each.__name__ for each in named) == sorted(each.__name__ for each in there if each is not Token)

"""A6, A7, A8 and the end of every transaction in all states of two-phase commit, and its mutants.

The judge finds the same violations in the recording of a path as the explorer in its last state.
"""

import pytest

from lab.kernel import CommandInput, Timing
from lab.properties.judge import Judge
from lab.protocols import TwoPhaseCommit
from lab.recording.records import Header
from lab.recording.writer import MemoryLog
from lab.worlds.explored.counterexample import PathExecution
from lab.worlds.explored.explorer import Explorer
from tests.campaign import commit_mutants as mutants
from tests.harness import simulated_header
from tests.profile import sampled

TIMING = Timing(100_000, 100_000)
TRANSFER = ((3, CommandInput("transfer", ("100", "savings", "checking"))),)
MOST = 20_000
BROKEN: list[tuple[type[TwoPhaseCommit], set[str]]] = [
    (mutants.CommitsAfterCrash, {"A6", "A7", "A8"}),
    (mutants.DecisionSentBeforeLogged, {"A6", "A8"}),
    (mutants.UncertainAborts, {"A6", "A8"}),
    (mutants.VoteNotForced, {"A6", "A7", "A8"}),
    (mutants.LossNotNoticed, {"A8"}),
    (mutants.UndoForgotten, {"A8"}),
    (mutants.RedoForgotten, {"A8"}),
    (mutants.DecisionLostAfterCrash, {"ends"}),
]


def header(protocol: type[TwoPhaseCommit]) -> Header:
    """Return the header of three nodes."""
    if "name" not in vars(protocol):
        protocol.name = protocol.__name__
    return simulated_header(protocol, (1, 2, 3), TIMING)


def explored(protocol: type[TwoPhaseCommit], kills: int, restarts: int) -> Explorer:
    """Explore one transfer, coordinated by a node without a part in it."""
    explorer = Explorer(protocol, header(protocol), "prompt", kills, restarts, settled=False, commands=TRANSFER)
    assert not explorer.run(MOST).stopped_by
    return explorer


@pytest.mark.parametrize(("kills", "restarts"), [(0, 0), (1, 0), (1, 1), (2, 0)])
def test_it_keeps_its_promise(kills: int, restarts: int) -> None:
    """A6, A7, A8; and with all nodes up no transaction stays open."""
    assert explored(TwoPhaseCommit, kills, restarts).first_found == {}


@pytest.mark.parametrize(("mutant", "broken"), sampled(BROKEN, 3))
def test_mutants_are_caught(mutant: type[TwoPhaseCommit], broken: set[str]) -> None:
    """By one crash and a restart; the judge agrees, except on assertions that take time."""
    explorer = explored(mutant, 1, 1)
    assert set(explorer.first_found) == broken
    assert set(explorer.broken.values()) == {()}
    for assertion in broken - {"ends"}:
        log = MemoryLog(header(mutant))
        execution = PathExecution(mutant, log, "prompt", 1)
        for move in explorer.path_to(explorer.first_found[assertion]):
            execution.perform(move)
        judge = Judge(log.header)
        for record in log.records:
            judge.observe(record)
        assert assertion in {violation.assertion for violation in judge.violations if violation.is_failure}


def test_decisions_of_dead_nodes_count() -> None:
    """A6: the node that committed never restarts, and its decision before the crash counts."""
    assert "A6" in explored(mutants.DecisionSentBeforeLogged, 2, 1).first_found
    assert "A6" in explored(mutants.UncertainAborts, 1, 0).first_found


def test_a_transaction_that_never_ends() -> None:
    """With all nodes up, nothing can happen any more, and the transaction is open."""
    explorer = explored(mutants.DecisionLostAfterCrash, 1, 1)
    assert explorer.liveness == ["ends"]
    assert explorer.judges_liveness

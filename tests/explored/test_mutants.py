"""The bully with a rule removed or inverted: two nodes, a kill and a restart are enough to catch it."""

import pytest

from lab.protocols import Bully
from tests.campaign import mutants
from tests.explored.toys import explorer_of
from tests.profile import SOAK, sampled


@pytest.mark.parametrize(
    ("mutant", "settled", "assertion", "moves"),
    sampled(
        [
            (mutants.NoTimeout, True, "A2", 1),
            (mutants.NoRecovery, False, "A2", 0),
            (mutants.NormalAtOnce, True, "A1.1", 2),
            (mutants.BlindCheck, True, "A2", 18),
            (mutants.AstrayUnseen, True, "A2", 18),
            (mutants.NoStage1, True, "A1.1", 2),
            (mutants.Stage1Ignored, True, "A1.1", 4),
            (mutants.LeadsBeforeStage2, True, "A1.1", 10),
            (mutants.NeverUp, True, "A1.1", 5),
            (mutants.NoHalt, True, "A1.1", 9),
            (mutants.LeaderNotMissed, False, "A2", 3),
        ],
        3,
    ),
)
def test_a_mutant_is_caught(mutant: type[Bully], settled: bool, assertion: str, moves: int) -> None:
    """With all nine assumptions intact, by a shortest path: this many moves to the first violation."""
    explorer = explorer_of(mutant, 2, "synchronous", 1, 1, settled)
    explorer.run(30_000 if SOAK or assertion == "A2" else 2_500)  # liveness is judged in the whole graph
    assert explorer.violated
    assert explorer.count_moves_to(assertion) == moves


@pytest.mark.soak
def test_the_bully_is_not_from_its_start() -> None:
    """An equal search finds nothing, and is exhaustive; from all Normal, see ``test_all_states_of_the_bully``."""
    explorer = explorer_of(Bully, 2, "synchronous", 1, 1, settled=False)
    assert explorer.run(30_000).stopped_by == ""
    assert explorer.judges_liveness
    assert explorer.violated == []

"""How many states and transitions there are: by hand for small protocols, pinned for the bully."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.protocols import Bully, BullyTanenbaum, Election
from lab.worlds.explored.local import SendsInstantsError
from lab.worlds.explored.states import Timeouts
from tests.explored.toys import Asking, Beating, Stamping, Telling, explorer_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("protocol", "timeouts", "kills", "states", "transitions"),
    [
        # the Call is under way, two Pongs are, one is, none
        (Telling, "any", 0, 4, 3),
        # and with a kill: of node 1, or of node 2 with 0, 1 or 2 Pongs under way, of which 0, 1 or 2 have come
        (Telling, "any", 1, 12, 17),
        # asked, answered, heard; and given up with the Ping, the Pong or nothing under way
        (Asking, "any", 0, 6, 6),
        # each of asked and answered twice, before and after the clock has moved to the timer
        (Asking, "ordered", 0, 8, 10),
        # asked now and Tm ago; answered at once, at once and Tm ago, Tm later, and that Tm ago; heard. No timeout
        (Asking, "synchronous", 0, 7, 9),
    ],
)
def test_what_can_be_listed_by_hand(
    protocol: type[Election], timeouts: Timeouts, kills: int, states: int, transitions: int
) -> None:
    """Every state once, and every way from it."""
    tally = explorer_of(protocol, 2, timeouts, kills).run(1_000)
    assert (tally.states, tally.transitions, tally.waiting, tally.cut) == (states, transitions, 0, "")


@pytest.mark.parametrize(
    ("count", "timeouts", "kills", "restarts", "settled", "found"),
    [
        (2, "synchronous", 0, 0, True, (96, 129, 19)),
        (2, "synchronous", 1, 0, True, (191, 468, 19)),
        (2, "synchronous", 1, 1, True, (4048, 6241, 32)),
        (2, "synchronous", 2, 0, False, (715, 2332, 26)),
        (3, "synchronous", 1, 0, True, (4081, 9933, 33)),
    ],
)
def test_all_that_may_happen_to_the_bully(
    count: int, timeouts: Timeouts, kills: int, restarts: int, settled: bool, found: tuple[int, int, int]
) -> None:
    """Exhaustive, and the same numbers as ever; they change with the protocol, and with nothing else."""
    tally = explorer_of(Bully, count, timeouts, kills, restarts, settled).run(100_000)
    assert (tally.states, tally.transitions, tally.depth) == found
    assert tally.cut == ""
    assert not any(tally.violated.values())


@pytest.mark.parametrize(
    ("count", "kills", "restarts", "found"),
    [(2, 0, 0, (97, 145, 19)), (2, 1, 1, (6078, 9300, 41)), (3, 1, 0, (9564, 19651, 39))],
)
def test_all_that_may_happen_to_the_bully_as_tanenbaum_tells_it(
    count: int, kills: int, restarts: int, found: tuple[int, int, int]
) -> None:
    """Exhaustive, and the same numbers as ever; A1.1 and A2 hold."""
    tally = explorer_of(BullyTanenbaum, count, "synchronous", kills, restarts, settled=True).run(100_000)
    assert (tally.states, tally.transitions, tally.depth) == found
    assert tally.cut == ""
    assert not any(tally.violated.values())


def test_heartbeats_come_round_again() -> None:
    """What goes on for ever has finitely many states: instants count as ages, and old is old."""
    tally = explorer_of(Beating, 2, "synchronous", 1).run(1_000)
    assert tally.cut == ""
    assert tally.states < 100


def test_bounds_are_told() -> None:
    """By states and by depth; what is left to go on from is counted."""
    by_states = explorer_of(Bully, 3, "any", 1, settled=True).run(5_000)
    assert by_states.cut == "5,000 states"
    assert by_states.states == 5_000
    assert by_states.waiting > 1_000
    there_are = explorer_of(Asking, 2, "any").run(100).states
    assert explorer_of(Asking, 2, "any").run(there_are).cut == ""
    less = explorer_of(Asking, 2, "any").run(there_are - 1)
    assert (less.cut, less.states) == (f"{there_are - 1} states", there_are - 1)
    assert less.waiting > 0
    by_depth = explorer_of(Bully, 3, "any", 1, settled=True).run(100_000, most_depth=3)
    assert (by_depth.cut, by_depth.depth) == ("depth 3", 3)
    exhaustive = explorer_of(Asking, 2, "any").run(6, most_depth=4)
    assert (exhaustive.cut, exhaustive.depth) == ("", 3), "bounds that nothing ran into"


def test_what_cannot_be_explored_is_said() -> None:
    """Instants in messages: the explorer's nodes share no clock."""
    with pytest.raises(SendsInstantsError, match="Stamp"):
        explorer_of(Stamping, 2, "any").run(100)


def test_the_counts_are_the_same_in_every_process() -> None:
    """Whatever PYTHONHASHSEED is: nothing depends on the order of a set."""
    program = (
        "from tests.explored.toys import explorer_of; from lab.protocols import Bully;"
        "explorer = explorer_of(Bully, 3, 'any', 1, 1, True);"
        "print(explorer.run(20_000), len(explorer.locals), explorer.locals.replays,"
        "explorer.path_to(explorer.first_found['A1.1']), sorted(explorer.seen)[::1000])"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert b"Tally" in said[0]

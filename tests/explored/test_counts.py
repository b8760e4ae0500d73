"""The numbers of states and transitions: by hand for small protocols, pinned for the bully."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.protocols import Bully, BullyTanenbaum, Election
from lab.worlds.explored.local_states import SendsInstantsError
from lab.worlds.explored.states import Timeouts
from tests.explored.toys import Announcing, Asking, Beating, Stamping, explorer_of
from tests.profile import SOAK

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("protocol", "timeouts", "kills", "states", "transitions"),
    [
        # the Call is under way, two Pongs are, one is, none
        (Announcing, "any", 0, 4, 3),
        # and with a kill: of node 1, or of node 2 with 0, 1 or 2 Pongs under way, of which 0, 1 or 2 have come
        (Announcing, "any", 1, 12, 17),
        # asked, answered, heard; and given up with the Ping, the Pong or nothing under way
        (Asking, "any", 0, 6, 6),
        # each of asked and answered twice, before and after the clock has moved to the timer
        (Asking, "ordered", 0, 8, 10),
        # asked now and Tm ago; answered at once, at once and Tm ago, Tm later, and that Tm ago; heard. No timeout
        (Asking, "synchronous", 0, 7, 9),
    ],
)
def test_counts_by_hand(
    protocol: type[Election], timeouts: Timeouts, kills: int, states: int, transitions: int
) -> None:
    """Every state once, and every transition from it."""
    tally = explorer_of(protocol, 2, timeouts, kills).run(1_000)
    assert (tally.states, tally.transitions, tally.frontier, tally.stopped_by) == (states, transitions, 0, "")


@pytest.mark.parametrize(
    ("count", "timeouts", "kills", "restarts", "settled", "found"),
    [
        (2, "synchronous", 0, 0, True, (96, 129, 19)),
        (2, "synchronous", 1, 0, True, (191, 468, 19)),
        (2, "synchronous", 1, 1, True, (4048, 6241, 32)),
        (2, "synchronous", 2, 0, False, (788, 2483, 26)),
        (3, "synchronous", 1, 0, True, (4085, 9945, 33)),
    ],
)
def test_all_states_of_the_bully(
    count: int, timeouts: Timeouts, kills: int, restarts: int, settled: bool, found: tuple[int, int, int]
) -> None:
    """The search is exhaustive; the numbers change only with the protocol."""
    explorer = explorer_of(Bully, count, timeouts, kills, restarts, settled)
    tally = explorer.run(100_000)
    assert (tally.states, tally.transitions, tally.depth) == found
    assert tally.stopped_by == ""
    assert explorer.judges_liveness
    assert not any(tally.violated.values())


@pytest.mark.parametrize(
    ("count", "kills", "restarts", "found"),
    [
        (2, 0, 0, (97, 145, 19)),
        (2, 1, 1, (6123, 9369, 41)),
        pytest.param(3, 1, 0, (9564, 19651, 39), marks=pytest.mark.soak),
    ],
)
def test_all_states_of_tanenbaums_bully(
    count: int, kills: int, restarts: int, found: tuple[int, int, int]
) -> None:
    """The search is exhaustive, with pinned numbers; A1.1 and A2 hold."""
    tally = explorer_of(BullyTanenbaum, count, "synchronous", kills, restarts, settled=True).run(100_000)
    assert (tally.states, tally.transitions, tally.depth) == found
    assert tally.stopped_by == ""
    assert not any(tally.violated.values())


def test_heartbeats_form_cycles() -> None:
    """An endless execution has finitely many states: ages replace instants, and have an upper bound."""
    tally = explorer_of(Beating, 2, "synchronous", 1).run(1_000)
    assert tally.stopped_by == ""
    assert tally.states < 100


def test_bounds() -> None:
    """By states and by depth; the frontier is counted."""
    by_states = explorer_of(Bully, 3, "any", 1, settled=True).run(5_000)
    assert by_states.stopped_by == "5,000 states"
    assert by_states.states == 5_000
    assert by_states.frontier > 1_000
    there_are = explorer_of(Asking, 2, "any").run(100).states
    assert explorer_of(Asking, 2, "any").run(there_are).stopped_by == ""
    less = explorer_of(Asking, 2, "any").run(there_are - 1)
    assert (less.stopped_by, less.states) == (f"{there_are - 1} states", there_are - 1)
    assert less.frontier > 0
    by_depth = explorer_of(Bully, 3, "any", 1, settled=True).run(100_000, most_depth=3)
    assert (by_depth.stopped_by, by_depth.depth) == ("depth 3", 3)
    exhaustive = explorer_of(Asking, 2, "any").run(6, most_depth=4)
    assert (exhaustive.stopped_by, exhaustive.depth) == ("", 3), "bounds that nothing ran into"


def test_a_protocol_that_cannot_be_explored() -> None:
    """Its messages contain instants; the explorer's nodes share no clock."""
    with pytest.raises(SendsInstantsError, match="Stamp"):
        explorer_of(Stamping, 2, "any").run(100)


def test_the_counts_are_the_same_in_every_process() -> None:
    """They do not depend on PYTHONHASHSEED, that is, on the order of a set."""
    states = 8_000 if SOAK else 3_000
    program = (
        "from tests.explored.toys import explorer_of; from lab.protocols import Bully;"
        "explorer = explorer_of(Bully, 3, 'any', 1, 1, True);"
        f"print(explorer.run({states}), len(explorer.locals), explorer.locals.replays,"
        "explorer.path_to(explorer.first_found['A1.1']), sorted(explorer.states)[::1000])"
    )
    output = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert output[0] == output[1]
    assert b"Tally" in output[0]

"""Exploration with network cuts: their violations, and their records."""

from collections import Counter
from itertools import product

import pytest

from lab.protocols import Bully, Election
from lab.recording.records import Commanded, Fault, Record
from lab.recording.writer import MemoryLog
from lab.replay.reexecution import Reexecution
from lab.worlds.explored.counterexample import PathExecution
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.states import CUT, CUTS, WHOLE, Cuts, Move, Timeouts, links_of
from tests.explored.performed import judged, performed
from tests.explored.toys import (
    Announcing,
    Asking,
    Cautious,
    Clinging,
    Forgetting,
    Joining,
    Numbering,
    Secluding,
    Trusting,
    explorer_of,
    header_of,
)
from tests.profile import amount


@pytest.mark.parametrize(
    ("protocol", "timeouts", "cuts", "states", "transitions"),
    [
        # the Call is under way, two Pongs are, one is, none; cut before the Call, the first or the second Pong:
        # none heard, one under way, or one heard; the same healed
        (Announcing, "any", 1, 10, 14),
        (Announcing, "any", 2, 12, 16),
        (Announcing, "synchronous", 1, 15, 31),
        (Asking, "synchronous", 1, 13, 22),
        (Asking, "prompt", 1, 7, 8),
        (Cautious, "any", 1, 8, 14),
        (Joining, "synchronous", 1, 105, 171),
    ],
)
def test_counts(protocol: type[Election], timeouts: Timeouts, cuts: int, states: int, transitions: int) -> None:
    """The search is exhaustive, with pinned numbers."""
    tally = explorer_of(protocol, 2, timeouts, cuts=cuts).run(1_000)
    assert (tally.states, tally.transitions, tally.stopped_by) == (states, transitions, "")


def test_where_a_network_can_be_cut() -> None:
    """Into two sides, and between two nodes; cuts that differ only on idle links are one."""
    cuts = Cuts((1, 2, 3), lambda source, target: 10 * source + target)
    commands = [command for command, _ in cuts.without(frozenset())]
    assert commands == [
        "partition 1 | 2 3",
        "partition 2 | 1 3",
        "partition 3 | 1 2",
        "cut 1<->2",
        "cut 1<->3",
        "cut 2<->3",
    ]
    of_three_is_dead = frozenset({13, 31, 23, 32})
    ((command, number),) = cuts.without(of_three_is_dead)
    assert command == "partition 1 | 2 3"
    assert cuts.links_of(number) == {(1, 2), (2, 1)}
    assert cuts.narrowed(cuts.without(frozenset())[3][1], of_three_is_dead) == number
    assert cuts.narrowed(cuts.without(frozenset())[2][1], of_three_is_dead) == WHOLE
    sides = [command for command, _ in Cuts((1, 2, 3, 4), lambda a, b: 10 * a + b).without(frozenset())]
    assert Counter(each.split()[0] for each in sides) == {"partition": 7, "cut": 6}


def explored(protocol: type[Election], cuts: int, kills: int = 0, restarts: int = 0) -> Explorer:
    """Explore all executions of two nodes, synchronous."""
    explorer = explorer_of(protocol, 2, "synchronous", kills, restarts, cuts=cuts)
    assert explorer.run(10_000).stopped_by == ""
    return explorer


@pytest.mark.parametrize(
    ("breaks", "assertion", "holds"),
    [(Trusting, "A1.1", Cautious), (Secluding, "A2", None), (Clinging, "A4", Joining)],
)
def test_a_violation_that_needs_a_cut(
    breaks: type[Election], assertion: str, holds: type[Election] | None
) -> None:
    """With a cut, it is a failure, because the protocol promises it for any network. The judge agrees."""
    assert explored(breaks, 0).violated == []
    explorer = explored(breaks, 1)
    assert explorer.violated == [assertion]
    assert explorer.broken[assertion] == ()
    path = [*explorer.path_to(explorer.first_found[assertion]), *explorer.cycles.get(assertion, []) * 100]
    records = performed(breaks, 2, "synchronous", 0, path, quiet_us=10_000_000)
    assert [each.assertion for each in judged(breaks, 2, records) if each.is_failure] == [assertion]
    if holds is not None:
        assert explored(holds, 1, kills=1).violated == []


def test_a_violation_is_excused_if_it_relies_on_the_network() -> None:
    """The bully's A1 needs assumption 8, which a cut breaks; broken without a cut it is a failure."""
    explorer = explorer_of(Bully, 2, "synchronous", settled=True, cuts=1)
    explorer.run(3_000)
    assert explorer.broken == {"A1.1": (8,), "A1.2": (8,)}
    path = explorer.path_to(explorer.first_found["A1.1"])
    violations = judged(Bully, 2, performed(Bully, 2, "synchronous", 0, path))
    assert {(each.assertion, each.is_failure) for each in violations} == {("A1.1", False), ("A1.2", False)}

    class Hasty(Trusting):
        promises = ("A1.1",)
        relies_on = {}  # noqa: RUF012

    failing = explorer_of(Hasty, 3, "synchronous", cuts=1)
    failing.run(10_000)
    assert failing.tally.violated["A1.1"] == failing.tally.states, "node 3 leads as well"
    assert failing.broken["A1.1"] == ()


@pytest.mark.parametrize("timeouts", ["synchronous", "any"])
def test_an_identifier_that_recurs(timeouts: Timeouts) -> None:
    """A5 is about a whole run: two incarnations that never coexist have one number."""
    explorer = explorer_of(Forgetting, 2, timeouts, 1, 1)
    assert explorer.run(1_000).stopped_by == ""
    assert explorer.violated == ["A5"]
    records = performed(Forgetting, 2, timeouts, 1, explorer.path_to(explorer.first_found["A5"]))
    assert [each.assertion for each in judged(Forgetting, 2, records)] == ["A5"]
    never = explorer_of(Numbering, 2, timeouts, 2, 2)
    assert never.run(1_000).stopped_by == ""
    assert never.violated == []


def reached(explorer: Explorer, number: int, timeouts: Timeouts) -> tuple[list[Record], MemoryLog]:
    """Return the records of the path to a state, and the cluster after them."""
    log = MemoryLog(header_of(Bully, 3))
    execution = PathExecution(Bully, log, timeouts, 0)
    for move in explorer.path_to(number):
        execution.perform(move)
    return log.records, log


def in_queue(explorer: Explorer, queue: int) -> int:
    """Return the number of messages in a queue."""
    return 1 + in_queue(explorer, explorer.queues.rest[queue]) if queue else 0


@pytest.mark.parametrize("timeouts", ["synchronous", "ordered", "any"])
def test_real_nodes_reach_the_same_state_in_a_real_network(timeouts: Timeouts) -> None:
    """Cut by commands of the language: same nodes, same messages in flight, and every step re-executes."""
    explorer = explorer_of(Bully, 3, timeouts, 1, settled=True, cuts=1)
    explorer.run(amount(quick=3_000, soak=6_000))
    states = explorer.states
    cut = [number for number, state in enumerate(states) if not state[CUTS]]
    for number in cut[:: len(cut) // amount(quick=15, soak=60)]:
        state = states[number]
        records, log = reached(explorer, number, timeouts)
        for local, seen in zip(state, log.cluster.nodes.values(), strict=False):
            view = explorer.locals.views[local]
            assert view.process == seen.process
            assert view.process == "killed" or view.state == seen.state
        in_flight = Counter((each.source, each.target) for each in log.cluster.in_flight.values())
        assert in_flight == Counter(
            {
                (source, target): in_queue(explorer, queue)
                for (source, target), queue in zip(product((1, 2, 3), repeat=2), links_of(state, 3), strict=True)
                if queue
            }
        )
        commands = [record.text for record in records if isinstance(record, Commanded)]
        faults = [
            record for record in records if isinstance(record, Fault) and record.kind in ("cut", "partition")
        ]
        assert faults[0].breaks == (8,)
        assert faults[0].text in commands
        assert bool(faults[-1].lifted) == ("heal" in commands)
        assert "heal" not in commands or state[CUT] == WHOLE
        execution = Reexecution(log.header, Bully, False)
        assert [execution.check(at, record) for at, record in enumerate(records)] == [None] * len(records)


def test_a_cut_strikes_between_two_messages() -> None:
    """The first Pong passes, the second does not; or it does, once the cut is healed."""
    explorer = explorer_of(Announcing, 2, "any", cuts=1)
    explorer.run(100)
    moves = {explorer.path_to(number)[-1] for number in range(1, explorer.tally.states)}
    assert Move("deliver", 2, 1, during=((1, "partition 1 | 2"),)) in moves
    assert Move("deliver", 2, 1, during=((0, "partition 1 | 2"), (1, "heal"))) in moves
    assert Move("deliver", 1, 2, commands=("partition 1 | 2",)) in moves

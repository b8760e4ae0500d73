"""Moves from tables are the moves computed for each state."""

from collections.abc import Iterator
from typing import Any

import pytest

from lab.kernel import CommandInput
from lab.protocols import Algorithm, Bully, InvitationElection, find_protocol
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.part_changes import CLEARED, UNCHANGED, PartChanges, Parts
from lab.worlds.explored.states import EMPTY, Memories, Queues, Timeouts
from tests.explored.brute import describe_state
from tests.explored.toys import Announcing, Counting, Forgetting, header_of
from tests.profile import amount

TIMEOUTS: tuple[Timeouts, ...] = ("synchronous", "prompt", "ordered", "any")
STATES = amount(quick=250, soak=2_000)
TRANSFER = ((2, CommandInput("transfer", ("100", "savings", "checking"))),)
CASES: list[tuple[type[Algorithm], int, dict[str, Any]]] = [
    (Announcing, 3, {"kills": 2, "settled": False}),
    (Counting, 3, {"kills": 1, "restarts": 1, "settled": False}),
    (Forgetting, 2, {"kills": 2, "restarts": 2, "settled": False}),
    (Bully, 3, {"kills": 1}),
    (Bully, 2, {"kills": 1, "restarts": 1, "pauses": 1}),
    (InvitationElection, 2, {"kills": 1, "restarts": 1, "pauses": 1}),
    (find_protocol("2pc"), 2, {"kills": 1, "restarts": 1, "commands": TRANSFER}),
]


def cases() -> Iterator[Any]:
    """Yield each case under every model of time."""
    for protocol, count, options in CASES:
        for timeouts in TIMEOUTS:
            yield pytest.param(protocol, count, timeouts, options, id=f"{protocol.name}-{count}-{timeouts}")


@pytest.mark.parametrize(("protocol", "count", "timeouts", "options"), cases())
def test_the_same_search(
    protocol: type[Algorithm],
    count: int,
    timeouts: Timeouts,
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """State by state, move by move, with the same verdicts."""
    explorer = Explorer(protocol, header_of(protocol, count), timeouts, **options)
    tally = explorer.run(STATES)
    monkeypatch.setattr("lab.worlds.explored.explorer.PartChanges", lambda parts: parts)
    plain = Explorer(protocol, header_of(protocol, count), timeouts, **options)
    assert plain.run(STATES) == tally
    assert isinstance(explorer.moves.parts, PartChanges)
    assert not isinstance(plain.moves.parts, PartChanges)
    ids = tuple(range(1, count + 1))
    assert describe_state(explorer, ids, timeouts) == describe_state(plain, ids, timeouts)
    assert [explorer.path_to(state) for state in range(tally.states)] == [
        plain.path_to(state) for state in range(tally.states)
    ]
    assert (explorer.first_found, explorer.broken) == (plain.first_found, plain.broken)


def test_a_packed_state_is_the_state_and_the_nodes_that_are_down() -> None:
    """Each state has one number, and equal numbers are equal states."""
    explorer = Explorer(Counting, header_of(Counting, 2), "any", 1, settled=False)
    explorer.run(1_000)
    pack, unpack = explorer.successors.pack, explorer.successors.unpack
    assert len(explorer.states) > 10
    for state in explorer.states:
        assert unpack(pack(state)) == state
        down = [place for place in (0, 1) if not explorer.locals.alive[state[place]]]
        assert pack(state) >> 32 * len(state) == sum(1 << place for place in down)


def test_changes_of_a_queue_are_applied_in_order() -> None:
    """To any queue; a cleared one is empty, whatever was done before."""
    queues = Queues(0)
    parts = Parts(queues, Memories((), None))
    changes = PartChanges(parts)
    queue = parts.push(parts.push(EMPTY, 7), 8)
    change = changes.push(changes.pop(UNCHANGED), 9)
    assert changes.apply(change, queue) == parts.push(parts.push(EMPTY, 8), 9)
    assert changes.apply(change, parts.push(EMPTY, 7)) == parts.push(EMPTY, 9)
    assert changes.clear(change) == CLEARED
    assert changes.apply(CLEARED, queue) == EMPTY
    assert changes.apply(UNCHANGED, queue) == queue
    assert changes.push(changes.pop(UNCHANGED), 9) == change != changes.pop(changes.push(UNCHANGED, 9))


def test_more_faults_than_a_packed_state_can_count() -> None:
    """They are as good as any number that cannot be used up."""
    many, more = (
        Explorer(Counting, header_of(Counting, 2), "any", kills, settled=False) for kills in (10, 1 << 40)
    )
    assert many.run(1_000) == more.run(1_000)
    assert many.tally.stopped_by == ""

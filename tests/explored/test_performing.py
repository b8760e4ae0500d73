"""Real nodes reach the states that the explorer predicts, by the same moves, with an ordinary recording."""

from collections import Counter
from pathlib import Path

import pytest

from lab.kernel import Step
from lab.properties.verdicts import Violation
from lab.protocols import Bully, Election
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Process, Record, Routed
from lab.recording.writer import MemoryLog
from lab.worlds.explored.counterexample import PathExecution
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.states import State, Timeouts, links_of
from tests.campaign.mutants import BlindCheck, NoTimeout
from tests.explored.performed import assert_it_re_executes, judged, performed
from tests.explored.toys import Counting, Giving, Raising, explorer_of, header_of
from tests.profile import amount


def found(
    protocol: type[Election], timeouts: Timeouts, assertion: str, kills: int = 0, quiet_us: int = 0
) -> tuple[list[Record], list[Violation]]:
    """Return (the records of the shortest violation among three nodes, the judge's violations)."""
    explorer = explorer_of(protocol, 3, timeouts, kills, settled="A1.1" in protocol.promises)
    explorer.run(amount(quick=2_000, soak=20_000))
    path = explorer.path_to(explorer.first_found[assertion])
    records = performed(protocol, 3, timeouts, 0, path, quiet_us)
    return records, [each for each in judged(protocol, 3, records) if each.assertion == assertion]


def follow(explorer: Explorer, number: int) -> State:
    """Return the state with this number, by the explorer's own path."""
    state = explorer.states[0]
    for wanted in explorer.path_to(number)[len(explorer.path_to(0)) :]:
        ways = [*explorer.successors.steps(state), *explorer.successors.faults(state)]
        state = next(after for move, after in ways if move == wanted)
    return state


@pytest.mark.parametrize("timeouts", ["synchronous", "ordered", "budget", "any"])
@pytest.mark.parametrize(("protocol", "restarts"), [(Bully, 0), (Bully, 1), (Counting, 1)])
def test_real_nodes_reach_the_same_state(protocol: type[Election], restarts: int, timeouts: Timeouts) -> None:
    """Whichever pasts were merged: every node has that state, and the same messages are in flight."""
    explorer = explorer_of(protocol, 2, timeouts, 1, restarts, suspicions=2)
    tally = explorer.run(amount(quick=1_500, soak=4_000))
    for number in range(0, tally.states, max(1, tally.states // amount(quick=4, soak=150))):
        state = follow(explorer, number)
        log = MemoryLog(header_of(protocol, 2))
        execution = PathExecution(protocol, log, timeouts, restarts)
        for move in explorer.path_to(number):
            execution.perform(move)
        for local, seen in zip(state, log.cluster.nodes.values(), strict=False):
            view = explorer.locals.views[local]
            assert view.process == seen.process
            assert view.process == "killed" or view.state == seen.state
        messages = log.cluster.in_flight.values()
        assert Counter((f.source, f.target, f.kind) for f in messages) == in_flight(explorer, state, 2)


def in_flight(explorer: Explorer, state: State, count: int) -> Counter[tuple[int, int, str]]:
    """Return the messages in flight in a state."""
    queues = explorer.queues
    on_the_way: Counter[tuple[int, int, str]] = Counter()
    for queue in links_of(state, count):
        left = queue
        while left:
            message = queues.messages[queues.first[left]]
            on_the_way[message.source, message.target, message.kind] += 1
            left = queues.rest[left]
    return on_the_way


@pytest.mark.parametrize("timeouts", ["ordered", "any"])
def test_a_violation_is_a_recording(tmp_path: Path, timeouts: Timeouts) -> None:
    """The two coordinators of the bully: it re-executes, and the judge reports them, excused."""
    records, violations = found(Bully, timeouts, "A1.1", kills=1)
    assert violations
    assert {each.assumption for each in violations[0].broken} == ({8} if timeouts == "ordered" else {8, 9})
    assert_it_re_executes(records, Bully, tmp_path / "found.jsonl")


def test_the_fault_of_the_model_is_not_inert() -> None:
    """The fault that stands for the model of time touches messages; no node's clock goes back."""
    records, _ = found(Bully, "any", "A1.1")
    cluster = ClusterState((1, 2, 3))
    clocks = dict.fromkeys((1, 2, 3), 0)
    for record in records[1:]:
        cluster.apply(record)
        if isinstance(record, Step):
            assert record.at_us >= clocks[record.node]
            clocks[record.node] = record.at_us
    (fault,) = cluster.faults.values()
    assert fault.breaks == (8, 9)
    assert fault.touched > 0
    assert clocks[1] > clocks[3], "node 1 did not wait for the others"


def test_a_deadlock_is_a_failure() -> None:
    """Nothing can happen any more, and no node is Normal: A2, found by the judge after its bound."""
    for protocol in (Giving, NoTimeout):
        _, violations = found(protocol, "synchronous", "A2", kills=1, quiet_us=60_000_000)
        assert violations[0].is_failure


def test_an_error_is_a_failure() -> None:
    """The node has failed, and the recording shows it."""
    records, violations = found(Raising, "any", "raises")
    assert violations[0].is_failure
    assert [record.event for record in records if isinstance(record, Process)][-1] == "failed"


def test_a_kill_strikes_between_two_messages() -> None:
    """The first is sent, the second is not."""
    explorer = explorer_of(Giving, 2, "any", 1)
    explorer.run(100)
    paths = [explorer.path_to(number) for number in range(explorer.tally.states)]
    path = next(path for path in paths if path and path[-1].during == ((1, "kill 2"),))
    records = performed(Giving, 2, "any", 0, path)
    assert [record.why for record in records if isinstance(record, Routed)] == ["unsent"]
    assert [record.event for record in records if isinstance(record, Process)] == ["started", "started", "killed"]


def test_stable_storage_survives_a_kill() -> None:
    """Each node counts its incarnations in it; two kills and two restarts make three at most."""
    explorer = explorer_of(Counting, 2, "any", 2, 2)
    explorer.run(200_000)
    assert explorer.tally.stopped_by == ""
    lives = [view.state["lives"] for view in explorer.locals.views if view.process == "running"]
    assert set(lives) == {1, 2, 3}


def test_an_endless_cycle_is_a_failure() -> None:
    """A coordinator whose Check finds nothing, and a restarted node that it does not miss: A2, by a cycle."""
    explorer = explorer_of(BlindCheck, 2, "synchronous", 1, 1, settled=True)
    tally = explorer.run(20_000)
    assert tally.stopped_by == ""
    found = {name: count for name, count in tally.violated.items() if count}
    assert found.keys() == {"A2", "spreads"}, "a node that is not missed stays a member"
    assert found["A2"] == len(explorer.cycles["A2"])
    assert list(tally.violated) == [
        "A1.1",
        "A1.2",
        "A2",
        "highest",
        "M7",
        "stages",
        "B10",
        "spreads",
        "defined",
        "raises",
    ]
    path = explorer.path_to(explorer.first_found["A2"])
    records = performed(BlindCheck, 2, "synchronous", 1, [*path, *explorer.cycles["A2"] * 100])
    assert "A2" in [each.assertion for each in judged(BlindCheck, 2, records) if each.is_failure]

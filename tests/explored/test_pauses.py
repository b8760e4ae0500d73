"""Exploration with pauses: their violations, and their records."""

from collections import Counter
from pathlib import Path

import pytest

from lab.kernel import Step
from lab.protocols import Bully, Election
from lab.recording.records import Commanded, Process
from lab.recording.writer import MemoryLog
from lab.replay.reexecution import Reexecution
from lab.worlds.explored.counterexample import PathExecution
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.states import PAUSED, PAUSES, State, Timeouts, links_of
from tests.explored.performed import assert_it_re_executes, judged, performed
from tests.explored.toys import Announcing, Asking, Beating, Counting, Sulking, explorer_of, header_of
from tests.profile import amount


@pytest.mark.parametrize(
    ("protocol", "timeouts", "pauses", "states", "transitions"),
    [
        # the Call is under way, two Pongs are, one is, none: before the pause, and after it; each of them during a
        # pause of node 1 or of node 2, which may go on or has come to its end; and node 2 paused in its step:
        # before both Pongs, or between them, with the first under way or heard, and again at its end
        (Announcing, "ordered", 1, 4 + 4 + 2 * (4 + 4 + 3), 57),
        # time does not pass while a message is under way to a node that is not paused: four of these states less;
        # the Call is overdue after a pause, or both Pongs are, or one is: three more
        (Announcing, "prompt", 1, 30 - 4 + 3, 48),
        (Asking, "prompt", 1, 28, 45),
        (Asking, "synchronous", 1, 59, 113),
    ],
)
def test_counts(protocol: type[Election], timeouts: Timeouts, pauses: int, states: int, transitions: int) -> None:
    """The search ends; the numbers of states by hand for the first, others pinned."""
    tally = explorer_of(protocol, 2, timeouts, pauses=pauses).run(5_000)
    assert (tally.states, tally.transitions, tally.stopped_by) == (states, transitions, "")


def _in_flight(explorer: Explorer, state: State, count: int) -> Counter[tuple[int, int, str]]:
    """Return the messages that are on their way, or have still to leave a paused node."""
    queues, numbers = explorer.queues, list[int]()
    for queue in links_of(state, count):
        left = queue
        while left:
            numbers.append(queues.first[left])
            left = queues.rest[left]
    for pause in explorer.moves.pauses.of[state[PAUSED]].values():
        numbers += [message for _, message in pause.unsent]
    messages = [queues.messages[number] for number in numbers]
    return Counter((message.source, message.target, message.kind) for message in messages)


@pytest.mark.parametrize("timeouts", ["synchronous", "prompt", "ordered"])
@pytest.mark.parametrize(("protocol", "settled"), [(Bully, True), (Bully, False), (Counting, False)])
def test_real_nodes_reach_the_same_state(protocol: type[Election], settled: bool, timeouts: Timeouts) -> None:
    """Paused by commands: each node has that state, timer and process, the same messages have yet to arrive."""
    explorer = explorer_of(protocol, 2, timeouts, 1, 1, settled=settled, pauses=1)
    explorer.run(amount(quick=1_500, soak=20_000))
    numbered = [number for number, state in enumerate(explorer.states) if not state[PAUSES]]
    states = explorer.states
    for number in numbered[:: max(1, len(numbered) // amount(quick=4, soak=400))]:
        state = states[number]
        log = MemoryLog(header_of(protocol, 2))
        execution = PathExecution(protocol, log, timeouts, 1)
        for move in explorer.path_to(number):
            execution.perform(move)
        paused = explorer.moves.pauses.of[state[PAUSED]]
        for place, (local, seen) in enumerate(zip(state, log.cluster.nodes.values(), strict=False)):
            view = explorer.locals.views[local]
            assert ("paused" if place in paused else view.process) == seen.process
            assert view.process == "killed" or view.state == seen.state
            if view.process == "running":
                due = execution.incarnations[seen.id].node.next_timer()
                due_us = None if due is None else max(0, due[0] - execution.now_us)
                assert due_us == explorer.locals.due_us[local]
        in_flight = Counter((f.source, f.target, f.kind) for f in log.cluster.in_flight.values())
        assert in_flight == _in_flight(explorer, state, 2)
        again = Reexecution(log.header, protocol, False)
        assert [again.check(n, record) for n, record in enumerate(log.records)] == [None] * len(log.records)


def test_two_coordinators_under_a_pause(tmp_path: Path) -> None:
    """The bully's A1 needs assumption 9: excused, by the judge too; the counterexample re-executes."""
    explorer = explorer_of(Bully, 3, "prompt", settled=True, pauses=1)
    explorer.run(100_000)
    assert explorer.tally.stopped_by == ""
    assert set(explorer.first_found) == {"A1.1", "A1.2"}
    assert explorer.broken == {"A1.1": (9,), "A1.2": (9,)}
    assert "pauses longer than 1.2s" in explorer.not_distinguished
    path = explorer.path_to(explorer.first_found["A1.1"])
    records = performed(Bully, 3, "prompt", 0, path)
    (violation,) = [each for each in judged(Bully, 3, records) if each.assertion == "A1.1"]
    assert [broken.assumption for broken in violation.broken] == [9]
    assert not violation.is_failure
    assert [record.text for record in records if isinstance(record, Commanded)] == ["pause 3"]
    assert_it_re_executes(records, Bully, tmp_path / "found.jsonl")


def test_without_a_pause_nothing_is_violated() -> None:
    """The same search, with no pause left."""
    tally = explorer_of(Bully, 3, "prompt", settled=True).run(100_000)
    assert not any(tally.violated.values())


def test_an_agreement_that_a_pause_prevents_for_ever() -> None:
    """The pause is over, the nodes disagree, and nothing can happen any more: no assumption excuses that."""
    assert explorer_of(Sulking, 2, "synchronous").run(1_000).violated["A2"] == 0
    explorer = explorer_of(Sulking, 2, "synchronous", pauses=1)
    assert explorer.run(10_000).stopped_by == ""
    assert explorer.violated == ["A2"]
    assert explorer.broken["A2"] == ()
    state = explorer.states[explorer.first_found["A2"]]
    assert not explorer.moves.pauses.of[state[PAUSED]]
    path = explorer.path_to(explorer.first_found["A2"])
    records = performed(Sulking, 2, "synchronous", 0, path, quiet_us=60_000_000)
    assert [each.assertion for each in judged(Sulking, 2, records) if each.is_failure] == ["A2"]


def test_messages_come_before_late_timers() -> None:
    """Node 2 has heard node 1 before it looks; it misses node 1 only if that was paused."""
    explorer = explorer_of(Beating, 2, "prompt", pauses=1)
    explorer.run(20_000)
    assert explorer.tally.stopped_by == ""
    paused: Counter[str] = Counter()
    for number, state in enumerate(explorer.states):
        if explorer.locals.views[state[1]].state.get("misses"):
            commands = {
                command
                for move in explorer.path_to(number)
                for command in (*move.commands, *(each for _, each in move.during))
            }
            paused.update(command for command in commands if command.startswith("pause"))
    assert set(paused) == {"pause 1"}


def test_a_pause_strikes_between_two_messages() -> None:
    """The first is sent, the second when the node resumes."""
    explorer = explorer_of(Announcing, 2, "ordered", pauses=1)
    explorer.run(1_000)
    paths = [explorer.path_to(number) for number in range(explorer.tally.states)]
    path = next(path for path in paths if path and path[-1].during == ((1, "pause 2"),))
    records = performed(Announcing, 2, "ordered", 0, path)
    paused = next(record for record in records if isinstance(record, Process) and record.event == "paused")
    assert paused.unsent == 1
    resume = next(
        move
        for move, _ in explorer.successors.faults(explorer.states[paths.index(path)])
        if move.commands == ("resume 2",)
    )
    first = explorer.successors.steps(explorer.states[0])[0][0]
    assert first.what == "deliver"
    pong = first._replace(node=1, source=2)
    records = performed(Announcing, 2, "ordered", 0, [*path, resume, pong, pong])
    assert [
        record.changed["heard"] for record in records if isinstance(record, Step) and record.changed.get("heard")
    ] == [
        1,
        2,
    ]


def test_a_killed_node_takes_what_waited_with_it() -> None:
    """A message that should have arrived during the pause reaches no later incarnation."""
    explorer = explorer_of(Counting, 2, "prompt", 1, 1, pauses=1)
    explorer.run(50_000)
    assert explorer.tally.stopped_by == ""
    left_us = explorer.queues.left_us
    for state in explorer.states:
        overdue = [
            place for place in (0, 1) if any(left_us[state[2 + 2 * source + place]] < 0 for source in (0, 1))
        ]
        ways = explorer.successors.faults(state)
        assert not any(move.what == "restart" and move.node - 1 in overdue for move, _ in ways)

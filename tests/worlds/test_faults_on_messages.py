"""A fault triggered by a message strikes between two messages of one step, in the order sent.

Node 5 is killed, and node 4, which leads next, sends EnterElection to 1, 2 and 3 in one step: all at once.
"""

from pathlib import Path

import pytest

from lab.kernel import Message, Received, Step
from lab.recording.records import Commanded, Fault, Process, Routed
from tests.worlds.live import STEADY, LiveRun, Tail

pytestmark = pytest.mark.live

AT_ONCE = {"halting": "at_once"}


def _election_of_four(tail: Tail) -> tuple[int, tuple[Message, ...]]:
    """Return (record, messages) of the step in which node 4 sends EnterElection."""
    for number, record in enumerate(tail.records):
        if isinstance(record, Step) and record.node == 4 and {m.kind for m in record.sent} == {"EnterElection"}:
            return number, record.sent
    raise AssertionError("node 4 held no election")


def _received(tail: Tail, message: Message) -> int | None:
    """Return the record of the step that took the message in."""
    wanted = Received(message.source, message.serial)
    return next((n for n, r in enumerate(tail.records) if isinstance(r, Step) and r.input == wanted), None)


def _outcomes(tail: Tail, messages: tuple[Message, ...]) -> list[str]:
    dropped = {(r.source, r.serial): r.why for r in tail.of(Routed) if r.fate == "dropped"}
    return [dropped.get((message.source, message.serial), "") for message in messages]


def _process(tail: Tail, node: int, event: str) -> int:
    return next(
        number
        for number, record in enumerate(tail.records)
        if isinstance(record, Process) and (record.node, record.event) == (node, event)
    )


def test_kill_the_sender_on_send(tmp_path: Path) -> None:
    """The messages to 1 and 2 are sent, the one to 3 never is; the records are in this order."""
    commands = ("on send EnterElection 4->2: kill 4",)
    with LiveRun(tmp_path, timing=STEADY, parameters=AT_ONCE, commands=commands) as run:
        run.settled(5)
        run.order("kill 5")
        run.settled(3)
        tail = run.tail
        at, sent = _election_of_four(tail)
        assert [message.target for message in sent] == [1, 2, 3]
        assert _outcomes(tail, sent) == ["", "", "unsent"]
        assert _received(tail, sent[0]) is not None
        assert _received(tail, sent[1]) is not None
        assert _received(tail, sent[2]) is None
        after = [r for r in tail.records[at + 1 :] if not isinstance(r, Routed) or r.why == "unsent"][:3]
        assert [type(record) for record in after] == [Fault, Commanded, Routed]
        assert isinstance(after[1], Commanded)
        assert after[1].outcome == "4 killed"
        assert _process(tail, 4, "killed") > tail.records.index(after[2])


def test_pause_the_sender_on_send(tmp_path: Path) -> None:
    """The messages to 1 and 2 are sent, the one to 3 only when node 4 resumes."""
    commands = ("on send EnterElection 4->2: pause 4",)
    with LiveRun(tmp_path, timing=STEADY, parameters=AT_ONCE, commands=commands) as run:
        run.settled(5)
        run.order("kill 5")
        run.process_is(4, "paused")
        _, sent = _election_of_four(run.tail)
        run.until(lambda _: _received(run.tail, sent[0]) is not None, "1 has it")
        run.until(lambda _: _received(run.tail, sent[1]) is not None, "2 has it")
        assert _received(run.tail, sent[2]) is None
        run.order("resume 4")
        run.until(lambda _: _received(run.tail, sent[2]) is not None, "3 has it")
        last = _received(run.tail, sent[2])
        assert last is not None
        assert last > _process(run.tail, 4, "resumed")
        assert _outcomes(run.tail, sent) == ["", "", ""]
        run.settled(4)


def test_kill_the_receiver_on_send(tmp_path: Path) -> None:
    """The message that triggered the kill finds it down; those before and after arrive."""
    commands = ("on send EnterElection 4->2: kill 2",)
    with LiveRun(tmp_path, timing=STEADY, parameters=AT_ONCE, commands=commands) as run:
        run.settled(5)
        run.order("kill 5")
        run.settled(4)
        _, sent = _election_of_four(run.tail)
        assert _outcomes(run.tail, sent) == ["", "down", ""]
        assert [_received(run.tail, message) is not None for message in sent] == [True, False, True]


@pytest.mark.parametrize("verb", ["kill", "pause"])
def test_strike_the_receiver_on_deliver(tmp_path: Path, verb: str) -> None:
    """Node 2 has taken the message in, and its answer is not sent: never, or after it resumes."""
    commands = (f"on deliver EnterElection 4->2: {verb} 2",)
    with LiveRun(tmp_path, timing=STEADY, parameters=AT_ONCE, commands=commands) as run:
        run.settled(5)
        run.order("kill 5")
        run.process_is(2, "killed" if verb == "kill" else "paused")
        tail = run.tail
        _, sent = _election_of_four(tail)
        taken = _received(tail, sent[1])
        assert taken is not None
        step = tail.records[taken]
        assert isinstance(step, Step)
        assert [message.kind for message in step.sent] == ["EnterElectionAnswer"]
        assert isinstance(tail.records[taken + 1], Fault)
        assert _received(tail, step.sent[0]) is None
        if verb == "kill":
            run.settled(4)
            assert _outcomes(tail, step.sent) == ["unsent"]
            assert _received(tail, step.sent[0]) is None
        else:
            run.order("resume 2")
            run.until(lambda _: _received(tail, step.sent[0]) is not None, "the answer arrives")
            assert (_received(tail, step.sent[0]) or 0) > _process(tail, 2, "resumed")


def test_each_trigger_fires_once(tmp_path: Path) -> None:
    """Two commands on the same message are executed in order, and not again on the next message."""
    commands = ("on send EnterElection 4->1: delay 1->2 1ms", "on send EnterElection 4->1: heal")
    with LiveRun(tmp_path, timing=STEADY, parameters=AT_ONCE, commands=commands) as run:
        run.settled(5)
        run.order("kill 5")
        run.settled(4)
        run.order("restart 5")
        run.settled(5)
        run.order("kill 5")
        run.settled(4)
        done = [(r.text, r.outcome) for r in run.tail.of(Commanded) if r.text.startswith("on send")]
        assert done == [(commands[0], "1 link"), (commands[1], "1 fault ended")]

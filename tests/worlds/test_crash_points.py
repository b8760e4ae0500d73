"""Faults right before a message leaves or is handed over, and right after a write to stable storage.

Node 5 is killed, and node 4, which leads next, sends EnterElection to 1, 2 and 3 in one step: all at once.
"""

from pathlib import Path

import pytest

from lab.kernel import Message, Protocol, Received, Started, Step
from lab.protocols import Bully, TwoPhaseCommit
from lab.recording.records import Commanded, Fault, Process, Record, Routed
from lab.script.parse import parse
from lab.script.scope import CommandError, Scope
from tests.harness import T_US, Rig
from tests.recording.samples import execute_again
from tests.worlds.branches import Grown
from tests.worlds.live import STEADY, LiveRun
from tests.worlds.protocols import Scribe


def _run(*lines: str, us: int = 30 * T_US) -> Rig:
    """Return a run in which 5 is killed after the first election, with these lines."""
    rig = Rig([1, 2, 3, 4, 5], parameters=Bully.Parameters(halting="at_once")).started()
    rig.run_until_agreed()
    rig.do(*lines, "kill 5")
    return rig.run(us)


def _election_of_four(records: list[Record]) -> tuple[int, tuple[Message, ...]]:
    """Return (record, messages) of the first step in which node 4 sends EnterElection."""
    for number, record in enumerate(records):
        if isinstance(record, Step) and record.node == 4 and {m.kind for m in record.sent} == {"EnterElection"}:
            return number, record.sent
    raise AssertionError("node 4 held no election")


def _received(records: list[Record], message: Message) -> int | None:
    """Return the record of the step that took the message in."""
    wanted = Received(message.source, message.serial)
    return next((n for n, r in enumerate(records) if isinstance(r, Step) and r.input == wanted), None)


def _outcomes(records: list[Record], messages: tuple[Message, ...]) -> list[str]:
    dropped = {(r.source, r.serial): r.why for r in records if isinstance(r, Routed) and r.fate == "dropped"}
    arrived = [_received(records, message) is not None for message in messages]
    return [
        "received" if there else dropped.get((message.source, message.serial), "")
        for message, there in zip(messages, arrived, strict=True)
    ]


# in simulation


@pytest.mark.parametrize(
    ("line", "outcomes"),
    [
        ("before send EnterElection 4->1: kill 4", ["unsent", "unsent", "unsent"]),
        ("before send EnterElection 4->2: kill 4", ["received", "unsent", "unsent"]),
        ("on send EnterElection 4->2: kill 4", ["received", "received", "unsent"]),
        ("before send EnterElection #3: kill 4", ["received", "received", "unsent"]),
        ("before send EnterElection 4->2: kill 2", ["received", "down", "received"]),
        ("before send EnterElection 4->2: cut 4->2", ["received", "cut", "received"]),
        ("before deliver EnterElection 4->2: kill 2", ["received", "down", "received"]),
        ("before deliver EnterElection 4->2: kill 4", ["received", "received", "received"]),
        ("before deliver EnterElection 4->2: cut 4->2", ["received", "cut", "received"]),
        ("before deliver EnterElection 4->2: cut 2->4", ["received", "received", "received"]),
    ],
)
def test_what_becomes_of_each_message(tmp_path: Path, line: str, outcomes: list[str]) -> None:
    """Those before the fault are sent and received; the recording re-executes."""
    rig = _run(line)
    _, sent = _election_of_four(rig.records)
    assert [message.target for message in sent] == [1, 2, 3]
    assert _outcomes(rig.records, sent) == outcomes
    assert execute_again(rig.write(tmp_path / "run.jsonl")).holds


def test_the_records_of_a_kill_before_a_message_leaves() -> None:
    """The step, the fault, the command, and what never leaves."""
    rig = _run("before send EnterElection 4->2: kill 4")
    at, sent = _election_of_four(rig.records)
    fault, *others = [record for record in rig.records[at + 1 : at + 6] if not isinstance(record, Process)]
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.nodes) == ("kill", (4,))
    command = next(record for record in others if isinstance(record, Commanded))
    assert (command.text, command.outcome) == ("before send EnterElection 4->2: kill 4", "4 killed")
    unsent = [record.serial for record in others if isinstance(record, Routed)]
    assert unsent == [message.serial for message in sent[1:]]


def test_a_pause_before_a_message_leaves_keeps_it_back() -> None:
    """It leaves when the node resumes, and then triggers nothing again."""
    line = "before send EnterElection 4->2"
    rig = _run(f"{line}: pause 4", f"{line} #2: kill 1", us=6 * T_US)
    at, sent = _election_of_four(rig.records)
    assert _outcomes(rig.records, sent) == ["received", "", ""]
    paused = next(record for record in rig.records[at:] if isinstance(record, Process))
    assert (paused.node, paused.event, paused.unsent) == (4, "paused", 2)
    rig.do("resume 4")
    rig.run(T_US)
    assert _outcomes(rig.records, sent) == ["received"] * 3
    assert rig.cluster.nodes[1].process == "running"


def test_a_pause_before_a_message_is_handed_over() -> None:
    """The message waits at the paused node, and is taken in first when that resumes."""
    rig = _run("before deliver EnterElection 4->2: pause 2", us=10 * T_US)
    _, sent = _election_of_four(rig.records)
    assert _outcomes(rig.records, sent) == ["received", "", "received"]
    rig.do("resume 2")
    assert _outcomes(rig.records, sent) == ["received"] * 3


def _transfer(*lines: str) -> Rig:
    rig = Rig([1, 2, 3], protocol=TwoPhaseCommit).started()
    rig.run(T_US)
    rig.do(*lines, "tell 3 transfer 100 savings checking")
    return rig.run(20 * T_US)


@pytest.mark.parametrize("nth", [1, 2])
def test_a_kill_after_a_write(tmp_path: Path, nth: int) -> None:
    """Nothing of the step has left, but the next incarnation has what the step stored."""
    rig = _transfer(f"on store 3 #{nth}: kill 3", "when 3 down: restart 3")
    began = next(n for n, record in enumerate(rig.records) if isinstance(record, Commanded))
    stores = [
        (number, record)
        for number, record in enumerate(rig.records)
        if number > began and isinstance(record, Step) and record.node == 3 and record.stores
    ]
    at, last = stores[nth - 1]
    assert isinstance(rig.records[at + 1], Fault)
    assert set(_outcomes(rig.records, last.sent)) == {"unsent"}
    started = next(
        record.input
        for record in rig.records[at:]
        if isinstance(record, Step) and record.node == 3 and isinstance(record.input, Started)
    )
    assert started.incarnation == 2
    for name, entries in last.logged.items():
        assert started.stored[name][-len(entries) :] == entries
    assert rig.header.protocol.name == "2pc"


class Forgetful(Protocol):
    name = "forgetful"


def test_on_store_of_any_node() -> None:
    """The first to write; a protocol that stores nothing is refused."""
    rig = _transfer('on store any: mark "written"')
    number = next(n for n, record in enumerate(rig.records) if getattr(record, "text", "") == "written")
    step = rig.records[number - 1]
    assert isinstance(step, Step)
    assert step.stores
    with pytest.raises(CommandError, match="forgetful keeps nothing in stable storage"):
        parse("on store 3: kill 3").check(Scope(Forgetful, (1, 2, 3)))


_AMID_A_STEP = (
    *("before send EnterElection 4->2: kill 4", "before send EnterElection 4->2: pause 4"),
    *("on send EnterElection 4->2: kill 4", "on send EnterElection 4->2: pause 4"),
    "before send EnterElection 4->2: lose 4 100%",
    *("before deliver EnterElection 4->2: kill 2", "before deliver EnterElection 4->2: pause 2"),
)


@pytest.mark.parametrize("line", _AMID_A_STEP)
def test_a_branch_amid_a_step_continues_as_its_parent_did(tmp_path: Path, line: str) -> None:
    """From the record of the fault on: the messages that had not left do not arrive."""
    rig = _run(line, us=8 * T_US)
    rig.do(*(["resume all"] if "pause" in line else []))
    rig.run(4 * T_US)
    parent = rig.write(tmp_path / "parent.jsonl", end=False)
    began, _ = _election_of_four(rig.records)
    began = next(n for n, record in enumerate(rig.records) if n > began and isinstance(record, Fault))

    def course(records: list[Record]) -> list[Record]:
        return [record for record in records if not isinstance(record, Commanded)]

    resumes = next((n for n, r in enumerate(rig.records) if isinstance(r, Process) and r.event == "resumed"), 0)
    for at in range(began, began + 12):
        grown = Grown(parent, at, tmp_path / "branch.jsonl")
        if resumes:
            grown.run.run_to(rig.records[resumes].at_us)  # type: ignore[union-attr]
            grown.do("resume all")
        grown.run.run_to(rig.now_us)
        assert course(grown.new) == course(rig.records[at + 1 :]), f"branch at {at}, {rig.records[at]}"
        grown.writer.close()


# on real processes


@pytest.mark.live
@pytest.mark.parametrize(
    ("line", "outcomes"),
    [
        ("before send EnterElection 4->2: kill 4", ["received", "unsent", "unsent"]),
        ("before deliver EnterElection 4->2: kill 2", ["received", "down", "received"]),
    ],
)
def test_live_what_becomes_of_each_message(tmp_path: Path, line: str, outcomes: list[str]) -> None:
    """The host strikes at the same place."""
    with LiveRun(tmp_path, timing=STEADY, parameters={"halting": "at_once"}, commands=(line,)) as run:
        run.settled(5)
        run.order("kill 5")
        run.until(lambda cluster: cluster.faults.keys() >= {1, 2}, "the fault")
        run.settled(3 if "kill 4" in line else 4)
        _, sent = _election_of_four(run.tail.records)
        assert _outcomes(run.tail.records, sent) == outcomes


@pytest.mark.live
def test_live_a_kill_after_a_write(tmp_path: Path) -> None:
    """The write is on disk, and its message has not left.

    The process goes on writing until the kill reaches it; no step of that is recorded, and nothing remains of it.
    """
    commands = ("on store 2 #40: kill 2", "when 2 down: restart 2")
    with LiveRun(
        tmp_path, nodes=(1, 2), protocol=Scribe, timing=STEADY, parameters={"every_us": 100}, commands=commands
    ) as run:
        run.until(lambda cluster: cluster.nodes[2].incarnation == 2, "the second incarnation")
        run.until(lambda _: len(_starts(run.tail.records, 2)) == 2, "its first step")
        records = run.tail.records
        writes = [record for record in records if isinstance(record, Step) and record.node == 2 and record.stores]
        assert _outcomes(records, writes[39].sent) == ["unsent"]
        assert writes[39].stored == {"count": 40} == _starts(records, 2)[1].stored


def _starts(records: list[Record], node: int) -> list[Started]:
    given = [record.input for record in records if isinstance(record, Step) and record.node == node]
    return [each for each in given if isinstance(each, Started)]

"""A copy of a message arrives later than the original, and has a fate of its own: in simulation, and live."""

from pathlib import Path

import pytest

from lab.analysis.delivery import message_trace
from lab.kernel import Received, Step
from lab.recording.reader import open_recording
from lab.recording.records import Record, Routed
from tests.harness import T_US, Rig
from tests.properties.recorded import judged
from tests.recording.samples import execute_again
from tests.worlds.live import STEADY, LiveRun

Key = tuple[int, int]


def _copied(*lines: str, seed: int = 3) -> tuple[Rig, Key, int]:
    """Return a run of three nodes in which 2 asks 1, the message, and when its copy is to arrive."""
    rig = Rig([1, 2, 3], seed=seed).started()
    rig.run_until_agreed()
    began = len(rig.records)
    rig.do("duplicate 2->1 EnterElection 100% 2s", *lines, "kill 3")
    rig.run_until(lambda: bool(_copies(rig.records[began:])), 20 * T_US, "2 asks 1")
    copy = _copies(rig.records[began:])[0]
    assert copy.due_us is not None
    rig.do("heal")
    return rig, (copy.source, copy.serial), copy.due_us


def _copies(records: list[Record]) -> list[Routed]:
    return [record for record in records if isinstance(record, Routed) and record.fate == "duplicated"]


def _receipts(records: list[Record], key: Key) -> list[Step]:
    return [record for record in records if isinstance(record, Step) and record.input == Received(*key)]


def _drops(records: list[Record], key: Key) -> list[str]:
    dropped = (record for record in records if isinstance(record, Routed) and record.fate == "dropped")
    return [record.why for record in dropped if (record.source, record.serial) == key]


def test_the_copy_arrives_long_after_the_original(tmp_path: Path) -> None:
    """The recording re-executes; the judge finds 3 broken, and nothing late; the trace names both."""
    rig, key, due_us = _copied()
    began_us = rig.now_us
    assert due_us - began_us > 200_000, "another seed is needed"
    rig.run_to(due_us)
    first, second = _receipts(rig.records, key)
    assert first.at_us == began_us + 10_000
    assert second.at_us == due_us
    assert (first.incarnation, second.incarnation) == (1, 1)
    judge = judged(rig.records)
    assert judge.late is None
    assert set(judge.broken_at(len(rig.records))) == {3}
    path = rig.write(tmp_path / "run.jsonl")
    assert execute_again(path).holds
    store = open_recording(path)
    sent = next(
        number
        for number, record in enumerate(rig.records)
        if isinstance(record, Step) and any((m.source, m.serial) == key for m in record.sent)
    )
    trace = [entry.text for entry in message_trace(store, key, sent)]
    store.close()
    assert f"duplicated: the copy arrives at {due_us / 1e6:.3f} s by duplicate 2->1 EnterElection 100% 2s" in trace
    assert [text.partition(" after")[0] for text in trace].count("1 received it") == 2


def test_the_copy_arrives_in_the_next_incarnation(tmp_path: Path) -> None:
    """The receiver crashed and restarted in between."""
    rig, key, due_us = _copied()
    rig.run(20_000)
    rig.do("kill 1", "restart 1")
    assert rig.now_us < due_us
    rig.run_to(due_us)
    assert [step.incarnation for step in _receipts(rig.records, key)] == [1, 2]
    assert execute_again(rig.write(tmp_path / "run.jsonl")).holds


@pytest.mark.parametrize(("fault", "why"), [("kill 1", "down"), ("cut 2->1", "cut")])
def test_the_copy_may_be_lost_alone(tmp_path: Path, fault: str, why: str) -> None:
    """By what happens to any message on its arrival."""
    rig, key, due_us = _copied()
    rig.run(20_000)
    rig.do(fault)
    rig.run_to(due_us)
    assert len(_receipts(rig.records, key)) == 1
    assert _drops(rig.records, key) == [why]
    assert execute_again(rig.write(tmp_path / "run.jsonl")).holds


def test_the_copy_arrives_although_the_original_was_lost() -> None:
    """At a node that was down when the original arrived; the copy is not late."""
    rig, key, due_us = _copied()
    rig.do("kill 1")
    rig.run(20_000)
    rig.do("restart 1")
    rig.run_to(due_us)
    assert _drops(rig.records, key) == ["down"]
    assert [step.incarnation for step in _receipts(rig.records, key)] == [2]
    assert judged(rig.records).late is None


def test_without_a_time_all_is_as_ever() -> None:
    """The copy arrives with the original, and no record has a new field."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    rig.do("duplicate all 100%")
    rig.run(4 * T_US)
    assert {copy.due_us for copy in _copies(rig.records)} == {None}


def test_a_fault_that_copies_nothing_is_inert() -> None:
    """It counts the messages that it copied."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    rig.do("duplicate 1->2 NewState 100% 1s", "duplicate 3->1 100% 50ms")
    rig.run(4 * T_US)
    inert, busy = rig.cluster.faults.values()
    assert (inert.touched, busy.touched > 2) == (0, True)


@pytest.mark.live
def test_live_the_copy_reaches_the_next_incarnation(tmp_path: Path) -> None:
    """Real processes: 1 is killed when it has the original, restarted, and gets the copy."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), timing=STEADY) as run:
        run.settled(3)
        for line in ("duplicate 2->1 EnterElection 100% 900ms", "on deliver EnterElection 2->1: kill 1"):
            run.order(line)
        run.order("kill 3")
        run.process_is(1, "killed")
        run.order("restart 1")

        copy = _copies(run.tail.records)[0]
        key = (copy.source, copy.serial)
        run.until(lambda _: len(_receipts(run.tail.records, key)) == 2, "the copy has arrived")
        assert [step.incarnation for step in _receipts(run.tail.records, key)] == [1, 2]

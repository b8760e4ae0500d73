"""Inspecting a node: changes of its last step, replies received, content of stable storage."""

from pathlib import Path

import pytest

from lab.analysis.inspection import Inspection, Inspector, LastSteps, StoredFields
from lab.kernel import Received, Started, Step
from lab.recording.reader import RecordStore, open_recording
from lab.recording.records import Process
from tests.harness import T_US, Rig
from tests.recording.in_memory import MemoryLines

BANK = Path(__file__).parents[2] / "recordings" / "scenarios" / "same-blocking-crash-2pc.jsonl"


def _safe(lines: RecordStore) -> StoredFields:
    safe = StoredFields()
    for record in lines.records():
        safe.observe(record)
    return safe


def _of(lines: RecordStore, number: int, node: int) -> Inspection:
    last = LastSteps(lines).at(number, node)
    assert last is not None
    return Inspector(lines, _safe(lines)).of(last)


@pytest.fixture(scope="module")
def bully() -> RecordStore:
    """Three nodes elect; 3 is killed, its storage is wiped, and it recovers."""
    rig = Rig((1, 2, 3)).started()
    rig.run_until_agreed()
    rig.do("kill 3")
    rig.run(20 * T_US)
    rig.do("wipe 3")
    rig.do("restart 3")
    rig.run(20 * T_US)
    return MemoryLines(rig.header, rig.records[1:])


def test_changes_have_the_old_and_the_new_value(bully: RecordStore) -> None:
    """Exactly the fields in the record."""
    state: dict[int, dict[str, object]] = {}
    looked_at = 0
    inspector, steps = Inspector(bully, _safe(bully)), LastSteps(bully)
    for number, record in enumerate(bully.records()):
        if not isinstance(record, Step):
            continue
        last = steps.at(number, record.node)
        assert last is not None
        found = inspector.of(last)
        before = {} if isinstance(record.input, Started) else state.get(record.node, {})
        after = {**record.changed, **record.stored}
        assert {change.name: change.after for change in found.changes} == after
        for change in found.changes:
            assert change.before == before.get(change.name)
            assert change.is_new == (change.name not in before)
            assert change.is_safe == (change.name in record.stored)
            looked_at += not change.is_new
        state[record.node] = found.state
        assert found.state == {**before, **after}
    assert looked_at > 10


def test_the_received_message(bully: RecordStore) -> None:
    """With its body."""
    number = next(
        n
        for n, each in enumerate(bully.records())
        if isinstance(each, Step) and isinstance(each.input, Received) and each.changed.get("status") == "Normal"
    )
    record = bully.record(number)
    assert isinstance(record, Step)
    found = _of(bully, number, record.node)
    assert found.received is not None
    assert found.received.kind == "NewState"


def test_peers_that_have_answered_and_not_are_all_that_were_asked(bully: RecordStore) -> None:
    """As long as a wait lasts."""
    inspector, steps = Inspector(bully, _safe(bully)), LastSteps(bully)
    answered = 0
    for number, record in enumerate(bully.records()):
        last = steps.at(number, record.node) if isinstance(record, Step) else None
        if last is None:
            continue
        for pending in inspector.of(last).waits:
            if pending.wait.procedure == "check" and pending.wait.peers:
                asked = {*pending.answered, *pending.wait.peers}
                assert pending.is_known
                assert asked == {1, 2, 3} - {last.step.node}
                answered += bool(pending.answered)
    assert answered


def test_stable_storage_is_what_steps_stored(bully: RecordStore) -> None:
    """It survives a crash, and is empty after a wipe."""
    safe = _safe(bully)
    assert [*safe.names] == ["version"]
    killed = next(n for n, line in enumerate(map(bully.raw, range(len(bully)))) if b'"killed"' in line)
    before = _of(bully, killed, 3)
    assert before.stored == {"version": before.state["version"]}
    wiped = next(n for n, line in enumerate(map(bully.raw, range(len(bully)))) if b'"wiped"' in line)
    assert _of(bully, wiped - 1, 3).stored == before.stored
    assert _of(bully, wiped, 3).last.wiped
    assert _of(bully, wiped, 3).stored == {}


def test_what_happened_to_stable_storage_since_then() -> None:
    """Writes that were lost after the last step are named, until the storage is wiped, or the node starts."""
    rig = Rig((1, 2, 3)).started()
    rig.run_until_agreed()
    rig.do("kill 3")
    places = [len(rig.records) - 1]
    for line in ("unwrite 3", "flip 3", "restart 3", "wipe 3", "restart 3"):
        rig.do(line)
        places.append(len(rig.records) - 1)
    lines = MemoryLines(rig.header, rig.records[1:])
    (flipped,) = [record for record in rig.records if isinstance(record, Process) and record.event == "flipped"]
    lost, damaged = "the last write is lost", f"a bit of write {flipped.write} is flipped"
    steps = LastSteps(lines)
    assert [found and found.altered for found in (steps.at(place, 3) for place in places)] == [
        (),
        (lost,),
        (lost, damaged),
        (lost, damaged),
        (),
        (),
    ]
    assert LastSteps(lines).at(places[2], 3) == steps.at(places[2], 3)


def test_a_log_has_all_its_entries() -> None:
    """Of a bank, whose nodes log."""
    lines = open_recording(BANK)
    found = _of(lines, len(lines) - 1, 4)
    assert found.logs == ("log",)
    logged = [
        entry
        for each in lines.records()
        if isinstance(each, Step) and each.node == 4
        for entry in each.logged.get("log", [])
    ]
    assert found.stored["log"] == logged
    assert logged
    lines.close()

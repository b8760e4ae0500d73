"""The trace of a message: why it was sent, the faults on its way, its effects, and the reply."""

from pathlib import Path

from lab.analysis.delivery import message_at, message_trace
from lab.kernel import Step
from lab.recording.log_lines import lines_of
from lab.recording.reader import FeedRecords, RecordStore, open_recording
from lab.recording.records import encode
from tests.harness import Rig

Entries = list[tuple[int, str, str]]


def _lines(rig: Rig) -> FeedRecords:
    header, *records = rig.records
    lines = FeedRecords(encode(header))
    for record in records:
        lines.append(encode(record))
    return lines


def _trace(lines: RecordStore, kind: str, source: int, target: int) -> Entries:
    """Return the trace of the first such message."""
    for number, record in enumerate(lines.records()):
        for line in [] if record is None else lines_of(number, record):
            if (line.what, line.kind, line.source, line.target) == ("message", kind, source, target):
                return [(each.depth, each.what, each.text) for each in message_trace(lines, line.message, number)]
    raise AssertionError(f"no {kind} {source}->{target}")


def test_a_message_that_is_delivered_and_answered() -> None:
    """Sent because of an input, received by a step that changes its state and replies; so is the reply."""
    lines = _lines(Rig([1, 2, 3]).started().run(2_000_000))
    entries = _trace(lines, "EnterElection", 3, 1)
    assert [(depth, what) for depth, what, _ in entries[:5]] == [
        (0, "sent"),
        (0, "taken"),
        (0, "did"),
        (1, "sent"),
        (1, "taken"),
    ]
    texts = [text for _, _, text in entries]
    assert texts[0].startswith("EnterElection 3->1, sent because ")
    assert texts[1] == "1 received it after 10ms"
    assert texts[2] == "1: Election"
    assert texts[3] == "EnterElectionAnswer 1->3, sent because EnterElection from 3 came"
    assert texts[4] == "3 received it after 10ms"
    lines.close()


def test_a_message_to_a_node_that_is_down_is_lost() -> None:
    rig = Rig([1, 2, 3]).started().run(2_000_000)
    rig.do("kill 3")
    rig.run(2_000_000)
    lines = _lines(rig)
    sent = [
        (number, message)
        for number, record in enumerate(lines.records())
        if isinstance(record, Step) and record.at_us > 2_000_000
        for message in record.sent
        if message.target == 3
    ]
    number, message = sent[0]
    entries = list(message_trace(lines, (message.source, message.serial), number))
    assert [each.what for each in entries] == ["sent", "lost"]
    assert entries[-1].text == "lost: 3 was down"
    lines.close()


def test_faults_on_the_way_are_named() -> None:
    """Held by a fault, released when that ends; its receiver is paused meanwhile."""
    rig = Rig([1, 2, 3]).started().run(2_000_000)
    rig.do("hold 3->1")
    rig.run(1_500_000)
    rig.do("pause 1")
    rig.run(100_000)
    rig.do("resume 1", "heal")
    rig.run(1_000_000)
    lines = _lines(rig)
    texts = [
        (each.what, each.text)
        for number, record in enumerate(lines.records())
        for line in ([] if record is None else lines_of(number, record))
        if line.what == "message" and (line.source, line.target) == (3, 1) and line.at_us > 2_000_000
        for each in message_trace(lines, line.message, number)
    ]
    assert ("routed", "held by hold 3->1") in texts
    assert any(what == "routed" and text.startswith("released") for what, text in texts)
    assert ("meanwhile", "1 was paused") in texts
    assert ("meanwhile", "1 resumed") in texts
    lines.close()


def test_the_message_of_a_record_is_the_last_sent_or_the_received_one() -> None:
    lines = _lines(Rig([1, 2, 3]).started().run(2_000_000))
    taken = 0
    for number, record in enumerate(lines.records()):
        found = message_at(lines, number)
        if isinstance(record, Step) and record.sent:
            assert found == (number, (record.node, record.sent[-1].serial))
        elif found is not None:
            taken += 1
            assert found[0] < number
            entries = list(message_trace(lines, found[1], found[0]))
            assert any(each.record == number and each.what == "taken" for each in entries)
    assert taken > 10
    lines.close()


def test_every_trace_of_a_run_has_an_end(tmp_path: Path) -> None:
    """Received, lost, or in flight at the end of the run."""
    rig = Rig([1, 2, 3, 4], jitter_us=4_000, seed=9)
    rig.do("at 1s lose all 10%", "at 1500ms duplicate all 30%", "at 2s heal", "at 2500ms kill 4")
    lines = open_recording(rig.started().run(3_500_000).write(tmp_path / "run.jsonl"))
    ends = set()
    for number, record in enumerate(lines.records()):
        for line in [] if record is None else lines_of(number, record):
            if line.what == "message":
                entries = list(message_trace(lines, line.message, number))
                assert (entries[0].what, entries[0].record) == ("sent", number)
                own = [each.record for each in entries if not each.depth and each.what != "open"]
                assert own == sorted(own)
                ends |= {each.what for each in entries[1:]} & {"taken", "lost", "open"}
    assert ends >= {"taken", "lost"}
    lines.close()

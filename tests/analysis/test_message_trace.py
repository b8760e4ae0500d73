"""The life of a message: why it was sent, what befell it, what came of it, its answer's life."""

from pathlib import Path

from lab.analysis.message_trace import life_of, message_at
from lab.kernel import Step
from lab.recording.log_lines import lines_of
from lab.recording.reader import FeedRecords, RecordStore, open_recording
from lab.recording.records import encode
from tests.harness import Rig

CommandInput = list[tuple[int, str, str]]


def _lines(rig: Rig) -> FeedRecords:
    header, *records = rig.records
    lines = FeedRecords(encode(header))
    for record in records:
        lines.append(encode(record))
    return lines


def _life(lines: RecordStore, kind: str, source: int, target: int) -> CommandInput:
    """Of the first such message."""
    for number, record in enumerate(lines.records()):
        for line in [] if record is None else lines_of(number, record):
            if (line.what, line.kind, line.source, line.target) == ("message", kind, source, target):
                return [(each.depth, each.what, each.text) for each in life_of(lines, line.message, number)]
    raise AssertionError(f"no {kind} {source}->{target}")


def test_a_message_that_is_taken_and_answered() -> None:
    """Sent because of an input, taken by a step that changes its state and answers, the answer taken too."""
    lines = _lines(Rig([1, 2, 3]).started().run(2_000_000))
    incarnation = _life(lines, "EnterElection", 3, 1)
    assert [(depth, what) for depth, what, _ in incarnation[:5]] == [
        (0, "sent"),
        (0, "taken"),
        (0, "did"),
        (1, "sent"),
        (1, "taken"),
    ]
    said = [text for _, _, text in incarnation]
    assert said[0].startswith("EnterElection 3->1, sent because ")
    assert said[1] == "1 took it, 10ms after"
    assert said[2] == "1: Election"
    assert said[3] == "EnterElectionAnswer 1->3, sent because EnterElection of 3 came"
    assert said[4] == "3 took it, 10ms after"
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
    incarnation = list(life_of(lines, (message.source, message.serial), number))
    assert [each.what for each in incarnation] == ["sent", "lost"]
    assert incarnation[-1].text == "lost: 3 was down"
    lines.close()


def test_what_befalls_it_on_its_way_is_told_with_the_fault() -> None:
    """Held by a fault, let go when that ends; its receiver stood still meanwhile."""
    rig = Rig([1, 2, 3]).started().run(2_000_000)
    rig.do("hold 3->1")
    rig.run(1_500_000)
    rig.do("pause 1")
    rig.run(100_000)
    rig.do("resume 1", "heal")
    rig.run(1_000_000)
    lines = _lines(rig)
    told = [
        (each.what, each.text)
        for number, record in enumerate(lines.records())
        for line in ([] if record is None else lines_of(number, record))
        if line.what == "message" and (line.source, line.target) == (3, 1) and line.at_us > 2_000_000
        for each in life_of(lines, line.message, number)
    ]
    assert ("routed", "held back by hold 3->1") in told
    assert any(what == "routed" and text.startswith("let go on") for what, text in told)
    assert ("meanwhile", "1 was paused") in told
    assert ("meanwhile", "1 went on") in told
    lines.close()


def test_the_message_of_a_record_is_the_last_that_it_sent_or_the_one_that_it_took() -> None:
    lines = _lines(Rig([1, 2, 3]).started().run(2_000_000))
    taken = 0
    for number, record in enumerate(lines.records()):
        found = message_at(lines, number)
        if isinstance(record, Step) and record.sent:
            assert found == (number, (record.node, record.sent[-1].serial))
        elif found is not None:
            taken += 1
            assert found[0] < number
            incarnation = list(life_of(lines, found[1], found[0]))
            assert any(each.record == number and each.what == "taken" for each in incarnation)
    assert taken > 10
    lines.close()


def test_every_message_of_a_run_has_a_life_that_ends(tmp_path: Path) -> None:
    """Taken, lost, or on its way when the run ended: never nothing."""
    rig = Rig([1, 2, 3, 4], jitter_us=4_000, seed=9)
    rig.do("at 1s lose all 10%", "at 1500ms duplicate all 30%", "at 2s heal", "at 2500ms kill 4")
    lines = open_recording(rig.started().run(3_500_000).write(tmp_path / "run.jsonl"))
    ends = set()
    for number, record in enumerate(lines.records()):
        for line in [] if record is None else lines_of(number, record):
            if line.what == "message":
                incarnation = list(life_of(lines, line.message, number))
                assert (incarnation[0].what, incarnation[0].record) == ("sent", number)
                own = [each.record for each in incarnation if not each.depth and each.what != "open"]
                assert own == sorted(own)
                ends |= {each.what for each in incarnation[1:]} & {"taken", "lost", "open"}
    assert ends >= {"taken", "lost"}
    lines.close()

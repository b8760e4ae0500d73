"""Re-execution: recorded inputs, fed to new nodes, must give the recorded steps; every edit is found."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.kernel import Protocol
from lab.protocols import Bully, source_of
from lab.recording.reader import FileRecords, NotARecordingError
from lab.replay.reexecution import ReexecutionReport, reexecute
from tests.recording.samples import eventful, eventful_lines, execute_again, write_lines

Edited = list[bytes]


def _find(lines: Edited, matches: Callable[[dict[str, Any]], bool], nth: int = 0) -> int:
    found = [number for number, line in enumerate(lines) if matches(json.loads(line))]
    return found[nth]


def _edit(lines: Edited, number: int, edit: Callable[[dict[str, Any]], object]) -> None:
    record = json.loads(lines[number])
    edit(record)
    lines[number] = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()


def _run(tmp_path: Path, lines: Edited) -> ReexecutionReport:
    return execute_again(write_lines(tmp_path / "run.jsonl", lines))


def _is_step(record: dict[str, Any], with_field: str) -> bool:
    return record["record"] == "step" and with_field in record


def test_an_untouched_recording_holds(tmp_path: Path) -> None:
    """With kills, pauses, all faults of links, restarts and wiped storage."""
    report = _run(tmp_path, list(eventful_lines()))
    assert report.holds
    assert report.differences == []
    assert report.steps == len(eventful().steps) > 250
    assert (report.source_differs, report.unknown, report.torn) == (False, 0, False)


@pytest.mark.parametrize("nth", [0, 10, 40])
def test_an_edited_state_change_is_found(tmp_path: Path, nth: int) -> None:
    """At its record, with the recorded and the re-executed value."""
    lines = list(eventful_lines())
    number = _find(lines, lambda record: _is_step(record, "changed") and "status" in record["changed"], nth)
    _edit(lines, number, lambda record: record["changed"].update(status="Perfect"))
    report = _run(tmp_path, lines)
    assert not report.holds
    first = report.differences[0]
    assert first.record == number
    assert 'differs in changed: recorded {"status":"Perfect"' in first.text
    assert ", re-executed {" in first.text


def test_an_edited_message_is_found(tmp_path: Path) -> None:
    """The body of a message."""
    lines = list(eventful_lines())
    number = _find(lines, lambda r: any(m["kind"] == "NewState" for m in r.get("sent", [])))
    _edit(lines, number, lambda r: r["sent"][0]["body"]["definition"].update(version=99))
    report = _run(tmp_path, lines)
    assert report.differences[0].record == number
    assert "differs in sent" in report.differences[0].text


def test_a_removed_step_is_found(tmp_path: Path) -> None:
    """Some later step depends on it."""
    lines = list(eventful_lines())
    number = _find(lines, lambda record: any(m["kind"] == "EnterElection" for m in record.get("sent", [])), 2)
    del lines[number]
    report = _run(tmp_path, lines)
    assert not report.holds
    assert report.differences[0].record >= number


def test_a_swapped_pair_is_found(tmp_path: Path) -> None:
    """Two steps of one node in the wrong order."""
    lines = list(eventful_lines())
    steps = [n for n, line in enumerate(lines) if json.loads(line)["record"] == "step"]
    one, other = next(
        (a, b)
        for a, b in pairwise(steps)
        if b == a + 1
        and all("sent" in json.loads(lines[n]) for n in (a, b))
        and json.loads(lines[a])["node"] == json.loads(lines[b])["node"]
    )
    lines[one], lines[other] = lines[other], lines[one]
    report = _run(tmp_path, lines)
    assert not report.holds
    assert report.differences[0].record in (one, other)


def test_an_invented_delivery_is_found(tmp_path: Path) -> None:
    """A message is received more often than it was in flight."""
    lines = list(eventful_lines())
    number = _find(lines, lambda r: r["record"] == "step" and r["input"]["type"] == "received", 30)
    lines.insert(number + 1, lines[number])
    report = _run(tmp_path, lines)
    assert report.differences[0].record == number + 1
    assert "which is not in flight to it" in report.differences[0].text


def test_a_delivery_to_another_node_is_found(tmp_path: Path) -> None:
    """It is in flight, but not to that node."""
    lines = list(eventful_lines())
    number = _find(lines, lambda r: r["record"] == "step" and r["input"]["type"] == "received" and r["node"] == 1)
    _edit(lines, number, lambda record: record.update(node=2))
    report = _run(tmp_path, lines)
    assert report.differences[0].record == number
    assert "node 2 received message" in report.differences[0].text


def test_an_invented_timer_is_found(tmp_path: Path) -> None:
    """It was not due."""
    lines = list(eventful_lines())
    number = _find(lines, lambda r: r["record"] == "step" and r["input"].get("procedure") == "check", 3)
    _edit(lines, number, lambda record: record.update(at_us=record["at_us"] - 1))
    report = _run(tmp_path, lines)
    assert report.differences[0].record == number
    assert (
        "its input is impossible: node 3: the timer of check is not the next one due" in report.differences[0].text
    )


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (lambda record: record["input"].update(life=7), "started incarnation 7"),
        (lambda record: record["input"].update(serial=1), "with serial 1;"),
        (lambda record: record.update(node=9), "a step of node 9, which is not in the header"),
        (lambda record: record["input"]["stored"].update(version=77), None),
    ],
)
def test_an_edited_start_is_found(
    tmp_path: Path, edit: Callable[[dict[str, Any]], object], text: str | None
) -> None:
    """The incarnation, the first serial, the node, and the stable storage."""
    lines = list(eventful_lines())
    number = _find(lines, lambda r: r["record"] == "step" and r["input"].get("life", 0) > 1 and r["node"] == 4)
    _edit(lines, number, edit)
    report = _run(tmp_path, lines)
    assert not report.holds
    if text is not None:
        assert report.differences[0].record == number
        assert text in report.differences[0].text


def test_a_step_before_the_start_is_found(tmp_path: Path) -> None:
    """The start itself is removed."""
    lines = list(eventful_lines())
    number = _find(lines, lambda record: record["record"] == "step" and record["input"]["type"] == "started")
    del lines[number]
    assert "made a step before it was started" in " ".join(d.text for d in _run(tmp_path, lines).differences)


def test_an_invented_drop_is_found(tmp_path: Path) -> None:
    """Only messages in flight can be lost."""
    lines = list(eventful_lines())
    number = _find(lines, lambda record: record.get("fate") == "dropped")
    lines.insert(number + 1, lines[number])
    report = _run(tmp_path, lines)
    assert report.differences[0].record == number + 1
    assert "which is not in flight, was dropped" in report.differences[0].text


def test_an_edited_keyframe_is_found(tmp_path: Path) -> None:
    """It differs from the fold of the records before it."""
    lines = list(eventful_lines())
    number = _find(lines, lambda record: record["record"] == "keyframe", 2)
    _edit(lines, number, lambda record: record["snapshot"].update(lines=5))
    report = _run(tmp_path, lines)
    assert [difference.record for difference in report.differences] == [number]
    assert "the keyframe differs from the state after the records before it" in report.differences[0].text


def test_damage_is_a_difference_and_an_unknown_kind_is_not(tmp_path: Path) -> None:
    """A line that cannot be read may have been anything; a kind of a newer version is skipped and counted."""
    lines = list(eventful_lines())
    lines.insert(-1, b'{"record":"weather"}')
    report = _run(tmp_path, lines)
    assert (report.holds, report.unknown) == (True, 1)
    lines.insert(-1, b"{garbage")
    report = _run(tmp_path, lines)
    assert [difference.record for difference in report.differences] == [len(lines) - 2]
    assert report.differences[0].text.startswith("cannot be read: ")


def test_a_second_header_is_found(tmp_path: Path) -> None:
    """Two recordings were concatenated."""
    lines = list(eventful_lines())
    lines.append(lines[0])
    (difference,) = _run(tmp_path, lines).differences
    assert (difference.record, difference.text) == (len(lines) - 1, "a second header")


def test_a_cut_off_recording_holds_up_to_its_end(tmp_path: Path) -> None:
    """The report marks it as torn."""
    path = write_lines(tmp_path / "run.jsonl", eventful_lines())
    path.write_bytes(path.read_bytes()[:-5])
    report = execute_again(path)
    assert (report.holds, report.torn) == (True, True)


def test_it_stops_at_the_limit_of_differences(tmp_path: Path) -> None:
    class Idle(Protocol):
        pass

    lines = FileRecords(write_lines(tmp_path / "run.jsonl", eventful_lines()))
    progress: list[int] = []
    report = reexecute(lines, Idle, "", most=7, progress=progress.append)
    assert len(report.differences) == 7
    assert report.source_differs
    assert progress == [0]


def test_only_the_installed_protocol_is_run(tmp_path: Path) -> None:
    """The source in the recording is only displayed."""
    lines = list(eventful_lines())
    _edit(lines, 0, lambda header: header["protocol"].update(source="raise SystemExit('executed')"))
    report = _run(tmp_path, lines)
    assert (report.holds, report.source_differs) == (True, True)


def test_foreign_parameters_are_refused(tmp_path: Path) -> None:
    """The message names them."""
    lines = list(eventful_lines())
    _edit(lines, 0, lambda header: header["protocol"].update(parameters={"check_every_us": "often"}))
    text = (
        r"the parameters in the header are not those of bully: Expected `int`, got `str` - at `\$.check_every_us`"
    )
    with pytest.raises(NotARecordingError, match=text):
        _run(tmp_path, lines)


def test_the_recorded_source_is_the_file(tmp_path: Path) -> None:
    """Byte for byte."""
    header = msgspec.json.decode(eventful_lines()[0])
    assert header["protocol"]["source"] == source_of(Bully)[1]
    assert header["protocol"]["file"] == "bully.py"

"""Readers survive arbitrary recordings: they show what can be read, and raise nothing else.

Two kinds of mutations, each drawn from its number, which is in the message of a failure: bytes changed, removed or
inserted anywhere, and values replaced in records that stay well-formed.
"""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lab.analysis.delivery import LogPage
from lab.analysis.elections import ElectionLog
from lab.analysis.history import History
from lab.analysis.marks import Marks
from lab.cli.run_report import NoteLog, summarize
from lab.protocols import Bully, source_of
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import encode
from lab.recording.timeline import Timeline
from lab.replay.reexecution import reexecute
from lab.tasks.bank.bank_analysis import BankAnalysis
from tests.profile import amount
from tests.recording.samples import eventful_lines

BYTES = VALUES = amount(quick=50, soak=3_000)
BATCH = 50
SOURCE = source_of(Bully)[1]
FIRST = 150
"""So many of the lines are enough, and quick to go through."""

ODD: tuple[Any, ...] = (
    None,
    0,
    -1,
    2**63,
    10**30,
    1.5,
    "",
    "Normal",
    "\x1b[2J",
    [],
    [[]],
    [1, [2]],
    {},
    {"a": {}},
    True,
    {"version": "x"},
    "election",
)


def use(path: Path) -> None:
    """Do everything that is ever done with a recording."""
    try:
        lines = open_recording(path)
    except NotARecordingError:
        return
    history = History(lines.header)
    elections = history.add(ElectionLog(history.cluster))
    analysis = BankAnalysis(lines.header, history.cluster)
    notes = history.add(NoteLog(analysis))
    page = LogPage(0, None)
    for record in lines.records():
        history.observe(record)
        page.feed(record)
        if record is not None:
            encode(record)
    for line in page.lines:
        page.outcome(line, len(lines))
    encode(history.cluster.snapshot())
    encode(summarize(lines.header, history.cluster, elections, notes, analysis.report(str(path)), str(path)))
    assert list(Marks().find_in(lines))[-1:] == [1.0]
    timeline = Timeline(lines)
    timeline.at(len(lines))
    timeline.at(len(lines) // 2)
    timeline.record_at(history.cluster.at_us // 2)
    try:
        reexecute(lines, Bully, SOURCE, most=10_000)
    except NotARecordingError:
        pass
    finally:
        lines.close()


def mutate_bytes(data: bytes, chance: Random) -> bytes:
    """Change, remove or insert a few bytes; half of the time far behind the header."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 12)):
        at = chance.randrange(chance.choice([0, 12_000]), len(changed))
        what = chance.randrange(4)
        if what == 0:
            changed[at] = chance.randrange(256)
        elif what == 1:
            changed[at] ^= 1 << chance.randrange(8)
        elif what == 2:
            del changed[at : at + chance.choice([1, 1, 2, 50, 400])]
        else:
            changed[at:at] = chance.choice([b"\n", b"9", b"\xff", b"null", b"[" * 5_000, b'"', b"0" * 30, b"-"])
    return bytes(changed)


def mutate_values(lines: list[bytes], chance: Random) -> list[bytes]:
    """Replace values in a few records; repeat, remove and swap records."""
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(chance.choice([0, 1]), len(lines))
        what = chance.randrange(6)
        if what == 0:
            del lines[at]
        elif what == 1:
            lines.insert(at, chance.choice(lines))
        elif what == 2 and at > 1:
            lines[at], lines[at - 1] = lines[at - 1], lines[at]
        else:
            record = json.loads(lines[at])
            _replace(record, chance)
            lines[at] = json.dumps(record, separators=(",", ":")).encode()
    return lines


def _replace(value: Any, chance: Random) -> None:
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = chance.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.8:
            value = inner
        else:
            value[key] = chance.choice(ODD)
            return


@pytest.mark.parametrize("first", range(0, BYTES, BATCH))
def test_changed_bytes_break_nothing(first: int, tmp_path: Path) -> None:
    """Opened, folded, laid out, searched, summarized and re-executed: NotARecordingError, or it works."""
    data = b"\n".join(eventful_lines()[:FIRST]) + b"\n"
    path = tmp_path / "run.jsonl"
    for number in range(first, first + BATCH):
        path.write_bytes(mutate_bytes(data, Random(f"bytes {number}")))
        _use(path, f"bytes {number}")


@pytest.mark.parametrize("first", range(0, VALUES, BATCH))
def test_changed_values_break_nothing(first: int, tmp_path: Path) -> None:
    """As above, for records that can be read but are impossible."""
    path = tmp_path / "run.jsonl"
    for number in range(first, first + BATCH):
        lines = mutate_values(list(eventful_lines()[:FIRST]), Random(f"values {number}"))
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        _use(path, f"values {number}")


@pytest.mark.parametrize("field", ["status", "coordinator", "definition", "up", "processing"])
def test_an_impossible_state_breaks_nothing(field: str, tmp_path: Path) -> None:
    """Each odd value in the state of a node."""
    path = tmp_path / "run.jsonl"
    for value in ODD:
        lines = list(eventful_lines()[:FIRST])
        for number, line in enumerate(lines):
            record = json.loads(line)
            if record["record"] == "step" and field in record.get("changed", {}):
                record["changed"][field] = value
                lines[number] = json.dumps(record, separators=(",", ":")).encode()
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        _use(path, f"{field} = {value!r}")


@pytest.mark.parametrize("field", ["at_us", "node", "life", "serial", "pid", "paused_us", "id", "due_us", "seed"])
def test_an_impossible_number_breaks_nothing(field: str, tmp_path: Path) -> None:
    """Each odd number in every field of that name, at any depth."""
    path = tmp_path / "run.jsonl"
    for value in (-1, 0, 2**63, 10**30):
        pattern = rb'"%s":-?\d+' % field.encode()
        data = b"".join(line + b"\n" for line in eventful_lines()[:FIRST])
        path.write_bytes(re.sub(pattern, b'"%s":%d' % (field.encode(), value), data))
        _use(path, f"{field} = {value!r}")


def _use(path: Path, name: str) -> None:
    try:
        use(path)
    except Exception as error:
        raise AssertionError(f"mutation {name}: {type(error).__name__}: {error}") from error


def test_deeply_nested_state_breaks_nothing(tmp_path: Path) -> None:
    """A record nested too deeply to be decoded is ordinary damage."""
    bomb = b'{"record":"step","at_us":1,"node":1,"life":1,"input":{"type":"fired","procedure":"x"},"changed":{"a":'
    bomb += b"[" * 100_000 + b"]" * 100_000 + b"}}"
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"\n".join([eventful_lines()[0], bomb, *eventful_lines()[1:9], b""]))
    use(path)
    lines = open_recording(path)
    assert lines.record(1) is None
    assert list(lines.damage) == [1]

"""The judge and the explanation, on damaged recordings: they give results, and raise nothing."""

import json
from pathlib import Path
from random import Random

import pytest

from lab.properties.judge import Judge
from lab.properties.witness import explain_violation
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import encode
from tests.profile import amount, sampled
from tests.recording.samples import eventful_lines
from tests.recording.test_mutations import FIRST, ODD, mutate_bytes, mutate_values

NUMBERS, BATCH = amount(quick=50, soak=4_000), 50


def judge_file(path: Path) -> int:
    """Judge the file and explain each violation; return their number."""
    try:
        lines = open_recording(path)
    except NotARecordingError:
        return 0
    try:
        judge = Judge(lines.header)
        for record in lines.records():
            judge.observe(record)
        for verdict in judge.verdicts():
            assert str(verdict)
        for violation in judge.violations[:20]:
            assert encode(explain_violation(lines, violation))
        assert encode(judge.violations)
        return len(judge.violations)
    finally:
        lines.close()


@pytest.mark.parametrize("first", range(0, NUMBERS, BATCH))
def test_changed_values(first: int, tmp_path: Path) -> None:
    """Values replaced, records repeated, removed and swapped; a failure names the number."""
    path = tmp_path / "run.jsonl"
    found = 0
    for number in range(first, first + BATCH):
        lines = mutate_values(list(eventful_lines()[:FIRST]), Random(f"judge {number}"))
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        found += _judge_file(path, f"judge {number}")
    assert found, "none of them offends"


@pytest.mark.parametrize("first", range(0, NUMBERS, BATCH))
def test_changed_bytes(first: int, tmp_path: Path) -> None:
    """Bytes changed, removed and inserted: lines that cannot be read."""
    path = tmp_path / "run.jsonl"
    data = b"\n".join(eventful_lines()[:FIRST]) + b"\n"
    for number in range(first, first + BATCH):
        path.write_bytes(mutate_bytes(data, Random(f"judge bytes {number}")))
        _judge_file(path, f"judge bytes {number}")


FIELDS = ("status", "coordinator", "definition", "at_us", "node", "until_us", "source")


@pytest.mark.parametrize("field", FIELDS)
def test_an_impossible_value_everywhere(field: str, tmp_path: Path) -> None:
    """One odd value in every field of that name, at any depth; each value in some field."""
    path = tmp_path / "run.jsonl"
    for value in sampled((*ODD, 10**4299, -(10**4299)), 3, FIELDS.index(field) % 3):
        lines = [json.dumps(_replaced(json.loads(line), field, value)).encode() for line in eventful_lines()[1:]]
        path.write_bytes(b"".join(line + b"\n" for line in (eventful_lines()[0], *lines)))
        _judge_file(path, f"{field} = {str(value)[:40]}")


@pytest.mark.parametrize("depth", [300, 900, 960, *range(980, 1000, amount(quick=5, soak=1)), 999])
def test_a_deeply_nested_definition(depth: int, tmp_path: Path) -> None:
    """It is compared if it can be."""
    deep = b'{"record":"step","at_us":1,"node":1,"life":1,"input":{"type":"fired","procedure":"x"},"changed":'
    deep += b'{"status":"Normal","coordinator":1,"definition":' + b"[" * depth + b"]" * depth + b"}}"
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"\n".join([eventful_lines()[0], deep, *eventful_lines()[1:FIRST], b""]))
    _judge_file(path, f"depth {depth}")


def _replaced(value: object, field: str, by: object) -> object:
    if isinstance(value, dict):
        return {key: by if key == field else _replaced(inner, field, by) for key, inner in value.items()}
    return [_replaced(inner, field, by) for inner in value] if isinstance(value, list) else value


def _judge_file(path: Path, name: str) -> int:
    try:
        return judge_file(path)
    except Exception as error:
        raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error

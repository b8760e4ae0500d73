"""Recordings of attempts at exercises, honest and edited."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from lab.exercises.attempts import attempt_config
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import drawn_for
from lab.exercises.handout import fill
from lab.recording.records import Header, decode
from lab.recording.writer import Chain
from tests.forked_hosts import TestHost

RawRecords = list[dict[str, Any]]


def run_attempt(
    exercise: Exercise,
    commands: Sequence[str],
    path: Path,
    student: str = "anna",
    end_us: int = 6_000_000,
    nonce: bytes = b"",
) -> Path:
    """Run an attempt in the exercise's world, as it is drawn for the student; a simulated one at full speed.

    The commands may have drawn values and answers in braces.
    """
    drawn = drawn_for(exercise, student, nonce)
    config = attempt_config(drawn, student, 1, path)
    filled = tuple(fill(command, drawn.script_values) for command in commands)
    host = TestHost(replace(config, commands=filled, end_us=end_us, speed=None))
    try:
        host.ready()
        host.wait()
    finally:
        host.end()
        host.close()
    return path


def solution_of(exercise: Exercise) -> list[str]:
    lines = (exercise.folder / "solution.script").read_text("utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def read_lines(path: Path) -> RawRecords:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def write_lines(path: Path, lines: RawRecords) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def chained(lines: RawRecords) -> RawRecords:
    """Return the records with their digests recomputed."""
    header = decode(msgspec.json.encode(lines[0]))
    assert isinstance(header, Header)
    chain, found = Chain(header), []
    for line in lines:
        found.append({**line, "digest": chain.digest} if "digest" in line else line)
        chain.add(msgspec.json.encode(found[-1]) + b"\n")
    return found


def number_places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all integers in a record."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from number_places(each, (*place, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from number_places(each, (*place, index))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield place


def with_number(record: dict[str, Any], place: tuple[Any, ...], add: int) -> dict[str, Any]:
    """Return the record with ``add`` added to the number at this place."""
    changed: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(record))
    inner: Any = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] += add
    return changed

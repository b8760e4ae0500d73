"""Attempts at exercises as recordings: run here, and edited by somebody who would like more points."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from lab.exercises.attempt import attempt_config
from lab.exercises.exercise import Exercise
from lab.recording.digest_chain import Chain
from lab.recording.records import Header, decode
from lab.worlds.host.launch import HostProcess

RecordStore = list[dict[str, Any]]


def run_attempt(
    exercise: Exercise, commands: Sequence[str], path: Path, student: str = "anna", end_us: int = 6_000_000
) -> Path:
    """Run it in the world that it is for; in a simulated one as fast as can be."""
    config = attempt_config(exercise, student, 1, path)
    host = HostProcess(replace(config, commands=tuple(commands), end_us=end_us, speed=None))
    try:
        host.ready()
        host.wait()
    finally:
        host.end()
        host.close()
    return path


def solution_of(exercise: Exercise) -> list[str]:
    """The lines of its solution."""
    lines = (exercise.folder / "solution.script").read_text("utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def read_lines(path: Path) -> RecordStore:
    """The records, as plain values."""
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def write_lines(path: Path, lines: RecordStore) -> Path:
    """A recording of these."""
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def chained(lines: RecordStore) -> RecordStore:
    """The same, by one who has found out how digests are made."""
    header = decode(msgspec.json.encode(lines[0]))
    assert isinstance(header, Header)
    chain, found = Chain(header), []
    for line in lines:
        found.append({**line, "digest": chain.digest} if "digest" in line else line)
        chain.add(msgspec.json.encode(found[-1]) + b"\n", line["record"] == "keyframe")
    return found


def number_places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where there are whole numbers in a record."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from number_places(each, (*place, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from number_places(each, (*place, index))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield place


def with_number(record: dict[str, Any], place: tuple[Any, ...], add: int) -> dict[str, Any]:
    """The record with that much more at this place."""
    changed: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(record))
    inner: Any = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] += add
    return changed

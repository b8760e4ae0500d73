"""Recordings for the tests of the interface: a long one in virtual time, and the one that is shipped."""

import functools
from pathlib import Path

from lab.journal import Link, Record, Writer
from lab.kernel import Timing
from lab.protocols import Bully
from lab.script import parse
from tests.course import Course, header_of

__all__ = ["SHIPPED", "long_run", "written"]

SHIPPED = Path(__file__).parents[2] / "recordings" / "two-coordinators.jsonl"

_COMMANDS = (
    "at 3s kill 5",
    "at 6s restart 5",
    "at 9s lose all 10%",
    "at 11s duplicate 1<->3 50%",
    "at 12s heal",
    "at 14s pause 5",
    "at 16s resume 5",
    "at 18s partition 1 2 | 3 4 5",
    "at 21s heal",
)


@functools.cache
def long_run() -> tuple[Record, ...]:
    """Several thousand records of five nodes that are struck in many ways; without keyframes."""
    nodes = (1, 2, 3, 4, 5)
    course = Course(Bully, header_of(Bully, nodes, Timing(50_000, 20_000), Link(8_000, 3_000), 5), None)
    for command in _COMMANDS:
        course.director.add(parse(command))
    for node in nodes:
        course.restart(node)
    while course.advance(60_000_000):
        pass
    return tuple(course.records)


def written(path: Path) -> Path:
    """The long run as a file, with keyframes."""
    header, *records = long_run()
    writer = Writer(path, header)  # type: ignore[arg-type]
    for record in records:
        writer.append(record)
    writer.close()
    return path

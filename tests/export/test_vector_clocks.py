"""The causal past of a message equals the result of a walk along steps, messages and crashes."""

from collections import defaultdict

import pytest

from lab.analysis.spacetime import SpaceTime
from lab.export.excerpt import VectorClocks
from lab.kernel import Fired, Received, Step
from lab.recording.reader import FileRecords
from lab.recording.records import Process
from tests.export.windows import RECORDINGS


def _known_at(lines: FileRecords) -> dict[int, frozenset[int]]:
    """Return, for each record of a node, the records that happened before it, and itself."""
    known: dict[int, frozenset[int]] = {}
    last: dict[int, int] = {}
    sent: dict[tuple[int, int], int] = {}
    dead: frozenset[int] = frozenset()
    for number, record in enumerate(lines.records()):
        if isinstance(record, Process) and record.event in ("killed", "failed"):
            dead |= known.get(last.get(record.node, -1), frozenset()) | {number}
            continue
        if not isinstance(record, Step):
            continue
        before = known.get(last.get(record.node, -1), frozenset())
        given = record.input
        if isinstance(given, Received):
            before |= known[sent[given.source, given.serial]]
        elif isinstance(given, Fired):
            before |= dead
        known[number] = before | {number}
        last[record.node] = number
        sent.update(((record.node, message.serial), number) for message in record.sent)
    return known


@pytest.mark.parametrize(
    "name", ["two-coordinators", "scenarios/partition-in-two", "scenarios/same-blocking-crash-2pc"]
)
def test_clocks_agree_with_the_walk(name: str) -> None:
    """For every pair of messages: the clock has reached the arrival if and only if the walk finds it."""
    lines = FileRecords(RECORDINGS / f"{name}.jsonl")
    space, clocks = SpaceTime(lines.header), VectorClocks(lines.header.nodes)
    for number, record in enumerate(lines.records(1), 1):
        space.observe(record)
        clocks.observe(number, record)
    known = _known_at(lines)
    place = {node: n for n, node in enumerate(lines.header.nodes)}
    counts: defaultdict[bool, int] = defaultdict(int)
    for after in space.messages:
        clock = clocks.sent[after.line.message]
        for before in space.messages:
            if before.arrived and before.end is not None and before.line.target is not None:
                leads = clock[place[before.line.target]] >= before.end.record
                assert leads == (before.end.record in known[after.line.record])
                counts[leads] += 1
    assert min(counts.values()) > 100

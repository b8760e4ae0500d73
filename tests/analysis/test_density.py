"""Density: no line is lost or counted twice, and keyframes give it before records are counted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.analysis.marks import Density
from lab.kernel import Step
from lab.recording.log_lines import count_lines
from lab.recording.reader import FileRecords, RecordStore, open_recording
from lab.recording.records import Record
from tests.tui.recorded import SHIPPED, written


@pytest.fixture(params=["shipped", "long"])
def lines(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FileRecords]:
    """One without keyframes, and one with."""
    found = open_recording(SHIPPED if request.param == "shipped" else written(tmp_path / "run.jsonl"))
    yield found
    found.close()


def _shown(record: Record | None, lines: RecordStore) -> int:
    """Return the number of log lines without heartbeats."""
    assert record is not None
    sent = record.sent if isinstance(record, Step) else ()
    return count_lines(record) - sum(message.kind in lines.header.protocol.heartbeats for message in sent)


def _whole(lines: RecordStore) -> Density:
    density = Density(lines)
    for record in lines.records():
        density.observe(record)
    return density


@pytest.mark.parametrize("count", [2, 43, 147])
def test_each_line_is_counted_at_its_time(lines: FileRecords, count: int) -> None:
    """Without heartbeats; at most one cell away."""
    expected, latest_us = [0] * count, 0
    end_us = max(getattr(record, "at_us", 0) for record in lines.records())
    for record in lines.records():
        latest_us = max(latest_us, getattr(record, "at_us", 0))
        expected[latest_us * (count - 1) // end_us] += _shown(record, lines)
    found = _whole(lines).cells(count, end_us)
    assert sum(found) == sum(expected) > 0
    reached = passed = 0
    for place in range(count - 1):
        reached += found[place]
        passed += expected[place]
        assert passed <= reached <= passed + expected[place + 1]


def test_keyframes_give_the_density_before_counting(tmp_path: Path) -> None:
    """Records already counted are not counted again."""
    lines = open_recording(written(tmp_path / "run.jsonl"))
    end_us = lines.times_us[-1]
    known = lines.lines_at[-1] - lines.heartbeats_at[-1]
    density = Density(lines)
    at_once = density.cells(60, end_us)
    assert sum(at_once) == known
    assert 1 < sum(map(bool, at_once)) <= len(lines.keyframes)
    for record in lines.records(0, lines.keyframes[1] + 1):
        density.observe(record)
    assert sum(density.cells(60, end_us)) == known
    for record in lines.records(lines.keyframes[1] + 1):
        density.observe(record)
    assert sum(density.cells(60, end_us)) == sum(_shown(record, lines) for record in lines.records())
    lines.close()


def test_a_record_that_cannot_be_read_counts_as_nothing(lines: FileRecords) -> None:
    density = Density(lines)
    for _ in range(len(lines)):
        density.observe(None)
    assert density.cells(10, 1_000_000) == [0] * 10

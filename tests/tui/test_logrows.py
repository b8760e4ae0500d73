"""The rows of the log, of which only pages are read, are those that reading everything would give."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.analysis.delivery import DeliveryOutcome, LogPage
from lab.recording.log_lines import LogLine
from lab.recording.reader import FeedRecords, FileRecords, RecordStore, open_recording
from lab.recording.records import Header, decode
from lab.recording.timeline import Timeline
from lab.tui.views.log.log_rows import LogRows
from tests.tui.recorded import SHIPPED, written

Rows = list[tuple[LogLine, DeliveryOutcome | None]]


@pytest.fixture
def lines(tmp_path: Path) -> Iterator[FileRecords]:
    """The long run, on disk."""
    found = open_recording(written(tmp_path / "run.jsonl"))
    assert len(found) > 4000
    assert len(found.keyframes) >= 4
    yield found
    found.close()


def _naive(lines: RecordStore, number: int, heartbeats: bool) -> Rows:
    page = LogPage(0, None)
    for record in lines.records(0, number + 1):
        page.feed(record)
    hidden = () if heartbeats else lines.header.protocol.heartbeats
    shown = [line for line in page.lines if line.kind not in hidden]
    return [(line, page.outcome(line, number) if line.what == "message" else None) for line in shown]


def _all(rows: LogRows, lines: RecordStore, number: int) -> Rows:
    count = rows.count(Timeline(lines).at(number))
    found = [rows.row(index, number) for index in range(count)]
    assert rows.row(count, number) is None, "a row past the last one"
    return [row for row in found if row is not None]


def _numbers(lines: RecordStore) -> list[int]:
    """Here and there, and at the edges of pages; forward, back, and forward again."""
    at = lines.keyframes
    edges = [at[0] - 1, at[0], at[0] + 1, at[2] - 1, at[2], at[-1], len(lines) - 1]
    return [0, 1, 57, *edges, 1500, 800, at[1], 12, len(lines) - 2]


@pytest.mark.parametrize("heartbeats", [True, False])
def test_rows_are_those_of_the_whole_log_at_any_record(lines: FileRecords, heartbeats: bool) -> None:
    rows = LogRows(lines, growing=False)
    rows.heartbeats = heartbeats
    for number in _numbers(lines):
        assert _all(rows, lines, number) == _naive(lines, number, heartbeats), number


def test_heartbeats_may_be_shown_and_hidden_while_one_looks(lines: FileRecords) -> None:
    rows = LogRows(lines, growing=False)
    number = lines.keyframes[1] + 200
    for heartbeats in (False, True, False):
        rows.heartbeats = heartbeats
        assert _all(rows, lines, number) == _naive(lines, number, heartbeats)


def test_how_many_are_hidden_is_how_many_more_there_are(lines: FileRecords) -> None:
    rows = LogRows(lines, growing=False)
    cluster = Timeline(lines).at(len(lines) - 1)
    hidden = rows.hidden_count(cluster)
    assert hidden == len(_naive(lines, cluster.record, True)) - len(_naive(lines, cluster.record, False)) > 1000


def test_many_rows_here_and_there_are_right_whatever_was_looked_at_before(lines: FileRecords) -> None:
    """More pages than are kept: those that were let go are read again."""
    rows = LogRows(lines, growing=False)
    last = len(lines) - 1
    expected = _naive(lines, last, False)
    for index in [place * 7919 % len(expected) for place in range(400)]:
        assert rows.row(index, last) == expected[index]


@pytest.mark.parametrize("heartbeats", [True, False])
def test_rows_are_right_while_the_run_grows(lines: FileRecords, heartbeats: bool) -> None:
    """The last page has no end yet, until a keyframe comes and it has one."""
    feed = FeedRecords(lines.raw(0))
    rows = LogRows(feed, growing=True)
    rows.heartbeats = heartbeats
    for number in range(1, len(lines)):
        feed.append(lines.raw(number))
        if number % 401 == 0 or number - 1 in lines.keyframes or number in lines.keyframes:
            assert _all(rows, feed, number) == _naive(lines, number, heartbeats), number
    assert feed.keyframes == lines.keyframes
    feed.close()


def test_looking_back_while_the_run_grows(lines: FileRecords) -> None:
    feed = FeedRecords(lines.raw(0))
    rows = LogRows(feed, growing=True)
    for number in range(1, len(lines)):
        feed.append(lines.raw(number))
        if number % 700 == 0:
            assert _all(rows, feed, number) == _naive(lines, number, False)
            assert _all(rows, feed, number // 3) == _naive(lines, number // 3, False)
    feed.close()


def test_the_shipped_recording_has_a_message_of_every_final_fate_it_should() -> None:
    lines = open_recording(SHIPPED)
    rows = _all(LogRows(lines, growing=False), lines, len(lines) - 1)
    fates = {ending.fate for _, ending in rows if ending is not None}
    assert {"delivered", "receiver down", "too late"} <= fates
    assert isinstance(decode(lines.raw(0)), Header)
    lines.close()

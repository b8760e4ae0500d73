"""The rows of the log, read by pages, equal those of a complete read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.analysis.delivery import DeliveryOutcome, LogPage
from lab.recording.log_lines import LogLine
from lab.recording.reader import FeedRecords, FileRecords, RecordStore, open_recording
from lab.recording.records import Header, decode
from lab.recording.timeline import Timeline
from lab.tui.views.log_view import LogRows
from tests.tui.recorded import SHIPPED, written

Rows = list[tuple[LogLine, DeliveryOutcome | None]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FileRecords]:
    """The long run, on disk."""
    found = open_recording(written(tmp_path / "run.jsonl"))
    assert len(found) > 4000
    assert len(found.keyframes) >= 4
    yield found
    found.close()


def _naive(store: RecordStore, number: int, heartbeats: bool) -> Rows:
    page = LogPage(0, None)
    for record in store.records(0, number + 1):
        page.feed(record)
    hidden = () if heartbeats else store.header.protocol.heartbeats
    shown = [line for line in page.lines if line.kind not in hidden]
    return [(line, page.outcome(line, number) if line.what == "message" else None) for line in shown]


def _all(rows: LogRows, store: RecordStore, number: int) -> Rows:
    count = rows.count(Timeline(store).at(number))
    found = [rows.row(index, number) for index in range(count)]
    assert rows.row(count, number) is None, "a row past the last one"
    return [row for row in found if row is not None]


def _numbers(store: RecordStore) -> list[int]:
    """Return row numbers in the middle and at the edges of pages, forward and back."""
    at = store.keyframes
    edges = [at[0] - 1, at[0], at[0] + 1, at[2] - 1, at[2], at[-1], len(store) - 1]
    return [0, 1, 57, *edges, 1500, 800, at[1], 12, len(store) - 2]


@pytest.mark.parametrize("heartbeats", [True, False])
def test_rows_are_those_of_the_whole_log_at_any_record(store: FileRecords, heartbeats: bool) -> None:
    rows = LogRows(store, growing=False)
    rows.heartbeats = heartbeats
    for number in _numbers(store):
        assert _all(rows, store, number) == _naive(store, number, heartbeats), number


def test_heartbeats_may_be_shown_and_hidden_while_one_looks(store: FileRecords) -> None:
    rows = LogRows(store, growing=False)
    number = store.keyframes[1] + 200
    for heartbeats in (False, True, False):
        rows.heartbeats = heartbeats
        assert _all(rows, store, number) == _naive(store, number, heartbeats)


def test_how_many_are_hidden_is_how_many_more_there_are(store: FileRecords) -> None:
    rows = LogRows(store, growing=False)
    cluster = Timeline(store).at(len(store) - 1)
    hidden = rows.hidden_count(cluster)
    assert hidden == len(_naive(store, cluster.record, True)) - len(_naive(store, cluster.record, False)) > 1000


def test_rows_are_right_in_any_order_of_access(store: FileRecords) -> None:
    """Also for more pages than are kept."""
    rows = LogRows(store, growing=False)
    last = len(store) - 1
    expected = _naive(store, last, False)
    for index in [place * 7919 % len(expected) for place in range(400)]:
        assert rows.row(index, last) == expected[index]


@pytest.mark.parametrize("heartbeats", [True, False])
def test_rows_are_right_while_the_run_grows(store: FileRecords, heartbeats: bool) -> None:
    """The last page has no end until a keyframe comes."""
    feed = FeedRecords(store.raw(0))
    rows = LogRows(feed, growing=True)
    rows.heartbeats = heartbeats
    for number in range(1, len(store)):
        feed.append(store.raw(number))
        if number % 401 == 0 or number - 1 in store.keyframes or number in store.keyframes:
            assert _all(rows, feed, number) == _naive(store, number, heartbeats), number
    assert feed.keyframes == store.keyframes
    feed.close()


def test_looking_back_while_the_run_grows(store: FileRecords) -> None:
    feed = FeedRecords(store.raw(0))
    rows = LogRows(feed, growing=True)
    for number in range(1, len(store)):
        feed.append(store.raw(number))
        if number % 700 == 0:
            assert _all(rows, feed, number) == _naive(store, number, False)
            assert _all(rows, feed, number // 3) == _naive(store, number // 3, False)
    feed.close()


def test_the_shipped_recording_has_a_message_of_every_final_fate_it_should() -> None:
    store = open_recording(SHIPPED)
    rows = _all(LogRows(store, growing=False), store, len(store) - 1)
    outcomes = {ending.fate for _, ending in rows if ending is not None}
    assert {"delivered", "receiver down", "timed out"} <= outcomes
    assert isinstance(decode(store.raw(0)), Header)
    store.close()

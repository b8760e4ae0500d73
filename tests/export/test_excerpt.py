"""A window of a recording begins in the state of that time, and has the same contents as the whole recording."""

import re

import pytest

from lab.analysis.delivery import LogPage
from lab.analysis.spacetime import StatusInterval
from lab.export.excerpt import Excerpt, ExportError, ExportOptions, read_excerpt
from lab.properties.judge import Judge
from lab.recording.reader import FileRecords
from lab.recording.timeline import Timeline
from tests.export.windows import RECORDINGS, eventful_recording, excerpt_in

BEGINS_US = (1, 300_000, 777_777, 1_250_000, 1_900_001, 2_600_000, 3_600_000, 4_150_000)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> FileRecords:
    """A recording with all kinds of events."""
    return eventful_recording(tmp_path_factory.mktemp("run"))


def _intervals_at(excerpt: Excerpt) -> dict[int, StatusInterval]:
    return {
        each.node: each
        for each in excerpt.status_intervals
        if each.since.record < excerpt.first and (each.until is None or each.until.record >= excerpt.first)
    }


@pytest.mark.parametrize("from_us", BEGINS_US)
def test_a_window_begins_in_the_state_of_that_time(store: FileRecords, from_us: int) -> None:
    """Nodes, messages in flight and active faults equal those of the timeline at the previous record."""
    excerpt = excerpt_in(store, from_us=from_us, until_us=from_us + 400_000, heartbeats=True)
    cluster = Timeline(store).at(excerpt.first - 1)
    intervals = _intervals_at(excerpt)
    for node, view in cluster.nodes.items():
        stood = intervals[node]
        expected = (view.status, view.process, view.coordinator, view.group)
        assert (stood.status, stood.process, stood.coordinator, stood.group) == expected
    on_their_way = {
        edge.line.message
        for edge in excerpt.messages
        if edge.line.record < excerpt.first and (edge.end is None or edge.end.record >= excerpt.first)
    }
    assert on_their_way == set(cluster.in_flight)
    in_force = {each.fault.id for each in excerpt.fault_intervals if each.since.record < excerpt.first}
    assert in_force == set(cluster.faults)


@pytest.mark.parametrize("from_us", BEGINS_US)
def test_messages_of_a_window_have_their_outcome_in_the_whole_run(store: FileRecords, from_us: int) -> None:
    """Even if that is after the window; the messages are exactly those sent in it."""
    until_us = from_us + 300_000
    excerpt = excerpt_in(store, from_us=from_us, until_us=until_us, heartbeats=True)
    page = LogPage(0, len(store))
    for record in store.records():
        page.feed(record)
    sent = [line for line in page.lines if line.what == "message" and excerpt.first <= line.record <= excerpt.last]
    shown = [edge for edge in excerpt.messages if edge.line.record >= excerpt.first]
    assert [edge.line for edge in shown] == sent
    for edge in shown:
        ending = page.outcome(edge.line, len(store))
        assert (edge.fate, edge.end and edge.end.record) == (
            ("in flight", None)
            if ending is None
            else (ending.fate, None if ending.fate == "held" else ending.record)
        )


def test_an_excerpt_without_window_has_everything(store: FileRecords) -> None:
    """Except for heartbeats, which are counted."""
    every, quiet = excerpt_in(store, heartbeats=True), excerpt_in(store)
    assert every.is_whole
    assert every.messages == every.space.messages
    assert len(quiet.messages) + quiet.left_out == len(every.messages)
    assert quiet.left_out > 0
    assert {edge.line.kind for edge in quiet.messages}.isdisjoint(store.header.protocol.heartbeats)


def test_selected_nodes_have_only_messages_between_them(store: FileRecords) -> None:
    """They are in the order of the recording, however they were named."""
    excerpt = excerpt_in(store, nodes=(3, 1))
    assert excerpt.nodes == (1, 3)
    assert {interval.node for interval in excerpt.status_intervals} == {1, 3}
    assert {(edge.line.source, edge.line.target) for edge in excerpt.messages} == {(1, 3), (3, 1)}
    assert {line.source for line in excerpt.events} == {None, 1, 3}


def test_violations_are_those_of_the_window() -> None:
    """The judge needs records from long before the window."""
    store = _two_coordinators()
    judge = Judge(store.header)
    for record in store.records():
        judge.observe(record)
    excerpt = excerpt_in(store, from_us=5_714_000, until_us=5_718_000)
    expected = [each for each in judge.violations if excerpt.first <= each.record <= excerpt.last]
    assert excerpt.violations == expected
    assert 0 < len(expected) < len(judge.violations)


def _two_coordinators() -> FileRecords:
    """Return the shipped recording that has two coordinators for a while."""
    return FileRecords(RECORDINGS / "two-coordinators.jsonl")


@pytest.mark.parametrize(
    ("options", "output"),
    [
        (ExportOptions(from_us=2_000_000, until_us=1_000_000), "from 2s until 1s is empty"),
        (ExportOptions(from_us=0, until_us=0), "from 0s until 0s is empty"),
        (ExportOptions(from_us=900_000_000), "nothing was recorded from 900s on; this run lasts from 0s until"),
        (ExportOptions(from_us=1, until_us=2), "nothing was recorded from 1us until 2us"),
        (ExportOptions(nodes=(1, 9)), "unknown node 9; the nodes of this run are 1-4"),
    ],
)
def test_invalid_options_are_refused(store: FileRecords, options: ExportOptions, output: str) -> None:
    """The error names the valid values."""
    with pytest.raises(ExportError, match=re.escape(output)) as error:
        read_excerpt(store, options)
    assert "\n" not in str(error.value)


def test_too_many_messages_are_refused_with_a_hint(store: FileRecords) -> None:
    """Heartbeats are mentioned only if they were asked for."""
    with pytest.raises(ExportError, match=r"--from and --until, or fewer --nodes$"):
        excerpt_in(store).need_at_most(10, "a picture")
    with pytest.raises(ExportError, match=r"fewer --nodes, or no --heartbeats$"):
        excerpt_in(store, heartbeats=True).need_at_most(10, "a picture")
    excerpt_in(store).need_at_most(10_000, "a picture")


def test_progress_is_reported(store: FileRecords) -> None:
    """At every record read, and at every record judged once verdicts are asked for."""
    result: list[str] = []
    excerpt = read_excerpt(store, ExportOptions(), result.append)
    assert len(result) == len(store) - 1
    assert result[-1].endswith(f" of {len(store):,} records read")
    assert excerpt.violations is excerpt.violations
    assert len(result) == 2 * len(store) - 1
    assert result[-1].endswith(f" of {len(store):,} records judged")

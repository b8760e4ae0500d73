"""A window of a recording begins as everything stood then, and has what the whole recording has of that time."""

import re

import pytest

from lab.analysis.delivery import LogPage
from lab.analysis.spacetime import StatusInterval
from lab.export.excerpt import Excerpt, ExportError, Wanted, excerpt_of
from lab.properties import Judge
from lab.recording.reader import FileRecords
from lab.recording.timeline import Timeline
from tests.export.cutting import RECORDINGS, eventful_recording, excerpt_in

BEGINS_US = (1, 300_000, 777_777, 1_250_000, 1_900_001, 2_600_000, 3_600_000, 4_150_000)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> FileRecords:
    """A run with a little of everything."""
    return eventful_recording(tmp_path_factory.mktemp("run"))


def _standing(excerpt: Excerpt) -> dict[int, StatusInterval]:
    return {
        each.node: each
        for each in excerpt.stretches
        if each.since.record < excerpt.first and (each.until is None or each.until.record >= excerpt.first)
    }


@pytest.mark.parametrize("from_us", BEGINS_US)
def test_at_its_beginning_all_is_as_it_was_then(lines: FileRecords, from_us: int) -> None:
    """Nodes, messages on their way and faults in force are those that the timeline has at the record before."""
    excerpt = excerpt_in(lines, from_us=from_us, until_us=from_us + 400_000, heartbeats=True)
    cluster = Timeline(lines).at(excerpt.first - 1)
    standing = _standing(excerpt)
    for node, view in cluster.nodes.items():
        stood = standing[node]
        expected = (view.status, view.process, view.coordinator, view.group)
        assert (stood.status, stood.process, stood.coordinator, stood.group) == expected
    on_their_way = {
        arrow.line.message
        for arrow in excerpt.arrows
        if arrow.line.record < excerpt.first and (arrow.end is None or arrow.end.record >= excerpt.first)
    }
    assert on_their_way == set(cluster.in_flight)
    in_force = {each.fault.id for each in excerpt.strikes if each.since.record < excerpt.first}
    assert in_force == set(cluster.faults)


@pytest.mark.parametrize("from_us", BEGINS_US)
def test_messages_of_a_window_have_the_fates_that_the_whole_run_gave_them(
    lines: FileRecords, from_us: int
) -> None:
    """Those that ended after the window too; none is missing, and none is there that was sent at another time."""
    until_us = from_us + 300_000
    excerpt = excerpt_in(lines, from_us=from_us, until_us=until_us, heartbeats=True)
    page = LogPage(0, len(lines))
    for record in lines.records():
        page.feed(record)
    sent = [line for line in page.lines if line.what == "message" and excerpt.first <= line.record <= excerpt.last]
    shown = [arrow for arrow in excerpt.arrows if arrow.line.record >= excerpt.first]
    assert [arrow.line for arrow in shown] == sent
    for arrow in shown:
        ending = page.ending(arrow.line, len(lines))
        assert (arrow.fate, arrow.end and arrow.end.record) == (
            ("in flight", None)
            if ending is None
            else (ending.fate, None if ending.fate == "held" else ending.record)
        )


def test_the_whole_run_has_everything(lines: FileRecords) -> None:
    """But for the heartbeats, which are counted."""
    every, quiet = excerpt_in(lines, heartbeats=True), excerpt_in(lines)
    assert every.is_whole
    assert every.arrows == every.space.arrows
    assert len(quiet.arrows) + quiet.left_out == len(every.arrows)
    assert quiet.left_out > 0
    assert {arrow.line.kind for arrow in quiet.arrows}.isdisjoint(lines.header.protocol.heartbeats)


def test_of_chosen_nodes_there_are_those_and_what_goes_between_them(lines: FileRecords) -> None:
    """In the order of the recording, however they were named."""
    excerpt = excerpt_in(lines, nodes=(3, 1))
    assert excerpt.nodes == (1, 3)
    assert {stretch.node for stretch in excerpt.stretches} == {1, 3}
    assert {(arrow.line.source, arrow.line.target) for arrow in excerpt.arrows} == {(1, 3), (3, 1)}
    assert {line.source for line in excerpt.events} == {None, 1, 3}


def test_violations_are_those_that_the_judge_finds_in_that_time() -> None:
    """The window begins long after the records that the judge needs."""
    lines = _two_coordinators()
    judge = Judge(lines.header)
    for record in lines.records():
        judge.observe(record)
    excerpt = excerpt_in(lines, from_us=5_714_000, until_us=5_718_000)
    expected = [each for each in judge.violations if excerpt.first <= each.record <= excerpt.last]
    assert excerpt.violations == expected
    assert 0 < len(expected) < len(judge.violations)


def _two_coordinators() -> FileRecords:
    """The recording that comes with the program, in which there are two coordinators for a while."""
    return FileRecords(RECORDINGS / "two-coordinators.jsonl")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted(from_us=2_000_000, until_us=1_000_000), "from 2s until 1s is none"),
        (Wanted(from_us=0, until_us=0), "from 0s until 0s is none"),
        (Wanted(from_us=900_000_000), "nothing was recorded from 900s on; this run lasts from 0s until"),
        (Wanted(from_us=1, until_us=2), "nothing was recorded from 1us until 2us"),
        (Wanted(nodes=(1, 9)), "there is no node 9 in this run; its nodes are 1-4"),
    ],
)
def test_what_cannot_be_is_refused(lines: FileRecords, wanted: Wanted, said: str) -> None:
    """With what there is instead."""
    with pytest.raises(ExportError, match=re.escape(said)) as error:
        excerpt_of(lines, wanted)
    assert "\n" not in str(error.value)


def test_too_many_messages_are_refused_with_what_makes_them_fewer(lines: FileRecords) -> None:
    """Heartbeats are named only where they are asked for."""
    with pytest.raises(ExportError, match=r"--from and --until, or fewer --nodes$"):
        excerpt_in(lines).need_at_most(10, "a picture")
    with pytest.raises(ExportError, match=r"fewer --nodes, or no --heartbeats$"):
        excerpt_in(lines, heartbeats=True).need_at_most(10, "a picture")
    excerpt_in(lines).need_at_most(10_000, "a picture")


def test_it_says_how_far_it_is(lines: FileRecords) -> None:
    """At every record that it reads, and at each that it judges once verdicts are asked for."""
    told: list[str] = []
    excerpt = excerpt_of(lines, Wanted(), told.append)
    assert len(told) == len(lines) - 1
    assert told[-1].endswith(f" of {len(lines):,} records read")
    assert excerpt.violations is excerpt.violations
    assert len(told) == 2 * len(lines) - 1
    assert told[-1].endswith(f" of {len(lines):,} records judged")

"""The space-time content of a run agrees with the cluster, the log and the records."""

from collections import Counter, deque

import pytest

from lab.analysis.delivery import LogPage
from lab.analysis.spacetime import SpaceTime, StatusInterval
from lab.kernel import Received, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.log_lines import count_lines, lines_of
from lab.recording.records import Header, Process, Record
from tests.harness import Rig
from tests.tui.recorded import long_run


def _header(records: tuple[Record, ...]) -> Header:
    header = records[0]
    assert isinstance(header, Header)
    return header


@pytest.fixture(scope="module")
def whole() -> SpaceTime:
    """The long run, in one pass."""
    return _observed(SpaceTime(_header(long_run())), long_run()[1:])


def _observed(space: SpaceTime, records: tuple[Record, ...]) -> SpaceTime:
    for record in records:
        space.observe(record)
    return space


def test_messages_have_the_outcomes_of_the_log(whole: SpaceTime) -> None:
    """Outcome, record and time equal those of a log page of the whole run."""
    page = LogPage(0, len(long_run()))
    for record in long_run():
        page.feed(record)
    outcomes = [(line, page.outcome(line, len(long_run()))) for line in page.lines if line.what == "message"]
    assert [arrow.line for arrow in whole.messages] == [line for line, _ in outcomes]
    for arrow, (_, ending) in zip(whole.messages, outcomes, strict=True):
        if ending is None or ending.fate == "held":
            assert arrow.end is None
            assert arrow.fate == ("in flight" if ending is None else "held")
        else:
            assert arrow.end is not None
            assert (arrow.fate, arrow.end.record, arrow.end.at_us) == (ending.fate, ending.record, ending.at_us)
    assert {arrow.fate for arrow in whole.messages} > {"delivered", "lost", "cut", "receiver down"}


def test_status_intervals_match_the_cluster(whole: SpaceTime) -> None:
    """At every record, the open intervals equal the states of nodes."""
    cluster, intervals = ClusterState.of(_header(long_run())), dict[int, StatusInterval]()
    coming = deque(whole.status_intervals)
    for number, record in enumerate(long_run()):
        cluster.apply(record)
        while coming and coming[0].since.record <= number:
            interval = coming.popleft()
            if interval.node in intervals:
                assert intervals[interval.node].until == interval.since
            intervals[interval.node] = interval
        for node, view in cluster.nodes.items():
            stood = intervals[node]
            assert (stood.status, stood.process) == (view.status, view.process)
            assert (stood.coordinator, stood.group) == (view.coordinator, view.group)
            assert stood.leads == (view.leads and view.process == "running")
    assert not coming
    assert all(interval.until is None for interval in intervals.values())


def test_fault_intervals_match_the_cluster(whole: SpaceTime) -> None:
    """At every record, and at the end with what they touched."""
    cluster = ClusterState.of(_header(long_run()))
    for number, record in enumerate(long_run()):
        cluster.apply(record)
        in_force = {
            interval.fault.id
            for interval in whole.fault_intervals
            if interval.since.record <= number and (interval.until is None or number < interval.until.record)
        }
        assert in_force == cluster.faults.keys()
    ended = {fault.id: fault for fault in (*cluster.lifted, *cluster.faults.values())}
    assert {interval.fault.id: interval.fault for interval in whole.fault_intervals} == ended
    assert any(interval.fault.messages for interval in whole.fault_intervals)


def test_a_duplicated_message_arrives_again(whole: SpaceTime) -> None:
    """As often as steps received it, and the fault is named."""
    taken = Counter(
        (record.input.source, record.input.serial)
        for record in long_run()
        if isinstance(record, Step) and isinstance(record.input, Received)
    )
    arrived = {arrow.line.message: arrow.arrived + len(arrow.again) for arrow in whole.messages}
    assert {key: count for key, count in arrived.items() if count} == dict(taken)
    twice = [arrow for arrow in whole.messages if arrow.again]
    kinds = {interval.fault.id: interval.fault.kind for interval in whole.fault_intervals}
    assert twice
    assert all("duplicate" in {kinds[number] for number in arrow.by} for arrow in twice)


def test_messages_without_copies_are_forgotten(whole: SpaceTime) -> None:
    """The messages in flight are those of the cluster."""
    cluster = ClusterState.of(_header(long_run()))
    for record in long_run():
        cluster.apply(record)
    assert set(whole._in_flight) == set(cluster.in_flight)


def test_other_lines_are_events(whole: SpaceTime) -> None:
    """No line of the log is missing."""
    lines = [line for number, record in enumerate(long_run()) for line in lines_of(number, record)]
    assert whole.events == [line for line in lines if line.what != "message"]
    assert len(whole.events) + len(whole.messages) == sum(map(count_lines, long_run()))


@pytest.mark.parametrize("number", [50, 333, 1000, 2500, 4000])
def test_a_pass_from_a_keyframe_is_the_same(whole: SpaceTime, number: int) -> None:
    """Earlier messages are present, without the record that sent them; all else is equal."""
    records, cluster = long_run(), ClusterState.of(_header(long_run()))
    for record in records[:number]:
        cluster.apply(record)
    later = _observed(SpaceTime(_header(records), cluster.snapshot()), records[number:])
    shift = 1  # a keyframe is a record too, and there was none
    for one, other in zip(
        [arrow for arrow in whole.messages if arrow.sent.record >= number],
        [arrow for arrow in later.messages if arrow.sent.record >= 0],
        strict=True,
    ):
        assert (one.line.message, one.fate, one.by) == (other.line.message, other.fate, other.by)
        assert (one.end is None) == (other.end is None)
        if one.end is not None and other.end is not None:
            assert (one.end.record + shift, one.end.at_us) == (other.end.record, other.end.at_us)
    before = [arrow for arrow in later.messages if arrow.sent.record < 0]
    known = {arrow.line.message: arrow for arrow in whole.messages}
    assert [arrow.line.message for arrow in before] == list(cluster.in_flight)
    assert [arrow.fate for arrow in before] == [known[arrow.line.message].fate for arrow in before]
    intervals = {interval.node: interval.shown for interval in later.status_intervals}
    assert intervals == {interval.node: interval.shown for interval in whole.status_intervals}


def test_a_killed_node_is_down_until_it_restarts() -> None:
    """A kill ends an interval and begins one in which the node is Down; the restart ends the fault."""
    rig = Rig([1, 2, 3]).started()
    rig.run(20 * 120_000)
    rig.do("kill 3")
    rig.run(20 * 120_000)
    rig.do("restart 3")
    rig.run(20 * 120_000)
    space = _observed(SpaceTime(rig.header), tuple(rig.records[1:]))
    killed, started = (
        next(
            n
            for n, r in enumerate(rig.records)
            if isinstance(r, Process) and r.event == event and r.incarnation == incarnation
        )
        for event, incarnation in (("killed", 1), ("started", 2))
    )
    down = next(
        interval for interval in space.status_intervals if interval.node == 3 and interval.shown == "killed"
    )
    assert down.since.record == killed
    assert down.until is not None
    assert down.until.record == started
    (interval,) = space.fault_intervals
    assert interval.until is not None
    assert (interval.fault.text, interval.until.record) == ("kill 3", started)
    assert interval.fault.messages > 0

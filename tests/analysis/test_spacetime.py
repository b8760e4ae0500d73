"""A run in space and time is the same account as the cluster's, the log's and the records' own."""

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


def test_messages_have_the_fates_that_the_log_tells(whole: SpaceTime) -> None:
    """Fate, record and time are those of a page of the log that holds the whole run."""
    page = LogPage(0, len(long_run()))
    for record in long_run():
        page.feed(record)
    told = [(line, page.ending(line, len(long_run()))) for line in page.lines if line.what == "message"]
    assert [arrow.line for arrow in whole.arrows] == [line for line, _ in told]
    for arrow, (_, ending) in zip(whole.arrows, told, strict=True):
        if ending is None or ending.fate == "held":
            assert arrow.end is None
            assert arrow.fate == ("in flight" if ending is None else "held")
        else:
            assert arrow.end is not None
            assert (arrow.fate, arrow.end.record, arrow.end.at_us) == (ending.fate, ending.record, ending.at_us)
    assert {arrow.fate for arrow in whole.arrows} > {"delivered", "lost", "cut", "receiver down"}


def test_nodes_stand_as_the_cluster_has_it(whole: SpaceTime) -> None:
    """At every record the stretches that are going on are what the nodes' views say."""
    cluster, standing = ClusterState.of(_header(long_run())), dict[int, StatusInterval]()
    coming = deque(whole.stretches)
    for number, record in enumerate(long_run()):
        cluster.apply(record)
        while coming and coming[0].since.record <= number:
            stretch = coming.popleft()
            if stretch.node in standing:
                assert standing[stretch.node].until == stretch.since
            standing[stretch.node] = stretch
        for node, view in cluster.nodes.items():
            stood = standing[node]
            assert (stood.status, stood.process) == (view.status, view.process)
            assert (stood.coordinator, stood.group) == (view.coordinator, view.group)
            assert stood.leads == (view.leads and view.process == "running")
    assert not coming
    assert all(stretch.until is None for stretch in standing.values())


def test_faults_are_in_force_as_the_cluster_has_it(whole: SpaceTime) -> None:
    """At every record, and in the end with what they touched."""
    cluster = ClusterState.of(_header(long_run()))
    for number, record in enumerate(long_run()):
        cluster.apply(record)
        in_force = {
            strike.fault.id
            for strike in whole.strikes
            if strike.since.record <= number and (strike.until is None or number < strike.until.record)
        }
        assert in_force == cluster.faults.keys()
    ended = {fault.id: fault for fault in (*cluster.lifted, *cluster.faults.values())}
    assert {strike.fault.id: strike.fault for strike in whole.strikes} == ended
    assert any(strike.fault.messages for strike in whole.strikes)


def test_a_message_that_was_duplicated_arrives_again(whole: SpaceTime) -> None:
    """As often as steps took it, and the fault that did it is named."""
    taken = Counter(
        (record.input.source, record.input.serial)
        for record in long_run()
        if isinstance(record, Step) and isinstance(record.input, Received)
    )
    arrived = {arrow.line.message: arrow.arrived + len(arrow.again) for arrow in whole.arrows}
    assert {key: count for key, count in arrived.items() if count} == dict(taken)
    twice = [arrow for arrow in whole.arrows if arrow.again]
    kinds = {strike.fault.id: strike.fault.kind for strike in whole.strikes}
    assert twice
    assert all("duplicate" in {kinds[number] for number in arrow.by} for arrow in twice)


def test_a_message_of_which_no_copy_is_left_is_not_kept_in_mind(whole: SpaceTime) -> None:
    """However many were duplicated: those that are under way are those of the cluster."""
    cluster = ClusterState.of(_header(long_run()))
    for record in long_run():
        cluster.apply(record)
    assert set(whole._under_way) == set(cluster.in_flight)


def test_what_is_no_message_is_an_event(whole: SpaceTime) -> None:
    """Nothing of the log is left out."""
    lines = [line for number, record in enumerate(long_run()) for line in lines_of(number, record)]
    assert whole.events == [line for line in lines if line.what != "message"]
    assert len(whole.events) + len(whole.arrows) == sum(map(count_lines, long_run()))


@pytest.mark.parametrize("number", [50, 333, 1000, 2500, 4000])
def test_from_a_keyframe_on_it_is_the_same(whole: SpaceTime, number: int) -> None:
    """What began before is there, without what it was that began it; all else is equal."""
    records, cluster = long_run(), ClusterState.of(_header(long_run()))
    for record in records[:number]:
        cluster.apply(record)
    later = _observed(SpaceTime(_header(records), cluster.snapshot()), records[number:])
    shift = 1  # a keyframe is a record too, and there was none
    for one, other in zip(
        [arrow for arrow in whole.arrows if arrow.sent.record >= number],
        [arrow for arrow in later.arrows if arrow.sent.record >= 0],
        strict=True,
    ):
        assert (one.line.message, one.fate, one.by) == (other.line.message, other.fate, other.by)
        assert (one.end is None) == (other.end is None)
        if one.end is not None and other.end is not None:
            assert (one.end.record + shift, one.end.at_us) == (other.end.record, other.end.at_us)
    before = [arrow for arrow in later.arrows if arrow.sent.record < 0]
    known = {arrow.line.message: arrow for arrow in whole.arrows}
    assert [arrow.line.message for arrow in before] == list(cluster.in_flight)
    assert [arrow.fate for arrow in before] == [known[arrow.line.message].fate for arrow in before]
    standing = {stretch.node: stretch.shown for stretch in later.stretches}
    assert standing == {stretch.node: stretch.shown for stretch in whole.stretches}


def test_one_that_is_killed_is_gone_until_it_comes_back() -> None:
    """A kill ends a stretch and begins one in which it is Down; the fault is over with the restart."""
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
    down = next(stretch for stretch in space.stretches if stretch.node == 3 and stretch.shown == "killed")
    assert down.since.record == killed
    assert down.until is not None
    assert down.until.record == started
    (strike,) = space.strikes
    assert strike.until is not None
    assert (strike.fault.text, strike.until.record) == ("kill 3", started)
    assert strike.fault.messages > 0

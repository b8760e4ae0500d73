"""The part of a run that the diagram knows: wherever it is sought to, it is what a fold of all has there."""

from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from msgspec import Raw

from lab.analysis.group_history import Point
from lab.analysis.spacetime import SpaceTime
from lab.kernel import Fired, Message, Received, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import FileRecords, open_recording
from lab.recording.records import Record, Routed
from lab.recording.timeline import Timeline
from lab.tui.run.cursor import Cursor
from lab.tui.views.diagram import window as windows
from lab.tui.views.diagram.focus import Focus
from lab.tui.views.diagram.order import RowOrder
from lab.tui.views.diagram.picking import CausalCone, Picked, describe_selection
from lab.tui.views.diagram.window import Window
from tests.harness import Rig
from tests.tui.recorded import written


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minute of five nodes that are struck in many ways, with keyframes."""
    return written(tmp_path_factory.mktemp("window") / "long.jsonl")


def _heartbeats(lines: FileRecords) -> frozenset[str]:
    return frozenset(lines.header.protocol.heartbeats)


def _whole(lines: FileRecords) -> SpaceTime:
    space = SpaceTime(lines.header)
    for record in lines.records(1):
        space.observe(record)
    return space


def _fates(space: SpaceTime, first: int, end: int) -> dict[tuple[int, int], tuple[str, int | None]]:
    """What became of the messages sent in these records, and with which record."""
    return {
        arrow.line.message: (arrow.fate, None if arrow.end is None else arrow.end.record)
        for arrow in space.messages
        if first <= arrow.sent.record < end
    }


@pytest.mark.parametrize("seed", range(4))
def test_it_knows_what_the_whole_fold_knows(recording: Path, seed: int) -> None:
    """After any seeks, forwards, backwards and a little on: messages and their fates, and how each node stood."""
    chance = Random(f"window/{seed}")
    with closing(open_recording(recording)) as lines:
        whole, window = _whole(lines), Window(lines)
        place = 0
        for _ in range(8):
            place = chance.choice((chance.randrange(len(lines)), min(place + 300, len(lines) - 1)))
            window.begin(place, _heartbeats(lines))
            while window.fed <= place or (not window.is_at_end and window.fed < place + 400):
                assert window.feed(place + 400, 150) <= 150
            assert window.start <= place < window.fed
            end = window.fed - 200 if not window.is_at_end else window.fed
            known = _fates(window.space, place, end)
            assert known.keys() == _fates(whole, place, end).keys()
            for message, (fate, ended) in _fates(whole, place, end).items():
                if ended is None or ended < window.fed:
                    assert known[message] == (fate, ended)
            stood = {(each.node, each.since.record, each.shown) for each in window.space.status_intervals}
            for stretch in whole.status_intervals:
                if place < stretch.since.record < window.fed:
                    assert (stretch.node, stretch.since.record, stretch.shown) in stood


def test_it_forgets_what_is_far_behind_and_holds_a_bounded_number(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fed along the whole recording it stays small; asked for too much it takes no more than it may."""
    with closing(open_recording(recording)) as lines:
        window = Window(lines)
        for place in range(0, len(lines), 100):
            window.begin(place, _heartbeats(lines))
            window.feed(place + 100, 100)
            assert window.fed - window.start < 5_000
            assert len(window.happened) <= window.fed - window.start
        assert window.begun == 1  # it was never folded anew
        monkeypatch.setattr(windows, "MOST_RECORDS", 700)
        window = Window(lines)
        while window.feed(len(lines), 500):
            pass
        assert window.fed == 700
        assert window.is_full()


def test_a_row_is_a_record_that_shows_something(recording: Path) -> None:
    """Heartbeats have rows where they are wanted; a quiet time has one more, and says how long it is."""
    with closing(open_recording(recording)) as lines:
        heartbeats, quiet_us = lines.header.protocol.heartbeats, lines.header.timing.tm_us
        some, every = RowOrder(heartbeats, quiet_us), RowOrder((), quiet_us)
        for number, record in enumerate(lines.records()):
            some.observe(number, record)
            every.observe(number, record)
        assert set(some.numbers) < set(every.numbers)
        assert some.rows == sorted(set(some.rows))
        quiet = [row for row in range(some.end) if some.at(row) is None]
        assert quiet
        assert all((some.quiet_us(row) or 0) > quiet_us for row in quiet)
        for number, row in zip(some.numbers, some.rows, strict=True):
            found = some.at(row)
            assert found is not None
            assert found[0] == number
            assert some.row(number) == row


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten minutes in which nothing is sent but heartbeats, once there is a coordinator."""
    rig = Rig((1, 2, 3)).started()
    rig.run(600_000_000)
    return rig.write(tmp_path_factory.mktemp("quiet") / "quiet.jsonl", end=False)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 1.0])
def test_where_only_heartbeats_are_it_comes_to_rest(quiet: Path, share: float) -> None:
    """Few rows are found, however far back it looks; then it looks no further, and knows the cursor's record."""
    with closing(open_recording(quiet)) as lines:
        focus, number = Focus(lines), round(share * (len(lines) - 1))
        cluster = Timeline(lines).at(number)
        moment = Cursor(cluster, cluster.at_us)
        begun = []
        for _ in range(120):
            focus.update(moment, 40, _heartbeats(lines), step=1)
            begun.append(focus.window.begun)
        assert begun[60:] == begun[60:61] * 60
        assert begun[-1] < 8
        assert focus.window.start <= number < focus.window.fed


def test_followed_where_only_heartbeats_are_it_is_mostly_at_the_cursor(quiet: Path) -> None:
    """A fold begun anew, to look further back, is caught up with in a few frames."""
    with closing(open_recording(quiet)) as lines:
        focus, cluster, is_there = Focus(lines), ClusterState.of(lines.header), []
        for number, record in enumerate(lines.records()):
            cluster.apply(record)
            if number and number % 20 == 0:
                focus.update(Cursor(cluster, cluster.at_us, following=True), 40, _heartbeats(lines), step=1)
                is_there.append(focus.window.start <= number < focus.window.fed)
        assert len(is_there) > 500
        assert sum(is_there) > 0.9 * len(is_there)
        assert focus.window.begun < 20


def _of_heartbeat(*after: Record) -> RowOrder:
    """The rows of a heartbeat that node 1 sends to node 2, and of these records."""
    order = RowOrder(("Beat",), 1_000_000)
    order.observe(1, Step(10, 1, 1, Fired("check"), sent=(Message(1, 2, 5, "Beat", Raw(b"{}")),)))
    for number, record in enumerate(after, 2):
        order.observe(number, record)
    return order


def test_a_heartbeat_has_no_row_however_often_it_arrives_and_leaves_nothing_behind() -> None:
    """Doubled, held, or lost."""
    doubled, lost = Routed(10, 1, 5, "duplicated"), Routed(20, 1, 5, "dropped", "lost")
    taken = Step(30, 2, 1, Received(1, 5))
    for after in ((taken,), (lost,), (doubled, taken, taken), (doubled, lost, taken), (doubled, taken, lost)):
        order = _of_heartbeat(*after)
        assert order.numbers == []
        assert (1, 5) not in order._hidden
    assert (1, 5) in _of_heartbeat(doubled, taken)._hidden


@pytest.mark.parametrize("seed", range(3))
def test_a_cone_that_learns_is_what_one_made_anew_is(recording: Path, seed: int) -> None:
    """Of steps and messages, as the run goes on; for that the past is not looked at again."""
    chance = Random(f"cones/{seed}")
    with closing(open_recording(recording)) as lines:
        window = Window(lines)
        window.begin(chance.randrange(2_000), _heartbeats(lines))
        window.feed(len(lines), 300)
        picked: list[Picked] = [arrow.line.message for arrow in chance.sample(window.space.messages, 6)]
        picked += [each.record for each in chance.sample(window.happened, 6)]
        cones = {each: CausalCone(window, each) for each in picked}
        pasts = {each: cone.past for each, cone in cones.items()}
        for _ in range(10):
            window.feed(len(lines), chance.randrange(1, 60))
            for each, cone in cones.items():
                anew = CausalCone(window, each)
                for one in (cone, anew):
                    one.learn(window)
                assert cone.is_of(window, each)
                assert cone.past is pasts[each]
                assert (cone.records, cone.bounds) == (anew.records, anew.bounds)
                assert cone.records == cone.past | cone.future
                assert cone.bounds == _bounds(window, cone)
        assert any(len(cone.future) > 1 for cone in cones.values())
        window.begin(0, frozenset())
        assert not any(cone.is_of(window, each) for each, cone in cones.items())


def test_where_the_future_is_hidden_nothing_is_said_of_it(recording: Path) -> None:
    """Neither that a message arrives, nor how much comes of it; with its arrival both are."""
    with closing(open_recording(recording)) as lines:
        window = Window(lines)
        window.feed(len(lines), 300)
        for arrow in window.space.messages:
            if arrow.arrived and arrow.end is not None and not arrow.again:
                cone = CausalCone(window, arrow.line.message)
                cone.learn(window)
                before, then = (
                    describe_selection(window, lines, arrow.line.message, cone, upto)
                    for upto in (arrow.end.record - 1, arrow.end.record)
                )
                assert ", in flight · " in before
                assert " causal future 0," in before
                assert f", {arrow.fate} " in then
                assert " causal future 1," in then


def _bounds(window: Window, cone: CausalCone) -> dict[int, tuple[Point | None, Point | None]]:
    """By looking at each node's records from the first on, and from the last back."""
    found = {}
    for node in {each.node for each in window.happened if each.record in cone.records}:
        points = [Point(each.record, each.at_us) for each in window.happened if each.node == node]
        found[node] = (
            next((point for point in reversed(points) if point.record in cone.past), None),
            next((point for point in points if point.record in cone.future - cone.past), None),
        )
    return found

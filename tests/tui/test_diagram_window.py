"""The part of a run that the diagram holds equals that part of a fold over the whole run."""

from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from msgspec import Raw

import lab.tui.views.diagram_window as windows
from lab.analysis.group_history import RecordedMoment
from lab.analysis.spacetime import SpaceTime
from lab.export.diagram_layout import RowOrder
from lab.kernel import Fired, Message, Received, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import FileRecords, open_recording
from lab.recording.records import Record, Routed
from lab.recording.timeline import Timeline
from lab.tui.player import Cursor
from lab.tui.views.diagram_window import CausalCone, Focus, PickedKey, Selection, Window
from tests.harness import Rig
from tests.profile import sampled
from tests.tui.recorded import written


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minute of five nodes under many faults, with keyframes."""
    return written(tmp_path_factory.mktemp("window") / "long.jsonl")


def _heartbeats(lines: FileRecords) -> frozenset[str]:
    return frozenset(lines.header.protocol.heartbeats)


def _whole(lines: FileRecords) -> SpaceTime:
    space = SpaceTime(lines.header)
    for record in lines.records(1):
        space.observe(record)
    return space


def _outcomes(space: SpaceTime, first: int, end: int) -> dict[tuple[int, int], tuple[str, int | None]]:
    """Return the delivery outcome of each message sent in these records, and the record that decided it."""
    return {
        arrow.line.message: (arrow.fate, None if arrow.end is None else arrow.end.record)
        for arrow in space.messages
        if first <= arrow.sent.record < end
    }


@pytest.mark.parametrize("seed", range(4))
def test_it_equals_the_whole_fold(recording: Path, seed: int) -> None:
    """After any sequence of seeks: messages with their outcomes, and statuses."""
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
            known = _outcomes(window.space, place, end)
            assert known.keys() == _outcomes(whole, place, end).keys()
            for message, (fate, ended) in _outcomes(whole, place, end).items():
                if ended is None or ended < window.fed:
                    assert known[message] == (fate, ended)
            stood = {(each.node, each.since.record, each.shown) for each in window.space.status_intervals}
            for stretch in whole.status_intervals:
                if place < stretch.since.record < window.fed:
                    assert (stretch.node, stretch.since.record, stretch.shown) in stood


def test_it_holds_a_bounded_number_of_records(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    """Heartbeats have rows if shown; idle time has an extra row with its length."""
    with closing(open_recording(recording)) as lines:
        heartbeats, idle_us = lines.header.protocol.heartbeats, lines.header.timing.tm_us
        some, every = RowOrder(heartbeats, idle_us), RowOrder((), idle_us)
        for number, record in enumerate(lines.records()):
            some.observe(number, record)
            every.observe(number, record)
        assert set(some.numbers) < set(every.numbers)
        assert some.rows == sorted(set(some.rows))
        idle = [row for row in range(some.end) if some.at(row) is None]
        assert idle
        assert all((some.idle_us(row) or 0) > idle_us for row in idle)
        for number, row in zip(some.numbers, some.rows, strict=True):
            found = some.at(row)
            assert found is not None
            assert found[0] == number
            assert some.row(number) == row


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten minutes of only heartbeats once there is a coordinator."""
    rig = Rig((1, 2, 3)).started()
    rig.run(600_000_000)
    return rig.write(tmp_path_factory.mktemp("quiet") / "quiet.jsonl", end=False)


@pytest.mark.parametrize("share", sampled([0.05, 0.3, 0.6, 1.0], 3))
def test_among_heartbeats_it_stops_reading(quiet: Path, share: float) -> None:
    """It finds few rows however far back it reads, and knows the cursor's record."""
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


def test_following_among_heartbeats_it_is_mostly_at_the_cursor(quiet: Path) -> None:
    """A restarted fold catches up within a few frames."""
    with closing(open_recording(quiet)) as lines:
        focus, cluster, found = Focus(lines), ClusterState.of(lines.header), []
        for number, record in enumerate(lines.records()):
            cluster.apply(record)
            if number and number % 20 == 0:
                focus.update(Cursor(cluster, cluster.at_us, following=True), 40, _heartbeats(lines), step=1)
                found.append(focus.window.start <= number < focus.window.fed)
        assert len(found) > 500
        assert sum(found) > 0.9 * len(found)
        assert focus.window.begun < 20


def _of_heartbeat(*after: Record) -> RowOrder:
    """Return the rows of these records after a heartbeat from node 1 to node 2."""
    order = RowOrder(("Beat",), 1_000_000)
    order.observe(1, Step(10, 1, 1, Fired("check"), sent=(Message(1, 2, 5, "Beat", Raw(b"{}")),)))
    for number, record in enumerate(after, 2):
        order.observe(number, record)
    return order


def test_a_heartbeat_has_no_row_whatever_happens_to_it() -> None:
    """Duplicated, held or lost; nothing is kept of it."""
    doubled, lost = Routed(10, 1, 5, "duplicated"), Routed(20, 1, 5, "dropped", "lost")
    taken = Step(30, 2, 1, Received(1, 5))
    for after in ((taken,), (lost,), (doubled, taken, taken), (doubled, lost, taken), (doubled, taken, lost)):
        order = _of_heartbeat(*after)
        assert order.numbers == []
        assert (1, 5) not in order._hidden
    assert (1, 5) in _of_heartbeat(doubled, taken)._hidden


@pytest.mark.parametrize("seed", range(3))
def test_an_extended_cone_equals_a_new_one(recording: Path, seed: int) -> None:
    """For steps and messages; the past is not read again."""
    chance = Random(f"cones/{seed}")
    with closing(open_recording(recording)) as lines:
        window = Window(lines)
        window.begin(chance.randrange(2_000), _heartbeats(lines))
        window.feed(len(lines), 300)
        picked: list[PickedKey] = [arrow.line.message for arrow in chance.sample(window.space.messages, 6)]
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


def test_hidden_future_hides_delivery_and_causal_future(recording: Path) -> None:
    """Both are shown once the message has arrived."""
    with closing(open_recording(recording)) as lines:
        window = Window(lines)
        window.feed(len(lines), 300)
        for arrow in window.space.messages:
            if arrow.arrived and arrow.end is not None and not arrow.again:
                selection = Selection(window)
                selection.picked = arrow.line.message
                before, then = (
                    selection.describe(lines, upto) for upto in (arrow.end.record - 1, arrow.end.record)
                )
                assert ", in flight · " in before
                assert " future 0," in before
                assert f", {arrow.fate} " in then
                assert " future 1," in then


def _bounds(window: Window, cone: CausalCone) -> dict[int, tuple[RecordedMoment | None, RecordedMoment | None]]:
    """Return the bounds by looking at each node's records in both directions."""
    found = {}
    for node in {each.node for each in window.happened if each.record in cone.records}:
        points = [RecordedMoment(each.record, each.at_us) for each in window.happened if each.node == node]
        found[node] = (
            next((point for point in reversed(points) if point.record in cone.past), None),
            next((point for point in points if point.record in cone.future - cone.past), None),
        )
    return found

"""The cursor in time: it moves by records, by time and by marks; the state is that of its record."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.analysis.marks import Marks
from lab.recording.reader import FeedRecords, FileRecords, open_recording
from lab.recording.records import encode
from lab.tui.player import SPEEDS, Player
from tests.profile import amount
from tests.tui.recorded import SHIPPED, written


@pytest.fixture(params=["shipped", "long"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FileRecords]:
    """Both recordings: one without keyframes, and one with."""
    found = open_recording(SHIPPED if request.param == "shipped" else written(tmp_path / "run.jsonl"))
    yield found
    found.close()


def _player(store: FileRecords) -> Player:
    marks = Marks()
    for _ in marks.find_in(store):
        pass
    return Player(store, marks, live=False)


def _state(player: Player) -> bytes:
    return encode(player.cluster().snapshot())


def test_back_and_forward_again_is_the_same_state(store: FileRecords) -> None:
    player = _player(store)
    states = []
    for _ in range(amount(quick=100, soak=300)):
        states.append(_state(player))
        player.step(1)
    for state in reversed(states):
        player.step(-1)
        assert _state(player) == state
    player.go(len(store) - 1)
    last = _state(player)
    player.step(-200)
    assert _state(player) != last
    player.step(200)
    assert _state(player) == last


def test_steps_end_at_both_ends(store: FileRecords) -> None:
    player = _player(store)
    player.step(-1)
    assert player.number == 0
    player.to_end()
    player.step(1)
    assert player.number == len(store) - 1
    assert player.now_us == player.end_us
    assert not player.following


def test_seeking_goes_to_the_last_record_before_that_instant(store: FileRecords) -> None:
    player = _player(store)
    clocks, latest_us = [], 0
    for record in store.records():
        latest_us = max(latest_us, getattr(record, "at_us", 0))
        clocks.append(latest_us)
    for tenth in (3, 7, 1, 9, 0, 10):
        at_us = player.end_us * tenth // 10
        player.seek(at_us)
        assert player.now_us == at_us
        assert player.number == sum(clock <= at_us for clock in clocks) - 1
    player.seek(-1)
    assert player.now_us == 0
    player.seek(10 * player.end_us)
    assert (player.number, player.now_us) == (len(store) - 1, player.end_us)


def test_seeking_goes_on_playing_if_it_played_and_stands_still_if_it_stood(store: FileRecords) -> None:
    player = _player(store)
    player.seek(1_000_000)
    assert player.playing
    player.toggle()
    player.seek(2_000_000)
    assert not player.playing


FAULTS = ("fault", "repair")


def test_jumps_go_from_mark_to_mark_and_back(store: FileRecords) -> None:
    player = _player(store)
    wanted = [n for n, kind in zip(player.marks.records, player.marks.kinds, strict=True) if kind in FAULTS]
    assert len(wanted) > 3
    seen = []
    while player.jump(True, FAULTS.__contains__):
        seen.append(player.number)
    assert seen == wanted
    while player.jump(False, FAULTS.__contains__):
        seen.pop()
        assert player.number == (seen[-1] if seen else None)
    assert seen[:1] == wanted[:1]


def test_playing_takes_as_long_as_the_run_did_divided_by_the_speed(store: FileRecords) -> None:
    for speed in (1.0, 5.0, 0.5):
        player = _player(store)
        player.speed = speed
        ticks = 0
        while player.playing:
            player.tick(50_000, None)
            ticks += 1
            assert player.now_us <= player.end_us
        assert ticks == pytest.approx(player.end_us / speed / 50_000, abs=2)
        assert player.number == len(store) - 1


def test_what_is_played_is_what_had_happened_by_then(store: FileRecords) -> None:
    player, sought = _player(store), _player(store)
    while player.playing:
        player.tick(333_000, None)
        if player.playing:
            sought.seek(player.now_us)
            assert player.number == sought.number


def test_at_the_end_it_plays_from_the_start_again(store: FileRecords) -> None:
    player = _player(store)
    player.to_end()
    player.toggle()
    assert (player.playing, player.number, player.now_us) == (True, 0, 0)


def test_while_paused_no_time_passes(store: FileRecords) -> None:
    player = _player(store)
    player.tick(500_000, None)
    player.toggle()
    before = (player.number, player.now_us)
    player.tick(5_000_000, None)
    assert (player.number, player.now_us) == before
    assert player.number > 0


def test_speeds_go_from_the_slowest_to_the_fastest(store: FileRecords) -> None:
    player = _player(store)
    seen = []
    for _ in SPEEDS:
        player.faster(-1)
    for _ in SPEEDS:
        seen.append(player.speed)
        player.faster(1)
    assert tuple(seen) == SPEEDS
    assert player.speed == SPEEDS[-1]


@pytest.fixture
def grown(tmp_path: Path) -> Iterator[tuple[FeedRecords, FileRecords]]:
    """A feed of a hundred records, and the source of more."""
    whole = open_recording(written(tmp_path / "run.jsonl"))
    feed = FeedRecords(whole.raw(0))
    _grow(feed, whole, 100)
    yield feed, whole
    feed.close()
    whole.close()


def _grow(feed: FeedRecords, whole: FileRecords, upto: int) -> None:
    for number in range(len(feed), upto):
        feed.append(whole.raw(number))


def test_a_live_run_is_followed_until_one_stands_still_and_again_after_end(
    grown: tuple[FeedRecords, FileRecords],
) -> None:
    feed, whole = grown
    player = Player(feed, Marks(), live=True)
    player.tick(0, 1_000_000)
    assert (player.number, player.now_us) == (99, 1_000_000)
    player.toggle()
    _grow(feed, whole, 200)
    player.tick(100_000, 1_100_000)
    assert (player.number, player.now_us) == (99, 1_000_000), "it stands still"
    player.to_end()
    player.tick(100_000, 5_200_000)
    assert (player.number, player.now_us) == (199, 5_200_000), "it follows again"


def test_a_message_shows_that_the_cursor_is_in_the_past(grown: tuple[FeedRecords, FileRecords]) -> None:
    """It disappears when the end is followed again; a recording has none."""
    feed, whole = grown
    player = Player(feed, Marks(), live=True)
    assert player.move("back") == "in the past; {end} returns to the present"
    assert player.move("end") == "following the run"
    assert Player(whole, Marks(), live=False).move("end") == ""


def test_a_step_back_in_a_live_run_leaves_the_end(grown: tuple[FeedRecords, FileRecords]) -> None:
    feed, whole = grown
    player = Player(feed, Marks(), live=True)
    player.step(-1)
    _grow(feed, whole, 200)
    player.tick(100_000, 9_000_000)
    assert player.number == 98
    player.step(1)
    assert player.number == 99


def test_playing_up_to_the_end_of_a_live_run_follows_it(grown: tuple[FeedRecords, FileRecords]) -> None:
    feed, _ = grown
    player = Player(feed, Marks(), live=True)
    player.go(0)
    player.toggle()
    player.tick(60_000_000, 60_000_000)
    assert player.following
    player.tick(100_000, 60_100_000)
    assert (player.number, player.now_us) == (99, 60_100_000)


def test_when_the_run_is_over_it_can_be_looked_at_again(grown: tuple[FeedRecords, FileRecords]) -> None:
    feed, _ = grown
    player = Player(feed, Marks(), live=True)
    player.go(0)
    player.toggle()
    player.tick(60_000_000, None)
    assert not player.playing
    assert not player.following
    assert player.number == 99

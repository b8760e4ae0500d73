"""The part of a run that the diagram knows: wherever it is sought to, it is what a fold of all has there."""

from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from lab.journal import RecordedLines, SpaceTime, open_recording
from lab.tui.diagram import window as windows
from lab.tui.diagram.order import Order
from lab.tui.diagram.window import Window
from tests.tui.recorded import written


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minute of five nodes that are struck in many ways, with keyframes."""
    return written(tmp_path_factory.mktemp("window") / "long.jsonl")


def _whole(lines: RecordedLines) -> SpaceTime:
    space = SpaceTime(lines.header)
    for record in lines.records(1):
        space.observe(record)
    return space


def _fates(space: SpaceTime, first: int, end: int) -> dict[tuple[int, int], tuple[str, int | None]]:
    """What became of the messages sent in these records, and with which record."""
    return {
        arrow.line.message: (arrow.fate, None if arrow.end is None else arrow.end.record)
        for arrow in space.arrows
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
            window.begin(place, heartbeats=False)
            while window.fed <= place or (not window.is_at_end and window.fed < place + 400):
                assert window.feed(place + 400, 150) <= 150
            assert window.start <= place < window.fed
            end = window.fed - 200 if not window.is_at_end else window.fed
            known = _fates(window.space, place, end)
            assert known.keys() == _fates(whole, place, end).keys()
            for message, (fate, ended) in _fates(whole, place, end).items():
                if ended is None or ended < window.fed:
                    assert known[message] == (fate, ended)
            stood = {(each.node, each.since.record, each.shown) for each in window.space.stretches}
            for stretch in whole.stretches:
                if place < stretch.since.record < window.fed:
                    assert (stretch.node, stretch.since.record, stretch.shown) in stood


def test_it_forgets_what_is_far_behind_and_holds_a_bounded_number(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fed along the whole recording it stays small; asked for too much it takes no more than it may."""
    with closing(open_recording(recording)) as lines:
        window = Window(lines)
        for place in range(0, len(lines), 100):
            window.begin(place, heartbeats=False)
            window.feed(place + 100, 100)
            assert window.fed - window.start < 5_000
            assert len(window.space.dots) <= window.fed - window.start
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
        some, every = Order(heartbeats, quiet_us), Order((), quiet_us)
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

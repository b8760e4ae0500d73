"""The time keys: which ones control the world, and which only move the cursor."""

from collections.abc import Iterator

import pytest

from lab.analysis.marks import Marks
from lab.recording.reader import FileRecords, open_recording
from lab.tui.player import WORLD_SPEEDS, Player, format_pace, time_command
from lab.worlds.feed_protocol import Clock
from tests.tui.recorded import SHIPPED

FROZEN = Clock(0, 0, True, 1.0)
GOING = Clock(0, 0, False, 1.0)


@pytest.fixture
def store() -> Iterator[FileRecords]:
    """A recording that stands in for a live run."""
    found = open_recording(SHIPPED)
    yield found
    found.close()


def test_at_the_end_the_keys_control_the_world(store: FileRecords) -> None:
    player = Player(store, Marks(), live=True)
    assert time_command("play", FROZEN, player) == "go"
    assert time_command("play", GOING, player) == "freeze"
    assert time_command("step", FROZEN, player) == time_command("step", GOING, player) == "step"
    for word in ("back", "start", "end", "rewind", "next-fault"):
        assert time_command(word, FROZEN, player) == ""


def test_in_the_past_and_in_other_worlds_the_keys_move_the_cursor(store: FileRecords) -> None:
    """At the last record of a frozen run, the cursor counts as at the end."""
    player = Player(store, Marks(), live=True)
    player.step(-1)
    for word in ("play", "step", "slower"):
        assert time_command(word, FROZEN, player) == ""
    player.step(1)
    assert time_command("step", GOING, player) == ""
    assert time_command("step", FROZEN, player) == "step"
    assert time_command("step", GOING, player) == "step", "it follows again"
    assert time_command("play", None, player) == ""
    assert time_command("play", FROZEN, Player(store, Marks(), live=False)) == ""


def test_every_speed_can_be_reached_and_none_beyond(store: FileRecords) -> None:
    """From the slowest to the maximum and back."""
    player = Player(store, Marks(), live=True)
    for word, speeds in (("faster", WORLD_SPEEDS), ("slower", WORLD_SPEEDS[::-1])):
        for factor, other in zip(speeds, [*speeds[1:], speeds[-1]], strict=True):
            given = time_command(word, Clock(0, 0, False, factor), player)
            assert given == f"speed {'max' if other is None else f'{other:g}'}"
    assert time_command("faster", Clock(0, 0, False, 4.9), player) == "speed 10"
    assert [format_pace(Clock(0, 0, False, factor)) for factor in (0.01, 5.0, None)] == ["0.01x", "5x", "max"]

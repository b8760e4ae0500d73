"""The frame rate: ten frames a second, and on a shared machine as many as it can draw."""

from collections.abc import Callable

import pytest

from lab.tui.screen import FrameTimer


def _timer(is_served: bool) -> FrameTimer:
    return FrameTimer(lambda: None, lambda after_s, call: None, is_served)


def test_an_own_machine_draws_all_frames() -> None:
    """However late they are."""
    pace = _timer(is_served=False)
    for _ in range(10):
        pace.adapt(3.0)
    assert pace.period_s == 0.1


def test_late_frames_become_fewer_and_come_back_slowly() -> None:
    """At least one a second, at most four."""
    pace = _timer(is_served=True)
    assert pace.period_s == 0.25
    pace.adapt(0.2)
    assert pace.period_s == 0.375
    for _ in range(20):
        pace.adapt(0.2)
    assert pace.period_s == 1.0
    pace.adapt(0.01)
    assert 0.9 < pace.period_s < 1.0
    for _ in range(100):
        pace.adapt(0.01)
    assert pace.period_s == 0.25


def test_each_frame_schedules_the_next() -> None:
    """One at a time, so that a slow frame is not followed by a burst."""
    asked: list[tuple[float, Callable[[], None]]] = []
    drawn: list[int] = []
    FrameTimer(
        lambda: drawn.append(1), lambda after_s, call: asked.append((after_s, call)), is_served=False
    ).schedule_next()
    assert (len(asked), len(drawn)) == (1, 0)
    for number in range(1, 4):
        after_s, draw = asked.pop()
        draw()
        assert (after_s, len(drawn), len(asked)) == (0.1, number, 1)


def test_a_still_screen_draws_fewer_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.tui.screen._STILL_S", 0.4)
    asked: list[float] = []
    is_still = True
    timer = FrameTimer(lambda: None, lambda after_s, call: asked.append(after_s), False, lambda: is_still)
    timer.schedule_next()
    is_still = False
    timer.schedule_next()
    assert asked == [0.4, 0.1]

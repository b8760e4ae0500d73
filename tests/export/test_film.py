"""The timing of films, and their chapters."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.export.excerpt import ExportOptions, Film
from lab.export.film import FilmPace, chapters_of, frames
from tests.export.fault_recordings import SHIPPED, excerpt_in
from tests.harness import Rig

TWO = Path(__file__).parents[2] / "recordings" / "two-coordinators.jsonl"
_moments = st.integers(0, 60_000_000)


def test_time_passes_at_the_given_speed() -> None:
    """If events are frequent enough."""
    pace = FilmPace(range(0, 10_000_000, 500_000), 0, 10_000_000, Film(speed=2.0))
    assert pace.lasts_us == 5_000_000
    assert [pace.moment_us(at_us) for at_us in (0, 1_000_000, 5_000_000)] == [0, 2_000_000, 10_000_000]
    assert pace.seen_us(2_500_000) == 1_250_000


def test_idle_time_is_bounded() -> None:
    """An hour without events takes only the idle time."""
    pace = FilmPace([1_000_000, 3_601_000_000], 0, 3_602_000_000, Film(idle_us=3_000_000))
    assert pace.lasts_us == 5_000_000
    assert pace.moment_us(2_500_000) == 1_801_000_000
    assert pace.seen_us(3_601_000_000) == 4_000_000


@given(st.lists(_moments, max_size=30), _moments, _moments, st.floats(0.1, 100), st.integers(1, 60))
def test_moments_are_shown_in_order(
    busy_us: list[int], one_us: int, other_us: int, speed: float, frames_per_s: int
) -> None:
    """Frames go from the first moment to the last, never back; the mapping is its own inverse."""
    from_us, until_us = min(one_us, other_us), max(one_us, other_us)
    film = Film(speed=speed, frames_per_s=frames_per_s)
    pace = FilmPace(busy_us, from_us, until_us, film)
    seen = list(frames(pace, film))
    assert (seen[0][0], seen[-1]) == (0, (pace.lasts_us, until_us))
    assert all(from_us <= moment_us <= until_us for _, moment_us in seen)
    assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(seen))
    assert pace.lasts_us <= (until_us - from_us) / speed + len(busy_us) + 2
    for at_us in busy_us:
        if from_us <= at_us <= until_us:
            assert abs(pace.seen_us(pace.moment_us(pace.seen_us(at_us))) - pace.seen_us(at_us)) <= 1


def test_the_chapters_of_the_shipped_recording() -> None:
    """Faults and their ends, elections and their winners, and the first violation of each kind."""
    titles = [chapter.title.partition(" under")[0] for chapter in chapters_of(excerpt_in(TWO))]
    assert titles == [
        "node 5 calls an election",
        "all agree on node 5",
        "kill 5",
        "node 4 calls an election",
        "all agree on node 4",
        "end of kill 5",
        "node 5 calls an election",
        "all agree on node 5",
        "pause 5",
        "node 4 calls an election",
        "excused: A1.1",
        "excused: A1.2",
        "all agree on node 4",
        "end of pause 5",
        "node 4 calls an election",
        "all agree on node 5",
    ]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_chapters_are_in_the_window_and_in_order(path: Path) -> None:
    """The chapters of a window are those of the whole run that lie in it."""
    whole = chapters_of(excerpt_in(path))
    assert whole == sorted(whole)
    excerpt = excerpt_in(path, ExportOptions(until_us=excerpt_in(path).until_us // 2))
    inside = chapters_of(excerpt)
    assert {each.record for each in inside} <= set(range(excerpt.first, excerpt.last + 1))
    faults = {each.fault.text for each in excerpt.fault_intervals if each.since.record >= excerpt.first}
    assert faults <= {each.title for each in inside}


def test_script_output_is_a_chapter(tmp_path: Path) -> None:
    """Captions, marks and unmet expectations, sanitized."""
    rig = Rig([1, 2]).started()
    rig.do('say "look: \x1b"', 'mark "here"', "expect 1 leads within 100ms")
    rig.run(2_000_000)
    titles = [each.title for each in chapters_of(excerpt_in(rig.write(tmp_path / "run.jsonl")))]
    assert titles.index("look: \\x1b") < titles.index("here")
    assert any(title.startswith("expect 1 leads within 100ms · NOT MET") for title in titles)

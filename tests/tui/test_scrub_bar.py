"""The scrub bar: marks, the histogram, and moving in time by mouse."""

from pathlib import Path

import pytest
from rich.text import Text

from lab.analysis.marks import Marks, Places
from lab.recording.records import Commanded, Fault
from lab.script.parse import parse
from lab.tui.source import FileSource
from lab.tui.widgets.scrub_bar import BarMarks, ScrubBar
from tests.harness import Rig
from tests.tui.recorded import SHIPPED, written
from tests.tui.seen import Seen, replay


@pytest.fixture
def source(tmp_path: Path) -> FileSource:
    """A recording with all its marks found."""
    found = FileSource(written(tmp_path / "run.jsonl"))
    for _ in found.marks.find_in(found.store, found.script_log):
        pass
    for record in found.store.records():
        found._observe(record)
    return found


def _end_us(source: FileSource) -> int:
    return max(places.times_us[-1] for places in source.marks.places.values())


@pytest.mark.parametrize("width", [2, 10, 120])
def test_each_cell_has_the_weightiest_of_its_marks(source: FileSource, width: int) -> None:
    """Checked against a scan of all marks: faults before leaders before elections before changes of status."""
    end_us = _end_us(source)
    expected: dict[int, str] = {}
    assert {"status", "election", "leader", "repair", "fault"} <= source.marks.found
    for kind in ("status", "command", "election", "leader", "caption", "mark", "repair", "fault"):
        for at_us in source.marks.places.get(kind, Places()).times_us:
            expected[min(width - 1, at_us * (width - 1) // end_us)] = kind
    for violation in source.judge.violations:
        expected[min(width - 1, violation.at_us * (width - 1) // end_us)] = "violation"
    assert source.judge.violations
    assert BarMarks(source).cells(width, end_us) == expected


def test_a_bookmark_is_never_hidden(source: FileSource) -> None:
    marks, end_us = BarMarks(source), _end_us(source)
    violation = source.judge.violations[0]
    before = marks.count
    source.bookmarks.put(violation.record, violation.at_us, "look here")
    assert marks.count != before
    cell = violation.at_us * 99 // end_us
    assert marks.cells(100, end_us)[cell] == "bookmark"
    texts = marks.marks_in_cell(cell, 100, end_us)
    assert texts[:2] == [("bookmark", "look here"), ("violation", f"{violation.assertion} violated")]
    assert len(texts) <= 5
    source.close()


def test_every_mark_is_described_in_some_cell(source: FileSource) -> None:
    """Or counted, where there are many in one cell."""
    marks, end_us, seen = BarMarks(source), _end_us(source), 0
    for cell in range(50):
        for kind, text in marks.marks_in_cell(cell, 50, end_us):
            seen += 1 if kind else int(text.split()[1])
    assert seen == len(source.marks.records) + len(source.judge.violations)
    source.close()


def test_a_command_without_effect_is_no_mark() -> None:
    """Neither is it one with the mark of an effect right before it."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    marks, observed = Marks(), 0
    for line, kinds in (("wipe 3", []), ("kill 3", ["fault"]), ("kill 3", ["fault"]), ("wipe 2", ["fault"])):
        rig.control.execute(parse(line))
        found = [(number, record) for number, record in enumerate(rig.records) if number >= observed]
        for number, record in found:
            marks.add(number, record)
        observed = len(rig.records)
        assert [kind for kind in marks.kinds if kind in ("fault", "repair", "command")] == kinds, line
        assert [*marks.records] == sorted(marks.records)
        assert ("fault" in marks.found) == bool(kinds)
    place = marks.places["fault"].records[0]
    killed = rig.records[place]
    assert isinstance(killed, Commanded)
    assert (killed.text, killed.changed) == ("kill 3", True)
    assert isinstance(rig.records[marks.first[place]], Fault)


def test_places_are_monotonic() -> None:
    """A record may be slightly older than the one before it."""
    places = Places()
    for number, at_us in enumerate((5, 3, 9, -4, 1 << 70)):
        places.add(number, at_us)
    assert list(places.times_us) == [5, 5, 9, 9, (1 << 63) - 1]


def _rows(seen: Seen) -> list[str]:
    return seen.of("ScrubBar", ScrubBar).render().plain.split("\n")


def test_the_histogram_shows_where_much_happened_if_there_is_room() -> None:
    async def tall(seen: Seen) -> None:
        columns, bar = _rows(seen)
        left, width = seen.of("ScrubBar", ScrubBar)._bar()
        assert len(columns) == left + width
        assert set(columns) <= set(" ▁▂▃▄▅▆▇█")
        assert "█" in columns
        fault = bar.index("✖")
        assert columns[fault - 1 : fault + 4].strip(), "an election follows a kill"
        assert columns.count(" ") > width // 2, "heartbeats do not count"

    async def low(seen: Seen) -> None:
        assert len(_rows(seen)) == 1

    replay(tall)
    replay(low, size=(80, 24))


def test_without_unicode_the_columns_are_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")

    async def test(seen: Seen) -> None:
        assert all(row.isascii() for row in _rows(seen))
        assert "@" in _rows(seen)[0]

    replay(test)


def test_the_end_of_a_short_run_is_no_earlier_than_its_cursor(tmp_path: Path) -> None:
    """Both in milliseconds, if it is over within a second."""
    rig = Rig((1, 2, 3)).started()
    rig.run(30_000)
    rig.write(tmp_path / "short.jsonl")

    async def test(seen: Seen) -> None:
        await seen.press("end")
        end_s = seen.player.end_us / 1e6
        assert 0 < end_s < 1
        assert f"{end_s:.3f} / {end_s:.3f} s" in seen.text

    replay(test, tmp_path / "short.jsonl")


def test_the_mouse_drags_the_cursor_through_time() -> None:
    """Also beyond both ends, until the button is released."""

    async def test(seen: Seen) -> None:
        bar, end_us = seen.of("ScrubBar", ScrubBar), seen.player.end_us
        left, width = bar._bar()
        await seen.pilot.mouse_down(ScrubBar, offset=(1 + left + 10, 0))
        assert seen.player.now_us == round(10 / (width - 1) * end_us)
        for cell in (11, 40, width - 1, 3):
            await seen.pilot.hover(ScrubBar, offset=(1 + left + cell, 0))
            assert seen.player.now_us == round(cell / (width - 1) * end_us)
        await seen.pilot.hover(ScrubBar, offset=(1, 0))
        assert seen.player.now_us == 0
        await seen.pilot.hover(offset=(118, 5))
        assert seen.player.now_us == end_us
        await seen.pilot.mouse_up(offset=(118, 5))
        await seen.pilot.hover(ScrubBar, offset=(1 + left + 20, 0))
        assert seen.player.now_us == end_us

    replay(test)


def test_a_tooltip_describes_the_mark_under_the_mouse() -> None:
    async def test(seen: Seen) -> None:
        bar = seen.of("ScrubBar", ScrubBar)
        left, _ = bar._bar()
        fault = _rows(seen)[1].index("✖")
        await seen.pilot.hover(ScrubBar, offset=(1 + fault, 1))
        assert isinstance(bar.tooltip, Text)
        time, first, *_ = bar.tooltip.plain.split("\n")
        assert time.endswith(" s")
        assert first == "✖ when all normal kill 5 · 5 killed"
        await seen.pilot.hover(ScrubBar, offset=(left - 3, 1))
        assert bar.tooltip is None

    replay(test, SHIPPED)

"""The home screen: what it offers and in which order, the rows of its list, the previews, its keys."""

import asyncio
import os
import shutil
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.text import Text
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widgets import Static

from lab.cli import home
from lab.exercises.attempts import ExerciseProgress, StudentFolder, login_name
from lab.exercises.exercise_reader import find_exercise
from lab.glyphs import glyphs_for
from lab.places import exercises_folder, recordings_folder
from lab.protocols import CURRICULUM, PROTOCOLS, TASKS
from lab.scenario.file import names
from lab.styles import ThemeStyles
from lab.tui.apps.home_app import HomeApp
from lab.tui.apps.home_items import ExerciseState, HomeItem, RecordingFile, Variant, rows_of
from lab.tui.apps.home_preview import (
    RecordingDigest,
    UnreadableError,
    describe_item,
    describe_recording,
    digest_recording,
)
from lab.tui.widgets.dialogs import FilterableList
from lab.worlds.host.runs import RunInfo
from tests.tui.recorded import SHIPPED
from tests.waiting import WAIT_S

STYLES = ThemeStyles(glyphs_for({"LANG": "C.UTF-8"}))
RUN = RunInfo("ring-1", 1, "ring", (1, 2, 3), "2026-11-24T10:00:00+00:00", "", "")


@pytest.fixture(autouse=True)
def user(runs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without recordings, attempts or runs."""
    monkeypatch.setenv("XDG_DATA_HOME", str(runs.parent / "data"))
    return runs


def _recorded(name: str, at: datetime) -> Path:
    path = Path(shutil.copy(SHIPPED, recordings_folder() / f"{name}.jsonl"))
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def _attempted(exercise: str) -> None:
    folder = StudentFolder(exercises_folder(login_name()), login_name())
    folder.note(find_exercise(exercise), 1, ())


def _of(section: str, items: list[HomeItem]) -> list[str]:
    return [item.title for item in items if item.section == section]


# the items


def test_the_algorithms_are_in_the_order_in_which_to_learn_them() -> None:
    """Each once, with its variants as variants."""
    items = home.home_items()
    assert _of("start", items) == list(CURRICULUM)
    assert CURRICULUM[0] == "bully"
    assert set(CURRICULUM) == {*PROTOCOLS, *TASKS}
    bully = next(item for item in items if item.title == "bully")
    assert [variant.arguments for variant in bully.variants] == [
        ("run", "bully"),
        ("run", "bully", "--nodes", "0-7"),
        ("run", "bully", "--t", "1s"),
        ("run", "bully", "--sim", "--speed", "0.1"),
    ]


def test_every_scenario_is_an_item() -> None:
    """The recommended ones first, all others folded."""
    items = [item for item in home.home_items() if item.section == "look: scenarios"]
    assert sorted(item.title for item in items) == sorted(names())
    assert tuple(item.title for item in items if not item.is_folded) == home.RECOMMENDED
    assert items[0].variants[0].arguments == ("run", "figure-3-12")
    assert items[0].note == "Figure 3-12: 7 has crashed, 4 notices first"


def test_a_newcomer_finds_the_tour_first() -> None:
    items = home.home_items()
    assert items[0].section == "new here?"
    assert items[0].variants[0].arguments == ("tour",)
    assert _of("continue", items) == []
    assert _of("look: recordings", items) == ["two-coordinators"]


def test_the_latest_attempt_and_recording_come_first() -> None:
    """The more recent of the two is the first; the tour is among the things to learn."""
    _attempted("two-coordinators")
    _recorded("old", datetime(2020, 1, 1, tzinfo=UTC))
    assert _of("continue", home.home_items()) == ["two-coordinators", "old"]
    _recorded("new", datetime(2200, 1, 1, tzinfo=UTC))
    items = home.home_items()
    assert _of("continue", items) == ["new", "two-coordinators"]
    assert items[0].section == "continue"
    assert _of("learn", items) == ["tour"]
    assert _of("look: recordings", items) == ["new", "old", "two-coordinators"]


def test_a_run_that_is_going_on_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its unfinished recording is none to continue with."""
    path = _recorded("ring-1", datetime(2200, 1, 1, tzinfo=UTC))
    info = RunInfo(*(*("ring-1", 1, "ring", (1, 2, 3), RUN.began), str(path), ""))
    monkeypatch.setattr(home, "list_runs", lambda: ([info], []))
    items = home.home_items()
    assert items[-1].section == "running"
    assert items[-1].variants[0].arguments == ("attach", "ring-1")
    assert items[0].section == "new here?"


def test_exercises_begun_come_first() -> None:
    """Each with its state; most are folded."""
    _attempted("three-and-two")
    items = home.exercise_items()
    assert items[0].title == "three-and-two"
    assert items[0].note == "best 0 of 8 points: Three and two"
    assert items[1].note == "new: A first election"
    assert len(items) == 40
    assert sum(not item.is_folded for item in items) == 4


# the rows


def _items() -> list[HomeItem]:
    variants = Variant("five nodes", ("run", "a")), Variant("eight nodes", ("run", "a", "--nodes", "0-7"))
    once = (Variant("", ("tour",)),)
    return [
        HomeItem("start", "a", variants, PROTOCOLS["bully"]),
        HomeItem("learn", "tour", once, "Five steps.", "short"),
        HomeItem("learn", "more-to-learn", once, "Much.", is_folded=True),
        HomeItem("running", "ring-1", once, "A run."),
    ]


def test_rows_have_heads_choices_and_notes() -> None:
    rows = list(rows_of(_items(), {"start/a": 1}, frozenset(), STYLES))
    assert [(row.text.plain.split(), row.id, row.head) for row in rows] == [
        (["START"], None, True),
        (["a", "eight", "nodes"], "start/a", False),
        (["LEARN"], None, True),
        (["tour", "short"], "learn/tour", False),
        (["more-to-learn"], "learn/more-to-learn", False),
        (["1", "more", "…"], "learn", False),
        (["RUNNING"], None, True),
        (["ring-1"], "running/ring-1", False),
    ]
    assert [row.id for row in rows if row.is_folded] == ["learn/more-to-learn"]


def test_an_unfolded_section_has_no_folded_rows() -> None:
    rows = list(rows_of(_items(), {}, frozenset({"learn"}), STYLES))
    assert not any(row.is_folded for row in rows)
    assert "learn" not in [row.id for row in rows]


# the previews


def _text(lines: list[Text]) -> str:
    return "\n".join(line.plain.rstrip() for line in lines)


@pytest.mark.parametrize("name", CURRICULUM)
def test_an_algorithm_has_its_source_and_its_options(name: str) -> None:
    """No line is wider than the preview."""
    item = next(each for each in home.home_items() if each.title == name)
    lines = list(describe_item(item, 1, 44, STYLES))
    text = _text(lines)
    assert text.startswith(f"{name}\n")
    assert "source    " in text
    assert "promises  " in text
    assert "▶ eight nodes, 0 to 7" in text
    assert f"\nEnter: lab run {name} --nodes 0-7\n" in text
    assert max(line.cell_len for line in lines) <= 44


def test_a_scenario_has_its_purpose() -> None:
    item = next(each for each in home.home_items() if each.title == "figure-3-12")
    text = _text(list(describe_item(item, 0, 60, STYLES)))
    assert "There are eight nodes. 7 crashes, and 4 is the first to" in text
    assert "run     bully-tanenbaum, nodes 0-7, for 9s" in text
    assert "source  Tanenbaum" in text


def test_an_exercise_has_its_points_and_tasks() -> None:
    exercise = find_exercise("two-coordinators")
    state = ExerciseState(exercise, ExerciseProgress())
    item = HomeItem("learn", exercise.name, (Variant("", ("exercise", "start", exercise.name)),), state)
    text = _text(list(describe_item(item, 0, 60, STYLES)))
    assert text.startswith("One pause, two coordinators\n")
    assert sum(f"of {task.points} point" in text for task in exercise.tasks) == len(exercise.tasks)


@pytest.fixture(scope="module")
def digest() -> RecordingDigest:
    """The digest of a run in which node 5 pauses from 5.4 s on."""
    return digest_recording(SHIPPED, lambda _: None)


def test_a_recording_has_its_diagram_and_its_verdicts(digest: RecordingDigest) -> None:
    """A row for each node, and the place where an assertion is violated."""
    lines = list(describe_recording(digest, "two-coordinators", 60, STYLES))
    text = _text(lines)
    assert max(line.cell_len for line in lines) <= 60
    node_5 = next(line.plain for line in lines if line.plain.startswith("5 "))
    assert "★━" in node_5
    assert "‖·" in node_5
    assert "▲" in text
    assert "✗ violated, excused: A1.1 (one coordinator)" in text
    assert "✓ holds: A2 (elects in time)" in text


def test_a_large_cluster_has_a_row_for_each_node_that_fits(digest: RecordingDigest) -> None:
    large = replace(digest, header=replace(digest.header, nodes=tuple(range(1, 30))))
    text = _text(list(describe_recording(large, "large", 60, STYLES)))
    assert "\n12\n" in text
    assert "\n13\n" not in text
    assert "17 more nodes" in text


def test_what_cannot_be_read_has_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    with pytest.raises(UnreadableError, match="cannot be read"):
        digest_recording(path, lambda _: None)
    path.write_text("{}\n")
    with pytest.raises(UnreadableError):
        digest_recording(path, lambda _: None)
    with path.open("wb") as file:
        file.truncate(20_000_000)
    with pytest.raises(UnreadableError, match="too long"):
        digest_recording(path, lambda _: None)


# the screen

Test = Callable[[Pilot[tuple[str, ...]], HomeApp], Awaitable[None]]


def _shown(app: HomeApp, test: Test, size: tuple[int, int] = (80, 24)) -> tuple[str, ...] | None:
    """Show the screen, and return its result."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await test(pilot, app)

    asyncio.run(run())
    return app.return_value


def _preview(app: HomeApp) -> str:
    return str(app.query_one("#preview", VerticalScroll).query_one(Static).render())


async def _until(pilot: Pilot[tuple[str, ...]], condition: Callable[[], bool], what: str) -> None:
    for _ in range(int(WAIT_S / 0.02)):
        if condition():
            return
        await pilot.pause(0.02)
    raise AssertionError(f"not within {WAIT_S} s: {what}")


def test_left_and_right_choose_an_option() -> None:
    """Enter runs what the preview shows last."""

    async def test(pilot: Pilot[tuple[str, ...]], app: HomeApp) -> None:
        assert "Enter: lab run a" in _preview(app)
        await pilot.press("right")
        assert "Enter: lab run a --nodes 0-7" in _preview(app)
        await pilot.press("right", "left", "enter")

    assert _shown(HomeApp(_items()), test) == ("run", "a", "--nodes", "0-7")


def test_a_click_selects_and_a_second_one_runs() -> None:
    """Not even the row that is selected already runs at the first click."""

    async def test(pilot: Pilot[tuple[str, ...]], app: HomeApp) -> None:
        listed = app.query_one(FilterableList)
        lines = [listed.render_line(y).text for y in range(listed.size.height)]
        row_of = {
            name: next(y for y, line in enumerate(lines) if str(listed.get_option(name).prompt)[:12] in line)
            for name in ("start/a", "learn/tour")
        }
        for name, row in row_of.items():
            await pilot.click(FilterableList, offset=(4, row))
            assert listed.highlighted_option is not None
            assert listed.highlighted_option.id == name
            assert app.return_value is None
        await pilot.click(FilterableList, offset=(4, row_of["learn/tour"]))

    assert _shown(HomeApp(_items()), test) == ("tour",)


def test_a_running_cluster_is_not_preselected() -> None:
    """Not even if it was chosen before."""

    async def test(pilot: Pilot[tuple[str, ...]], app: HomeApp) -> None:
        await pilot.press("enter")

    items = [*_items()[:1], HomeItem("running", "r", (Variant("", ("attach", "r")),), "A run.")]
    assert _shown(HomeApp(items, last=("attach", "r")), test) == ("run", "a")


def test_the_cursor_returns_to_what_was_run_last() -> None:
    """With the same option."""

    async def test(pilot: Pilot[tuple[str, ...]], app: HomeApp) -> None:
        await pilot.press("enter")

    for last in (("tour",), ("run", "a", "--nodes", "0-7")):
        assert _shown(HomeApp(_items(), last=last), test) == last


def test_typing_filters_all_items() -> None:
    """Folded ones too; Esc clears the filter, and leaves without one."""

    async def test(pilot: Pilot[tuple[str, ...]], app: HomeApp) -> None:
        listed = app.query_one(FilterableList)
        assert "learn/more-to-learn" not in [option.id for option in listed.options]
        await pilot.press(*"more-to")
        assert [option.id for option in listed.options if option.id] == ["learn/more-to-learn"]
        assert "Much." in _preview(app)
        await pilot.press("escape")
        assert "start/a" in [option.id for option in listed.options]
        await pilot.press("escape")

    assert _shown(HomeApp(_items()), test) is None


def test_enter_unfolds_a_section() -> None:
    """The cursor is on the first new row."""

    async def test(pilot: Pilot[tuple[str, ...]], app: HomeApp) -> None:
        await pilot.press("down", "down", "enter")
        listed = app.query_one(FilterableList)
        assert listed.highlighted_option is not None
        assert listed.highlighted_option.id == "learn/more-to-learn"
        await pilot.press("q")

    assert _shown(HomeApp(_items()), test) is None


def test_items_read_later_keep_the_cursor() -> None:
    """They are listed in their section."""

    async def test(pilot: Pilot[tuple[str, ...]], app: HomeApp) -> None:
        listed = app.query_one(FilterableList)
        await pilot.press("down")
        ready.set()
        await _until(pilot, lambda: "learn/late" in [option.id for option in listed.options], "the item is listed")
        assert listed.highlighted_option is not None
        assert listed.highlighted_option.id == "learn/tour"
        await pilot.press("down", "enter")

    ready = threading.Event()

    def read_more() -> list[HomeItem]:
        assert ready.wait(WAIT_S)
        return [HomeItem("learn", "late", (Variant("", ("exercise", "start", "late")),), "Late.")]

    assert _shown(HomeApp(_items(), read_more), test) == ("exercise", "start", "late")


def test_the_preview_of_a_recording_is_made_in_the_background_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read once."""
    digested: list[Path] = []

    def digest_once(path: Path, progress: Callable[[object], object]) -> RecordingDigest:
        digested.append(path)
        return digest_recording(path, progress)

    async def test(pilot: Pilot[tuple[str, ...]], app: HomeApp) -> None:
        assert "reading the recording …" in _preview(app)
        await _until(pilot, lambda: "violated, excused: A1.1" in _preview(app), "the verdicts")
        await pilot.press("down")
        assert "Five steps." in _preview(app)
        await pilot.press("up")
        assert "violated, excused: A1.1" in _preview(app)
        await pilot.press("enter")

    monkeypatch.setattr("lab.tui.apps.home_app.digest_recording", digest_once)
    replay = (Variant("", ("replay", str(SHIPPED))),)
    items = [HomeItem("continue", "two", replay, RecordingFile(SHIPPED)), _items()[1]]
    assert _shown(HomeApp(items), test) == ("replay", str(SHIPPED))
    assert digested == [SHIPPED]


@pytest.mark.parametrize(("size", "is_column"), [((60, 24), False), ((80, 24), True), ((200, 60), True)])
def test_the_preview_is_a_column_where_there_is_room(size: tuple[int, int], is_column: bool) -> None:
    """Otherwise below it."""

    async def test(pilot: Pilot[tuple[str, ...]], app: HomeApp) -> None:
        listed, preview = app.query_one(FilterableList).region, app.query_one("#preview").region
        assert (preview.x >= listed.right) == is_column
        assert (preview.y >= listed.bottom) != is_column
        await pilot.press("q")

    _shown(HomeApp(_items()), test, size)

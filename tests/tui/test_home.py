"""The home screen: what it offers and in which order, the rows of its list, the previews, its keys."""

import asyncio
import os
import shutil
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.text import Text
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widgets import Static

import lab
from lab.cli import home
from lab.exercises.attempts import ExerciseProgress, StudentFolder, login_name
from lab.exercises.exercise_reader import find_exercise
from lab.export.excerpt import ExportOptions, read_excerpt
from lab.glyphs import glyphs_for
from lab.places import exercises_folder, recordings_folder
from lab.protocols import CURRICULUM, PROTOCOLS, TASKS
from lab.recording.reader import open_recording
from lab.scenario.file import names
from lab.styles import ThemeStyles
from lab.tui.apps.home_app import HomeApp
from lab.tui.apps.home_items import ExerciseState, HomeChoice, HomeItem, RecordingFile, Variant, row_of, rows_of
from lab.tui.apps.home_preview import (
    RecordingDigest,
    UnreadableError,
    describe_item,
    describe_recording,
    digest_recording,
)
from lab.tui.widgets.dialogs import FilterableList
from lab.tui.widgets.key_lines import KeyLine
from lab.worlds.host.runs import RunInfo
from tests.cli.conftest import home as short_path  # noqa: F401 - a fixture
from tests.cli.invocation import Lab
from tests.tui.recorded import SHIPPED
from tests.waiting import WAIT_S

REGISTER = Path(lab.__file__).with_name("guide") / "build" / "register.py"
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
        ("run", "bully", "--nodes", "12"),
        ("run", "bully", "--t", "2s", "--latency", "500ms"),
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
    assert _of("learn", items)[:2] == ["tour", "two-coordinators"]
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


def test_whose_a_running_cluster_is_stands_in_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Yours is recorded in your folder."""
    labels = []
    for path in (recordings_folder() / "ring-1124-161715-48fc.jsonl", Path("/somewhere/ring.jsonl")):
        info = RunInfo(*("ring-1124-161715-48fc", 1, "ring", (1, 2, 3), RUN.began, str(path), ""))
        monkeypatch.setattr(home, "list_runs", lambda info=info: ([info], []))
        labels.append(home.home_items()[-1].label)
    assert labels == ["ring, 3 nodes, yours", "ring, 3 nodes, somebody's"]


def test_each_algorithm_has_a_phrase() -> None:
    """In a phrase that fits beside its name, at 120 columns and at 80."""
    items = [item for item in home.home_items() if item.section == "start"]
    for room in (55, 35):
        rows = [row_of(item, 0, max(map(len, CURRICULUM)), room).plain for item in items]
        notes = [row.split("  ")[-1] for row in rows]
        assert len(set(notes)) == len(CURRICULUM)
        assert max(map(len, rows)) <= room
        assert min(map(len, notes)) > 5


def test_recordings_are_listed_by_protocol_nodes_and_age() -> None:
    """The full name can be typed; what the user has named keeps its name."""
    now = datetime.now(UTC)
    _recorded("bully-1124-161715-48fc", now - timedelta(minutes=12.5))
    _recorded("mine", now - timedelta(minutes=5.5))
    items = [item for item in home.home_items() if item.section == "look: recordings"]
    rows = list(rows_of(items, {}, frozenset(), STYLES, 35))
    assert [row.text.plain.strip() for row in rows[1:]] == [
        "mine              5 min ago",
        "bully, 5 nodes, 12 min ago",
        "two-coordinators  an example",
    ]
    assert "bully-1124-161715-48fc" in rows[2].also


@pytest.mark.parametrize(
    ("before", "age"),
    [
        (timedelta(seconds=30), "just now"),
        (timedelta(minutes=59), "59 min ago"),
        (timedelta(hours=3), "today 12:00"),
        (timedelta(hours=20), "23 Nov 19:00"),
        (timedelta(days=400), "2025-10-20"),
    ],
)
def test_an_age_is_brief(before: timedelta, age: str) -> None:
    now = datetime(2026, 11, 24, 15, tzinfo=UTC).replace(tzinfo=None).astimezone()
    assert home.format_age(now - before, now) == age


def test_a_message_describes_the_end_of_a_run() -> None:
    """It names the recording and its place; a run that was attached to goes on or has ended."""
    before = {_recorded("old", datetime(2020, 1, 1, tzinfo=UTC))}
    assert home.describe_end(("replay", "old"), before) == ""
    assert home.describe_end(("attach", "ring-1"), before) == "ring-1 has ended"
    _recorded("bully-1124-161715-48fc", datetime(2200, 1, 1, tzinfo=UTC))
    text = "bully-1124-161715-48fc ended; recorded, first row under CONTINUE"
    assert home.describe_end(("run", "bully"), before) == text


def test_what_is_slow_enough_to_follow_is_slow(tmp_path: Path, short_path: Path) -> None:  # noqa: F811
    """Every message is in flight for half a second, and no node takes another one for crashed."""
    lab = Lab(tmp_path, short_path)
    for name in CURRICULUM:
        item = next(item for item in home.home_items() if item.section == "start" and item.title == name)
        slow = next(variant for variant in item.variants if variant.name.startswith("slow"))
        file = tmp_path / f"{name}.jsonl"
        options = ["--sim", "--headless", "--for", "40s", "--record", str(file), "--json"]
        lab(*slow.arguments, *options)
        with closing(open_recording(file)) as store:
            excerpt = read_excerpt(store, ExportOptions(), lambda _: None)
        flights = [edge.end.at_us - edge.line.at_us for edge in excerpt.messages if edge.end is not None]
        assert min(flights, default=500_000) >= 450_000, name
        late = [
            each for each in excerpt.status_intervals if each.shown == "Election" and each.since.at_us > 20_000_000
        ]
        assert not late, name


def test_exercises_have_their_places_before_they_are_read() -> None:
    """So no row moves once they are."""
    _attempted("three-and-two")
    unread = [item for item in home.home_items() if item.section == "learn" and item.title != "tour"]
    read = home.exercise_items()
    assert [(item.key, item.is_folded, item.variants) for item in unread] == [
        (item.key, item.is_folded, item.variants) for item in read
    ]
    assert unread[1].note == read[1].note


def test_exercises_begun_come_first() -> None:
    """Each with its state; most are folded."""
    _attempted("three-and-two")
    items = home.exercise_items()
    assert items[0].title == "three-and-two"
    assert items[0].note == "best 0 of 8 points: Three and two"
    assert items[1].note == "new: A first election"
    assert len(items) == 50
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


def test_a_note_without_room_is_short_or_left_out() -> None:
    """So is the label; what is left of a note would say nothing."""
    item = HomeItem("learn", "first", (Variant("", ()),), "", "new: A first election", short_note="new")
    assert [row_of(item, 0, 5, room).plain.strip() for room in (40, 20, 11)] == [
        "first  new: A first election",
        "first  new",
        "first",
    ]
    item = HomeItem(
        "look", "x", (Variant("", ()),), "", label="bully, 5 nodes, 1 min ago", short_label="bully, 1 min ago"
    )
    assert [row_of(item, 0, 5, room).plain.strip() for room in (40, 20)] == [item.label, item.short_label]


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
    assert "starts a real process for" in text
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


def test_the_history_of_clients_is_judged(tmp_path: Path) -> None:
    """A run whose clients lose a write is not shown as one in which all holds."""
    lines = ["at 3s partition 1 2 | 3", "at 6s heal"]
    run = lab.simulate(str(REGISTER), 3, seed=1, script=lines, for_="14s", workload="lin-kv")
    run.save(tmp_path / "lost.jsonl")
    text = _text(
        list(describe_recording(digest_recording(tmp_path / "lost.jsonl", lambda _: None), "x", 80, STYLES))
    )
    assert "✗ VIOLATED: lin-kv (a store: read, write, cas, linearizable for each key)" in text.replace("\n  ", " ")


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

Test = Callable[[Pilot[HomeChoice], HomeApp], Awaitable[None]]


def _shown(app: HomeApp, test: Test, size: tuple[int, int] = (80, 24)) -> tuple[str, ...] | None:
    """Show the screen, and return its result."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await test(pilot, app)

    asyncio.run(run())
    return None if app.return_value is None else app.return_value.arguments


def test_a_terminal_that_becomes_small_and_large_again_has_the_same_rows() -> None:
    """The rows are cut for the width that the list has by then."""

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        def rows() -> list[str]:
            return [str(option.prompt) for option in app.query_one(FilterableList).options]

        await _until(pilot, lambda: any("highest leads" in row for row in rows()), "the notes are there")
        before = rows()
        await pilot.resize_terminal(60, 18)
        await _until(pilot, lambda: rows() != before, "they are cut")
        await pilot.resize_terminal(80, 24)
        await _until(pilot, lambda: rows() == before, "they are whole again")
        await pilot.press("q")

    _shown(HomeApp(home.home_items()), test)


def _preview(app: HomeApp) -> str:
    return str(app.query_one("#preview", VerticalScroll).query_one(Static).render())


async def _until(pilot: Pilot[HomeChoice], condition: Callable[[], bool], what: str) -> None:
    for _ in range(int(WAIT_S / 0.02)):
        if condition():
            return
        await pilot.pause(0.02)
    raise AssertionError(f"not within {WAIT_S} s: {what}")


def test_left_and_right_choose_an_option() -> None:
    """Enter runs what the preview shows last."""

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        assert "Enter: lab run a" in _preview(app)
        await pilot.press("right")
        assert "Enter: lab run a --nodes 0-7" in _preview(app)
        await pilot.press("right", "left", "enter")

    assert _shown(HomeApp(_items()), test) == ("run", "a", "--nodes", "0-7")


async def _click(pilot: Pilot[HomeChoice], app: HomeApp, text: str, times: int = 1) -> None:
    """Click where the list shows a text."""
    listed = app.query_one(FilterableList)
    lines = [listed.render_line(y).text for y in range(listed.size.height)]
    row = next(y for y, line in enumerate(lines) if text in line)
    await pilot.click(FilterableList, offset=(lines[row].index(text) + 1, row), times=times)


def _cursor(app: HomeApp) -> str | None:
    option = app.query_one(FilterableList).highlighted_option
    return None if option is None else option.id


def test_a_click_selects_and_a_double_click_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second click that comes late does not run, not even on the row that is selected already."""

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        for name, text in (("start/a", "a  "), ("learn/tour", "tour"), ("learn/tour", "tour")):
            await _click(pilot, app, text)
            assert _cursor(app) == name
            assert app.return_value is None
            app._click_chain_last_time = 0.0  # long ago
        await _click(pilot, app, "tour", times=2)

    assert _shown(HomeApp(_items()), test) == ("tour",)


def test_one_click_unfolds_a_section() -> None:
    """Its row says what it is; Esc folds it again, and does not leave."""

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        await pilot.press("down", "down")
        assert "1 more is folded" in _preview(app)
        assert "more-to-learn" in _preview(app)
        await pilot.press("up")
        listed = app.query_one(FilterableList)
        line = next(y for y in range(listed.size.height) if "1 more" in listed.render_line(y).text)
        await _click(pilot, app, "1 more")
        assert (_cursor(app), listed.line_on_screen) == ("learn/more-to-learn", line)
        await pilot.press("escape")
        assert _cursor(app) == "learn"
        await pilot.press("escape")
        assert _line(app, "#message") == "q quits"
        await pilot.press("q")

    assert _shown(HomeApp(_items()), test) is None


def test_a_click_on_an_option_or_the_command_in_the_preview_acts() -> None:
    async def click(pilot: Pilot[HomeChoice], app: HomeApp, text: str) -> None:
        lines = _preview(app).splitlines()
        row = next(y for y, line in enumerate(lines) if text in line)
        await pilot.click("#preview Static", offset=(lines[row].index(text) + 1, row))

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        await click(pilot, app, "eight nodes")
        assert "▶ eight nodes" in _preview(app)
        await click(pilot, app, "lab run a --nodes")

    assert _shown(HomeApp(_items()), test) == ("run", "a", "--nodes", "0-7")


def test_a_click_in_the_last_line_acts_like_the_key() -> None:
    async def click(pilot: Pilot[HomeChoice], app: HomeApp, text: str) -> None:
        await _until(pilot, lambda: text in _line(app, KeyLine), f"{text} in the last line")
        await pilot.click(KeyLine, offset=(_line(app, KeyLine).index(text), 0))
        await pilot.pause()

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        await click(pilot, app, "← → options")
        assert "▶ eight nodes" in _preview(app)
        await click(pilot, app, "type to filter")
        await pilot.press("q")
        await click(pilot, app, "Esc clears it, then q quits")
        assert app.query_one(FilterableList).typed is None
        await click(pilot, app, "Enter runs")

    assert _shown(HomeApp(_items()), test) == ("run", "a", "--nodes", "0-7")


def _typed(app: HomeApp) -> str | None:
    return app.query_one(FilterableList).typed


def _line(app: HomeApp, named: str | type[KeyLine]) -> str:
    """Return the text of a line of the screen."""
    widget = app.query_one(named)
    return widget.render_line(0).text.strip()


RING = HomeItem("running", "r", (Variant("", ("attach", "r")),), "A run.")


def test_a_running_cluster_is_not_preselected() -> None:
    """Not even if it was chosen before, or if nothing else matches the filter."""

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        assert _cursor(app) == "start/a"
        await pilot.press(*"running", "enter")
        assert _cursor(app) is None
        assert "Nothing is selected" in _preview(app)
        assert app.return_value is None
        await pilot.press("down", "enter")

    items = [*_items()[:1], RING]
    assert _shown(HomeApp(items, last=HomeChoice(("attach", "r"), "running/r")), test) == ("attach", "r")


def test_the_cursor_returns_to_what_was_run_last() -> None:
    """With the same option."""

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        await pilot.press("enter")

    for last in (("tour",), ("run", "a", "--nodes", "0-7")):
        assert _shown(HomeApp(_items(), last=HomeChoice(last)), test) == last


MORE = "learn/more-to-learn"


@pytest.mark.parametrize(
    ("last", "key", "typed"),
    [
        (HomeChoice(("x",), MORE, "more"), MORE, "more"),
        (HomeChoice(("x",), MORE), MORE, None),
        (HomeChoice(("x",), MORE, "tour"), MORE, None),
        (HomeChoice(("x",), "look: scenarios/gone", "gone"), "start/a", None),
    ],
    ids=["filtered", "folded", "filtered otherwise", "gone"],
)
def test_the_cursor_returns_to_a_folded_item(last: HomeChoice, key: str, typed: str | None) -> None:
    """By its filter, or in its section unfolded; without it, to the first row."""

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        assert (_cursor(app), _typed(app)) == (key, typed)
        if typed:
            await _until(pilot, lambda: f"filter: {typed}" in _line(app, KeyLine), "the filter")
        assert _line(app, "#message") == "r ended"

    _shown(HomeApp(_items(), last=last, message="r ended"), test)


def test_q_quits_unless_a_filter_has_letters() -> None:
    """Then it is one of them, and the last line says so; a filter without letters is none."""

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        await pilot.press("x", "q")
        assert _typed(app) == "xq"
        await _until(pilot, lambda: "filter: xq▏  no match" in _line(app, KeyLine), "the filter")
        assert "Esc clears it, then q quits" in _line(app, KeyLine)
        await pilot.press("backspace", "backspace")
        assert _typed(app) is None
        await pilot.press("q")
        assert app._exit

    assert _shown(HomeApp(_items()), test) is None


def test_what_is_called_as_typed_comes_first() -> None:
    """A recording of an algorithm's run, though above it, comes after the algorithm."""
    once = (Variant("", ("x",)),)
    items = [
        HomeItem("continue", "2pc-1", once, RecordingFile(SHIPPED)),
        HomeItem("start", "3pc", once, "Unlike 2pc.", "2pc and more"),
        HomeItem("start", "2pc", once, "Two."),
        HomeItem("look: scenarios", "2pc-a-refusal", once, "No."),
    ]

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        await pilot.press(*"2pc")
        found = [option.id for option in app.query_one(FilterableList).options if option.id]
        assert found == ["start/2pc", "start/3pc", "look: scenarios/2pc-a-refusal", "continue/2pc-1"]
        assert _cursor(app) == "start/2pc"

    _shown(HomeApp(items), test)


def test_the_cursor_stays_visible_when_rows_are_added() -> None:
    """On the same row, and on the same line of the screen; Enter out of sight only shows the row again."""
    once = (Variant("", ("x",)),)

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        listed = app.query_one(FilterableList)
        await pilot.press(*["down"] * 58, *["up"] * 8)
        line, key = listed.line_on_screen, _cursor(app)
        assert key == "look: scenarios/10"
        ready.set()
        await _until(pilot, lambda: "learn/late-29" in [option.id for option in listed.options], "the items")
        await pilot.pause()
        assert (listed.line_on_screen, _cursor(app)) == (line, key)
        listed.scroll_home(animate=False)
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert app.return_value is None
        assert listed.line_on_screen in range(listed.size.height)
        await pilot.press("enter")

    ready = threading.Event()

    def read_more() -> list[HomeItem]:
        assert ready.wait(WAIT_S)
        return [HomeItem("learn", f"late-{n}", once, "Late.") for n in range(30)]

    items = [
        *(HomeItem("start", str(n), once, "") for n in range(40)),
        *(HomeItem("look: scenarios", str(n), once, "") for n in range(40)),
    ]
    assert _shown(HomeApp(items, read_more), test) == ("x",)


def test_typing_filters_all_items() -> None:
    """Folded ones too; Esc clears the filter."""

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        listed = app.query_one(FilterableList)
        assert "learn/more-to-learn" not in [option.id for option in listed.options]
        await pilot.press(*"more-to")
        assert [option.id for option in listed.options if option.id] == ["learn/more-to-learn"]
        assert "Much." in _preview(app)
        await pilot.press("escape")
        assert "start/a" in [option.id for option in listed.options]
        await pilot.press("q")

    assert _shown(HomeApp(_items()), test) is None


def test_enter_unfolds_a_section() -> None:
    """The cursor is on the first new row."""

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        await pilot.press("down", "down", "enter")
        listed = app.query_one(FilterableList)
        assert listed.highlighted_option is not None
        assert listed.highlighted_option.id == "learn/more-to-learn"
        await pilot.press("q")

    assert _shown(HomeApp(_items()), test) is None


def test_items_read_later_keep_the_cursor() -> None:
    """They are listed in their section."""

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
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

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
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

    async def test(pilot: Pilot[HomeChoice], app: HomeApp) -> None:
        listed, preview = app.query_one(FilterableList).region, app.query_one("#preview").region
        assert (preview.x >= listed.right) == is_column
        assert (preview.y >= listed.bottom) != is_column
        await pilot.press("q")

    _shown(HomeApp(_items()), test, size)

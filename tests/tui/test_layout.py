"""The layout: by keys, by the mouse, on small screens, and saved between runs."""

import asyncio
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual import events

from lab.places import settings_file
from lab.tui.apps.runs_app import LabApp
from lab.tui.controllers.layout import (
    LayoutSettings,
    allot,
    describe_missing,
    read_layout_settings,
    write_layout_settings,
)
from lab.tui.screen import RunScreen
from lab.tui.source import FileSource, Source
from lab.tui.terminal.terminal_app import DARK, LIGHT, default_theme
from lab.tui.views.views import Views
from lab.tui.widgets.key_lines import KeyLine, TabLine
from lab.tui.widgets.node_panes import NodePanes
from lab.tui.widgets.status_lines import Headline
from tests.harness import Rig
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, Test, replay, replay_in_sizes


def _kept(test: Test, file: Path, size: tuple[int, int] = (120, 40)) -> None:
    """Run the interface over a recording with this settings file."""

    async def opened() -> Source:
        return FileSource(SHIPPED)

    async def run() -> None:
        app = LabApp(opened, "test", kept=file)
        async with app.run_test(size=size) as pilot:
            seen = Seen(app, pilot)
            await seen.paused_at_start()
            await test(seen)

    asyncio.run(run())


def _row(seen: Seen) -> int:
    return seen.of("TabLine", TabLine).region.y


async def _drag(seen: Seen, start: tuple[int, int], end: tuple[int, int]) -> None:
    await seen.pilot.mouse_down(offset=start)
    await seen.pilot.hover(offset=end)
    await seen.pilot.mouse_up(offset=end)
    await seen.pilot.pause()


def test_keys_move_the_line_of_tabs() -> None:
    """Up: the view is taller and the nodes become rows. Down: they are cards again."""

    async def test(seen: Seen) -> None:
        first = _row(seen)
        await seen.press("ctrl+up")
        listed = _row(seen)
        assert listed < first
        assert seen.of("NodePanes", NodePanes).size.height == 6
        await seen.press("ctrl+up", "ctrl+up")
        assert _row(seen) == listed - 2
        await seen.press(*["ctrl+down"] * 12)
        assert _row(seen) == first

    replay(test)


def test_the_line_of_tabs_is_dragged() -> None:
    """The nodes get the space above it; a click on a tab still shows its view."""

    async def test(seen: Seen) -> None:
        first = _row(seen)
        await _drag(seen, (60, first), (60, first - 7))
        assert _row(seen) == first - 7
        await _drag(seen, (60, first - 7), (60, first + 4))
        assert _row(seen) == first, "no lower than the nodes need"
        await seen.pilot.click(TabLine, offset=(8, 0))
        assert seen.run.views.chosen != "log"

    replay(test)


def test_the_divider_of_log_and_view_is_dragged_and_moved_by_keys() -> None:
    async def test(seen: Seen) -> None:
        log, views = seen.run.views.message_log, seen.of("Views", Views)
        assert log.size.width == pytest.approx(100, abs=2)
        await _drag(seen, (100, views.region.y + 3), (140, views.region.y + 3))
        assert log.size.width == pytest.approx(140, abs=2)
        await seen.press("ctrl+left")
        assert log.size.width == pytest.approx(130, abs=2)
        await seen.press("ctrl+right")
        assert log.size.width == pytest.approx(140, abs=2)

    replay(test, size=(200, 60))


def test_a_narrow_screen_shows_one_view_at_a_time() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("ctrl+left")
        assert "a view is shown beside the log only" in seen.message

    replay(test)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_z_shows_the_view_alone_and_everything_again(size: tuple[int, int]) -> None:
    """The title, the scrub bar, the message line and the footer stay."""

    async def test(seen: Seen) -> None:
        before = seen.text
        await seen.press("z")
        views = seen.of("Views", Views)
        await seen.until(lambda: views.size.height >= size[1] - 5, "it has all but a few lines")
        assert views.shown_views == ("log",)
        assert "recording · record 0" in seen.text
        assert "z shows everything again" in seen.message
        assert seen.of("KeyLine", KeyLine).display
        await seen.press("z")
        assert seen.text.split("\n")[:10] == before.split("\n")[:10]

    replay(test, size=size)


def test_a_small_screen_names_what_a_larger_one_shows() -> None:
    assert describe_missing(80, 24) == describe_missing(200, 60) == ""
    assert describe_missing(60, 20) == "60×20: enlarge to 80×24 to see whole lines and more log"
    assert describe_missing(80, 12) == "80×12: enlarge to 80×24 to see more log"

    async def test(seen: Seen) -> None:
        assert seen.text.split("\n")[1].strip() == describe_missing(60, 20)

    replay(test, size=(60, 20))


def test_the_screen_is_styled_once_for_all_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time, every widget is styled again."""
    styled, update = list[RunScreen](), RunScreen.update_node_styles

    def count(screen: RunScreen, animate: bool = True) -> None:
        styled.append(screen)
        update(screen, animate)

    monkeypatch.setattr(RunScreen, "update_node_styles", count)

    async def test(seen: Seen) -> None:
        styled.clear()
        await seen.press("z")
        assert seen.run.has_class("full", "no-tabs", "no-verdicts")
        assert styled == [seen.run]

    replay(test)


@pytest.mark.parametrize("key", ["", "s", "a", "z"])
def test_a_small_screen_shows_all_lines_in_place(key: str) -> None:
    """Nothing is scrolled away: who leads is near the top, the footer last, and a line of the view between."""

    async def test(seen: Seen) -> None:
        seen.player.seek(6_050_000)
        await seen.press("5", *([key] if key else []))
        assert seen.of("#headline", Headline).region.y <= 2
        assert seen.of("KeyLine", KeyLine).region.bottom == seen.app.size.height
        assert seen.run.max_scroll_y == 0
        assert seen.of("Views", Views).size.height >= 1
        assert seen.of("Views", Views).shown_views == ({"s": "diagram", "a": "assertions"}.get(key, "log"),)
        if key == "z":
            await seen.press("z")  # everything again, for the next size

    replay_in_sizes(test, [(60, 20), (80, 15), (40, 12), (40, 10)])


@pytest.fixture(scope="module")
def eight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of eight nodes, whose rows leave no room for a line of messages at 80x24."""
    return Rig(range(8)).started().write(tmp_path_factory.mktemp("eight") / "run.jsonl")


def _bottom(seen: Seen, rows: int) -> list[str]:
    return seen.text.split("\n")[-rows:]


def test_with_eight_nodes_the_footer_stays_below_every_message(eight: Path) -> None:
    """Also with a message of two lines, and with a prompt and its hint; the log lends the rows."""

    async def test(seen: Seen) -> None:
        log = seen.run.views.message_log
        for text in ("short", "a message of two lines " * 5):
            seen.run.context.notify(text, warn=True)
            await seen.until_message(text[:5])
            await seen.pilot.pause()
            assert "? help q quit" in _bottom(seen, 1)[0]
            assert text.split()[-1] in _bottom(seen, 2)[0], "the end of the message is read"
            assert seen.run.max_scroll_y == 0
        await seen.press("colon", "k")
        await seen.until(lambda: "kill (k)" in seen.message, "the hint")
        hint, *_, line, footer = _bottom(seen, 4)
        assert "kill (k)" in hint
        assert line.strip() == "kill", "what is typed, completed"
        assert "Enter do it" in footer
        await seen.press("escape")
        await seen.until(lambda: log.size.height == 12, "twelve rows of the log")
        assert "? help q quit" in _bottom(seen, 1)[0]

    replay(test, eight, (80, 24))


def test_the_footer_stays_in_a_low_window(eight: Path) -> None:
    async def test(seen: Seen) -> None:
        seen.run.context.notify("a message of two lines " * 4, warn=True)
        await seen.until_message("a message of two lines")
        await seen.pilot.pause()
        assert "select a node" in _bottom(seen, 1)[0]
        await seen.press("colon", "k")
        assert "Tab complete" in _bottom(seen, 1)[0]
        await seen.press("escape")

    replay_in_sizes(test, [(80, 15), (80, 10), (40, 10)], eight)


def test_captions_take_no_row_of_the_log_that_another_line_can_lend() -> None:
    assert not allot(24, 5, 2).title
    assert allot(24, 8).tabs
    assert not allot(24, 8, 2).tabs
    assert allot(40, 5, 2).verdicts


def test_nodes_that_changed_while_they_were_hidden_are_drawn_in_full() -> None:
    """At once: the first frame after the hall may come before they are told of their size."""

    async def test(seen: Seen) -> None:
        panes = seen.of("NodePanes", NodePanes)
        await seen.press("f11")
        await seen.until(lambda: not panes.size, "they are hidden")
        seen.player.seek(6_050_000)
        seen.run.draw()
        panes.styles.display = "block"
        seen.run._refresh_layout()
        lines = [panes.render_line(y).text for y in range(panes.size.height)]
        assert "Status" in lines[0]
        assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3", "4", "5"]

    replay(test, size=(80, 24))


def test_a_digit_selects_a_node_in_the_hall_and_after_it() -> None:
    """What is hidden does not pass the focus on to the scrub bar, where a digit would go to another time."""

    async def test(seen: Seen) -> None:
        panes = seen.of("NodePanes", NodePanes)
        await seen.press("f11")
        await seen.until(lambda: not panes.size, "they are hidden")
        await seen.press("5")
        assert (seen.selected(), seen.player.number) == (5, 0)
        await seen.press("f11")
        await seen.until(lambda: panes.has_focus, "they have the focus again")
        await seen.press("3")
        assert (seen.selected(), seen.player.number) == (3, 0)

    replay(test, size=(80, 24))


@pytest.mark.parametrize("size", [(39, 20), (80, 9), (10, 3)])
def test_a_screen_that_is_too_small_is_reported(size: tuple[int, int]) -> None:
    async def test(seen: Seen) -> None:
        text = " ".join(seen.text.split())
        assert text.startswith(f"{size[0]}×{size[1]} is too".replace("is too", "" if size[0] < 12 else "is too"))
        assert "lab bully" not in seen.text
        await seen.press("5", "full_stop")

    replay(test, size=size)


def test_a_resize_keeps_the_selection() -> None:
    """The selected node, the cursor in time, the cursor in the log and the chosen view."""

    async def test(seen: Seen) -> None:
        seen.player.seek(6_050_000)
        await seen.press("5", "tab")
        seen.run.views.message_log.focus()
        await seen.press("up", "up", "up")
        log = seen.run.views.message_log
        before = (seen.player.number, seen.selected(), log.cursor)
        assert log.cursor is not None
        for width, height in ((60, 20), (30, 8), (200, 60), (120, 40)):
            await seen.pilot.resize_terminal(width, height)
            await seen.pilot.pause()
            assert (seen.player.number, seen.selected(), log.cursor) == before, (width, height)
        await seen.until(
            lambda: log.scroll_offset.y <= (log.cursor or 0) < log.scroll_offset.y + log.size.height,
            "what the cursor is at is in sight",
        )

    replay(test)


def test_the_layout_is_restored_in_the_next_run(tmp_path: Path) -> None:
    file = tmp_path / "lab" / "interface.json"

    async def arrange(seen: Seen) -> None:
        await seen.press("ctrl+up", "a", "z", ":heartbeats", ":theme")

    async def check_layout(seen: Seen) -> None:
        await seen.until(lambda: seen.run.views.chosen == "assertions", "the view")
        assert not seen.run.has_class("full"), "a new run begins with everything"
        assert seen.run.views.rows.heartbeats
        assert (seen.app.theme, seen.run.context.styles.dark) == (LIGHT, False)
        for key in ("a", ":heartbeats", ":theme"):
            await seen.press(key)
        assert seen.run.views.chosen == "log"

    async def check_default_layout(seen: Seen) -> None:
        assert seen.run.views.chosen == "log"
        assert not seen.run.has_class("full")
        assert seen.app.theme == DARK

    _kept(arrange, file)
    nodes = read_layout_settings(file).nodes
    assert nodes is not None
    _kept(check_layout, file)
    _kept(check_default_layout, file)
    assert read_layout_settings(file) == LayoutSettings(nodes=nodes)


def test_a_view_that_a_run_lacks_is_kept_for_another_run(tmp_path: Path) -> None:
    file = tmp_path / "interface.json"
    write_layout_settings(file, LayoutSettings(view="bank"))

    async def test(seen: Seen) -> None:
        assert seen.run.views.chosen == "log"
        seen.run.layout_controller.restore_view({"bank"})
        assert seen.run.views.chosen == "log", "who is at work here turns to views alone"

    _kept(test, file)
    assert read_layout_settings(file).view == "bank"


@pytest.mark.parametrize("damage", [b"", b"{", b'{"nodes": 5000}', b'{"log": "wide"}', b"[]", b"\xff\xfe"])
def test_a_damaged_settings_file_is_ignored(tmp_path: Path, damage: bytes) -> None:
    file = tmp_path / "interface.json"
    file.write_bytes(damage)
    assert read_layout_settings(file) == LayoutSettings()
    write_layout_settings(file, LayoutSettings(heartbeats=True))
    assert read_layout_settings(file) == LayoutSettings(heartbeats=True)
    assert [each.name for each in tmp_path.iterdir()] == [file.name], "nothing is left of how it was written"


def test_an_unwritable_settings_file_is_ignored(tmp_path: Path) -> None:
    """A file is in the place of the folder; the user sees no message."""
    (tmp_path / "lab").write_text("no folder")
    write_layout_settings(tmp_path / "lab" / "interface.json", LayoutSettings())
    assert read_layout_settings(tmp_path / "lab" / "interface.json") == LayoutSettings()


def test_without_a_settings_file_nothing_is_saved() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("z", ":theme")

    replay(test)
    assert not settings_file().exists()


@pytest.mark.parametrize(
    ("ground", "theme"),
    [("15;0", DARK), ("0;15", LIGHT), ("0;default;7", LIGHT), ("15;8", DARK), ("", DARK), ("x", DARK)],
)
def test_the_default_theme_follows_the_terminal_background(ground: str, theme: str) -> None:
    assert default_theme({"COLORFGBG": ground} if ground else {}) == theme


def test_a_theme_is_chosen_by_name() -> None:
    async def test(seen: Seen) -> None:
        seen.run.action_do("theme", "nord")
        await seen.pilot.pause()
        assert seen.app.theme == "nord"
        seen.run.action_do("theme", "no-such")
        await seen.until_message("unknown theme 'no-such'; the themes are ")
        assert LIGHT in seen.message

    replay(test)


def test_a_resize_keeps_the_saved_percentages() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("ctrl+up")
        before = seen.run.layout_controller.layout.nodes
        await seen.pilot.resize_terminal(80, 24)
        seen.run.post_message(events.Resize(seen.app.size, seen.app.size))
        await seen.pilot.pause()
        assert seen.run.layout_controller.layout.nodes == before

    replay(test)


def test_nodes_are_cards_or_rows_by_a_key(tmp_path: Path) -> None:
    """The choice is kept; where no cards fit, it is said."""
    kept = tmp_path / "settings.json"

    async def test(seen: Seen) -> None:
        panes = seen.of("NodePanes", NodePanes)
        assert "activity" not in seen.text
        await seen.press("number_sign")
        assert not panes.are_cards
        assert "activity" in seen.text

    _kept(test, kept)

    async def again(seen: Seen) -> None:
        panes = seen.of("NodePanes", NodePanes)
        assert "activity" in seen.text
        await seen.press("number_sign")
        assert panes.are_cards
        await seen.pilot.resize_terminal(80, 20)
        await seen.until(lambda: "Status" in seen.text, "rows")
        await seen.press("number_sign")
        await seen.until_message("there is no room for cards")

    _kept(again, kept)


def test_a_violation_is_in_the_headline_of_a_small_screen() -> None:
    """In short, if there is no room for its name beside those who lead."""

    async def test(seen: Seen) -> None:
        await seen.press("v")
        await seen.until(lambda: "2 COORDINATORS" in seen.of("#headline", Headline).plain, "two lead")
        row = seen.of("#headline", Headline).plain.strip("\n")
        assert row.endswith(" 1 excused "), row
        assert "★ 4 is taking over" in row
        assert cell_len(row) <= 80

    replay(test, size=(80, 24))

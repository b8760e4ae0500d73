"""The dialog for the sides of a partition, by mouse and keys, also for two-digit nodes."""

import asyncio

from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Static

from lab.glyphs import glyphs_for
from lab.styles import ThemeStyles
from lab.tui.controllers.cluster import PartitionDialog

NODES = (1, 2, 3, 12, 13)


class Asks(App[None]):
    """An application that shows the dialog and keeps its result."""

    def __init__(self, apart: int | None) -> None:
        super().__init__()
        self.dialog = PartitionDialog(NODES, apart, ThemeStyles(glyphs_for()))
        self.chosen: list[str | None] = []

    def on_mount(self) -> None:
        self.push_screen(self.dialog, self.chosen.append)


def _place(app: Asks, text: str) -> tuple[int, int]:
    """Return where a text is, within the text of the dialog."""
    shown = app.dialog.query_one(Static)
    lines = ["".join(segment.text for segment in shown.render_line(y)) for y in range(shown.size.height)]
    y = next(place for place, line in enumerate(lines) if text in line)
    return lines[y].index(text), y


async def _click(pilot: Pilot[None], app: Asks, text: str) -> None:
    await pilot.click(app.dialog.query_one(Static), offset=_place(app, text))
    await pilot.pause()


async def _drag(pilot: Pilot[None], app: Asks, text: str, to: str, by: int = 0) -> None:
    """Drag to another text, or to some columns right of it."""
    shown, (x, y) = app.dialog.query_one(Static), _place(app, to)
    await pilot.mouse_down(shown, offset=_place(app, text))
    await pilot.hover(shown, offset=(x + by, y))
    await pilot.mouse_up(shown, offset=(x + by, y))
    await pilot.pause()


def test_by_mouse() -> None:
    """A click moves a node to the next side; a click on the last line applies the partition."""

    async def run() -> None:
        app = Asks(None)
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            assert app.dialog.command() == "partition 1 2 | 3 12 13"
            await _click(pilot, app, "12")
            assert app.dialog.command() == "partition 1 2 | 3 13 | 12"
            await _click(pilot, app, "Enter")
        assert app.chosen == ["partition 1 2 | 3 13 | 12"]

    asyncio.run(run())


def test_a_node_is_dragged_to_a_side() -> None:
    """Also onto another node or to the end of the row; a drag to no side moves nothing."""

    async def run() -> None:
        app = Asks(None)
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            assert app.dialog.command() == "partition 1 2 | 3 12 13"
            await _drag(pilot, app, "12", "side A")
            assert app.dialog.command() == "partition 1 2 12 | 3 13"
            await _drag(pilot, app, "1 ", "13")
            assert app.dialog.command() == "partition 2 12 | 1 3 13"
            await _drag(pilot, app, "13", "side C", by=40)
            assert app.dialog.command() == "partition 2 12 | 1 3 | 13"
            await _drag(pilot, app, "13", "partition")
            assert app.dialog.command() == "partition 2 12 | 1 3 | 13"

    asyncio.run(run())


def test_the_frame_shows_all_keys() -> None:
    """At 80 columns."""

    async def run() -> None:
        app = Asks(None)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            strips = app.screen._compositor.render_strips(app.size)
            last = next(strip.text for strip in reversed(strips) if strip.text.strip())
            assert "digits select, space moves · Enter applies · Esc closes ─╯" in last

    asyncio.run(run())


def test_by_keys() -> None:
    """Digits and arrows reach every node, space moves it; Enter does nothing while all are on one side."""

    async def run() -> None:
        app = Asks(13)
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            assert app.dialog.command() == "partition 1 2 3 12 | 13"
            await pilot.press("2", "space", "left", "left", "space", "space")
            assert app.dialog.command() == "partition 1 3 12 13 | 2"
            await pilot.press("1", "2", "space")
            assert app.dialog.command() == "partition 1 3 13 | 2 12"
            await pilot.press("space", "space", "left", "left", "space", "space")
            assert app.dialog.command() == ""
            await pilot.press("enter")
            assert app.screen is app.dialog
            assert app.chosen == []
            await pilot.press("escape")
        assert app.chosen == [None]

    asyncio.run(run())


def test_one_side_is_reported() -> None:
    """From the start, and as a warning after Enter, until a node is moved."""

    def text(dialog: PartitionDialog) -> set[str]:
        text = dialog.content()
        return {
            str(span.style)
            for span in text.spans
            if "all nodes are on one side" in text.plain[span.start : span.end]
        }

    async def run() -> None:
        app, styles = Asks(13), ThemeStyles(glyphs_for())
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            await pilot.press("right", "right", "right", "right", "space", "space")
            assert text(app.dialog) == {str(styles.accent)}
            await pilot.press("enter")
            assert text(app.dialog) == {str(styles.warning)}
            await pilot.press("space", "space", "space")
            assert text(app.dialog) == {str(styles.accent)}

    asyncio.run(run())

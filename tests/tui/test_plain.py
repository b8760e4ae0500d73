"""On an ASCII terminal nothing else is drawn, by any screen or dialog."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.scrollbar import ScrollBarRender

from lab.glyphs import glyphs_for
from lab.styles import to_ascii
from lab.tui.apps.home_app import HomeApp
from lab.tui.apps.home_items import HomeItem, RecordingFile, Variant
from lab.tui.apps.runs_app import LabApp
from lab.tui.controllers.branching import TreeDialog
from lab.tui.controllers.cluster import PartitionDialog
from lab.tui.controllers.playback import NextEventDialog
from lab.tui.source import FileSource, Source
from lab.tui.views.log_view import RecordDialog
from lab.tui.widgets.help import HelpDialog
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen

ASCII = {"LC_ALL": "C", "TERM": "xterm"}


@pytest.fixture
def recording(runs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording with non-ASCII letters, shown on a terminal without UTF-8."""
    for name, value in ASCII.items():
        monkeypatch.setenv(name, value)
    return Path(shutil.copy(SHIPPED, runs.parent / "Läufe…日本.jsonl"))


def _not_ascii(seen: Seen) -> set[str]:
    return {letter for letter in seen.text if not letter.isascii()}


def test_screens_and_dialogs(recording: Path) -> None:
    """The replay, a branch of it, and their dialogs; at 80x24 much of it is cut."""

    async def over(seen: Seen, key: str, dialog: type[Screen[Any]], *then: str) -> None:
        await seen.press(key)
        await seen.until(lambda: isinstance(seen.top, dialog), f"{key} opens its dialog")
        await seen.pilot.pause(0.1)
        assert _not_ascii(seen) == set(), key
        assert "+-" in seen.text, "a border"
        await seen.press(*then, "escape")

    async def test(pilot: Pilot[None], app: LabApp) -> None:
        seen = Seen(app, pilot)
        await seen.paused_at_start()
        seen.player.seek(6_050_000)
        await seen.press("v")
        assert "while node" in seen.message
        assert _not_ascii(seen) == set()
        assert "5   = paused" in seen.text
        await over(seen, "question_mark", HelpDialog)
        await over(seen, "B", TreeDialog)
        await over(seen, "enter", RecordDialog)
        await seen.press("b")
        await seen.until(lambda: seen.source.is_live and seen.source.clock, "a branch")
        await seen.until(lambda: _not_ascii(seen) == set() and "simulated" in seen.text, "it is drawn")
        await over(seen, "o", NextEventDialog, "enter")
        await over(seen, "x", PartitionDialog)
        await over(seen, "question_mark", HelpDialog)
        await seen.press("colon", "k", "i")
        assert _not_ascii(seen) == set()
        await seen.press("escape", "q")
        await seen.until(lambda: not seen.source.is_live, "back")

    async def run() -> None:
        async def opened() -> Source:
            return FileSource(recording)

        app = LabApp(opened, recording.name)
        async with app.run_test(size=(80, 24)) as pilot:
            await test(pilot, app)

    asyncio.run(run())


def test_the_home_screen(recording: Path) -> None:
    """With its dots and the names of recordings."""

    async def run() -> str:
        variants = (Variant("", ("replay", str(recording))),)
        app = HomeApp([HomeItem("continue", recording.name, variants, RecordingFile(recording), "11 · 24")])
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            await app.workers.wait_for_complete()
            await pilot.pause()
            return "".join(strip.text for strip in app.screen._compositor.render_strips(app.size))

    text = asyncio.run(run())
    assert "L?ufe~????.jsonl" in text
    assert "11 . 24" in text
    assert "violated, excused: A1.1" in text
    assert text.isascii()


def test_every_drawn_character_has_an_ascii_equivalent() -> None:
    """Of the same width."""
    assert glyphs_for(ASCII).box.isascii()
    assert to_ascii("╭─ a … b ─╮│ 日 é ★") == "+- a ~ b -+| ?? ? ?"
    assert to_ascii("plain") == "plain"
    assert to_ascii("".join(ScrollBarRender.VERTICAL_BARS + ScrollBarRender.HORIZONTAL_BARS)).isspace()

"""Bookmarks in the interface: made, listed, visited, changed and removed; and errors when they cannot be saved."""

import shutil
from pathlib import Path

import pytest
from textual.widgets import OptionList

from lab.analysis.bookmarks import bookmarks_file
from lab.tui.controllers.bookmarking import BookmarkDialog
from lab.tui.widgets.scrub_bar import ScrubBar
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, replay


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording in a folder of its own."""
    return Path(shutil.copy(SHIPPED, tmp_path / "run.jsonl"))


async def _note(seen: Seen, record: int, text: str) -> None:
    seen.player.go(record)
    await seen.press("colon")
    await seen.type(f"bookmark {text}")
    await seen.press("enter")


def test_the_command_makes_one_and_n_visits_them(recording: Path) -> None:
    """Also in a run without a script. The scrub bar shows them."""

    async def test(seen: Seen) -> None:
        await seen.press("n")
        await seen.until_message("this run has no bookmark, caption, mark or unmet expectation so far; m adds one")
        await _note(seen, 100, "first")
        await seen.until_message("bookmark at record 100; n and N go to the next and previous one, M lists them")
        await _note(seen, 200, "second")
        assert "⚐" in seen.of("ScrubBar", ScrubBar).render().plain
        await seen.press("home", "n")
        assert seen.player.number == 100
        await seen.press("n")
        assert seen.player.number == 200
        await seen.press("n")
        await seen.until_message("no bookmark, caption, mark or unmet expectation after this one")
        await seen.press("N")
        assert seen.player.number == 100

    replay(test, recording)
    assert '"record":100' in bookmarks_file(recording).read_text("utf-8")


def test_the_dialog_makes_changes_lists_and_removes(recording: Path) -> None:
    async def test(seen: Seen) -> None:
        seen.player.go(100)
        await seen.press("m")
        assert isinstance(seen.top, BookmarkDialog)
        assert "note on record 100" in seen.text
        await seen.type("so it began")
        await seen.press("enter")
        await seen.until_message("bookmark at record 100;")
        await seen.press("m")
        await seen.until(lambda: "record 100     so it began" in seen.text, "the list")
        await seen.type(" all")
        await seen.press("enter")
        await seen.until_message("bookmark at record 100 changed;")
        await _note(seen, 200, "then")
        await seen.press("m", "down", "up", "enter")
        assert (seen.player.number, seen.message) == (100, "so it began all")
        await seen.press("m", "down")
        await seen.until(lambda: "d, twice, removes it" in seen.text, "what the keys do")
        await seen.press("d")
        assert "d again removes this bookmark" in seen.text
        await seen.press("down", "up", "d")
        assert seen.top.query_one(OptionList).option_count == 2
        await seen.press("d")
        assert seen.top.query_one(OptionList).option_count == 1
        await seen.press("escape")
        assert [each.record for each in seen.source.bookmarks.all] == [200]

    replay(test, recording)
    assert "so it began" not in bookmarks_file(recording).read_text("utf-8")


def test_a_click_selects_a_bookmark_and_a_double_click_goes_there(recording: Path) -> None:
    async def test(seen: Seen) -> None:
        await _note(seen, 100, "first")
        await _note(seen, 200, "second")
        await seen.press("M")
        await seen.pilot.click("BookmarkDialog OptionList", offset=(3, 0))
        assert isinstance(seen.top, BookmarkDialog)
        await seen.pilot.click("BookmarkDialog OptionList", offset=(3, 0), times=2)
        await seen.until(lambda: seen.top is seen.run, "the dialog closes")
        assert seen.player.number == 100

    replay(test, recording)


def test_what_another_interface_noted_is_listed(recording: Path) -> None:
    async def other(seen: Seen) -> None:
        await _note(seen, 50, "by another")

    async def test(seen: Seen) -> None:
        shutil.copy(kept, bookmarks_file(recording))
        assert seen.source.bookmarks.all == []
        await seen.press("m")
        await seen.until(lambda: "by another" in seen.text, "the list")
        await seen.press("escape")
        await _note(seen, 60, "mine")
        assert [each.note for each in seen.source.bookmarks.all] == ["by another", "mine"]

    replay(other, recording)
    kept = recording.with_name("kept")
    bookmarks_file(recording).rename(kept)
    replay(test, recording)


def test_a_broken_file_is_reported_and_bookmarks_stay_in_memory(recording: Path) -> None:
    bookmarks_file(recording).write_text("- eggs\n")

    async def test(seen: Seen) -> None:
        assert seen.message == "run.jsonl.bookmarks is not a file of bookmarks, so it is left as it is"
        await _note(seen, 100, "kept here")
        await seen.until_message(
            "bookmark at record 100, kept only while this is open: run.jsonl.bookmarks is not a file of bookmarks"
        )
        await seen.press("home", "n")
        assert seen.player.number == 100

    replay(test, recording)
    assert bookmarks_file(recording).read_text() == "- eggs\n"

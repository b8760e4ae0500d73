"""``X`` exports the run to a file, whole or in part, while the screen goes on."""

import threading
from pathlib import Path
from typing import TextIO
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace
from textual.widgets import Input, OptionList, Static

from lab.export.excerpt import Excerpt
from lab.export.formats import Format, write_file
from lab.tui.apps.export_dialog import ExportDialog
from lab.tui.apps.export_formats import ALL_FORMATS
from tests.profile import sampled
from tests.tui.recorded import SHIPPED
from tests.tui.scripted import scripted_config
from tests.tui.seen import Seen, attached, replay, served
from tests.waiting import WAIT_S

GROUPS = SHIPPED.parent / "scenarios" / "two-coordinators-invite-each-other.jsonl"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def _asked(seen: Seen) -> None:
    await seen.press(":export")
    await seen.until(lambda: isinstance(seen.top, ExportDialog), "the dialog")


def _field(seen: Seen, named: str) -> Input:
    return seen.top.query_one(f"#{named}", Input)


async def _until_answer(seen: Seen, text: str) -> None:
    """Wait until the dialog shows this text, and is still open."""
    await seen.until(lambda: text in str(seen.top.query_one("#answer", Static).content), text)
    assert isinstance(seen.top, ExportDialog)


def test_x_exports_a_picture_of_the_whole_run(folder: Path) -> None:
    """In the current folder, named after the recording; the message has the path and the size."""
    path = folder / "two-coordinators.svg"

    async def test(seen: Seen) -> None:
        await _asked(seen)
        assert all(each.name in seen.text and each.help[:40] in seen.text for each in ALL_FORMATS)
        await seen.press("enter")
        await seen.until_message(
            f"exported to {path} ({path.stat().st_size if path.exists() else 0:,} bytes)"[:40]
        )
        assert seen.message == f"exported to {path} ({path.stat().st_size:,} bytes)"
        assert seen.top is seen.run

    replay(test)
    groups = [each for each in ElementTree.parse(path).iter() if each.get("class") == "m"]
    assert len(groups) == 178


def test_the_default_file_name_follows_the_format(folder: Path) -> None:
    """Until the user types another name."""

    async def test(seen: Seen) -> None:
        await _asked(seen)
        await seen.press("down", "down")
        assert _field(seen, "file").value == "two-coordinators.txt"
        _field(seen, "file").value = "mine.txt"
        await seen.press("down")
        assert _field(seen, "file").value == "mine.txt"
        await seen.press("up", "enter")
        await seen.until_message("exported to")

    replay(test)
    assert (folder / "mine.txt").read_text("utf-8").startswith("bully\n")


def test_a_click_selects_a_format_and_a_double_click_exports(folder: Path) -> None:
    async def test(seen: Seen) -> None:
        await _asked(seen)
        await seen.pilot.click("ExportDialog OptionList", offset=(3, 2))
        await seen.pilot.pause(0.7)  # an export would be under way; and this is too long for a double click
        assert _field(seen, "file").value == "two-coordinators.txt"
        await _until_answer(seen, "")
        assert not seen.top.query_one("#answer", Static).content
        assert not seen.top.query_one(OptionList).disabled
        await seen.pilot.click("ExportDialog OptionList", offset=(3, 2), times=2)
        await seen.until_message("exported to")

    replay(test)
    assert [each.name for each in folder.iterdir()] == ["two-coordinators.txt"]


def test_space_limits_the_time_to_that_around_the_cursor(folder: Path) -> None:
    """And clears the limits again; the text in the fields is what is exported."""

    async def test(seen: Seen) -> None:
        seen.player.seek(4_000_000)
        await _asked(seen)
        await seen.press("space")
        assert (_field(seen, "from").value, _field(seen, "until").value) == ("3s", "5s")
        await seen.press("space")
        assert (_field(seen, "from").value, _field(seen, "until").value) == ("", "")
        await seen.press("space", "down", "down", "enter")
        await seen.until_message("exported to")

    replay(test)
    assert "from 3s until 5s" in (folder / "two-coordinators.txt").read_text("utf-8").splitlines()[1]


def test_some_of_the_nodes_are_exported(folder: Path) -> None:
    """Messages to other nodes are left out."""

    async def test(seen: Seen) -> None:
        await _asked(seen)
        _field(seen, "nodes").value = " 2,4 "
        await seen.press("down", "down", "enter")
        await seen.until_message("exported to")

    replay(test)
    assert "nodes 2 4" in (folder / "two-coordinators.txt").read_text("utf-8").splitlines()[1]


def test_errors_are_shown_in_the_dialog(folder: Path) -> None:
    """An invalid time, an empty window, a folder, the recording itself, a run without groups."""
    (folder / "there").mkdir()

    async def test(seen: Seen) -> None:
        await _asked(seen)
        for since, until, file, text in (
            ("soon", "", "a.svg", "'soon' is not a duration"),
            ("3s", "2s", "a.svg", "the window from 3s until 2s is empty"),
            ("100s", "", "a.svg", "nothing was recorded from 100s on"),
            ("", "", "there", "there is a folder; type the name of a file"),
            ("", "", "nowhere/a.svg", "nowhere/a.svg cannot be written: No such file or directory"),
            ("", "", str(SHIPPED), "is the recording itself; type another name"),
            ("", "", "a\0.svg", "null"),
        ):
            _field(seen, "from").value, _field(seen, "until").value = since, until
            _field(seen, "file").value = file
            await seen.press("enter")
            await _until_answer(seen, text)
        _field(seen, "file").value = "a.svg"
        for nodes, text in (
            ("1;2", "1;2: expected numbers separated by commas, such as 1,2,5"),
            ("1,9", "unknown node 9; the nodes of this run are 1-5"),
        ):
            _field(seen, "nodes").value = nodes
            await seen.press("enter")
            await _until_answer(seen, text)
        _field(seen, "nodes").value = ""
        _field(seen, "file").value = "a.dot"
        seen.top.query_one(OptionList).highlighted = [each.name for each in ALL_FORMATS].index("dot")
        await seen.press("enter")
        await _until_answer(seen, "this run of bully has no groups")
        await seen.press("escape")
        assert seen.top is seen.run

    before = SHIPPED.read_bytes()
    replay(test)
    assert SHIPPED.read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["there"]


def test_a_second_enter_overwrites_an_existing_file(folder: Path) -> None:
    """But not if the name was changed in between."""
    path, other = folder / "two-coordinators.svg", folder / "other.svg"
    path.write_text("mine")
    other.write_text("mine too")

    async def test(seen: Seen) -> None:
        await _asked(seen)
        await seen.press("enter")
        await _until_answer(seen, "two-coordinators.svg exists: press Enter again to overwrite it")
        _field(seen, "file").value = "other.svg"
        await seen.press("enter")
        await _until_answer(seen, "other.svg exists")
        assert (path.read_text(), other.read_text()) == ("mine", "mine too")
        await seen.press("enter")
        await seen.until_message("exported to")

    replay(test)
    assert path.read_text() == "mine"
    assert other.read_text("utf-8").startswith("<?xml")


def test_export_from_the_command_line_needs_no_dialog(folder: Path) -> None:
    """``export svg FILE`` exports at once; an unknown format is refused with the known ones."""

    async def test(seen: Seen) -> None:
        await seen.press("colon")
        await seen.type("export svgg")
        await seen.press("enter")
        await seen.until_message("export svgg: expected one of svg, html")
        await seen.press("colon")
        await seen.type("export text mine")
        await seen.press("enter")
        await seen.until_message(f"exported to {folder / 'mine'}")

    replay(test)
    assert (folder / "mine").read_text("utf-8").startswith("bully\n")


def test_progress_is_shown_and_escape_cancels(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """The screen stays alive meanwhile, and no partial file remains."""
    going, left, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(*given: object) -> object:
        on_progress = given[2]
        assert callable(on_progress)
        try:
            while True:
                on_progress("7 of 9 records read")
                going.set()
                assert left.wait(WAIT_S)
        finally:
            ended.set()

    monkeypatch.setattr("lab.tui.apps.export_dialog.read_excerpt", slow)

    async def test(seen: Seen) -> None:
        await _asked(seen)
        await seen.press("enter")
        await seen.until(going.is_set, "the work has begun")
        await _until_answer(seen, "7 of 9 records read")
        await seen.press("escape")
        left.set()
        await seen.until(ended.is_set, "the work has ended")
        assert seen.top is seen.run

    replay(test)
    assert list(folder.iterdir()) == []


def test_escape_while_writing_leaves_no_file(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """With and without progress reports of the writer."""
    going, left, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(options: Format, excerpt: Excerpt, path: Path) -> int:
        def write(excerpt: Excerpt, out: TextIO) -> None:
            going.set()
            assert left.wait(WAIT_S)
            options.write(excerpt, out)

        try:
            return write_file(replace(options, write=write), excerpt, path)
        finally:
            ended.set()

    monkeypatch.setattr("lab.tui.apps.export_dialog.write_file", slow)

    def left_in(folder: Path) -> list[Path]:
        return list(folder.iterdir())

    async def test(seen: Seen) -> None:
        for each in sampled(ALL_FORMATS, 5):
            for event in (going, left, ended):
                event.clear()
            await seen.press("colon")
            await seen.type(f"export {each.name} mine")
            await seen.press("enter")
            await seen.until(going.is_set, f"the work on {each.name} has begun")
            await seen.press("escape")
            await seen.until(lambda: seen.top is seen.run, "the dialog is gone")
            left.set()
            await seen.until(ended.is_set, f"the work on {each.name} has ended")
            assert left_in(folder) == [], each.name

    replay(test, GROUPS)


def test_a_running_run_is_exported_as_recorded_so_far(folder: Path, runs: Path) -> None:
    config = scripted_config(runs.parent / "live.jsonl", "when all normal: kill 5\nwhen 4 leads: freeze", None)

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "★ 4 leads" in seen.leaders, "4 leads")
        await seen.press("colon")
        await seen.type("export text live.txt")
        await seen.press("enter")
        await seen.until_message("exported to")
        assert not seen.source.ended

    with served(config) as ready:
        attached(test, ready.socket)
    assert "5: killed" in (folder / "live.txt").read_text("utf-8")

"""``w``: what was done in a run becomes a scenario, in a file that the user names."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from lab.recording.reader import NotARecordingError
from lab.scenario.file import read_scenario
from lab.scenario.from_recording import GeneratedScenario
from lab.scenario.run_scenario import run_simulated
from lab.scenario.writing import ScenarioSource
from lab.tui.saving import scenario_dialog as writing  # RENAMED
from lab.tui.saving.scenario_dialog import WriteDialog
from tests.tui.recorded import SHIPPED
from tests.tui.scripted import scripted_config
from tests.tui.seen import Seen, attached, replay, served


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def _asked(seen: Seen) -> None:
    await seen.press("w")
    await seen.until(lambda: isinstance(seen.top, WriteDialog), "the dialog")


async def _refused(seen: Seen, name: str, said: str) -> None:
    """The dialog says so of this name, and stays."""
    seen.top.query_one(Input).value = name
    await seen.press("enter")
    await seen.until(lambda: said in _told(seen), said)


def _told(seen: Seen) -> str:
    return str(seen.top.query_one(Static).content)


def test_w_writes_a_scenario_that_does_the_same_again(folder: Path) -> None:
    """Under the recording's name, in the current folder; it says where that is and how it is run."""
    path = folder / "two-coordinators.scenario"

    async def test(seen: Seen) -> None:
        await _asked(seen)
        assert seen.top.query_one(Input).value == "two-coordinators.scenario"
        await seen.press("enter")
        await seen.says(f"written to {path}")
        assert "lab run two-coordinators.scenario runs it" in seen.said
        assert seen.top is seen.run

    replay(test)
    report = run_simulated(read_scenario(path))
    assert report.passed, report.findings


def test_a_file_that_is_there_is_written_over_at_a_second_enter_only(folder: Path) -> None:
    """And not if the name was changed between the two."""
    path, other = folder / "two-coordinators.scenario", folder / "another.scenario"
    path.write_text("mine")
    other.write_text("mine too")

    async def test(seen: Seen) -> None:
        await _asked(seen)
        await seen.press("enter")
        await seen.until(lambda: "exists: press Enter again to overwrite it" in _told(seen), "the question")
        seen.top.query_one(Input).value = "another"
        await seen.press("enter")
        await seen.until(lambda: "another.scenario exists" in _told(seen), "the other question")
        assert (path.read_text(), other.read_text()) == ("mine", "mine too")
        await seen.press("enter")
        await seen.says(f"written to {other}")

    replay(test)
    assert path.read_text() == "mine"
    assert other.read_text().startswith("title = ")


def test_no_name_a_folder_and_no_such_place_are_told(folder: Path) -> None:
    """The dialog stays, and another name can be given."""
    (folder / "taken").mkdir()
    (folder / "taken.scenario").mkdir()

    async def test(seen: Seen) -> None:
        await _asked(seen)
        for name, said in (
            ("", "type the name of a file"),
            ("taken", "taken.scenario is a folder"),
            ("none/such", "none/such.scenario cannot be written: No such file or directory"),
        ):
            await _refused(seen, name, said)
        await seen.press("escape")
        assert seen.top is seen.run

    replay(test)
    assert not list(folder.glob("**/*.scenario/*"))


def test_a_name_that_is_none_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the system has against it; the dialog stays."""
    (folder / "loop").symlink_to("loop")
    looked_at = Path.is_dir

    def is_dir(path: Path) -> bool:
        if path.parent.name == "locked":
            raise PermissionError(13, "Permission denied")
        return looked_at(path)

    monkeypatch.setattr(Path, "is_dir", is_dir)

    async def test(seen: Seen) -> None:
        await _asked(seen)
        for name, said in (
            ("~nosuchuser/x", "~nosuchuser/x cannot be written: Could not determine home directory"),
            ("n" * 300, "cannot be written: File name too long"),
            ("locked/x", "locked/x cannot be written: Permission denied"),
            ("loop/x", "loop/x.scenario cannot be written: Too many levels of symbolic links"),
            ("a\0b", "cannot be written: embedded null"),
            (".", "type the name of a file"),
        ):
            await _refused(seen, name, said)
        await seen.press("escape")
        assert seen.top is seen.run

    replay(test)
    assert not list(folder.glob("**/*.scenario"))


def test_what_cannot_be_made_a_scenario_is_told(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """In the words of what makes it."""

    def refuse(source: ScenarioSource, shrink: bool, tell: Callable[[str], None]) -> GeneratedScenario:
        raise NotARecordingError("it is empty")

    monkeypatch.setattr(writing, "make_scenario", refuse)

    async def test(seen: Seen) -> None:
        await _asked(seen)
        await seen.press("enter")
        await seen.until(lambda: _told(seen) == "it is empty", "why not")
        assert not seen.top.query_one(Input).disabled

    replay(test)
    assert list(folder.iterdir()) == []


def test_how_far_it_is_is_shown_and_escape_ends_it(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """The work itself ends too, when it next tells how far it is; nothing is written."""
    left, ended = threading.Event(), threading.Event()

    def slowly(source: ScenarioSource, shrink: bool, tell: Callable[[str], None]) -> GeneratedScenario:
        tell("7 runs tried")
        assert left.wait(20)
        try:
            tell("8 runs tried")
        finally:
            ended.set()
        return GeneratedScenario("never", False, ())

    monkeypatch.setattr(writing, "make_scenario", slowly)

    async def test(seen: Seen) -> None:
        await _asked(seen)
        await seen.press("enter")
        await seen.until(lambda: _told(seen) == "7 runs tried", "how far it is")
        await seen.press("escape")
        assert seen.top is seen.run
        left.set()
        await seen.until(ended.is_set, "the work ends")

    replay(test)
    assert list(folder.iterdir()) == []


def test_what_was_done_so_far_in_a_run_that_goes_on(folder: Path, runs: Path) -> None:
    """Its recording is read as it is by then."""
    config = scripted_config(runs.parent / "live.jsonl", "when all normal: kill 5\nwhen 4 leads: freeze", None)

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "★ 4 leads" in seen.leaders, "4 leads")
        await _asked(seen)
        await seen.press("enter")
        await seen.says(f"written to {folder / 'live.scenario'}")

    with served(config) as ready:
        attached(test, ready.socket)
    assert "kill 5" in (folder / "live.scenario").read_text()


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
def test_the_dialog_fits_where_there_is_little_room(size: tuple[int, int]) -> None:
    """The name can be read, and how to leave."""

    async def test(seen: Seen) -> None:
        await _asked(seen)
        await seen.until(lambda: "two-coordinators.scenario" in seen.text, "the name")
        assert "Esc closes" in seen.text

    replay(test, SHIPPED, size=size)

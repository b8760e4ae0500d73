"""``w`` writes the run as a scenario to a file that the user names."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from lab.recording.reader import NotARecordingError
from lab.scenario import from_recording
from lab.scenario.file import read_scenario
from lab.scenario.from_recording import GeneratedScenario, ScenarioSource
from lab.scenario.run_scenario import run_simulated
from lab.tui.controllers.branching import ScenarioDialog
from tests.tui.recorded import SHIPPED
from tests.tui.scripted import scripted_config
from tests.tui.seen import Seen, attached, replay, served
from tests.waiting import WAIT_S


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def _asked(seen: Seen) -> None:
    await seen.press(":write")
    await seen.until(lambda: isinstance(seen.top, ScenarioDialog), "the dialog")


async def _refused(seen: Seen, name: str, text: str) -> None:
    """Enter this name, and wait until the dialog refuses it and stays open."""
    seen.top.query_one(Input).value = name
    await seen.press("enter")
    await seen.until(lambda: text in _dialog_text(seen), text)


def _dialog_text(seen: Seen) -> str:
    return str(seen.top.query_one(Static).content)


def test_w_writes_a_scenario_that_repeats_the_run(folder: Path) -> None:
    """In the current folder, named after the recording; the message has the path and how to run it."""
    path = folder / "two-coordinators.scenario"

    async def test(seen: Seen) -> None:
        await _asked(seen)
        assert seen.top.query_one(Input).value == "two-coordinators.scenario"
        await seen.press("enter")
        await seen.until_message(f"written to {path}")
        assert "lab run two-coordinators.scenario runs it" in seen.message
        assert seen.top is seen.run

    replay(test)
    report = run_simulated(read_scenario(path))
    assert report.passed, report.findings


def test_a_second_enter_overwrites_an_existing_file(folder: Path) -> None:
    """But not if the name was changed in between."""
    path, other = folder / "two-coordinators.scenario", folder / "another.scenario"
    path.write_text("mine")
    other.write_text("mine too")

    async def test(seen: Seen) -> None:
        await _asked(seen)
        await seen.press("enter")
        await seen.until(lambda: "exists: press Enter again to overwrite it" in _dialog_text(seen), "the question")
        seen.top.query_one(Input).value = "another"
        await seen.press("enter")
        await seen.until(lambda: "another.scenario exists" in _dialog_text(seen), "the other question")
        assert (path.read_text(), other.read_text()) == ("mine", "mine too")
        await seen.press("enter")
        await seen.until_message(f"written to {other}")

    replay(test)
    assert path.read_text() == "mine"
    assert other.read_text().startswith("title = ")


def test_bad_names_are_refused(folder: Path) -> None:
    """No name, a folder, a missing folder; the dialog stays open."""
    (folder / "taken").mkdir()
    (folder / "taken.scenario").mkdir()

    async def test(seen: Seen) -> None:
        await _asked(seen)
        for name, text in (
            ("", "type the name of a file"),
            ("taken", "taken.scenario is a folder"),
            ("none/such", "none/such.scenario cannot be written: No such file or directory"),
        ):
            await _refused(seen, name, text)
        await seen.press("escape")
        assert seen.top is seen.run

    replay(test)
    assert not list(folder.glob("**/*.scenario/*"))


def test_names_the_system_rejects_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dialog stays open."""
    (folder / "loop").symlink_to("loop")
    looked_at = Path.is_dir

    def is_dir(path: Path) -> bool:
        if path.parent.name == "locked":
            raise PermissionError(13, "Permission denied")
        return looked_at(path)

    monkeypatch.setattr(Path, "is_dir", is_dir)

    async def test(seen: Seen) -> None:
        await _asked(seen)
        for name, text in (
            ("~nosuchuser/x", "~nosuchuser/x cannot be written: Could not determine home directory"),
            ("n" * 300, "cannot be written: File name too long"),
            ("locked/x", "locked/x cannot be written: Permission denied"),
            ("loop/x", "loop/x.scenario cannot be written: Too many levels of symbolic links"),
            ("a\0b", "cannot be written: embedded null"),
            (".", "type the name of a file"),
        ):
            await _refused(seen, name, text)
        await seen.press("escape")
        assert seen.top is seen.run

    replay(test)
    assert not list(folder.glob("**/*.scenario"))


def test_the_reason_for_no_scenario_is_shown(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    def refuse(source: ScenarioSource, shrink: bool, on_progress: Callable[[str], None]) -> GeneratedScenario:
        raise NotARecordingError("it is empty")

    monkeypatch.setattr(from_recording, "make_scenario", refuse)

    async def test(seen: Seen) -> None:
        await _asked(seen)
        await seen.press("enter")
        await seen.until(lambda: _dialog_text(seen) == "it is empty", "why not")
        assert not seen.top.query_one(Input).disabled

    replay(test)
    assert list(folder.iterdir()) == []


def test_progress_is_shown_and_escape_cancels(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """The work ends when it next reports progress; nothing is written."""
    left, ended = threading.Event(), threading.Event()

    def slowly(source: ScenarioSource, shrink: bool, on_progress: Callable[[str], None]) -> GeneratedScenario:
        on_progress("7 runs tried")
        assert left.wait(WAIT_S)
        try:
            on_progress("8 runs tried")
        finally:
            ended.set()
        return GeneratedScenario("never", False, ())

    monkeypatch.setattr(from_recording, "make_scenario", slowly)

    async def test(seen: Seen) -> None:
        await _asked(seen)
        await seen.press("enter")
        await seen.until(lambda: _dialog_text(seen) == "7 runs tried", "how far it is")
        await seen.press("escape")
        assert seen.top is seen.run
        left.set()
        await seen.until(ended.is_set, "the work ends")

    replay(test)
    assert list(folder.iterdir()) == []


def test_a_running_run_is_written_as_recorded_so_far(folder: Path, runs: Path) -> None:
    config = scripted_config(runs.parent / "live.jsonl", "when all normal: kill 5\nwhen 4 leads: freeze", None)

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "★ 4 leads" in seen.leaders, "4 leads")
        await _asked(seen)
        await seen.press("enter")
        await seen.until_message(f"written to {folder / 'live.scenario'}")

    with served(config) as ready:
        attached(test, ready.socket)
    assert "kill 5" in (folder / "live.scenario").read_text()


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
def test_the_dialog_fits_a_small_screen(size: tuple[int, int]) -> None:
    """The name and how to close it are visible."""

    async def test(seen: Seen) -> None:
        await _asked(seen)
        await seen.until(lambda: "two-coordinators.scenario" in seen.text, "the name")
        assert "Esc closes" in seen.text

    replay(test, SHIPPED, size=size)

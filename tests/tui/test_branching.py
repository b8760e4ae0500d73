"""Branches in the interface: B branches at the cursor, q returns, T shows the tree."""

import shutil
from pathlib import Path

import psutil
import pytest

from lab.kernel import Timing
from lab.places import recordings_folder
from lab.recording.reader import RecordStore, open_recording
from lab.recording.records import End, Header, Link
from lab.tui.controllers.branching import TreeDialog
from lab.tui.screen import RunScreen
from lab.tui.source import FileSource, Source
from lab.worlds.host.runs import list_runs
from lab.worlds.launch import HostProcess
from lab.worlds.loading.config import RunConfig
from tests.recording.samples import execute_again
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, attached, over, replay
from tests.waiting import WAIT_S
from tests.worlds.branches import grow

AT = 150


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A live recording."""
    return Path(shutil.copy(SHIPPED, tmp_path / "run.jsonl"))


def _run_screens(seen: Seen) -> int:
    return sum(isinstance(screen, RunScreen) for screen in seen.app.screen_stack)


def _lines(seen: Seen) -> RecordStore:
    return seen.run.context.source.store


async def _branched(seen: Seen) -> Header:
    before = _run_screens(seen)
    await seen.press("b")
    await seen.until(lambda: _run_screens(seen) > before, "the branch is there")
    await seen.drawn()
    return _lines(seen).header


def test_a_branch_goes_on_from_the_cursor_and_leads_back(recording: Path) -> None:
    """It is a simulated run that takes commands. Its recording verifies, and names its parent and the record."""

    async def test(seen: Seen) -> None:
        seen.player.go(AT)
        seen.player.toggle()
        await seen.press("3")
        at = seen.player.number
        header = await _branched(seen)
        assert header.parent is not None
        assert (header.parent.recording, header.parent.record) == (str(recording), at)
        assert header.world == "simulated"
        await seen.until(lambda: f" branch of record {at} " in seen.line("#title"), "the title says what it is")
        await seen.until_message(
            f"at record {at}: time is frozen, so kill or cut something; space lets it run, q goes back"
        )
        await seen.until(lambda: " frozen " in seen.line("#title"), "the title says so too")
        assert seen.selected() == 3
        assert len(_lines(seen)) == at + 1
        await seen.press("space")
        await seen.until(lambda: len(_lines(seen)) > at + 20, "it goes on")
        await seen.press("1", "k")
        await seen.until_message("kill 1: 1 killed")
        await seen.press("q")
        await seen.until(lambda: _run_screens(seen) == 1, "back")
        assert (seen.player.number, seen.player.playing) == (at, False)
        assert seen.message == "back in test"
        assert seen.app.return_code is None
        await seen.press("q")
        await seen.until(lambda: seen.app.return_code == 0, "q leaves")

    app = replay(test, recording)
    (branch,) = recordings_folder().iterdir()
    assert app.recorded == [branch]
    assert execute_again(branch).holds
    lines = open_recording(branch)
    assert isinstance(lines.record(len(lines) - 1), End)
    assert b'"text":"kill 1"' in branch.read_bytes()
    lines.close()


def test_a_branch_of_a_running_branch(recording: Path) -> None:
    """All hosts end with the interface."""
    hosts: list[psutil.Process] = []

    async def test(seen: Seen) -> None:
        seen.player.go(AT)
        await _branched(seen)
        await seen.press("space")
        await seen.until(lambda: len(_lines(seen)) > AT + 40, "it goes on")
        screen = seen.run
        seen.player.go(AT + 20)
        parent = (await _branched(seen)).parent
        assert parent is not None
        assert parent.record == AT + 20
        assert parent.recording.startswith("bully-")
        hosts.extend(psutil.Process(info.pid) for info in list_runs()[0])
        assert len(hosts) == 2
        await seen.press("q")
        await seen.until(lambda: seen.run is screen, "back in the first branch")
        await seen.until_message("its time is frozen: End, then space lets it go on")
        assert seen.player.number == AT + 20

    replay(test, recording)
    assert len(list(recordings_folder().iterdir())) == 2
    assert psutil.wait_procs(hosts, timeout=WAIT_S)[1] == []


def test_a_recording_that_fails_verification_is_not_branched(recording: Path) -> None:
    """The reason is shown."""
    recording.write_bytes(recording.read_bytes().replace(b'"status":"Normal"', b'"status":"Election"', 1))

    async def test(seen: Seen) -> None:
        seen.player.go(AT)
        await seen.press("b")
        await seen.until_message("no branch: record 47 (line 48) does not hold")
        assert _run_screens(seen) == 1

    replay(test, recording)
    assert list(recordings_folder().iterdir()) == []


def test_the_tree_opens_a_branch_at_its_place(recording: Path) -> None:
    """With Enter; q returns from it."""
    grown = grow(recording, AT)
    grown.run.run_to(grown.began_us + 500_000)
    grown.checked()

    async def test(seen: Seen) -> None:
        await seen.press("B")
        assert isinstance(seen.top, TreeDialog)
        assert "run.jsonl" in seen.text
        assert f"   run-{AT}.jsonl  from record {AT}, at " in seen.text
        await seen.press("down", "enter")
        await seen.until(lambda: _run_screens(seen) == 2, "it is opened")
        await seen.drawn()
        assert _lines(seen).header == grown.writer.header
        assert seen.player.number == AT
        await seen.press("q")
        await seen.until(lambda: _run_screens(seen) == 1, "back")
        await seen.press("B", "escape")
        assert _run_screens(seen) == 1

    replay(test, recording)


def test_a_run_with_an_unknown_recording_cannot_be_branched(recording: Path) -> None:
    async def opened() -> Source:
        source = FileSource(recording)
        source.recording = None
        return source

    async def test(seen: Seen) -> None:
        await seen.press("b")
        await seen.until_message("is not known here, so it cannot be branched")
        await seen.press("B")
        await seen.until_message("the file of this run's recording is not known here")

    over(opened, test)


@pytest.mark.live
def test_a_live_run_is_branched_while_it_goes_on(tmp_path: Path, runs: Path) -> None:
    """Its processes are untouched; the branch has its records up to the cursor."""
    assert runs.parent.is_dir()
    path = tmp_path / "live.jsonl"
    timing = Timing(40_000, 20_000)
    config = RunConfig("live", "bully", (1, 2, 3), timing, {}, Link(), 1, str(path), (), 60_000_000)
    process = HostProcess(config)

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "3 leads 1 2" in seen.leaders, "node 3 leads")
        parent = (await _branched(seen)).parent
        assert parent is not None
        assert parent.recording == str(path)
        copied = path.read_bytes().splitlines()[1 : parent.record + 1]
        await seen.until(lambda: len(_lines(seen)) > parent.record, "its records are here")
        assert [_lines(seen).raw(number) for number in range(1, parent.record + 1)] == copied
        await seen.press("3", "k")
        await seen.until_message("kill 3: 3 killed")
        await seen.press("q")
        await seen.until_message("it goes on, End returns to its present")
        assert seen.player.number == parent.record
        await seen.press("end")
        await seen.until(lambda: "3 leads 1 2" in seen.leaders, "in the live run node 3 leads as before")

    try:
        attached(test, process.ready().socket)
    finally:
        process.end()
        process.close()

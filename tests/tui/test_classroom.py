"""The list of exercises; attempts begin, end, restart and resume, and progress is saved."""

import asyncio
import json
import math
from pathlib import Path

import pytest
from textual.css.query import NoMatches
from textual.worker import WorkerFailed

from lab.exercises.assessment import Result
from lab.exercises.exercise_reader import find_exercise
from lab.recording.reader import open_recording
from lab.recording.records import End
from lab.tui.apps.classroom_app import ClassroomApp
from lab.tui.apps.exercise_list import ListScreen
from lab.tui.screen import RunScreen
from lab.tui.source import FeedSource
from tests.tui.classroom import (
    HEAD,
    INSTRUCTIONS,
    LastingClusters,
    attempt_of,
    classroom,
    made,
    student,
    taught,
)
from tests.tui.seen import Seen
from tests.waiting import WAIT_S

REPAIR = HEAD[: HEAD.index("[[task]]")].replace('"bring about"', '"repair"').replace("level = 1", "level = 3")
REPAIR += 'repairs = "mended.py"\n\n[[task]]\npoints = 3\nrepair = { promises = ["A1.1"] }\n'


def _progress(folder: Path) -> dict[str, object]:
    noted: dict[str, object] = json.loads((folder / "anna" / "progress.json").read_text())
    return noted


async def _run(seen: Seen, number: int) -> None:
    """Wait until this attempt is shown and its nodes have a coordinator."""
    await seen.drawn()
    await seen.until(lambda: seen.top is seen.run and attempt_of(seen).number == number, f"attempt {number}")
    await seen.drawn()  # the screen of a new attempt is on the stack before it is composed
    await seen.until(lambda: "5 leads" in seen.leaders, "5 leads")


async def _asked(seen: Seen, text: str) -> None:
    await seen.until(lambda: seen.top is not seen.run and text in seen.text, f"asked: {text}")


async def _in_list(seen: Seen) -> None:
    await seen.until(lambda: isinstance(seen.top, ListScreen), "the list")


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.soak), (200, 60)])
def test_the_list_shows_the_progress_of_each_exercise(tmp_path: Path, size: tuple[int, int]) -> None:
    """By level, with kind, points, and a sign with a word; and a description of the selected one."""
    home, exercise = student(tmp_path), made(tmp_path)
    hard = made(tmp_path, HEAD.replace("Pause one", "Pause two").replace("level = 1", "level = 3"), name="two")

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "FIRST STEPS" in seen.text, "the list")
        await seen.until(lambda: "teaches A1.1 (one coordinator), B1" in seen.text, "the first is described")
        assert "anna · 0 of 2 exercises solved, 0 of 8 points" in seen.text
        row = next(row for row in seen.text.split("\n") if "○ new" in row)
        assert "Pause one" in row
        assert "bring about" in row
        assert "0 of  4" in row
        assert "HARD" in seen.text
        assert "Five nodes run the bully. Press 5, then p." in seen.text
        await seen.press("down", "p", "pagedown")
        await seen.until(lambda: "Pause two" in seen.text, "what is sought")

    classroom(test, home, [exercise, hard], size=size)


def test_letters_are_typed_into_the_filter(tmp_path: Path) -> None:
    """While there is one, q is a letter of it."""

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "q quit" in seen.text, "the keys")
        await seen.press("/", "p", "q")
        await seen.until(lambda: "filter: pq; no match" in seen.text, "the filter")
        await seen.until(lambda: "Esc clears the filter, then q quits" in seen.text, "the keys of the filter")
        assert "q quit " not in seen.text
        await seen.press("escape")
        await seen.until(lambda: "q quit " in seen.text and "clears the filter" not in seen.text, "the keys again")

    classroom(test, student(tmp_path), [made(tmp_path)])


def test_a_repair_exercise_cannot_begin_here(tmp_path: Path) -> None:
    """The list says how to start it; on the server, that it is not available there."""
    exercise = made(tmp_path, REPAIR, INSTRUCTIONS[: INSTRUCTIONS.index("## 2.")], "", "mend")

    def test(word: str, text: str) -> None:
        async def check_message(seen: Seen) -> None:
            await seen.until(lambda: word in seen.text, word)
            await seen.press("enter")
            assert isinstance(seen.top, ListScreen)
            await seen.until(lambda: text in seen.text, text)

        classroom(check_message, student(tmp_path), [exercise], is_served=word != "in your editor")

    test("in your editor", "Pause one: in your editor; in a shell, run: lab exercise start mend")
    test("not on the server", "not on the server; on a machine with lab, run: lab exercise start mend")


@pytest.mark.parametrize("is_served", [False, True])
def test_a_file_that_was_graded_has_points_in_the_list(tmp_path: Path, is_served: bool) -> None:
    """On the server, where none is graded, such exercises do not count."""
    home = student(tmp_path)
    first = made(tmp_path)
    mend = made(tmp_path, REPAIR, INSTRUCTIONS[: INSTRUCTIONS.index("## 2.")], "", "mend")
    if not is_served:
        home.note_file(mend, (Result(1, "missed", why="A1.1 is broken"),))
        home.note_file(mend, (Result(1, "done", 3),))
        home.note_file(mend, (Result(1, "missed", why="A1.1 is broken"),))

    async def check_list(seen: Seen) -> None:
        await seen.until(lambda: "FIRST STEPS" in seen.text, "the list")
        row = next(row for row in seen.text.split("\n") if "repair" in row)
        assert ("not on the server" if is_served else "3 of  3   3x") in row
        total = "0 of 1 exercise solved, 0 of 4" if is_served else "1 of 2 exercises solved, 3 of 7"
        assert f"{total} points" in seen.text

    classroom(check_list, home, [first, mend], is_served=is_served)


def test_an_attempt_is_started_saved_and_recorded(tmp_path: Path) -> None:
    """Enter starts it, q asks and ends it; the list shows it, and the recording names the student."""
    home = student(tmp_path)

    async def test(seen: Seen) -> None:
        await seen.press("enter")
        await _run(seen, 1)
        assert _progress(tmp_path)["standings"]["pause-one"]["attempts"] == 1  # type: ignore[index]
        await seen.press("q")
        await _asked(seen, "leave the exercise?")
        await seen.press("y", "x")
        assert "to the list" in seen.text, "letters do not filter the only row away"
        await seen.press("escape", "q")
        await _asked(seen, "leave the exercise?")
        await seen.press("enter")
        await _in_list(seen)
        await seen.until(lambda: "· tried" in seen.text and "1x" in seen.text, "the list has it")
        await seen.until(lambda: "attempt 1 has ended: 0 of 4 points" in seen.text, "the result")
        assert "best of 1 attempt; a new attempt starts from the beginning" in " ".join(seen.text.split())
        await seen.press("enter")
        await seen.until(lambda: "Your best of 1 attempt: 0 of 4 points. A new one starts" in seen.text, "asked")
        await seen.press("escape", "q")

    assert classroom(test, home, [made(tmp_path)]).return_code == 0
    lines = open_recording(home.recordings("pause-one")[0])
    assert lines.header.exercise is not None
    assert (lines.header.exercise.student, lines.header.exercise.attempt) == ("anna", 1)
    assert isinstance(lines.record(len(lines) - 1), End)
    lines.close()


def test_an_attempt_is_closed_though_the_list_is_left_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clusters may be asked what still runs when the application ends."""
    closed: list[FeedSource] = []
    close = FeedSource.close

    def noted(source: FeedSource) -> None:
        closed.append(source)
        close(source)

    async def without_end(app: ClassroomApp) -> None:
        await asyncio.sleep(math.inf)

    async def test(seen: Seen) -> None:
        source = seen.source
        monkeypatch.setattr(FeedSource, "close", noted)
        monkeypatch.setattr(ClassroomApp, "_offer", without_end)
        await seen.press("q")
        await _asked(seen, "leave the exercise?")
        await seen.press("enter")
        await _in_list(seen)
        await seen.until(lambda: closed, "its source is closed")
        assert closed == [source]

    taught(test, tmp_path)
    assert len(closed) == 1


def test_a_widget_that_is_gone_when_a_worker_ends_is_no_failure(tmp_path: Path) -> None:
    """As the application has ended; any other failure of a worker is one, and is raised."""
    app = ClassroomApp(student(tmp_path), LastingClusters(), [], is_served=False)
    app._handle_exception(WorkerFailed(NoMatches("no list")))
    assert app._exception is None
    with pytest.raises(WorkerFailed, match="broken"):
        classroom(_with_a_broken_worker, student(tmp_path), [made(tmp_path)])


async def _with_a_broken_worker(seen: Seen) -> None:
    async def broken() -> None:
        raise ValueError("broken")

    seen.app.run_worker(broken())
    await seen.pilot.pause()


def test_a_feed_without_a_header_is_closed(tmp_path: Path) -> None:
    """The run has ended, or has viewers enough: the connection is not left open."""

    async def opened() -> bytes:
        rest: asyncio.Queue[bytes] = asyncio.Queue()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write_eof()
            await rest.put(await reader.read())
            writer.close()

        async with await asyncio.start_unix_server(serve, tmp_path / "feed"):
            with pytest.raises(ConnectionError, match="the run has just ended"):
                await FeedSource.open(str(tmp_path / "feed"), "driver")
            return await rest.get()

    assert asyncio.run(asyncio.wait_for(opened(), WAIT_S)) == b""


def test_again_replaces_the_attempt_by_a_new_one(tmp_path: Path) -> None:
    """It asks first; the previous attempt is ended and saved."""

    async def test(seen: Seen) -> None:
        before = seen.run
        await seen.press(":again")
        await _asked(seen, "begin again?")
        await seen.press("escape")
        await seen.until(lambda: seen.top is before, "still here")
        await seen.press(":again")
        await _asked(seen, "begin again?")
        await seen.press("enter")
        await _run(seen, 2)
        assert seen.run is not before
        assert sum(isinstance(each, RunScreen) for each in seen.app.screen_stack) == 1
        assert before.context.source.ended

    home = taught(test, tmp_path)
    assert len(home.recordings("pause-one")) == 2
    assert home.progress_of("pause-one").attempts == 2


def test_handing_in_judges_the_attempt_and_keeps_it_on_the_screen(tmp_path: Path) -> None:
    """Open tasks are missed then. A new attempt begins without asking; q asks, as it always does."""

    async def test(seen: Seen) -> None:
        await seen.press(":hand-in")
        await _asked(seen, "4 of 4 are undecided")
        await seen.press("enter")
        await seen.until_message(
            "the run is over: without tasks 1, 2, 3, 4; 0 of 4 points; :again begins a new attempt"
        )
        assert "✗ missed" in seen.text
        await seen.press(":hint")
        await seen.until_message("hint is no longer possible: the run is over; :again begins a new attempt")
        await seen.press(":again")
        await _run(seen, 2)
        await seen.press(":hand-in")
        await _asked(seen, "hand in attempt 2?")
        await seen.press("enter")
        await seen.until_message("the run is over")
        await seen.press("q")
        await _asked(seen, "All tasks are decided.")
        await seen.press("enter")
        await _in_list(seen)

    home = taught(test, tmp_path)
    assert [result.state for result in home.progress_of("pause-one").best] == ["missed"] * 4


def test_a_running_attempt_can_be_resumed(tmp_path: Path) -> None:
    """After a dropped session, with its progress; it still takes answers."""
    home, exercise, clusters = student(tmp_path), made(tmp_path), LastingClusters()

    async def drop(seen: Seen) -> None:
        await seen.until(lambda: "5 leads" in seen.leaders, "5 leads")
        await seen.press("colon", *"answer", "space", "4", "space", *"five", "enter")
        await seen.until(lambda: attempt_of(seen).last.points == 1, "an answer")

    async def go_on(seen: Seen) -> None:
        await seen.until(lambda: "resume attempt 1: Pause one" in seen.text, "it is offered")
        await seen.press("enter")
        await _run(seen, 1)
        await seen.until(lambda: attempt_of(seen).last.points == 1, "what was reached")
        await seen.press("q")
        await _asked(seen, "keep it running; you can resume it from the list")
        assert "Not decided: tasks 1, 2, 3." in seen.text
        assert "Your 1 of 4 points of this attempt count." in seen.text
        assert "A later attempt starts from the beginning" in seen.text
        await seen.press("enter")
        await _in_list(seen)
        await seen.until(lambda: "resume attempt 1" in seen.text, "it is offered again")
        await seen.press("down", "enter")
        await seen.until(lambda: "is still running and would end" in seen.text, "it is asked")
        await seen.press("enter")
        await _run(seen, 2)

    try:
        classroom(drop, home, [exercise], clusters, is_served=True, first="pause-one")
        assert clusters.running() is not None
        classroom(go_on, home, [exercise], clusters, is_served=True)
    finally:
        clusters.end()
    assert home.progress_of("pause-one").points == 1


def test_naming_an_exercise_resumes_its_attempt_or_asks(tmp_path: Path) -> None:
    """After a dropped session nothing ends without asking, however the student returns."""
    home, clusters = student(tmp_path), LastingClusters()
    exercises = [made(tmp_path), made(tmp_path, name="pause-two")]

    async def test(seen: Seen) -> None:
        await _run(seen, 1)

    async def asked(seen: Seen) -> None:
        await seen.until(
            lambda: "Attempt 1 at Pause one is still running and would end" in seen.text, "it is asked"
        )
        await seen.press("escape")
        await seen.until(lambda: "resume attempt 1: Pause one" in seen.text, "it is offered")

    try:
        classroom(test, home, exercises, clusters, is_served=True, first="pause-one")
        classroom(test, home, exercises, clusters, is_served=True, first="pause-one")
        classroom(asked, home, exercises, clusters, is_served=True, first="pause-two")
        assert clusters.running() is not None
    finally:
        clusters.end()


def test_a_served_student_cannot_leave_the_folder(tmp_path: Path) -> None:
    """Actions that write or read files or cost too much are not offered; nor is a shell."""

    async def test(seen: Seen) -> None:
        for word in ("export", "write", "branch", "branches", "compare"):
            await seen.press("colon")
            await seen.type(f"{word} /etc/passwd" if word in ("export", "compare") else word)
            await seen.press("enter")
            await seen.until_message(f"{word} is not on the server")
            assert seen.top is seen.run
        assert not {"export", "write", "branch", "compare"} & {action.word for action in seen.run.actions()}
        await seen.press("ctrl+z")
        await seen.until_message("there is no shell here")

    taught(test, tmp_path, is_served=True)
    written = {path.relative_to(tmp_path / "anna").parts[0] for path in (tmp_path / "anna").rglob("*")}
    assert written == {"attempts", "progress.json", ".progress.json.lock", "settings.json"}


def test_unsaved_progress_is_reported_and_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full; the recording still counts."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    async def test(seen: Seen) -> None:
        monkeypatch.setattr("lab.exercises.attempts.write_durably", full)
        await seen.press("colon")
        await seen.type("answer 4 five")
        await seen.press("enter")
        await seen.until(lambda: attempt_of(seen).last.points == 1, "the answer counts")
        await seen.until(lambda: "No space left" in seen.message or "task 4 done" in seen.message, "it goes on")

    taught(test, tmp_path)


@pytest.mark.live
@pytest.mark.timeout(120)
def test_two_coordinators_is_solved_by_keys_on_processes(tmp_path: Path) -> None:
    """Live, as a student does it: predict in the dialog, pause 5, and watch the result."""
    home = student(tmp_path)

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "5 leads 1-4" in seen.leaders, "5 leads")
        await seen.press("enter")
        await _asked(seen, "only 4")
        await seen.press("2", "enter", "enter")
        await seen.until(lambda: attempt_of(seen).last.results[0].state == "answered", "the answer")
        await seen.press("5", "p")
        await seen.until(lambda: attempt_of(seen).last.is_solved, "all of it", 60)
        await seen.until_message("SOLVED, 5 of 5 points")
        await seen.press("q")
        await _asked(seen, "Your 5 of 5 points of this attempt count.")
        await seen.press("enter")
        await _in_list(seen)
        await seen.until(lambda: "✓ solved" in seen.text, "the list as it is now")
        await seen.press("enter")
        await seen.until(lambda: "begin attempt 2?" in seen.text, "one Enter too many begins nothing")

    classroom(test, home, [find_exercise("two-coordinators")], first="two-coordinators", size=(80, 24))
    progress = home.progress_of("two-coordinators")
    assert (progress.points, progress.attempts, bool(progress.first_solved)) == (5, 1, True)

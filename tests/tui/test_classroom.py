"""The list of exercises, attempts that begin, end, begin again and go on, and what is noted of them."""

import json
from pathlib import Path

import pytest

from lab.exercises.exercise_library import find_exercise
from lab.recording.reader import open_recording
from lab.recording.records import End
from lab.tui.classroom.exercise_list import ListScreen
from lab.tui.screen import RunScreen
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

REPAIR = HEAD[: HEAD.index("[[task]]")].replace('"bring about"', '"repair"').replace("level = 1", "level = 3")
REPAIR += 'repairs = "mended.py"\n\n[[task]]\npoints = 3\nrepair = { promises = ["A1.1"] }\n'


def _progress(folder: Path) -> dict[str, object]:
    noted: dict[str, object] = json.loads((folder / "anna" / "progress.json").read_text())
    return noted


async def _run(seen: Seen, number: int) -> None:
    """Wait until this attempt is on the screen, and its nodes have a coordinator."""
    await seen.drawn()
    await seen.until(lambda: seen.top is seen.run and attempt_of(seen).number == number, f"attempt {number}")
    await seen.until(lambda: "5 leads" in seen.leaders, "5 leads")


async def _asked(seen: Seen, text: str) -> None:
    await seen.until(lambda: seen.top is not seen.run and text in seen.text, f"asked: {text}")


async def _in_list(seen: Seen) -> None:
    await seen.until(lambda: isinstance(seen.top, ListScreen), "the list")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_the_list_says_of_each_exercise_how_it_stands(tmp_path: Path, size: tuple[int, int]) -> None:
    """By level, with what it is, its points, and a sign with a word; of the one at the cursor, what it teaches."""
    home, exercise = student(tmp_path), made(tmp_path)
    hard = made(tmp_path, HEAD.replace("Pause one", "Pause two").replace("level = 1", "level = 3"), name="two")

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "FIRST STEPS" in seen.text, "the list")
        assert "anna · 0 of 2 exercises solved, 0 of 8 points" in seen.text
        row = next(row for row in seen.text.split("\n") if "○ new" in row)
        assert "Pause one" in row
        assert "bring about" in row
        assert "0 of  4" in row
        assert "HARD" in seen.text
        assert "teaches A1.1, B1" in seen.text
        assert "Five nodes run the bully. Press 5, then p." in seen.text
        await seen.press("down", "p", "pagedown")
        await seen.until(lambda: "Pause two" in seen.text, "what is sought")

    classroom(test, home, [exercise, hard], size=size)


def test_what_is_mended_in_an_editor_is_not_begun_here(tmp_path: Path) -> None:
    """The list says what to do instead; on the server, that it is not there."""
    exercise = made(tmp_path, REPAIR, INSTRUCTIONS[: INSTRUCTIONS.index("## 2.")], "", "mend")

    def test(word: str, told: str) -> None:
        async def theme_styles(seen: Seen) -> None:
            await seen.until(lambda: word in seen.text, word)
            await seen.press("enter")
            assert isinstance(seen.top, ListScreen)
            await seen.until(lambda: told in seen.text, told)

        classroom(theme_styles, student(tmp_path), [exercise], is_served=word != "in your editor")

    test("in your editor", "Pause one: where lab is installed: lab exercise start mend")
    test("not on the server", "it is not on the server; where lab is installed")


def test_an_attempt_is_begun_noted_and_recorded(tmp_path: Path) -> None:
    """Enter begins it, q asks and ends it, and the list has it; the recording says whose it is."""
    home = student(tmp_path)

    async def test(seen: Seen) -> None:
        await seen.press("enter")
        await _run(seen, 1)
        assert _progress(tmp_path)["standings"]["pause-one"]["attempts"] == 1  # type: ignore[index]
        await seen.press("q")
        await _asked(seen, "leave the exercise?")
        await seen.press("escape", "q")
        await _asked(seen, "leave the exercise?")
        await seen.press("enter")
        await _in_list(seen)
        await seen.until(lambda: "… begun" in seen.text and "1x" in seen.text, "the list has it")
        await seen.press("q")

    assert classroom(test, home, [made(tmp_path)]).return_code == 0
    lines = open_recording(home.recordings("pause-one")[0])
    assert lines.header.exercise is not None
    assert (lines.header.exercise.student, lines.header.exercise.attempt) == ("anna", 1)
    assert isinstance(lines.record(len(lines) - 1), End)
    lines.close()


def test_again_begins_the_next_attempt_in_the_place_of_this_one(tmp_path: Path) -> None:
    """It asks first; the one before is ended and noted."""

    async def test(seen: Seen) -> None:
        before = seen.run
        await seen.press("R")
        await _asked(seen, "begin again?")
        await seen.press("escape")
        await seen.until(lambda: seen.top is before, "still here")
        await seen.press("R")
        await _asked(seen, "begin again?")
        await seen.press("enter")
        await _run(seen, 2)
        assert seen.run is not before
        assert sum(isinstance(each, RunScreen) for each in seen.app.screen_stack) == 1
        assert before.source.ended

    home = taught(test, tmp_path)
    assert len(home.recordings("pause-one")) == 2
    assert home.progress_of("pause-one").attempts == 2


def test_what_is_handed_in_is_judged_and_stays_to_be_looked_at(tmp_path: Path) -> None:
    """Tasks that were open are missed then; R begins anew without asking, q leads to the list without asking."""

    async def test(seen: Seen) -> None:
        await seen.press("J")
        await _asked(seen, "Not decided yet: 4 of 4")
        await seen.press("enter")
        await seen.says("the run is over: without tasks 1, 2, 3, 4, 0 of 4 points; R begins a new attempt")
        assert "✗ missed" in seen.text
        await seen.press("H")
        await seen.says("no hint any more: the run is over; R begins a new attempt")
        await seen.press("R")
        await _run(seen, 2)
        await seen.press("J")
        await _asked(seen, "hand in attempt 2?")
        await seen.press("enter")
        await seen.says("the run is over")
        await seen.press("q")
        await _in_list(seen)

    home = taught(test, tmp_path)
    assert [result.state for result in home.progress_of("pause-one").best] == ["missed"] * 4


def test_an_attempt_that_goes_on_is_offered_and_gone_on_with(tmp_path: Path) -> None:
    """After a session that was dropped: as far as it had come, and it still takes answers."""
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


def test_who_names_the_exercise_goes_on_with_its_attempt_or_is_asked(tmp_path: Path) -> None:
    """After a session that was dropped nothing ends unasked, whichever way the student comes back."""
    home, clusters = student(tmp_path), LastingClusters()
    exercises = [made(tmp_path), made(tmp_path, name="pause-two")]

    async def test(seen: Seen) -> None:
        await _run(seen, 1)

    async def asked(seen: Seen) -> None:
        await seen.until(lambda: "Attempt 1 at Pause one is still running and would end" in seen.text, "it is asked")
        await seen.press("escape")
        await seen.until(lambda: "resume attempt 1: Pause one" in seen.text, "it is offered")

    try:
        classroom(test, home, exercises, clusters, is_served=True, first="pause-one")
        classroom(test, home, exercises, clusters, is_served=True, first="pause-one")
        classroom(asked, home, exercises, clusters, is_served=True, first="pause-two")
        assert clusters.running() is not None
    finally:
        clusters.end()


def test_nothing_leads_out_of_the_folder_of_whoever_is_served(tmp_path: Path) -> None:
    """What writes files, or reads them, or costs too much, is not there; nor is a shell."""

    async def test(seen: Seen) -> None:
        for word in ("export", "write", "branch", "branches", "compare"):
            await seen.press("colon")
            await seen.type(f"{word} /etc/passwd" if word in ("export", "compare") else word)
            await seen.press("enter")
            await seen.says(f"{word} is not on the server")
            assert seen.top is seen.run
        assert not {"export", "write", "branch", "compare"} & {action.word for action in seen.run.actions()}
        await seen.press("ctrl+z")
        await seen.says("there is no shell here")

    taught(test, tmp_path, is_served=True)
    written = {path.relative_to(tmp_path / "anna").parts[0] for path in (tmp_path / "anna").rglob("*")}
    assert written == {"attempts", "progress.json", ".progress.json.lock", "settings.json"}


def test_a_progress_that_cannot_be_noted_is_said_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full: the recording is what counts."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    async def test(seen: Seen) -> None:
        monkeypatch.setattr("lab.exercises.student_folder.write_durably", full)
        await seen.press("colon")
        await seen.type("answer 4 five")
        await seen.press("enter")
        await seen.until(lambda: attempt_of(seen).last.points == 1, "the answer counts")
        await seen.until(lambda: "No space left" in seen.said or "task 4 done" in seen.said, "it goes on")

    taught(test, tmp_path)


@pytest.mark.timeout(120)
def test_two_coordinators_is_solved_by_keys_on_processes(tmp_path: Path) -> None:
    """Live, as a student does it: predict by the dialog, pause 5, and see the rest come."""
    home = student(tmp_path)

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "5 leads 1-4" in seen.leaders, "5 leads")
        await seen.press("enter")
        await _asked(seen, "only 4")
        await seen.press("3")
        await seen.until(lambda: attempt_of(seen).last.results[0].state == "answered", "the answer")
        await seen.press("5", "p")
        await seen.until(lambda: attempt_of(seen).last.is_solved, "all of it", 60)
        await seen.says("SOLVED, 5 of 5 points")
        await seen.press("q")
        await _in_list(seen)
        assert "✓ solved" in seen.text

    classroom(test, home, [find_exercise("two-coordinators")], first="two-coordinators", size=(80, 24))
    stands = home.progress_of("two-coordinators")
    assert (stands.points, stands.attempts, bool(stands.first_solved)) == (5, 1, True)

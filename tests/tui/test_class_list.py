"""A student's list of exercises in a course: groups with deadlines, comments until they are read, past answers."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lab.exercises.assessment import Result
from lab.exercises.attempts import LocalClusters, StudentFolder
from lab.exercises.course import CourseSchedule, LateRule, ScheduledGroup
from lab.exercises.exercise import Exercise
from lab.exercises.teacher import Comment, Comments, Welcome
from lab.tui.apps.exercise_list import ListScreen
from lab.tui.apps.student_app import StudentApp
from tests.tui.classroom import HEAD, QuietTeacher, made, student
from tests.tui.seen import Seen

SIZES = [(80, 24), (120, 40), (200, 60)]


def listing(
    folder: Path,
    test: Callable[[Seen, StudentApp], Awaitable[None]],
    size: tuple[int, int] = (120, 40),
    home: StudentFolder | None = None,
    exercises: list[Exercise] | None = None,
) -> QuietTeacher:
    """Run the test in the list of two exercises; return the teacher."""
    teacher = QuietTeacher()
    shown = exercises or [made(folder), made(folder, HEAD.replace("Pause one", "Pause two"), name="pause-two")]

    async def run() -> None:
        app = StudentApp(home or student(folder), LocalClusters(), shown, teacher, "")
        async with app.run_test(size=size) as pilot:
            seen = Seen(app, pilot)
            await seen.until(lambda: isinstance(seen.top, ListScreen), "the list")
            await test(seen, app)

    asyncio.run(run())
    return teacher


def due_in(**span: float) -> str:
    return (datetime.now(UTC) + timedelta(**span)).isoformat(timespec="seconds")


@pytest.mark.parametrize("size", SIZES)
def test_exercises_are_shown_in_their_groups(tmp_path: Path, size: tuple[int, int]) -> None:
    """With the deadline, what remains, and the share of the grade; a late group says what it costs."""

    async def test(seen: Seen, app: StudentApp) -> None:
        groups = (
            ScheduledGroup("Warm up", 10, ("pause-two", "gone"), due_in(days=3, minutes=30), extended=True),
            ScheduledGroup("Late", 30, ("pause-one",), due_in(hours=-30)),
        )
        app.post_message(StudentApp.NoticeReceived(CourseSchedule("Algorithms", groups, LateRule(4, 10))))
        await seen.until(lambda: "WARM UP · due" in seen.text, "the groups")
        rows = seen.text.split("\n")
        assert rows[0].startswith(" Algorithms · anna · 0 of 2 exercises solved")
        heads = [row for row in rows if "WARM UP" in row or "LATE" in row]
        assert [row.split()[0] for row in heads] == ["WARM", "LATE"]
        assert "(extended), in 3 d 0 h" in heads[0]
        assert "now 2 of 4 late days, costs 20 %" in heads[1]
        if size[0] == 120:
            assert "4 late days" in rows[0]
            assert "0 of 4 points · 25 % of the grade" in heads[0]
        assert seen.text.index("Pause two") < seen.text.index("LATE") < seen.text.index("Pause one")
        app.post_message(StudentApp.NoticeReceived(CourseSchedule()))
        await seen.until(lambda: "FIRST STEPS" in seen.text and "WARM UP" not in seen.text, "no course")

    listing(tmp_path, test, size)


def test_late_days_that_are_spent_are_shown(tmp_path: Path) -> None:
    """In all, and those of each group."""
    home, exercise = student(tmp_path), made(tmp_path)
    late = datetime.now(UTC) - timedelta(hours=2)
    home.note(exercise, 1, (Result(1, "done", exercise.points),), times={1: late})

    async def test(seen: Seen, app: StudentApp) -> None:
        groups = (ScheduledGroup("Late", 1, ("pause-one",), due_in(hours=-20)),)
        app.post_message(StudentApp.NoticeReceived(CourseSchedule("Algorithms", groups, LateRule(4, 10))))
        await seen.until(lambda: "LATE · was due" in seen.text, "the group")
        assert "· 1 of 4 late days spent" in seen.text.split("\n")[0]
        assert "costs 10 % · 1 late day spent · 4 of 4 points" in seen.text

    listing(tmp_path, test, (200, 60), home, [exercise])


def test_a_closed_group_and_one_without_a_deadline(tmp_path: Path) -> None:
    async def test(seen: Seen, app: StudentApp) -> None:
        groups = (
            ScheduledGroup("Over", 1, ("pause-one",), due_in(days=-2)),
            ScheduledGroup("Any time", 1, ("pause-two",)),
        )
        app.post_message(StudentApp.NoticeReceived(CourseSchedule("", groups, LateRule(1, 10))))
        await seen.until(lambda: ": closed · " in seen.text, "the groups")
        assert "ANY TIME · no deadline" in seen.text

    listing(tmp_path, test)


@pytest.mark.parametrize("size", SIZES)
def test_a_comment_is_read_with_escape(tmp_path: Path, size: tuple[int, int]) -> None:
    """It is marked in the list until then; several are read one pair after the other."""

    async def test(seen: Seen, app: StudentApp) -> None:
        at = "2026-11-20T10:00:00+00:00"
        texts = ("which node was silent?", "[red]well\x1b[2J done", "see B3")
        comments = [Comment(serial, "pause-one", 1, text, at) for serial, text in enumerate(texts, 1)]
        app.post_message(StudentApp.NoticeReceived(Comments(tuple(comments))))
        await seen.until(lambda: "your teacher on Pause one, attempt 1: which node was silent?" in seen.text, "it")
        assert "[red]well\\x1b[2J done" in seen.text
        assert "  comment" in next(row for row in seen.text.split("\n") if "Pause one" in row and "○" in row)
        await seen.press("escape")
        await seen.until(lambda: teacher_of(app).read == [1, 2], "two are read")
        read = [Comment(each.serial, each.exercise, 1, each.text, at, at) for each in comments]
        app.post_message(StudentApp.NoticeReceived(Comments((read[0], read[1], comments[2]))))
        await seen.until(lambda: "attempt 1: see B3" in seen.text, "the third")
        app.post_message(StudentApp.NoticeReceived(Comments(tuple(read))))
        await seen.until(lambda: "Esc dismisses" not in seen.text, "all are read")
        await seen.until(lambda: "your teacher on attempt 1, " in seen.text, "they stay with the exercise")

    listing(tmp_path, test, size)


def teacher_of(app: StudentApp) -> QuietTeacher:
    teacher = app._teacher
    assert isinstance(teacher, QuietTeacher)
    return teacher


def test_a_welcome_is_shown_until_it_is_dismissed(tmp_path: Path) -> None:
    async def test(seen: Seen, app: StudentApp) -> None:
        app.post_message(StudentApp.NoticeReceived(Welcome("your key is now registered, for anna")))
        await seen.until(lambda: "your key is now registered, for anna  (Esc dismisses)" in seen.text, "it")
        await seen.press("escape")
        await seen.until(lambda: "registered" not in seen.text, "it is dismissed")

    listing(tmp_path, test)


@pytest.mark.parametrize("size", SIZES)
def test_past_answers_can_be_read_again_with_their_explanations(tmp_path: Path, size: tuple[int, int]) -> None:
    """Those of the best attempt; an open task shows neither."""
    home, exercise = student(tmp_path), made(tmp_path)
    results = (
        Result(1, "missed", answer="4", why="you answered 4; right is: 4 and 5", record=9),
        Result(2, "open"),
        Result(3, "done", answer="Nobody knew that it was up.", record=12),
        Result(4, "done", 1, answer="five", record=13),
    )
    home.note(exercise, 1, results)

    async def test(seen: Seen, app: StudentApp) -> None:
        shown = ""
        await seen.until(lambda: "Five nodes run" in seen.text, "the description")
        for _ in range(8):
            shown += f"{seen.text}\n"
            await seen.press("pagedown")
        text = " ".join(shown.split())
        for line in (
            "Who leads, when 5 is paused?",
            "1 4 your answer",
            "3 4 and 5 right",
            "Silence is all that a paused node and a dead one have in common.",
            "you answered: Nobody knew that it was up.",
            "you answered: five",
        ):
            assert line in text
        assert "The bully takes silence for death." not in text

    listing(tmp_path, test, size, home, [exercise])

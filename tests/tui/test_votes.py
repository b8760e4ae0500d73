"""Votes of the class, as a student sees them: a question interrupts no typing, and needs an Enter of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.text import Text
from textual.widgets import Input

from lab.exercises.attempts import LocalClusters
from lab.exercises.exercise_reader import find_exercise
from lab.exercises.teacher import Notice, VoteQuestion
from lab.tui.apps.exercise_list import ListScreen
from lab.tui.apps.student_app import StudentApp
from lab.tui.widgets.dialogs import AnswerDialog, LineDialog
from tests.tui.classroom import student
from tests.tui.seen import Seen

QUESTION = VoteQuestion(7, "who leads next?", ("4", "5", "both"))


class QuietTeacher:
    """A teacher whose notices the test sends itself."""

    def __init__(self) -> None:
        self.votes: list[tuple[int, int]] = []

    def listen(self, callback: Callable[[Notice], object]) -> None:
        """Send no notice."""

    def vote(self, serial: int, choice: int) -> None:
        self.votes.append((serial, choice))

    def mark_read(self, serials: tuple[int, ...]) -> None:
        """Note nothing."""


def _votes(folder: Path, test: Callable[[Seen, StudentApp], Awaitable[None]]) -> list[tuple[int, int]]:
    """Return what the student has voted after the test."""
    teacher = QuietTeacher()

    async def run() -> None:
        app = StudentApp(student(folder), LocalClusters(), [find_exercise("first-election")], teacher, "")
        async with app.run_test(size=(80, 24)) as pilot:
            seen = Seen(app, pilot)
            await seen.until(lambda: isinstance(seen.top, ListScreen), "the list")
            await test(seen, app)

    asyncio.run(run())
    return teacher.votes


def test_a_vote_takes_a_selection_and_enter(tmp_path: Path) -> None:
    """A digit is the option that is this number."""

    async def test(seen: Seen, app: StudentApp) -> None:
        app.post_message(StudentApp.NoticeReceived(QUESTION))
        await seen.until(lambda: isinstance(seen.top, AnswerDialog), "the question")
        await seen.press("enter", "5")
        assert isinstance(seen.top, AnswerDialog)
        await seen.press("enter")
        await seen.until(lambda: "your answer: 5" in seen.text, "the vote")

    assert _votes(tmp_path, test) == [(7, 1)]


def test_a_question_interrupts_no_typing(tmp_path: Path) -> None:
    """A line announces it; its key opens it afterwards."""

    async def test(seen: Seen, app: StudentApp) -> None:
        app.push_screen(LineDialog("a line", [Text("Type.")]))
        await seen.until(lambda: isinstance(seen.top, LineDialog) and isinstance(app.focused, Input), "the line")
        app.post_message(StudentApp.NoticeReceived(QUESTION))
        await seen.type("kill 5")
        assert isinstance(seen.top, LineDialog)
        await seen.press("enter")
        await seen.until(lambda: "your teacher asks: who leads next?  (Ctrl+G answers)" in seen.text, "the line")
        await seen.press("ctrl+g")
        await seen.until(lambda: isinstance(seen.top, AnswerDialog), "the question")

    assert _votes(tmp_path, test) == []

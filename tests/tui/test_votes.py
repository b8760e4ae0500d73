"""Votes of the class, as a student sees them: a question interrupts no typing, and needs an Enter of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.text import Text
from textual.widgets import Input, Static

from lab.exercises.attempts import LocalClusters
from lab.exercises.exercise_reader import find_exercise
from lab.exercises.teacher import VoteQuestion, VoteTally
from lab.glyphs import glyphs_for
from lab.styles import ThemeStyles
from lab.tui.apps.exercise_list import ListScreen
from lab.tui.apps.lecture import TallyDialog, format_large_tally
from lab.tui.apps.student_app import StudentApp
from lab.tui.terminal.terminal_app import TerminalApp
from lab.tui.widgets.dialogs import AnswerDialog, LineDialog
from tests.tui.classroom import QuietTeacher, student
from tests.tui.seen import Seen

QUESTION = VoteQuestion(7, "who leads next?", ("4", "5", "both"))


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
    """A digit is the row, also if the options are numbers."""

    async def test(seen: Seen, app: StudentApp) -> None:
        app.post_message(StudentApp.NoticeReceived(QUESTION))
        await seen.until(lambda: isinstance(seen.top, AnswerDialog), "the question")
        await seen.press("enter", "2")
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


class _Counted:
    """A control whose vote is counted already."""

    def __init__(self, *votes: int) -> None:
        self._tally = VoteTally(7, "Which nodes consider themselves the leader?", ("4", "5", "both"), votes, True)

    def ask(
        self, text: str, options: tuple[str, ...], step: int = 0, answer: str = "", explanation: str = ""
    ) -> None:
        raise NotImplementedError

    def tally(self) -> VoteTally:
        return self._tally

    def close_vote(self) -> VoteTally:
        return self._tally


def _tally_shown(size: tuple[int, int], *keys: str) -> str:
    """Return the screen with the votes, after these keys."""

    async def run() -> str:
        app = TerminalApp[None]()
        async with app.run_test(size=size) as pilot:
            dialog = TallyDialog(_Counted(3, 12, 0), ThemeStyles(glyphs_for()))
            await app.push_screen(dialog)
            while "12" not in str(dialog.query_one("#tally", Static).content):
                await pilot.pause(0.02)
            await pilot.press(*keys)
            await pilot.pause()
            return "\n".join(strip.text for strip in app.screen._compositor.render_strips(app.size))

    return asyncio.run(run())


def test_the_votes_fill_the_screen_of_a_hall() -> None:
    """And are a box again with the same key."""
    box, hall = (_tally_shown((100, 30), *keys) for keys in ((), ("f11",)))
    assert "━" * 40 in box
    assert "━" * 41 not in box.partition("leader?")[2].rpartition("15 answers")[0]
    rows = [row for row in hall.split("\n") if row.count("█") > 65]
    assert len(rows) >= 3, "the longest bar, several rows high"
    assert "Which nodes consider themselves the leader?" in hall
    assert _tally_shown((100, 30), "f11", "f11") == box


def test_large_bars_fit_into_any_screen() -> None:
    styles = ThemeStyles(glyphs_for())
    for width, height in ((40, 10), (80, 24), (200, 60)):
        tally = VoteTally(1, "Who leads when 5 resumes, and who follows?", ("4", "5"), (0, 30), True)
        lines = format_large_tally(tally, width, height, styles).split("\n")
        assert all(line.cell_len <= width for line in lines)
        assert len(lines) <= height

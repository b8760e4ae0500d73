"""A lecture from a file, as a student sees it: followed, looked around in, and read afterwards."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.exercises.attempts import LocalClusters
from lab.exercises.exercise_reader import find_exercise
from lab.exercises.teacher import (
    LecturePosition,
    Notice,
    PastLecture,
    PastLectures,
    ShownLecture,
    VoteQuestion,
    VoteTally,
)
from lab.lectures.presentation import (
    LectureProgress,
    Presentation,
    read_presentation,
    write_presentation,
    write_progress,
)
from lab.lectures.recorded_lecture import record_lecture
from lab.recording.reader import open_recording
from lab.tui.apps.exercise_list import ListScreen
from lab.tui.apps.steps import StepScreen
from lab.tui.apps.student_app import StudentApp
from lab.tui.screen import RunScreen
from lab.tui.source import FileSource, PrefixSource
from lab.tui.widgets.dialogs import AnswerDialog
from lab.worlds.watchdog import stop_watching
from tests.lectures.lecture_files import make_lecture, write_lecture
from tests.profile import sampled
from tests.tui.classroom import QuietTeacher, student
from tests.tui.seen import Seen
from tests.tui.test_rehearsal import SECOND_RUN
from tests.waiting import WAIT_S

QUESTION = VoteQuestion(3, "Who leads now?", ("only 5", "4 and 5"), 2)
TALLY = VoteTally(3, QUESTION.text, QUESTION.options, (4, 9), False, 2, "only 5", "They wait *longer*.")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lecture of four steps, with two runs, in a folder for a class."""
    folder = tmp_path_factory.mktemp("given")
    text = write_lecture(folder).read_text("utf-8")
    presentation = record_lecture(make_lecture(folder, text, text + SECOND_RUN), folder).presentation
    write_presentation(presentation, folder)
    return folder


@pytest.fixture(scope="module")
def shown(folder: Path) -> Presentation:
    return read_presentation(folder)


def at(shown: Presentation, place: int, plays: bool = False, reached: int = 0) -> LecturePosition:
    """Return the position of a teacher at the stop of a step, or on the way there."""
    step = shown.steps[place]
    begin, stop = shown.begin_of(step), shown.stop_of(step)
    last = 0 if stop is None else stop.record
    records = [last if run == (step.run or 0) else 0 for run in range(len(shown.runs))]
    record = begin.record if plays else last
    return LecturePosition(
        place, record, plays, 0.1, step.view or "log", step.node, max(place, reached), tuple(records)
    )


class Attended(Seen):
    """A student's session under test."""

    app: StudentApp
    teacher: QuietTeacher

    async def get(self, *notices: Notice) -> None:
        for notice in notices:
            self.app.post_message(StudentApp.NoticeReceived(notice))
        await self.pilot.pause()

    async def is_at(self, text: str) -> None:
        await self.until(lambda: isinstance(self.top, StepScreen) and text in self.text, text)

    @property
    def panel(self) -> str:
        """The text of the step, with its frame."""
        assert isinstance(self.run, StepScreen)
        region = self.run.panel.region
        rows = self.run._compositor.render_strips(self.app.size)[region.y : region.bottom]
        return "\n".join(row.crop(region.x, region.right).text for row in rows)


def attend(
    tmp_path: Path, test: Callable[[Attended], Awaitable[None]], size: tuple[int, int] = (120, 40)
) -> QuietTeacher:
    """Run a test in a student's session, once the list is shown; return the teacher, with what was reported."""
    teacher = QuietTeacher()

    async def run() -> None:
        app = StudentApp(student(tmp_path), LocalClusters(), [find_exercise("first-election")], teacher, "")
        async with app.run_test(size=size) as pilot:
            seen = Attended(app, pilot)
            seen.teacher = teacher
            await seen.until(lambda: isinstance(seen.top, ListScreen), "the list")
            await test(seen)

    stop_watching()
    asyncio.run(run())
    return teacher


def test_the_screen_goes_where_the_teacher_goes(tmp_path: Path, folder: Path, shown: Presentation) -> None:
    """The run plays to the stop as the teacher's does; another step may show another run."""

    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", shown.title, at_once=True, folder=str(folder)), at(shown, 0))
        await seen.is_at("1/4  Only a text")
        await seen.get(at(shown, 1, plays=True))
        await seen.is_at("2/4  The coordinator is paused")
        assert seen.player.playing
        seen.player.speed = 100.0
        stop = shown.stop_of(shown.steps[1])
        assert stop is not None
        await seen.until(lambda: not seen.player.playing, "it stops")
        assert seen.player.number == stop.record
        assert (seen.run.views.chosen, seen.selected()) == ("diagram", 4)
        await seen.get(at(shown, 3, reached=3))
        await seen.is_at("4/4  Without a pause")
        assert seen.source.recording == folder / "pause-2.jsonl"
        await seen.get(at(shown, 1, reached=3))
        await seen.is_at("2/4")
        await seen.until(lambda: seen.player.number == stop.record, "the stop of the earlier step")
        assert seen.source.recording == folder / "pause-1.jsonl"
        await seen.get(ShownLecture("", ""))
        await seen.until_message("the lecture is over")

    assert attend(tmp_path, test).following[:1] == [True]


def test_nothing_is_known_of_what_was_not_shown(tmp_path: Path, folder: Path, shown: Presentation) -> None:
    """Neither by moving on, nor by searching, nor from the assertions."""

    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", shown.title, at_once=True, folder=str(folder)), at(shown, 1))
        await seen.is_at("2/4")
        stop = shown.stop_of(shown.steps[1])
        assert stop is not None
        assert len(seen.source.store) == stop.record + 1 < len(open_recording(folder / "pause-1.jsonl"))
        await seen.press("end", "full_stop", "full_stop")
        assert seen.player.number == stop.record
        await seen.press(":when 4 leads")
        await seen.until(lambda: "4 leads" in seen.message, "the reply to the search")
        assert seen.player.number == stop.record
        assert "4 leads" not in seen.panel

    attend(tmp_path, test)


def test_a_prefix_is_judged_as_the_recording_was_then(folder: Path, shown: Presentation) -> None:
    """And in whatever pieces it grows."""

    async def grown(*records: int) -> PrefixSource:
        source = PrefixSource(folder / "pause-1.jsonl")
        for record in records:
            await source.extend(record)
        return source

    async def whole() -> FileSource:
        source = FileSource(folder / "pause-1.jsonl")
        await source.work()
        return source

    file = asyncio.run(whole())
    last = len(file.store) - 1
    for records in ((last,), (3, 3, 1, 40, last + 99)):
        source = asyncio.run(grown(*records))
        assert [each.record for each in source.judge.violations] == [each.record for each in file.judge.violations]
        assert (list(source.marks.records), source.marks.kinds) == (list(file.marks.records), file.marks.kinds)
        assert source.findings() is None, "an unfinished run is not compared with its scenario"
        source.close()
    part = asyncio.run(grown(40))
    assert (len(part.store), part.judge.number) == (41, 40)
    part.close()
    file.close()


def test_moving_in_time_leaves_the_teacher(tmp_path: Path, folder: Path, shown: Presentation) -> None:
    """Until a key follows again; other views and nodes do not."""

    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", shown.title, at_once=True, folder=str(folder)), at(shown, 1))
        await seen.is_at("following")
        await seen.press("2", "a")
        await seen.get(replace(at(shown, 1), plays=False, node=3))
        await seen.until(lambda: seen.selected() == 3, "the teacher's node")
        assert "following" in seen.panel
        await seen.press("comma")
        await seen.is_at("Ctrl+G follows again")
        number = seen.player.number
        await seen.get(at(shown, 2))
        await seen.until(lambda: seen.teacher.following == [True, False], "it is reported")
        assert ("2/4" in seen.panel, seen.player.number) == (True, number)
        await seen.press("ctrl+g")
        await seen.is_at("3/4  Two coordinators")
        await seen.until(lambda: seen.teacher.following == [True, False, True], "it is reported")

    attend(tmp_path, test)


def test_a_key_is_not_undone_while_the_screen_comes_after_the_teacher(
    tmp_path: Path, folder: Path, shown: Presentation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records are read in between, and the student may press a key while they are."""
    extend = PrefixSource.extend

    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", shown.title, at_once=True, folder=str(folder)), at(shown, 1, plays=True))
        await seen.is_at("following")
        begun, released = asyncio.Event(), asyncio.Event()

        async def late(source: PrefixSource, record: int) -> None:
            begun.set()
            await released.wait()
            await extend(source, record)

        monkeypatch.setattr(PrefixSource, "extend", late)
        await seen.get(at(shown, 1))
        await asyncio.wait_for(begun.wait(), WAIT_S)
        await seen.press("home")
        released.set()
        await seen.is_at("Ctrl+G follows again")
        assert seen.player.number == 0

    attend(tmp_path, test)


def test_steps_are_turned_as_far_as_they_were_shown(tmp_path: Path, folder: Path, shown: Presentation) -> None:
    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", shown.title, at_once=True, folder=str(folder)), at(shown, 2))
        await seen.is_at("3/4")
        await seen.press("pageup")
        await seen.is_at("2/4")
        await seen.press("f3")
        assert "Two coordinators" in seen.text
        assert "Without a pause" not in seen.text
        await seen.press("1", "enter")
        await seen.is_at("1/4")
        await seen.press("pagedown")
        await seen.is_at("2/4")
        seen.player.speed = 100.0
        stop = shown.stop_of(shown.steps[1])
        assert stop is not None
        await seen.until(lambda: not seen.player.playing, "the stop")
        assert seen.player.number == stop.record
        await seen.press("pagedown", "pagedown")
        await seen.is_at("3/4")
        await seen.press("pagedown", "pagedown")
        await seen.until_message("this is the last step that was shown")

    attend(tmp_path, test)


@pytest.mark.parametrize("size", sampled([(80, 24), (120, 40), (200, 60)], 2), ids=str)
def test_the_result_stands_with_the_step(
    tmp_path: Path, folder: Path, shown: Presentation, size: tuple[int, int]
) -> None:
    """The question once it is asked, bars and answer once the vote is closed; in view without scrolling."""

    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", shown.title, at_once=True, folder=str(folder)), at(shown, 1))
        await seen.is_at("2/4")
        assert "Who leads now?" not in seen.text
        await seen.get(QUESTION)
        await seen.until(lambda: isinstance(seen.top, AnswerDialog), "the question")
        await seen.press("escape")
        assert "Who leads now?  (Ctrl+G answers)" in seen.panel
        await seen.press("ctrl+g", "2", "enter")
        await seen.until(lambda: seen.teacher.votes == [(3, 1)], "the vote")
        assert "the answer" not in seen.text
        await seen.get(TALLY)
        await seen.until(lambda: "They wait longer." in seen.panel, "the explanation")
        for text in ("✓ only 5", "━ 4", "━ 9  you", "13 answers", "the answer: only 5"):
            assert text in seen.panel, text

    attend(tmp_path, test, size)


def test_the_own_answer_is_shown_until_the_vote_is_closed(
    tmp_path: Path, folder: Path, shown: Presentation
) -> None:
    """In the frame of every step, a text included, and as a line elsewhere."""

    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", shown.title, at_once=True, folder=str(folder)), at(shown, 1), QUESTION)
        await seen.until(lambda: isinstance(seen.top, AnswerDialog), "the question")
        assert "your answer" not in seen.text
        await seen.press("2", "enter")
        await seen.until(lambda: "your answer: 4 and 5" in seen.panel, "the answer")
        await seen.press("pageup")
        await seen.is_at("1/4")
        assert "your answer: 4 and 5" in seen.panel
        await seen.press("q")
        await seen.until(lambda: isinstance(seen.top, ListScreen), "the list")
        await seen.until(lambda: "your answer: 4 and 5; the result appears when" in seen.text, "the line")
        await seen.get(TALLY)
        await seen.until(lambda: "your answer" not in seen.text, "no line")

    attend(tmp_path, test)


def test_a_vote_elsewhere_is_a_line(tmp_path: Path, folder: Path, shown: Presentation) -> None:
    """And a vote from before the log-in is none."""

    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", shown.title, folder=str(folder)), replace(TALLY, serial=2), at(shown, 1))
        assert "13 answers" not in seen.text
        await seen.get(QUESTION)
        await seen.until(lambda: isinstance(seen.top, AnswerDialog), "the question")
        await seen.get(TALLY)
        await seen.until(lambda: "only 5: 4, 4 and 5: 9; the answer is only 5" in seen.text, "the line")
        await seen.press("escape", "ctrl+g")
        await seen.is_at("13 answers")

    attend(tmp_path, test)


def test_a_lecture_of_the_past_has_the_answers(tmp_path: Path, folder: Path, shown: Presentation) -> None:
    """With the votes, if there were any; q goes back to the list."""
    past = PastLectures((PastLecture(str(folder), "A pause", "2026-11-27"),))
    write_progress(LectureProgress(at(shown, 1), is_over=True), folder)

    async def test(seen: Attended) -> None:
        await seen.get(past)
        await seen.until(lambda: "F3 lectures" in seen.text, "the key")
        await seen.press("f3", "enter")
        await seen.is_at("1/4")
        await seen.press("pagedown")
        await seen.is_at("2/4")
        assert "The answer: only 5." in seen.panel
        await seen.press("b")
        await seen.until_message("no branch: this teacher has no server")
        await seen.press("q")
        await seen.until(lambda: isinstance(seen.top, ListScreen), "the list")
        write_progress(LectureProgress(at(shown, 1), {2: TALLY}, is_over=True), folder)
        await seen.press("f3", "enter")
        await seen.is_at("1/4")
        await seen.press("pagedown")
        await seen.is_at("13 answers")

    (branched,) = attend(tmp_path, test).branched
    assert branched[:2] == (str(folder), 0)


def test_a_damaged_lecture_is_reported(tmp_path: Path) -> None:
    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", "A pause", at_once=True, folder=str(tmp_path / "gone")))
        await seen.until(lambda: "the lecture cannot be shown" in seen.text, "the reason")

    attend(tmp_path, test)


def test_who_joins_before_the_first_position_follows(tmp_path: Path, folder: Path, shown: Presentation) -> None:
    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", shown.title, at_once=True, folder=str(folder)))
        await seen.is_at("1/4")
        assert "following" in seen.panel
        await seen.get(at(shown, 1))
        await seen.is_at("2/4")

    assert attend(tmp_path, test).following == [True]


def test_who_logs_in_during_a_vote_is_asked_over_the_lecture(
    tmp_path: Path, folder: Path, shown: Presentation
) -> None:
    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", shown.title, at_once=True, folder=str(folder)), at(shown, 1), QUESTION)
        await seen.until(lambda: isinstance(seen.top, AnswerDialog), "the question")
        assert isinstance(seen.app.screen_stack[-2], StepScreen)
        await seen.press("escape")
        await seen.is_at("2/4")
        await seen.press("ctrl+g", "2", "enter")
        await seen.until(lambda: seen.teacher.votes == [(3, 1)], "the vote")
        assert isinstance(seen.top, StepScreen)

    attend(tmp_path, test)


def test_a_question_that_is_asked_again_hides_the_earlier_result(
    tmp_path: Path, folder: Path, shown: Presentation
) -> None:
    """Whether the student was there, or joins and reads the result from the folder; until the vote is closed."""
    write_progress(LectureProgress(at(shown, 1), {2: TALLY}), folder)
    again = replace(QUESTION, serial=4)

    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", shown.title, at_once=True, folder=str(folder)), TALLY, at(shown, 1), again)
        for question in (again, replace(QUESTION, serial=5)):
            await seen.get(question)
            await seen.until(lambda: isinstance(seen.top, AnswerDialog), "the question")
            await seen.press("escape")
            for text in ("13 answers", "the answer", "✓", "you"):
                assert text not in seen.panel, text
            await seen.press("ctrl+g", "2", "enter")
            await seen.until(lambda: bool(seen.teacher.votes), "the vote")
            assert "13 answers" not in seen.panel
            await seen.get(replace(TALLY, serial=question.serial))
            await seen.is_at("13 answers")
            assert "━ 9  you" in seen.panel
            seen.teacher.votes.clear()

    attend(tmp_path, test)


def test_a_vote_goes_on_with_the_lecture(tmp_path: Path, folder: Path, shown: Presentation) -> None:
    """Who has voted is not asked again; who has not, is."""
    lecture = ShownLecture("", shown.title, at_once=True, folder=str(folder))

    async def test(seen: Attended) -> None:
        await seen.get(lecture, at(shown, 1), QUESTION)
        await seen.until(lambda: isinstance(seen.top, AnswerDialog), "the question")
        await seen.get(ShownLecture("", "", interrupted=True))
        await seen.until(lambda: isinstance(seen.top, StepScreen), "the dialog is closed")
        await seen.get(lecture, at(shown, 1), QUESTION)
        await seen.until(lambda: isinstance(seen.top, AnswerDialog), "the question")
        await seen.press("1", "enter")
        await seen.until(lambda: seen.teacher.votes == [(3, 0)], "the vote")
        await seen.get(ShownLecture("", "", interrupted=True), lecture, at(shown, 1), QUESTION)
        assert isinstance(seen.top, StepScreen)
        assert "Ctrl+G answers" not in seen.panel
        await seen.get(TALLY)
        await seen.is_at("━ 4  you")

    attend(tmp_path, test)


def test_who_is_in_one_lecture_learns_of_the_next(tmp_path: Path, folder: Path, shown: Presentation) -> None:
    """Which does not begin at once; the one on the screen stays until the student joins."""

    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", shown.title, at_once=True, folder=str(folder)), at(shown, 1))
        await seen.until(lambda: isinstance(seen.top, StepScreen), "the lecture")
        assert "your teacher shows" not in seen.text
        await seen.get(ShownLecture("", "", interrupted=True))
        await seen.get(ShownLecture("", "Ring and messages", folder=str(tmp_path / "next")))
        await seen.is_at("your teacher shows Ring and messages  (Ctrl+G or a click here joins)")

    attend(tmp_path, test)


def test_who_is_in_a_branch_does_not_follow(tmp_path: Path, folder: Path, shown: Presentation) -> None:
    """Until its screen is closed."""

    async def test(seen: Attended) -> None:
        await seen.get(ShownLecture("", shown.title, at_once=True, folder=str(folder)), at(shown, 1))
        await seen.is_at("following")
        await seen.until(lambda: seen.teacher.following == [True], "it is reported")
        source = PrefixSource(folder / "pause-1.jsonl")
        await source.extend(9)
        branch = seen.app.new_screen(RunScreen, source, "a branch")
        await seen.app.push_screen(branch)
        await seen.until(lambda: seen.teacher.following == [True, False], "it is reported")
        await seen.app.pop_screen()
        await seen.until(lambda: seen.teacher.following == [True, False, True], "it is reported")
        source.close()

    attend(tmp_path, test)

"""A lecture from a file, as the teacher gives it: what the class is shown, votes, a server that has gone."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.exercises.teacher import Audience, LecturePosition, ServerAdminError, ServerGoneError, VoteTally
from lab.lectures.presentation import LectureProgress, Presentation
from lab.lectures.recorded_lecture import record_lecture
from lab.tui.apps.lecture import TallyDialog
from lab.tui.apps.steps import StepScreen
from lab.tui.apps.teaching import TeachingApp
from lab.tui.widgets.dialogs import ChoiceDialog, TextDialog
from lab.worlds.watchdog import stop_watching
from tests.lectures.lecture_files import make_lecture, write_lecture
from tests.tui.seen import Seen
from tests.tui.test_rehearsal import SECOND_RUN


class Class:
    """A class of fourteen, of whom twelve follow; it notes what it is shown. ``failure`` is raised instead."""

    def __init__(self) -> None:
        self.positions: list[LecturePosition] = []
        self.open: VoteTally | None = None
        self.key = "", ""
        self.failure: ServerAdminError | None = None
        self.connected = 1
        self.is_over = False

    def show_position(self, position: LecturePosition) -> Audience:
        if self.failure is not None:
            raise self.failure
        self.positions += [position] if self.positions[-1:] != [position] else []
        return Audience(14, 12)

    def ask(
        self, text: str, options: tuple[str, ...], step: int = 0, answer: str = "", explanation: str = ""
    ) -> None:
        self.open = VoteTally(1, text, options, (3, 9), True, step)
        self.key = answer, explanation

    def tally(self) -> VoteTally:
        if self.open is None:
            raise ServerAdminError("no vote is open")
        return self.open

    def close_vote(self) -> VoteTally:
        tally, self.open = self.tally(), None
        return replace(tally, is_open=False, answer=self.key[0], explanation=self.key[1])

    def end_lecture(self) -> None:
        self.is_over = True

    def connect_again(self) -> None:
        if self.failure is not None:
            raise self.failure
        self.connected += 1


@pytest.fixture(scope="module")
def presentation(tmp_path_factory: pytest.TempPathFactory) -> Presentation:
    """A lecture of four steps, with two runs."""
    folder = tmp_path_factory.mktemp("taught")
    text = write_lecture(folder).read_text("utf-8")
    return record_lecture(make_lecture(folder, text, text + SECOND_RUN), folder).presentation


def teach(
    presentation: Presentation,
    test: Callable[[Seen, Class], Awaitable[None]],
    place: int = 0,
    progress: LectureProgress | None = None,
    vote: VoteTally | None = None,
) -> Class:
    """Run a test on the teacher's screen, once the class has seen something; return the class.

    ``vote`` was open when the lecture was interrupted.
    """
    class_ = Class()
    class_.open = vote

    async def run() -> None:
        app = TeachingApp(presentation, progress or LectureProgress(), place, class_)
        async with app.run_test(size=(120, 40)) as pilot:
            seen = Seen(app, pilot)
            await seen.until(lambda: isinstance(app.screen, StepScreen), "the first step")
            await seen.until(lambda: class_.positions, "a position")
            await test(seen, class_)

    stop_watching()
    asyncio.run(run())
    return class_


def test_the_class_is_shown_what_is_on_the_screen(presentation: Presentation) -> None:
    """A run that plays is one position; every move by hand is one more. What was skipped may be seen, too."""
    first, second = (presentation.stop_of(presentation.steps[place]) for place in (1, 2))
    assert first is not None
    assert second is not None

    async def test(seen: Seen, class_: Class) -> None:
        await seen.press("pagedown")
        await seen.until(lambda: class_.positions[-1].place == 1, "the second step")
        seen.player.go(0)
        seen.player.speed, seen.player.playing = 0.1, True
        await seen.until(
            lambda: (class_.positions[-1].plays, class_.positions[-1].speed) == (True, 0.1), "it plays"
        )
        playing = class_.positions[-1]
        assert (playing.place, playing.view, playing.node) == (1, "diagram", 4)
        assert playing.shown == (first.record, 0)
        seen.player.speed = 100.0
        await seen.until(lambda: class_.positions[-1].record == first.record, "the stop")
        assert sum(each.plays and each.speed == 0.1 for each in class_.positions) == 1
        await seen.press("full_stop")
        await seen.until(lambda: class_.positions[-1].record == first.record + 1, "a step further")
        assert class_.positions[-1].shown == (first.record + 1, 0)
        await seen.press("f3", "4", "enter")
        await seen.until(lambda: class_.positions[-1].place == 3, "the last step")
        last = class_.positions[-1]
        assert (last.reached, last.shown[0]) == (3, second.record)
        await seen.press("pageup")
        await seen.until(lambda: class_.positions[-1].place == 2, "back")
        assert class_.positions[-1].reached == 3
        await seen.until(lambda: "12 of 14 students follow" in seen.text, "the class follows again")

    teach(presentation, test)


def test_the_vote_is_closed_with_the_key_of_a_remote_control(presentation: Presentation) -> None:
    """The question of the step, its votes, the answer with its explanation, the next step."""

    async def test(seen: Seen, class_: Class) -> None:
        await seen.press("pagedown")
        await seen.until(lambda: isinstance(seen.top, TallyDialog) and "━ 9" in seen.text, "the votes")
        await seen.press("escape")
        await seen.press("ctrl+g")
        await seen.until(lambda: isinstance(seen.top, TallyDialog) and "━ 9" in seen.text, "the same votes")
        await seen.press("pagedown", "pagedown")
        await seen.until(lambda: isinstance(seen.top, TextDialog), "the result")
        for text in ("✓ only 5", "12 answers", "the answer: only 5", "longer than a second"):
            assert text in seen.text
        assert class_.open is None
        await seen.press("pagedown")
        await seen.until(lambda: class_.positions[-1].place == 2, "the next step")

    async def at_stop(seen: Seen, class_: Class) -> None:
        seen.player.speed = 100.0
        await seen.until(lambda: not seen.player.playing, "the stop")
        await test(seen, class_)

    teach(presentation, at_stop, place=1)


def test_a_server_that_has_gone_is_sought(presentation: Presentation) -> None:
    """The screen says so as long as the class sees nothing, and the present step is shown to the next server."""

    async def test(seen: Seen, class_: Class) -> None:
        class_.failure = ServerGoneError("no server runs")
        await seen.press("f3", "3", "enter")
        await seen.until_message("the server has gone: the class sees nothing")
        assert all(each.place != 2 for each in class_.positions)
        assert "follow ·" not in seen.text
        class_.failure = None
        await seen.until_message("the server is back")
        assert (class_.connected, class_.positions[-1].place) == (2, 2)
        await seen.until(lambda: "12 of 14 students follow" in seen.text, "the class follows again")

    teach(presentation, test)


def test_a_vote_that_the_server_has_lost_is_shown_as_lost(presentation: Presentation) -> None:
    """The key that would close it closes the box, and the question can be asked again."""

    async def test(seen: Seen, class_: Class) -> None:
        await seen.press("ctrl+g")
        await seen.until(lambda: isinstance(seen.top, TallyDialog) and "━ 9" in seen.text, "the votes")
        class_.open = None
        await seen.until(lambda: "The vote was lost" in seen.text, "the loss")
        assert "━ 9" not in seen.text
        await seen.press("pagedown")
        await seen.until(lambda: isinstance(seen.top, StepScreen), "the step")
        await seen.press("ctrl+g")
        await seen.until(lambda: isinstance(seen.top, TallyDialog) and "━ 9" in seen.text, "the votes again")

    teach(presentation, test, place=1)


def test_leaving_asks_whether_the_lecture_is_over(presentation: Presentation) -> None:
    async def test(seen: Seen, class_: Class) -> None:
        await seen.press("f3", "3", "enter")
        await seen.until(lambda: class_.positions[-1].place == 2, "a step with a run")
        await seen.press("q")
        assert isinstance(seen.top, ChoiceDialog)
        await seen.press("escape", "q", "2", "enter")
        await seen.until(lambda: class_.is_over, "it is over")

    teach(presentation, test)


def test_ctrl_c_asks_too(presentation: Presentation) -> None:
    """The second one leaves, and the lecture may go on."""

    async def test(seen: Seen, class_: Class) -> None:
        for _ in range(2):
            await seen.press("ctrl+c")
            await seen.until(lambda: "leave the lecture?" in seen.text, "the question")
            await seen.press("escape")
        await seen.press("ctrl+g")
        await seen.until(lambda: "vote of the class" in seen.text, "the vote")
        await seen.press("ctrl+c")
        await seen.until(lambda: "leave the lecture?" in seen.text, "the question")
        assert seen.app.is_running
        await seen.press("ctrl+c")
        await seen.until(lambda: seen.app.return_code == 130, "the end")
        assert not class_.is_over

    teach(presentation, test, place=1)


def test_a_lecture_goes_on_with_what_was_shown(presentation: Presentation, tmp_path: Path) -> None:
    """Votes that were closed are not asked for again by going on."""
    tally = VoteTally(1, "Who leads now?", ("only 5", "4 and 5"), (1, 0), False, 2, "only 5", "They wait.")
    before = LectureProgress(LecturePosition(1, reached=2, shown=(99, 7)), {2: tally})

    async def test(seen: Seen, class_: Class) -> None:
        assert (class_.positions[0].place, class_.positions[0].reached) == (1, 2)
        assert class_.positions[0].shown == (99, 7)
        assert "1 answer" in seen.text
        seen.player.speed = 100.0
        await seen.until(lambda: not seen.player.playing, "the stop")
        await seen.press("pagedown")
        await seen.until(lambda: class_.positions[-1].place == 2, "the next step")

    teach(presentation, test, place=1, progress=before)


def test_a_vote_that_was_interrupted_goes_on(presentation: Presentation) -> None:
    """Without the result of an earlier vote; on whichever step the teacher is."""
    earlier = VoteTally(1, "Who leads now?", ("only 5", "4 and 5"), (1, 0), False, 2, "only 5", "They wait.")
    vote = replace(earlier, serial=2, votes=(3, 9), is_open=True, answer="", explanation="")

    async def test(seen: Seen, class_: Class) -> None:
        await seen.until_message("the vote of step 2 is still open, with 12 answers: Ctrl+G shows it")
        assert "the answer: only 5" not in seen.text
        await seen.press("ctrl+g")
        await seen.until(lambda: isinstance(seen.top, TallyDialog) and "━ 9" in seen.text, "the votes")
        await seen.press("enter", "enter")
        await seen.until(lambda: isinstance(seen.top, TextDialog), "the result")
        assert class_.open is None

    for place in (1, 2):
        teach(
            presentation, test, place, LectureProgress(LecturePosition(place, shown=(99, 7)), {2: earlier}), vote
        )


def test_a_step_without_a_question_has_none_to_ask(presentation: Presentation) -> None:
    async def test(seen: Seen, class_: Class) -> None:
        await seen.press("ctrl+g")
        await seen.until_message("this step has no question")
        assert class_.open is None

    teach(presentation, test, place=2)

"""The rehearsal of a lecture: next, back and jump; runs that stop, questions, notes; in three sizes."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from lab.lectures.recorded_lecture import RecordedLecture, record_lecture
from lab.tui.apps.rehearsal import RehearsalApp
from lab.tui.apps.steps import StepScreen, play_speed
from lab.tui.widgets.dialogs import AnswerDialog, TextDialog
from lab.worlds.watchdog import stop_watching
from tests.lectures.lecture_files import make_lecture, write_lecture
from tests.profile import sampled
from tests.tui.seen import Seen

SECOND_RUN = """

## Without a pause

```show
run = "coordinator-dies"
stop = "when 5 down"
view = "assertions"
```
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> RecordedLecture:
    """A lecture of four steps, with two runs."""
    folder = tmp_path_factory.mktemp("lecture")
    path = write_lecture(folder)
    text = path.read_text("utf-8") + SECOND_RUN
    return record_lecture(make_lecture(folder, path.read_text("utf-8"), text), folder)


class Rehearsed(Seen):
    """The rehearsal under test."""

    app: RehearsalApp

    @property
    def panel(self) -> str:
        """The text of the step, with its frame."""
        assert isinstance(self.run, StepScreen)
        region = self.run.panel.region
        rows = self.run._compositor.render_strips(self.app.size)[region.y : region.bottom]
        return "\n".join(row.crop(region.x, region.right).text for row in rows)

    @property
    def is_at_stop(self) -> bool:
        return self.player.number == self.player.stops_at and not self.player.playing


def rehearse(
    recorded: RecordedLecture,
    test: Callable[[Rehearsed], Awaitable[None]],
    size: tuple[int, int] = (120, 40),
    place: int = 0,
) -> None:
    """Run a test in the rehearsal, once its first step is shown."""

    async def run() -> None:
        app = RehearsalApp(recorded.presentation, place)
        async with app.run_test(size=size) as pilot:
            seen = Rehearsed(app, pilot)
            await seen.until(lambda: isinstance(app.screen, StepScreen), "the first step")
            title = f"{place + 1}/{len(recorded.lecture.steps)}"
            await seen.until(lambda: title in seen.panel, "the text of the first step")
            await test(seen)

    stop_watching()
    asyncio.run(run())


def test_next_goes_through_the_lecture(recorded: RecordedLecture) -> None:
    """The run plays to where it stops, the question is asked once, then the next step comes; and the next run."""

    async def test(seen: Rehearsed) -> None:
        assert "1/4  Only a text" in seen.panel
        assert "Silence proves nothing." in seen.panel
        await seen.press("pagedown")
        await seen.until(lambda: "2/4  The coordinator is paused" in seen.panel, "the second step")
        assert seen.player.playing
        await seen.press("pagedown")
        assert seen.is_at_stop, "the second press goes to the stop at once"
        await seen.until(lambda: "Nobody has noticed" in seen.text, "the caption of the stop")
        assert (seen.run.views.chosen, seen.selected()) == ("diagram", 4)
        await seen.press("pagedown")
        assert isinstance(seen.top, AnswerDialog)
        await seen.press("2", "enter")
        assert isinstance(seen.top, TextDialog)
        assert "correct is only 5" in seen.text
        assert "longer than a second" in seen.text
        await seen.press("enter", "pagedown")
        await seen.until(lambda: "3/4  Two coordinators" in seen.panel, "the third step")
        assert seen.app.given == {2: "4 and 5"}
        await seen.press("pagedown", "pagedown")
        await seen.until(lambda: "4/4  Without a pause" in seen.panel, "the step of the second run")
        assert seen.source.recording == recorded.runs[1].file
        await seen.press("pagedown", "pagedown")
        await seen.until_message("that was the last step")

    rehearse(recorded, test)


def test_one_key_goes_through_a_question(recorded: RecordedLecture) -> None:
    """A remote control has no other: the question, its answer, the next step."""

    async def test(seen: Rehearsed) -> None:
        await seen.press("pagedown")
        await seen.until(lambda: "2/4  The coordinator is paused" in seen.panel, "the second step")
        await seen.press("pagedown", "pagedown")
        assert isinstance(seen.top, AnswerDialog)
        await seen.press("pagedown")
        assert isinstance(seen.top, TextDialog)
        assert "the answer: only 5" in seen.text
        await seen.press("pagedown")
        await seen.until(lambda: "3/4  Two coordinators" in seen.panel, "the third step")

    rehearse(recorded, test)


def test_a_run_plays_until_it_stops(recorded: RecordedLecture) -> None:
    """And no record after that is drawn; the teacher may still go on by hand."""

    async def test(seen: Rehearsed) -> None:
        assert seen.run.context.hides_future
        seen.player.speed = 100.0
        await seen.until(lambda: seen.is_at_stop, "the run has stopped")
        assert seen.player.now_us == recorded.runs[0].stops[2].at_us
        await seen.press("full_stop")
        assert seen.player.number == recorded.runs[0].stops[2].record + 1

    rehearse(recorded, test, place=1)


def test_back_and_jump_show_where_a_step_stops(recorded: RecordedLecture) -> None:
    async def test(seen: Rehearsed) -> None:
        await seen.press("pageup")
        await seen.until(lambda: "2/4" in seen.panel, "the step before")
        assert seen.is_at_stop
        await seen.press("f3")
        assert "The coordinator is paused (a question)" in seen.text
        await seen.press("4", "enter")
        await seen.until(lambda: "4/4" in seen.panel, "the chosen step")
        await seen.until(lambda: seen.is_at_stop, "its stop")
        await seen.until(lambda: seen.run.views.chosen == "assertions", "its view")
        await seen.press("pageup")
        await seen.until(lambda: "3/4" in seen.panel, "the step of the run before")
        assert seen.source.recording == recorded.runs[0].file

    rehearse(recorded, test, place=2)


def test_notes_are_shown_on_demand(recorded: RecordedLecture) -> None:
    async def test(seen: Rehearsed) -> None:
        assert "A minute" not in seen.panel
        await seen.press("f2")
        assert "A minute, at most." in seen.panel
        await seen.press("pagedown")
        await seen.until(lambda: "2/4" in seen.panel, "the second step")
        assert "This step has none." in seen.panel
        await seen.press("f2")
        assert "This step has none." not in seen.panel

    rehearse(recorded, test)


@pytest.mark.parametrize("size", sampled([(80, 24), (120, 40), (200, 60)], 2), ids=str)
def test_text_and_run_share_the_screen(recorded: RecordedLecture, size: tuple[int, int]) -> None:
    """The text is above the run on a narrow terminal, else beside it; a text alone has the whole screen."""

    async def test(seen: Rehearsed) -> None:
        assert isinstance(seen.run, StepScreen)
        panel, scrub_bar = seen.run.panel.region, seen.run.query_one("ScrubBar").region
        assert not panel.overlaps(scrub_bar)
        assert ("Five nodes." in seen.panel, "1 ●" in seen.text or "● Normal" in seen.text) == (True, True)
        assert (panel.width == size[0]) == (size[0] < 110)
        await seen.press("pageup")
        await seen.until(lambda: "1/4" in seen.panel, "the text alone")
        await seen.until(lambda: seen.run.panel.region.size == seen.app.size, "on the whole screen")  # type: ignore[attr-defined]

    async def at_stop(seen: Rehearsed) -> None:
        await seen.press("pagedown")
        await test(seen)

    rehearse(recorded, at_stop, size, place=1)


def test_a_branch_is_left_before_the_lecture_goes_on(recorded: RecordedLecture) -> None:
    """The keys of the lecture have no effect while something else is shown."""

    async def test(seen: Rehearsed) -> None:
        await seen.press("pagedown", "question_mark")
        assert not isinstance(seen.top, StepScreen)
        await seen.press("pagedown")
        assert seen.app.place == 1
        await seen.press("escape", "ctrl+g")
        assert isinstance(seen.top, AnswerDialog)

    rehearse(recorded, test, place=1)


def test_the_speed_fits_the_time_to_show() -> None:
    assert [play_speed(span_us) for span_us in (50_000, 5_000_000, 30_000_000, 10**9)] == [0.1, 1.0, 5.0, 100.0]


def test_the_recordings_stay_as_they_are(recorded: RecordedLecture) -> None:
    before = [run.file.read_bytes() for run in recorded.runs]

    async def test(seen: Rehearsed) -> None:
        await seen.press("pagedown", "q")

    rehearse(recorded, test)
    assert [run.file.read_bytes() for run in recorded.runs] == before
    assert all(Path(run.file).is_file() for run in recorded.runs)


def test_a_hasty_teacher_sees_the_step_that_was_chosen_last(recorded: RecordedLecture) -> None:
    """At whatever moment the next step is chosen while the screen of another run opens."""

    async def test(seen: Rehearsed) -> None:
        for moment in sampled(range(12), 5):
            seen.app._begin(3, plays=False)
            for _ in range(moment):
                await asyncio.sleep(0)
            seen.app._begin(1, plays=False)
            await seen.until(lambda: "2/4" in seen.panel and seen.is_at_stop, "the step chosen last")
            assert seen.source.recording == recorded.runs[0].file, moment

    rehearse(recorded, test)


def test_steps_of_the_same_title_can_be_chosen(tmp_path: Path) -> None:
    lecture = make_lecture(tmp_path, "## Two coordinators", "## Only a text")

    async def test(seen: Rehearsed) -> None:
        await seen.press("f3")
        await seen.press("1", "enter")
        await seen.until(lambda: "1/3" in seen.panel, "the first of the two")

    rehearse(record_lecture(lecture, tmp_path), test, place=1)

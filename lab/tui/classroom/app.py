"""The application in which exercises are done: the list of them, and over that the attempt that goes on."""

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text
from textual import on

from lab.exercises.assessment import Result
from lab.exercises.attempt import attempt_config
from lab.exercises.clusters import Clusters
from lab.exercises.exercise import Exercise
from lab.exercises.home import Home
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import Header
from lab.tui.classroom.attempt import AttemptLog
from lab.tui.classroom.deeds import AgainWanted, HandInWanted
from lab.tui.classroom.dialogs import ChoiceDialog
from lab.tui.classroom.listing import ListScreen, Resumed
from lab.tui.moving.branching import Left
from lab.tui.run.source import FeedSource
from lab.tui.runs import RunsApp
from lab.tui.screen import RunScreen
from lab.worlds.host.launch import HostFailedError

__all__ = ["ClassroomApp"]

_SETTINGS = "settings.json"
_LAST_RECORDS_S = 5.0
_TO_LIST = "end this attempt, and go to the list"
_LET_GO_ON = "let it go on; the list offers it again"


class ClassroomApp(RunsApp):
    """``first`` is the exercise that it begins with; without, it begins with the list.

    ``is_served``: to a student who has no shell on this machine.
    """

    def __init__(
        self, home: Home, clusters: Clusters, exercises: Sequence[Exercise], is_served: bool, first: str = ""
    ) -> None:
        super().__init__(home.folder / _SETTINGS)
        self._home = home
        self._clusters = clusters
        self._exercises = {each.name: each for each in exercises}
        self._is_served = is_served
        self._first = first
        self._list = ListScreen(home, exercises, is_served, self.theme_styles)
        self._source: FeedSource | None = None
        self._is_busy = False

    def on_mount(self) -> None:
        """The list, and what is begun with."""
        self.run_worker(self._start())

    def on_unmount(self) -> None:
        """Leave the attempt; whether it goes on is for whoever started its cluster."""
        if self._source is not None:
            self._source.close()

    def exercise_of(self, header: Header) -> Exercise | None:
        """One of those that are in the list."""
        return None if header.exercise is None else self._exercises.get(header.exercise.name)

    def action_suspend_process(self) -> None:
        """To the shell, where there is one."""
        if self._is_served:
            self._say("there is no shell here to go to; q leaves")
        else:
            super().action_suspend_process()

    # what screens ask for

    @on(ListScreen.Begun)
    def begin(self, message: ListScreen.Begun) -> None:
        """A new attempt."""
        self._want(message.exercise)

    @on(ListScreen.GoneOn)
    def go_on(self, message: ListScreen.GoneOn) -> None:
        """The attempt that goes on still."""
        self._resume(message.resumed)

    @on(HandInWanted)
    def hand_in(self) -> None:
        """End the run, after asking; the result is looked at then."""

        def answered(choice: str | None) -> None:
            if choice is not None:
                self._do(self._end_run())

        attempt = self._attempt
        left = sum(result.state in ("open", "answered") for result in attempt.last.results)
        said = (
            f"The run ends, and what is judged at the end is judged. Not decided yet: {left} of "
            f"{len(attempt.last.results)} tasks."
        )
        self._ask(f"hand in attempt {attempt.number}?", said, ["hand in"], answered)

    @on(AgainWanted)
    def begin_again(self) -> None:
        """A new attempt in the place of this one, after asking, if that is still worth something."""
        attempt = self._attempt

        def answered(choice: str | None) -> None:
            if choice is not None:
                self._do(self._again(attempt.exercise))

        if self._is_over:
            answered("")
        else:
            said = f"Attempt {attempt.number} ends. The best of all attempts counts."
            self._ask("begin again?", said, ["begin a new attempt"], answered)

    async def leave_lowest(self, message: Left) -> None:
        """To the list; what becomes of the attempt is asked, if it is worth that."""

        def answered(choice: str | None) -> None:
            if choice is not None:
                self._do(self._to_list(ends=choice != _LET_GO_ON))

        if self._is_over:
            answered(_TO_LIST)
            return
        choices = [_LET_GO_ON, _TO_LIST] if self._is_served else [_TO_LIST]
        said = "The best of all attempts counts, so nothing is lost that was reached."
        self._ask("leave the exercise?", said, choices, answered)

    # what is done then

    async def _start(self) -> None:
        await self.push_screen(self._list)
        await self._offer()
        going = self._list.resumed
        if going is not None and going.exercise.name == self._first:
            self._resume(going)
        elif self._first:
            self._want(self._exercises[self._first])

    def _want(self, exercise: Exercise) -> None:
        """Begin a new attempt; one that goes on ends with that, so ask."""
        going = self._list.resumed

        def answered(choice: str | None) -> None:
            if choice is not None:
                self._do(self._begin(exercise))

        if going is None:
            answered("")
        else:
            said = f"Attempt {going.attempt} at {going.exercise.title} still goes on, and would end."
            self._ask("begin a new attempt?", said, ["end that one, and begin"], answered)

    def _resume(self, going: Resumed) -> None:
        self._do(self._show_attempt(going.socket, Path(going.recording)))

    async def _begin(self, exercise: Exercise) -> None:
        self._say(f"starting the cluster for {exercise.title} …")
        number, recording = self._home.next_attempt(exercise.name)
        config = attempt_config(exercise, self._home.student, number, recording)
        ready = await asyncio.to_thread(self._clusters.start, config)
        await self._show_attempt(ready.socket, recording)

    async def _again(self, exercise: Exercise) -> None:
        await self._end_run()
        await self._begin(exercise)

    async def _show_attempt(self, socket: str, recording: Path) -> None:
        """Show the attempt whose cluster has its feed there, in the place of one that is shown."""
        source = await FeedSource.open(socket, "driver")
        header = source.lines.header
        exercise = self.exercise_of(header)
        if exercise is None or header.exercise is None:
            source.close()
            self._say("that run is of no exercise in the list", warn=True)
            return
        source.recording, source.is_served = recording, self._is_served
        source.assess(exercise, partial(self._note, exercise, header.exercise.attempt))
        before, self._source = self._source, source
        self.theme_styles.dark = self.current_theme.dark
        screen = RunScreen(source, self.theme_styles, exercise.name, layout=self.layout_kept)
        self._list.offer(None)
        if before is None:
            await self.push_screen(screen)
        else:
            self._put_down()
            await self.switch_screen(screen)
            before.close()

    async def _to_list(self, ends: bool) -> None:
        if ends:
            await self._end_run()
        source, self._source = self._source, None
        self._put_down()
        await self.pop_screen()
        if source is not None:
            source.close()
        await self._offer()

    async def _end_run(self) -> None:
        """End it, and wait for its last records: some tasks are judged by them."""
        source = self._source
        self._say("the run ends …")
        await asyncio.to_thread(self._clusters.end)
        if source is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(source.over.wait(), _LAST_RECORDS_S)

    async def _offer(self) -> None:
        self._list.offer(await asyncio.to_thread(self._resumable))

    def _resumable(self) -> Resumed | None:
        """The attempt that goes on, as its recording tells it."""
        info = self._clusters.running()
        if info is None:
            return None
        try:
            lines = open_recording(Path(info.recording))
        except NotARecordingError:
            return None
        header = lines.header
        lines.close()
        exercise = self.exercise_of(header)
        if exercise is None or header.exercise is None:
            return None
        return Resumed(exercise, header.exercise.attempt, info.socket, info.recording)

    def _note(self, exercise: Exercise, attempt: int, results: tuple[Result, ...], is_solved: bool) -> None:
        solved = datetime.now(UTC).isoformat(timespec="seconds") if is_solved else ""
        try:
            self._home.note(exercise, attempt, results, solved)
        except OSError as error:
            self._say(
                f"your progress cannot be noted ({error.strerror}); the recording counts, as far as it goes", True
            )

    # what helps with that

    @property
    def _attempt(self) -> AttemptLog:
        assert self._source is not None
        assert self._source.attempt is not None
        return self._source.attempt

    @property
    def _is_over(self) -> bool:
        """Whether nothing more can come of the attempt."""
        return self._source is None or bool(self._source.ended) or self._attempt.last.is_decided

    def _do(self, deed: Coroutine[Any, Any, None]) -> None:
        """One thing after the other; what fails is said."""

        async def done() -> None:
            self._is_busy = True
            try:
                await deed
            except (HostFailedError, OSError) as error:
                self._say(f"that did not work: {error}", warn=True)
            finally:
                self._is_busy = False

        if self._is_busy:
            deed.close()
            self._say("one moment: the cluster starts or ends")
        else:
            self.run_worker(done())

    def _ask(self, title: str, said: str, choices: Sequence[str], answered: Any) -> None:
        self.push_screen(ChoiceDialog(title, [Text(said)], choices, self.theme_styles, "Esc stays"), answered)

    def _put_down(self) -> None:
        if isinstance(self.screen, RunScreen):
            self.screen.is_up = False

    def _say(self, text: str, warn: bool = False) -> None:
        shown = next(each for each in reversed(self.screen_stack) if isinstance(each, RunScreen | ListScreen))
        shown.say(text, warn)

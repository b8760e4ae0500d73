"""The application of the exercises: their list, and on top of it the running attempt."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text
from textual import on

from lab.exercises.assessment import Result
from lab.exercises.attempts import Clusters, StudentFolder, attempt_config
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import drawn_for
from lab.places import keys_file
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import Header
from lab.tui.apps.exercise_list import ListScreen, RunningAttempt
from lab.tui.apps.runs_app import RunsApp
from lab.tui.attempt_log import AttemptLog, format_points
from lab.tui.context import show_dialog
from lab.tui.controllers.answering import HandInRequested, RestartRequested
from lab.tui.controllers.branching import LeaveRequested
from lab.tui.screen import RunScreen
from lab.tui.source import FeedSource
from lab.tui.user_keys import read_user_keys
from lab.tui.views.exercise_view import wrap
from lab.tui.widgets.dialogs import ROOM, ChoiceDialog
from lab.units import format_count
from lab.worlds.launch import HostFailedError

_SETTINGS = "settings.json"
_LAST_RECORDS_S = 5.0
_TO_LIST = "end this attempt and return to the list"
_OVER_TO_LIST = "return to the list"
_FROM_START = "A later attempt starts from the beginning; the best one counts."
_KEEP_RUNNING = "keep it running; you can resume it from the list"


class ClassroomApp(RunsApp):
    """The application. It begins with the exercise ``first``, or with the list if that is empty.

    ``is_served``: the student uses it through a server, without a shell on this machine.
    """

    def __init__(
        self,
        home: StudentFolder,
        clusters: Clusters,
        exercises: Sequence[Exercise],
        is_served: bool,
        first: str = "",
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
        self.run_worker(self._start())

    def on_unmount(self) -> None:
        """Close the source; the owner of the cluster decides whether the run continues."""
        if self._source is not None:
            self._source.close()

    def exercise_of(self, header: Header) -> Exercise | None:
        if header.exercise is None or header.exercise.name not in self._exercises:
            return None
        return self._for_student(self._exercises[header.exercise.name])

    def _for_student(self, exercise: Exercise) -> Exercise:
        return drawn_for(exercise, self._home.student, self._home.nonce)

    def action_suspend_process(self) -> None:
        if self._is_served:
            self._show_message("there is no shell here; q quits")
        else:
            super().action_suspend_process()

    # messages from screens

    @on(ListScreen.AttemptRequested)
    def begin(self, message: ListScreen.AttemptRequested) -> None:
        exercise = message.exercise
        progress = self._home.progress_of(exercise.name)
        if self._list.running is not None or not progress.attempts:
            self._confirm_begin(exercise)
            return
        tried = f"Your best of {format_count(progress.attempts, 'attempt')}"
        text = f"{tried}: {format_points(exercise, progress.points)}. A new one starts from the beginning."
        number, _ = self._home.next_attempt(exercise.name)
        self._confirm(f"begin attempt {number}?", text, "begin a new attempt", partial(self._begin, exercise))

    @on(ListScreen.ResumeRequested)
    def resume_attempt(self, message: ListScreen.ResumeRequested) -> None:
        self._resume(message.running)

    @on(HandInRequested)
    def hand_in(self) -> None:
        """End the run if the student confirms it; the result is shown after that."""
        attempt = self._attempt
        left = sum(result.state in ("open", "answered") for result in attempt.last.results)
        text = f"The run ends and the open tasks are judged: {left} of {len(attempt.last.results)} are undecided."
        self._confirm(f"hand in attempt {attempt.number}?", text, "hand in", self._end_run)

    @on(RestartRequested)
    def begin_again(self) -> None:
        """Replace this attempt by a new one; ask first unless this one is over."""
        attempt = self._attempt
        restart = partial(self._restart, attempt.exercise)
        if self._is_over:
            self._do(restart())
        else:
            text = f"Attempt {attempt.number} ends. {self._what_counts} {_FROM_START}"
            self._confirm("begin again?", text, "begin a new attempt", restart)

    async def leave_lowest(self, message: LeaveRequested) -> None:
        """Return to the list; ask first, always with the same keys, and what to do with a running attempt."""
        left = [result.task for result in self._attempt.last.results if result.is_open]
        if self._is_over:
            options, open_tasks = [_OVER_TO_LIST], "All tasks are decided."
        else:
            options = [_KEEP_RUNNING, _TO_LIST] if self._is_served else [_TO_LIST]
            open_tasks = f"Not decided: task{'s' if len(left) > 1 else ''} {', '.join(map(str, left))}."
        body = [Text(text) for text in (open_tasks, self._what_counts, _FROM_START)]
        dialog = ChoiceDialog("leave the exercise?", body, options, "Esc cancels")
        show_dialog(self, dialog, lambda choice: self._do(self._to_list(ends=choice != _KEEP_RUNNING)))

    # starting and ending attempts

    async def _start(self) -> None:
        await self.push_screen(self._list)
        await self._offer()
        running = self._list.running
        if running is not None and running.exercise.name == self._first:
            self._resume(running)
        elif self._first:
            self._confirm_begin(self._exercises[self._first])

    def _confirm_begin(self, exercise: Exercise) -> None:
        """Begin a new attempt; ask first if that ends a running one."""
        running = self._list.running
        begin = partial(self._begin, exercise)
        if running is None:
            self._do(begin())
        else:
            text = f"Attempt {running.attempt} at {running.exercise.title} is still running and would end."
            self._confirm("begin a new attempt?", text, "end that one and begin", begin)

    def _resume(self, running: RunningAttempt) -> None:
        self._do(self._show_attempt(running.socket, Path(running.recording)))

    async def _begin(self, exercise: Exercise) -> None:
        self._show_message(f"starting the cluster for {exercise.title} …")
        number, recording = self._home.next_attempt(exercise.name)
        config = attempt_config(self._for_student(exercise), self._home.student, number, recording)
        ready = await asyncio.to_thread(self._clusters.start, config)
        await self._show_attempt(ready.socket, recording)

    async def _restart(self, exercise: Exercise) -> None:
        await self._end_run()
        await self._begin(exercise)

    async def _show_attempt(self, socket: str, recording: Path) -> None:
        """Show the attempt with this feed, in place of the one shown until now."""
        source = await FeedSource.open(socket, "driver")
        header = source.store.header
        exercise = self.exercise_of(header)
        if exercise is None or header.exercise is None:
            source.close()
            self._show_message("that run is not of an exercise in the list", warn=True)
            return
        source.recording, source.is_served = recording, self._is_served
        source.assess(exercise, partial(self._note, exercise, header.exercise.attempt))
        before, self._source = self._source, source
        screen = self.new_screen(RunScreen, source, exercise.name)
        self._list.offer(None)
        await self.replace_run(screen, before)

    async def _to_list(self, ends: bool) -> None:
        if ends:
            await self._end_run()
        await self.deactivate_run()
        await self.pop_screen()
        source, self._source = self._source, None
        if source is not None:
            source.close()
        await self._offer()
        if ends and source is not None and (attempt := source.attempt) is not None:
            points = format_points(attempt.exercise, attempt.last.points)
            self._list.show_result(attempt.exercise, f"attempt {attempt.number} has ended: {points}")

    async def _end_run(self) -> None:
        """End the run and wait for its last records, as some tasks are judged by them."""
        source = self._source
        self._show_message("ending the run …")
        await asyncio.to_thread(self._clusters.end)
        if source is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(source.over.wait(), _LAST_RECORDS_S)

    async def _offer(self) -> None:
        self._list.offer(await asyncio.to_thread(self._resumable))

    def _resumable(self) -> RunningAttempt | None:
        """Return the running attempt as its recording describes it, or None."""
        info = self._clusters.running()
        if info is None:
            return None
        try:
            store = open_recording(Path(info.recording))
        except NotARecordingError:
            return None
        header = store.header
        store.close()
        exercise = self.exercise_of(header)
        if exercise is None or header.exercise is None:
            return None
        return RunningAttempt(exercise, header.exercise.attempt, info.socket, info.recording)

    def _note(self, exercise: Exercise, attempt: int, results: tuple[Result, ...], is_solved: bool) -> None:
        solved = datetime.now(UTC).isoformat(timespec="seconds") if is_solved else ""
        try:
            self._home.note(exercise, attempt, results, solved)
        except OSError as error:
            self._show_message(
                f"your progress cannot be saved ({error.strerror}); the recording so far still counts", True
            )

    # helpers

    @property
    def _attempt(self) -> AttemptLog:
        assert self._source is not None
        assert self._source.attempt is not None
        return self._source.attempt

    @property
    def _what_counts(self) -> str:
        """A sentence on what remains of the attempt when it ends."""
        attempt = self._attempt
        points = format_points(attempt.exercise, attempt.last.points)
        return f"Your {points} of this attempt count." if attempt.exercise.points else f"{points.capitalize()}."

    @property
    def _shown(self) -> RunScreen | ListScreen | None:
        """The topmost screen that is no dialog."""
        screens = (each for each in reversed(self.screen_stack) if isinstance(each, RunScreen | ListScreen))
        return next(screens, None)

    @property
    def _is_over(self) -> bool:
        """True if the result of the attempt cannot change any more."""
        return self._source is None or bool(self._source.ended) or self._attempt.last.is_decided

    def _do(self, task: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine unless another one is running; show a message if it fails."""

        async def run() -> None:
            try:
                await task
            except (HostFailedError, OSError) as error:
                self._show_message(f"this failed: {error}", warn=True)
            finally:
                self._is_busy = False

        if self._is_busy:
            task.close()
            self._show_message("please wait: the cluster is starting or ending")
        else:
            self._is_busy = True
            self.run_worker(run())

    def _confirm(self, title: str, text: str, option: str, begin: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a coroutine if the student confirms it."""
        dialog = ChoiceDialog(title, wrap(Text(text), ROOM), [option], "Esc cancels")
        show_dialog(self, dialog, lambda _: self._do(begin()))

    def _show_message(self, text: str, warn: bool = False) -> None:
        shown = self._shown
        if isinstance(shown, RunScreen):
            shown.context.notify(text, warn)
        elif shown is not None:
            shown.message.show(text, warn)


def show_classroom(home: StudentFolder, clusters: Clusters, exercises: Sequence[Exercise], first: str = "") -> int:
    """Show the list of exercises, or the exercise ``first``; return the exit status."""
    try:
        keys = read_user_keys(keys_file())
        return ClassroomApp(home, clusters, exercises, is_served=False, first=first).show(keys)
    finally:
        clusters.end()

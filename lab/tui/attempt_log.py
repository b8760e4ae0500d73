"""An attempt as the interface shows it: the state of its tasks at each record, and messages about changes."""

from bisect import bisect_right
from collections.abc import Callable

from lab.exercises.assessment import Assessment, AttemptStatus, Result
from lab.exercises.exercise import Exercise, ExerciseTask
from lab.properties.judge import Judge
from lab.recording.records import Header, Record

Note = Callable[[tuple[Result, ...], bool], None]
"""It is called with the results of the tasks, and whether the exercise is solved."""


class AttemptLog:
    """A fold over the records, updated after the judge.

    ``note`` is called on every change; only the student who owns the attempt has one.
    """

    def __init__(self, exercise: Exercise, header: Header, judge: Judge, note: Note | None = None) -> None:
        self.exercise = exercise
        self.number = 1 if header.exercise is None else header.exercise.attempt
        self._assessment = Assessment(exercise, header, judge)
        self._note = note
        self._reported = 1
        self._commanded = 1
        """The count of states when the student last gave a command."""
        self._states = [AttemptStatus(0, self._assessment.results)]

    @property
    def is_own(self) -> bool:
        """True if the user owns the attempt, so that it can be handed in and restarted."""
        return self._note is not None

    @property
    def last(self) -> AttemptStatus:
        return self._states[-1]

    def at(self, record: int) -> AttemptStatus:
        return self._states[max(0, bisect_right(self._states, record, key=lambda status: status.record) - 1)]

    def observe(self, record: Record | None) -> None:
        """Process the next record; the first call is for the header."""
        self._assessment.observe(record)
        now, before = self._assessment.status, self.last
        is_news = now.results != before.results
        if is_news or now.command_count != before.command_count:
            self._states.append(now)
        if self._note is not None and (is_news or not now.record):
            self._note(now.results, now.is_solved)

    def begin_command(self) -> None:
        """Note that the student gives a command now."""
        self._commanded = len(self._states)

    def news(self, again: bool = False) -> str:
        """Describe in a line what has changed since the student's last command, what was missed first.

        One command may decide several tasks, one soon after the other, and a message must not hide the one before.
        The text is empty if nothing is new since the last call, unless it is to be told ``again``.
        """
        states = self._states[min(self._reported, self._commanded) - 1 :]
        is_new = self._states[self._reported - 1].results != self.last.results
        self._reported = len(self._states)
        if not is_new and not again:
            return ""
        changes = [
            (task, before, now)
            for task, before, now in zip(self.exercise.tasks, states[0].results, states[-1].results, strict=True)
            if now != before
        ]
        if not changes:
            return ""
        changes.sort(key=lambda change: change[2].state != "missed")
        texts = [_describe_change(*change, is_only=len(changes) == 1) for change in changes]
        points = format_points(self.exercise, self.last.points)
        return f"{'; '.join(texts)}; {f'SOLVED, {points}{self._keys_hint}' if self.last.is_solved else points}"

    def ending(self) -> str:
        """Describe the result of the attempt once its run is over."""
        status = self.last
        missing = [f"{result.task}" for result in status.results if result.state != "done"]
        which = f"without task{'s' if len(missing) > 1 else ''} {', '.join(missing)}" if missing else "SOLVED"
        return f"the run is over: {which}; {format_points(self.exercise, status.points)}{self._keys_hint}"

    @property
    def _keys_hint(self) -> str:
        return "; {again} begins a new attempt, {quit} returns to the list" if self.is_own else ""


def format_points(exercise: Exercise, points: int) -> str:
    """Format points out of those that can be earned without the teacher."""
    if not exercise.points:
        return "your teacher awards the points"
    return f"{points} of {exercise.points} point{'s' if exercise.points > 1 else ''}"


def _describe_change(task: ExerciseTask, before: Result, now: Result, is_only: bool) -> str:
    if now.state == "done":
        outcome = f"done: +{now.points}" if task.way != "explain" else "is saved for your teacher"
        return f"task {task.number} {outcome}"
    if now.state == "missed":
        return f"task {task.number} missed{f': {now.why}' if is_only else ''}"
    if now.hints != before.hints:
        return f"a hint for task {task.number}: {{exercise}} shows it"
    return f"task {task.number} is answered; it is judged when what it asks about has happened"

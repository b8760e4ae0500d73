"""An attempt as the interface shows it: how its tasks stood at each record, and what there is to tell of that."""

from bisect import bisect_right
from collections.abc import Callable

from lab.exercises.assessment import Assessment, Result, Stand
from lab.exercises.exercise import Exercise, Task
from lab.properties import Judge
from lab.recording.records import Header, Record

__all__ = ["AttemptLog", "Note", "points_said"]

Note = Callable[[tuple[Result, ...], bool], None]
"""Is told how the tasks stand, and whether that is all of them done."""


class AttemptLog:
    """Shown the records, after the judge. ``note`` is told of every change; whoever has one, owns the attempt."""

    def __init__(self, exercise: Exercise, header: Header, judge: Judge, note: Note | None = None) -> None:
        self.exercise = exercise
        self.number = 1 if header.exercise is None else header.exercise.attempt
        self._assessment = Assessment(exercise, header, judge)
        self._note = note
        self._told = 1
        self._stands = [Stand(0, self._assessment.results)]

    @property
    def is_own(self) -> bool:
        """Whether it can be handed in, and begun again."""
        return self._note is not None

    @property
    def last(self) -> Stand:
        """How the tasks stand now."""
        return self._stands[-1]

    def at(self, record: int) -> Stand:
        """How they stood there."""
        return self._stands[max(0, bisect_right(self._stands, record, key=lambda stand: stand.record) - 1)]

    def observe(self, record: Record | None) -> None:
        """The next record, the header being the first."""
        self._assessment.observe(record)
        now, before = self._assessment.stand, self.last
        is_news = now.results != before.results
        if is_news or now.given != before.given:
            self._stands.append(now)
        if self._note is not None and (is_news or not now.record):
            self._note(now.results, now.is_solved)

    @property
    def count(self) -> int:
        """How often anything has changed, the beginning included."""
        return len(self._stands)

    def news(self, since: int | None = None) -> str:
        """What has changed since this was asked last, or since there were so many changes, in a line."""
        stands = self._stands[(self._told if since is None else since) - 1 :]
        self._told = len(self._stands)
        said = [
            _told(task, before, now)
            for task, before, now in zip(self.exercise.tasks, stands[0].results, stands[-1].results, strict=True)
            if now != before
        ]
        if not said:
            return ""
        points = points_said(self.exercise, self.last.points)
        return f"{'; '.join(said)}; {f'SOLVED, {points}{self._more}' if self.last.is_solved else points}"

    def ending(self) -> str:
        """What the attempt came to."""
        stand = self.last
        missing = [f"{result.task}" for result in stand.results if result.state != "done"]
        which = f"without task{'s' if len(missing) > 1 else ''} {', '.join(missing)}" if missing else "SOLVED"
        return f"the run is over: {which}, {points_said(self.exercise, stand.points)}{self._more}"

    @property
    def _more(self) -> str:
        return "; R begins a new attempt, q goes to the list" if self.is_own else ""


def points_said(exercise: Exercise, points: int) -> str:
    """So many of those that can be had without a teacher."""
    if not exercise.points:
        return "your teacher gives the points"
    return f"{points} of {exercise.points} point{'s' if exercise.points > 1 else ''}"


def _told(task: Task, before: Result, now: Result) -> str:
    if now.state == "done":
        told = f"done: +{now.points}" if task.way != "explain" else "is kept for your teacher"
        return f"task {task.number} {told}"
    if now.state == "missed":
        return f"task {task.number} missed: {now.why}"
    if now.hints != before.hints:
        return f"a hint for task {task.number}: I shows it"
    return f"task {task.number} is answered: whether rightly will be seen"

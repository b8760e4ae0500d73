"""What a student has done in an attempt, task by task: one fold over its records.

The interface shows it while the attempt goes on, and the grader comes to the same from the recording. What was
answered, and which hints were taken, are commands in the recording, like all else that was given by hand.
"""

from typing import Literal

from msgspec import Struct

from lab.exercises.conditions import Followed, Watch, reached, watch_for
from lab.exercises.exercise import FREE, Exercise, Task
from lab.properties import Judge
from lab.recording.records import Commanded, End, Header, Record
from lab.script import Answer, CommandError, Hint, Scripted, parse

__all__ = ["Assessment", "Result", "Stand", "State", "is_given", "read_given"]

State = Literal["open", "answered", "done", "missed"]


class Result(Struct, frozen=True):
    """How a task stands. ``answered``: but whether rightly will be seen. ``missed``: not to be had any more.

    ``points`` are those it has brought; a hint may have cost some. ``record`` is that with which it was decided,
    -1 where it is not. ``why`` says more, to the student. ``hints`` is how many were taken.
    """

    task: int
    state: State
    points: int = 0
    record: int = -1
    why: str = ""
    hints: int = 0
    answer: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it is not decided yet."""
        return self.state in ("open", "answered")


class Stand(Struct, frozen=True):
    """How the tasks stand from this record on; ``given`` is how many commands there were by then."""

    record: int
    results: tuple[Result, ...]
    given: int = 0

    @property
    def points(self) -> int:
        """How many have been brought."""
        return sum(result.points for result in self.results)

    @property
    def is_solved(self) -> bool:
        """Whether every task is done."""
        return all(result.state == "done" for result in self.results)

    @property
    def is_decided(self) -> bool:
        """Whether nothing is open any more."""
        return not any(result.is_open for result in self.results)

    @property
    def next_open(self) -> int | None:
        """The first task that something can be done for yet."""
        return next((result.task for result in self.results if result.state == "open"), None)


def is_given(record: Record | None) -> bool:
    """Whether it is of a command that was given by hand and carried out."""
    return isinstance(record, Commanded) and not record.line and not record.refused


def read_given(record: Commanded) -> Scripted | None:
    """The command that was given; None for what cannot be read."""
    try:
        return parse(record.text)
    except CommandError:
        return None


class Assessment:
    """Shown the records of an attempt in their order, from the header on. ``given`` counts the commands.

    ``judge``: one that is shown every record before this is; without, it keeps one of its own.
    """

    def __init__(self, exercise: Exercise, header: Header, judge: Judge | None = None) -> None:
        self.exercise = exercise
        self.given = 0
        self._judges = judge is None
        self._run = Followed(header, judge or Judge(header))
        self._tasks = [_Course(task, self._run) for task in exercise.tasks]

    @property
    def results(self) -> tuple[Result, ...]:
        """How the tasks stand, in their order."""
        return tuple(each.result for each in self._tasks)

    @property
    def stand(self) -> Stand:
        """The same, with all that is known of them together."""
        return Stand(self._run.number, self.results, self.given)

    def observe(self, record: Record | None) -> None:
        """The next record; None stands for one that could not be read."""
        if self._judges:
            self._run.judge.observe(record)
        self._run.take(record)
        if isinstance(record, Commanded) and is_given(record):
            self._take(record)
        for task in self._tasks:
            task.look(record, self.given)

    def _take(self, record: Commanded) -> None:
        line = read_given(record)
        if line is None:
            return
        if isinstance(line.command, Answer | Hint):
            if 1 <= line.command.task <= len(self._tasks):
                self._tasks[line.command.task - 1].told(line.command)
        elif line.text.partition(" ")[0] not in FREE:
            self.given += 1


class _Course:
    """The course of one task."""

    def __init__(self, task: Task, run: Followed) -> None:
        self._task = task
        self._run = run
        self._hints = 0
        self._answer: str | None = None
        self._known: Result | None = None
        self._watch: Watch | None = watch_for(task, run) if task.way in ("reach", "script") else None
        self._truth: Watch | None = reached(task.record, run) if task.record else None
        self._before: Watch | None = reached(task.before, run) if task.before else None

    @property
    def result(self) -> Result:
        if self._known is not None:
            return self._known
        state: State = "open" if self._answer is None else "answered"
        return Result(self._task.number, state, 0, hints=self._hints, answer=self._answer or "")

    def told(self, command: Answer | Hint) -> None:
        """An answer, of which the first counts, or that a hint is wanted."""
        if self._known is not None:
            return
        if isinstance(command, Hint):
            self._hints = min(self._hints + 1, len(self._task.hints))
        elif self._answer is None and self._task.way in ("question", "explain"):
            self._answer = command.text

    def look(self, record: Record | None, given: int) -> None:
        for watch in (self._watch, self._truth, self._before):
            if watch is not None:
                watch.look(record)
                if isinstance(record, End):
                    watch.finish()
        if self._known is None:
            self._decide(given, isinstance(record, End))

    def _decide(self, given: int, is_over: bool) -> None:
        if self._task.way == "repair":
            return  # it is the mended file that is graded
        if self._watch is not None:
            self._decide_watched(self._watch, given, is_over)
        elif self._task.way == "explain":
            if self._answer is not None:
                self._come_to("done", "your teacher reads it", points=0)
        else:
            self._decide_asked(is_over)
        if self._known is None and is_over:
            self._come_to("missed", "the run is over")

    def _decide_watched(self, watch: Watch, given: int, is_over: bool) -> None:
        most = self._task.at_most
        if watch.met == "unmet":
            self._come_to("missed", "it did not come to that" if is_over else "it went another way")
        elif most is not None and given > most:
            self._come_to("missed", f"that took more than {most} command{'s' if most != 1 else ''}")
        elif watch.met == "met":
            self._come_to("done")

    def _decide_asked(self, is_over: bool) -> None:
        task, before, truth = self._task, self._before, self._truth
        if before is not None and before.met != "met":
            if is_over and self._answer is not None:
                self._come_to("missed", "it has not come to what was asked about")
            return  # first it has to be seen
        if self._answer is None:
            if before is not None:
                self._come_to("missed", "it has happened before you said what you expect")
            return
        if truth is not None and truth.met == "open":
            return
        right = (str(truth.record),) if truth is not None else task.answers
        if _plain(self._answer) in map(_plain, right):
            self._come_to("done")
        else:
            self._come_to("missed", f"you said {self._answer}; it is {right[0]}")

    def _come_to(self, state: State, why: str = "", points: int | None = None) -> None:
        costs = sum(hint.costs for hint in self._task.hints[: self._hints])
        worth = max(0, self._task.points - costs) if points is None else points
        self._known = Result(
            self._task.number,
            state,
            worth if state == "done" else 0,
            self._run.number,
            why,
            self._hints,
            self._answer or "",
        )


def _plain(answer: str) -> str:
    """Without what does not change an answer: ``Node 8.`` is 8."""
    plain = " ".join(answer.casefold().split()).strip(".")
    return plain.removeprefix("node ").removeprefix("nodes ").removeprefix("record ")

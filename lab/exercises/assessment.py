"""Assess an attempt: one fold over its records, task by task.

The interface shows the assessment while the attempt runs; the grader derives the same assessment from the
recording. Answers and requests for hints are commands in the recording, like all other manual commands.
"""

from typing import Literal

from msgspec import Struct

from lab.exercises.exercise import FREE, Exercise, Task
from lab.exercises.task_conditions import ConditionMonitor, ObservedRun, monitor_for, reach_monitor
from lab.properties import Judge
from lab.recording.records import Commanded, End, Header, Record
from lab.script import Answer, CommandError, Hint, Statement, parse

__all__ = ["Assessment", "AttemptStatus", "Result", "State", "is_manual_command", "parse_manual_command"]

State = Literal["open", "answered", "done", "missed"]


class Result(Struct, frozen=True):
    """The state of a task: ``answered`` is not judged yet, ``missed`` can no longer be done.

    ``points`` are those earned, less the cost of hints. ``record`` is the number of the record that decided the
    task, -1 while it is open. ``why`` is a reason, for the student. ``hints`` is the number of hints taken.
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
        return self.state in ("open", "answered")


class AttemptStatus(Struct, frozen=True):
    """The results of all tasks as of ``record``, and the number of commands counted by then."""

    record: int
    results: tuple[Result, ...]
    command_count: int = 0

    @property
    def points(self) -> int:
        return sum(result.points for result in self.results)

    @property
    def is_solved(self) -> bool:
        """True if every task is done."""
        return all(result.state == "done" for result in self.results)

    @property
    def is_decided(self) -> bool:
        """True if no task is open."""
        return not any(result.is_open for result in self.results)

    @property
    def next_open(self) -> int | None:
        """The first task that can still be worked on."""
        return next((result.task for result in self.results if result.state == "open"), None)


def is_manual_command(record: Record | None) -> bool:
    """Return whether this records a manual command that was carried out."""
    return isinstance(record, Commanded) and not record.line and not record.refused


def parse_manual_command(record: Commanded) -> Statement | None:
    """Return the command, or None if it cannot be parsed."""
    try:
        return parse(record.text)
    except CommandError:
        return None


class Assessment:
    """The assessment of an attempt, fed its records in order, starting with the header.

    ``command_count`` is the number of commands that count against ``at_most``. ``judge`` must be fed each record
    before the assessment is; without one, the assessment creates and feeds its own.
    """

    def __init__(self, exercise: Exercise, header: Header, judge: Judge | None = None) -> None:
        self.exercise = exercise
        self.command_count = 0
        self._owns_judge = judge is None
        self._run = ObservedRun(header, judge or Judge(header))
        self._tasks = [_TaskProgress(task, self._run) for task in exercise.tasks]

    @property
    def results(self) -> tuple[Result, ...]:
        return tuple(each.result for each in self._tasks)

    @property
    def status(self) -> AttemptStatus:
        return AttemptStatus(self._run.number, self.results, self.command_count)

    def observe(self, record: Record | None) -> None:
        """Process the next record; None stands for an unreadable one."""
        if self._owns_judge:
            self._run.judge.observe(record)
        self._run.observe(record)
        if isinstance(record, Commanded) and is_manual_command(record):
            self._apply_command(record)
        for task in self._tasks:
            task.observe(record, self.command_count)

    def _apply_command(self, record: Commanded) -> None:
        line = parse_manual_command(record)
        if line is None:
            return
        if isinstance(line.command, Answer | Hint):
            if 1 <= line.command.task <= len(self._tasks):
                self._tasks[line.command.task - 1].on_command(line.command)
        elif line.text.partition(" ")[0] not in FREE:
            self.command_count += 1


class _TaskProgress:
    """The progress of one task."""

    def __init__(self, task: Task, run: ObservedRun) -> None:
        self._task = task
        self._run = run
        self._hints = 0
        self._answer: str | None = None
        self._decided: Result | None = None
        self._condition: ConditionMonitor | None = (
            monitor_for(task, run) if task.way in ("reach", "script") else None
        )
        self._expected_record: ConditionMonitor | None = reach_monitor(task.record, run) if task.record else None
        self._too_late: ConditionMonitor | None = reach_monitor(task.before, run) if task.before else None

    @property
    def result(self) -> Result:
        if self._decided is not None:
            return self._decided
        state: State = "open" if self._answer is None else "answered"
        return Result(self._task.number, state, 0, hints=self._hints, answer=self._answer or "")

    def on_command(self, command: Answer | Hint) -> None:
        """Record the answer (only the first one counts), or that a hint was taken."""
        if self._decided is not None:
            return
        if isinstance(command, Hint):
            self._hints = min(self._hints + 1, len(self._task.hints))
        elif self._answer is None and self._task.way in ("question", "explain"):
            self._answer = command.text

    def observe(self, record: Record | None, command_count: int) -> None:
        for monitor in (self._condition, self._expected_record, self._too_late):
            if monitor is not None:
                monitor.observe(record)
                if isinstance(record, End):
                    monitor.finish()
        if self._decided is None:
            self._decide(command_count, isinstance(record, End))

    def _decide(self, command_count: int, is_over: bool) -> None:
        if self._task.way == "repair":
            return  # the repaired file is graded, not a run
        if self._condition is not None:
            self._decide_condition(self._condition, command_count, is_over)
        elif self._task.way == "explain":
            if self._answer is not None:
                self._set_result("done", "your teacher reads it", points=0)
        else:
            self._decide_question(is_over)
        if self._decided is None and is_over:
            self._set_result("missed", "the run is over")

    def _decide_condition(self, monitor: ConditionMonitor, command_count: int, is_over: bool) -> None:
        most = self._task.at_most
        if monitor.met == "unmet":
            self._set_result("missed", "it did not happen" if is_over else "the run took another course")
        elif most is not None and command_count > most:
            self._set_result("missed", f"it took more than {most} command{'s' if most != 1 else ''}")
        elif monitor.met == "met":
            self._set_result("done")

    def _decide_question(self, is_over: bool) -> None:
        task, before, truth = self._task, self._too_late, self._expected_record
        if before is not None and before.met != "met":
            if is_over and self._answer is not None:
                self._set_result("missed", "the event in question did not happen")
            return  # an answer is judged once the event has happened
        if self._answer is None:
            if before is not None:
                self._set_result("missed", "it happened before you answered")
            return
        if truth is not None and truth.met == "open":
            return
        right = (str(truth.record),) if truth is not None else task.accepted_answers
        if _normalize(self._answer) in map(_normalize, right):
            self._set_result("done")
        else:
            self._set_result("missed", f"you answered {self._answer}; correct is {right[0]}")

    def _set_result(self, state: State, why: str = "", points: int | None = None) -> None:
        costs = sum(hint.costs for hint in self._task.hints[: self._hints])
        worth = max(0, self._task.points - costs) if points is None else points
        self._decided = Result(
            self._task.number,
            state,
            worth if state == "done" else 0,
            self._run.number,
            why,
            self._hints,
            self._answer or "",
        )


def _normalize(answer: str) -> str:
    """Strip what makes no difference to an answer: ``Node 8.`` equals 8."""
    plain = " ".join(answer.casefold().split()).strip(".")
    return plain.removeprefix("node ").removeprefix("nodes ").removeprefix("record ")

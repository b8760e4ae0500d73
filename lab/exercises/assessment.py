"""Assess an attempt: one fold over its records, task by task.

The interface shows the assessment while the attempt runs; the grader derives the same assessment from the
recording. Answers and requests for hints are commands in the recording, like all other manual commands.

Monitors decide whether a task's condition is met. They observe each record after the cluster state and the judge
have processed it, and never affect the run: the lines of a condition are expectations only.
"""

from collections import deque
from collections.abc import Iterable
from typing import Literal, Protocol

from msgspec import Struct

from lab.exercises.exercise import FREE, Exercise, ExerciseTask
from lab.exercises.handout import normalize_answer
from lab.kernel import Message, Received, Step
from lab.properties.assertions import BUILT_IN
from lab.properties.judge import Judge
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Commanded, End, Header, Injected, Record, Routed
from lab.scenario.report import matches_violation, why_not_judged
from lab.script.commands import Answer, Hint
from lab.script.director import TIMED_OUT, Director
from lab.script.parse import parse, parse_predicate, read_script
from lab.script.predicate_fold import OnsetMatcher
from lab.script.scope import CommandError
from lab.script.statements import ExpectationResult, ExpectViolation, Statement

State = Literal["open", "answered", "done", "missed"]
Met = Literal["open", "met", "unmet"]


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
        if judge is None:
            exercise.load_properties()
        self._run = ObservedRun(header, judge or Judge(header))
        self._tasks = [_TaskProgress(task, self._run) for task in exercise.tasks]

    @property
    def results(self) -> tuple[Result, ...]:
        return tuple(each.result for each in self._tasks)

    @property
    def status(self) -> AttemptStatus:
        return AttemptStatus(self._run.number, self.results, self.command_count)

    @property
    def expected_records(self) -> dict[int, int]:
        """The record that each task asks for, by the task's number; those known so far."""
        found = {number: task.expected_record for number, task in enumerate(self._tasks, 1)}
        return {number: record for number, record in found.items() if record >= 0}

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

    def __init__(self, task: ExerciseTask, run: "ObservedRun") -> None:
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

    @property
    def expected_record(self) -> int:
        """The record that the task asks for; -1 while it is not known, or if it asks for none."""
        return -1 if self._expected_record is None else self._expected_record.record

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
        if self._task.grades_file:
            return  # a file is graded, not a run
        if self._condition is not None:
            self._decide_condition(self._condition, command_count, is_over)
        elif self._task.way == "explain":
            if self._answer is not None:
                self._set_result("done", "your teacher reads it", points=0)
        else:
            self._decide_question(is_over)
        if self._decided is None and is_over:
            self._set_result("missed", "the run is over")

    def _decide_condition(self, monitor: "ConditionMonitor", command_count: int, is_over: bool) -> None:
        most = self._task.at_most
        if monitor.met == "unmet":
            why = "it did not happen" if is_over else "the run took another course"
            self._set_result("missed", monitor.why_not_judged or why)
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
        record = "" if truth is None else str(truth.record)
        if normalize_answer(self._answer) == record if record else task.accepts(self._answer):
            self._set_result("done")
        elif correct := record or task.correct_answer():
            self._set_result("missed", f"you answered {self._answer}; correct is {correct}")
        else:
            self._set_result("missed", f"you answered {self._answer}, which is wrong")

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


# conditions

_BUILT_IN = frozenset(each.id for each in BUILT_IN)


class ObservedRun:
    """A run as observed so far: cluster state, judge and clock."""

    def __init__(self, header: Header, judge: Judge) -> None:
        self.header = header
        self.judge = judge
        self.cluster = ClusterState.of(header)
        self.number = -1
        self.now_us = 0
        self._messages: dict[tuple[int, int], Message] = {}

    def observe(self, record: Record | None) -> None:
        """Process the next record."""
        self.number += 1
        self.now_us = max(self.now_us, getattr(record, "at_us", 0))
        if isinstance(record, Step):
            for message in record.sent:
                self._messages[message.source, message.serial] = message
        elif isinstance(record, Injected):
            self._messages[record.message.source, record.message.serial] = record.message
        self.cluster.apply(record)

    def message_events(self, record: Record | None) -> Iterable[tuple[str, Message]]:
        """Yield (``send``, ``deliver`` or ``drop``, message) for each message that this record affects."""
        if isinstance(record, Step):
            if isinstance(record.input, Received):
                yield from self._known_message("deliver", record.input.source, record.input.serial)
            for message in record.sent:
                yield "send", message
        elif isinstance(record, Routed) and record.fate == "dropped":
            yield from self._known_message("drop", record.source, record.serial)

    def _known_message(self, event: str, source: int, serial: int) -> Iterable[tuple[str, Message]]:
        message = self._messages.get((source, serial))
        if message is not None:
            yield event, message


class ConditionMonitor(Protocol):
    """Waits for one condition. ``met`` is the verdict so far, ``record`` the record that decided it.

    ``why_not_judged`` says why a property or a time limit in it was not judged, if it is unmet because of that.
    """

    met: Met
    record: int
    why_not_judged: str

    def observe(self, record: Record | None) -> None:
        """Process the record that the run has just processed."""

    def finish(self) -> None:
        """Decide what only the end of the run can decide."""


def monitor_for(task: ExerciseTask, run: ObservedRun) -> ConditionMonitor:
    """Build the monitor for the task's ``reach`` or ``script``."""
    return ScriptMonitor(task.script, run) if task.script else reach_monitor(task.reach, run)


def reach_monitor(condition: str, run: ObservedRun) -> ConditionMonitor:
    """Build the monitor for a predicate that must hold at some instant, or for ``violation NAME``."""
    if condition.startswith("violation "):
        return ScriptMonitor(f"expect {condition}", run)
    return _PredicateMonitor(condition, run)


class _PredicateMonitor:
    def __init__(self, condition: str, run: ObservedRun) -> None:
        self.met: Met = "open"
        self.record = -1
        self.why_not_judged = ""
        self._run = run
        self._onset = OnsetMatcher(parse_predicate(condition), run.header)

    def observe(self, record: Record | None) -> None:
        self._onset.match(record)
        if self.met == "open" and self._onset.holds:
            self.met, self.record = "met", self._run.number

    def finish(self) -> None:
        pass


class ScriptMonitor:
    """Waits until every line of a script is met; each line is an expectation, perhaps after triggers."""

    def __init__(self, script: str, run: ObservedRun) -> None:
        self.met: Met = "open"
        self.record = -1
        self.why_not_judged = ""
        self._run = run
        lines = read_script(script)
        self._expected_violations = [each.command for each in lines if isinstance(each.command, ExpectViolation)]
        waiting = [each for each in lines if not isinstance(each.command, ExpectViolation)]
        self._open = {each.line for each in waiting}
        self._director = Director(run)
        self._director.add_script(waiting)

    def observe(self, record: Record | None) -> None:
        if self.met != "open":
            return
        self._process_due(self._director.due(self._run.now_us))
        for event, message in self._run.message_events(record):
            self._process_due(self._director.on_message(event, message))
        self._process_due(self._director.on_record(record))
        self._expected_violations = [
            each for each in self._expected_violations if each.none or not self._is_found(each)
        ]
        if not self._open and not self._expected_violations:
            self._decide("met")

    def finish(self) -> None:
        if self.met != "open":
            return
        self._process_due(self._director.finish())
        held = not self._open and all(map(self._is_absent, self._expected_violations))
        if not held:
            self.why_not_judged = next(filter(None, map(self._reason, self._expected_violations)), "")
        self._decide("met" if held else "unmet")

    def _is_absent(self, expected: ExpectViolation) -> bool:
        """Return whether no such violation is expected, there is none, and there could have been one."""
        return expected.none and not self._is_found(expected) and not self._reason(expected)

    def _reason(self, expected: ExpectViolation) -> str:
        """Return why it was not judged; empty also for an expected violation of a built-in assertion."""
        is_own = expected.assertion not in ("", *_BUILT_IN)
        return why_not_judged(self._run.judge, expected) if expected.none or is_own else ""

    def _is_found(self, expected: ExpectViolation) -> bool:
        return any(matches_violation(expected, violation) for violation in self._run.judge.violations)

    def _process_due(self, lines: Iterable[Statement]) -> None:
        due = deque(lines)
        while due:
            line = due.popleft()
            assert isinstance(line.command, ExpectationResult)
            if not line.command.met:
                if line.command.why == TIMED_OUT and self._run.judge.stall is not None:
                    self.why_not_judged = f"not judged: {self._run.judge.stall.text}"
                self._decide("unmet")
                return
            self._open.discard(line.line)
            self._director.line_started(line, (), ())
            due.extend(self._director.line_done(line))

    def _decide(self, met: Met) -> None:
        if self.met == "open":
            self.met, self.record = met, self._run.number

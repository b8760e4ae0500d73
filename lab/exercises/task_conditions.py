"""Monitors that decide from the records whether a task's condition is met.

A monitor observes each record after the cluster state and the judge have processed it. It never affects the run:
the lines of a condition are expectations only.
"""

from collections import deque
from collections.abc import Iterable
from typing import Literal, Protocol

from lab.exercises.exercise import Task
from lab.kernel import Message, Received, Step
from lab.properties import Judge
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Injected, Record, Routed
from lab.scenario.report import matches_violation
from lab.script import Director, OnsetMatcher, parse_predicate, read_script
from lab.script.expectations import ExpectationResult, ExpectViolation
from lab.script.triggers import Statement

__all__ = ["ConditionMonitor", "Met", "ObservedRun", "ScriptMonitor", "monitor_for"]

Met = Literal["open", "met", "unmet"]


class ObservedRun:
    """A run as observed so far: cluster state, judge and clock. It stands in for the director's log."""

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

    def append(self, record: Record) -> None:
        """Refuse: an observed run is not recorded."""
        raise AssertionError(record)

    def _known_message(self, event: str, source: int, serial: int) -> Iterable[tuple[str, Message]]:
        message = self._messages.get((source, serial))
        if message is not None:
            yield event, message


class ConditionMonitor(Protocol):
    """Waits for one condition. ``met`` is the verdict so far, ``record`` the record that decided it."""

    met: Met
    record: int

    def observe(self, record: Record | None) -> None:
        """Process the record that the run has just processed."""

    def finish(self) -> None:
        """Decide what only the end of the run can decide."""


def monitor_for(task: Task, run: ObservedRun) -> ConditionMonitor:
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
        self._run = run
        lines = read_script(script)
        self._expected_violations = [each.command for each in lines if isinstance(each.command, ExpectViolation)]
        waiting = [each for each in lines if not isinstance(each.command, ExpectViolation)]
        self._open = {each.line for each in waiting}
        self._director = Director(lambda: run.now_us, run)
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
        held = not self._open and all(each.none and not self._is_found(each) for each in self._expected_violations)
        self._decide("met" if held else "unmet")

    def _is_found(self, expected: ExpectViolation) -> bool:
        return any(matches_violation(expected, violation) for violation in self._run.judge.violations)

    def _process_due(self, lines: Iterable[Statement]) -> None:
        due = deque(lines)
        while due:
            line = due.popleft()
            assert isinstance(line.command, ExpectationResult)
            if not line.command.met:
                self._decide("unmet")
                return
            self._open.discard(line.line)
            self._director.line_started(line, (), ())
            due.extend(self._director.line_done(line))

    def _decide(self, met: Met) -> None:
        if self.met == "open":
            self.met, self.record = met, self._run.number

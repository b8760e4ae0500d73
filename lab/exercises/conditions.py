"""Whether what a task asks for has come about, as the records tell it: one watch for each way in which it may.

A watch is shown every record after the cluster has taken it; the judge has seen it, too. Nothing is ever done to
the run: the lines of a condition only expect.
"""

from collections import deque
from collections.abc import Iterable
from typing import Literal, Protocol

from lab.exercises.exercise import Task
from lab.kernel import Message, Received, Step
from lab.properties import Judge
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Injected, Record, Routed
from lab.scenario.report import is_meant
from lab.script import Director, Onset, parse_predicate, read_script
from lab.script.expectations import ExpectViolation, Settled
from lab.script.triggers import Scripted

__all__ = ["Followed", "Met", "ScriptWatch", "Watch", "watch_for"]

Met = Literal["open", "met", "unmet"]


class Followed:
    """A run, as far as it has been seen: its cluster, its judge, its clock; as a log, it is never written to."""

    def __init__(self, header: Header, judge: Judge) -> None:
        self.header = header
        self.judge = judge
        self.cluster = ClusterState.of(header)
        self.number = -1
        self.now_us = 0
        self._messages: dict[tuple[int, int], Message] = {}

    def take(self, record: Record | None) -> None:
        """The next record."""
        self.number += 1
        self.now_us = max(self.now_us, getattr(record, "at_us", 0))
        if isinstance(record, Step):
            for message in record.sent:
                self._messages[message.source, message.serial] = message
        elif isinstance(record, Injected):
            self._messages[record.message.source, record.message.serial] = record.message
        self.cluster.apply(record)

    def happenings(self, record: Record | None) -> Iterable[tuple[str, Message]]:
        """What this record says of messages: (``send``, ``deliver`` or ``drop``, which)."""
        if isinstance(record, Step):
            if isinstance(record.input, Received):
                yield from self._known("deliver", record.input.source, record.input.serial)
            for message in record.sent:
                yield "send", message
        elif isinstance(record, Routed) and record.fate == "dropped":
            yield from self._known("drop", record.source, record.serial)

    def append(self, record: Record) -> None:
        """Nothing is written down of what is only watched."""
        raise AssertionError(record)

    def _known(self, moment: str, source: int, serial: int) -> Iterable[tuple[str, Message]]:
        message = self._messages.get((source, serial))
        if message is not None:
            yield moment, message


class Watch(Protocol):
    """Looks out for one thing. ``met`` says what is known of it, ``record`` with which that came to be known."""

    met: Met
    record: int

    def look(self, record: Record | None) -> None:
        """After this record, the last."""

    def finish(self) -> None:
        """The run is over."""


def watch_for(task: Task, run: Followed) -> Watch:
    """What its ``reach`` or its ``script`` waits for."""
    return ScriptWatch(task.script, run) if task.script else reached(task.reach, run)


def reached(said: str, run: Followed) -> Watch:
    """A predicate, to become true at some instant; or ``violation A1.1``, to be found."""
    if said.startswith("violation "):
        return ScriptWatch(f"expect {said}", run)
    return _Reached(said, run)


class _Reached:
    def __init__(self, said: str, run: Followed) -> None:
        self.met: Met = "open"
        self.record = -1
        self._run = run
        self._onset = Onset(parse_predicate(said), run.header)

    def look(self, record: Record | None) -> None:
        self._onset.take(record)
        if self.met == "open" and self._onset.holds:
            self.met, self.record = "met", self._run.number

    def finish(self) -> None:
        pass


class ScriptWatch:
    """Lines of the command language, each an expectation, perhaps behind triggers: met once all of them are."""

    def __init__(self, script: str, run: Followed) -> None:
        self.met: Met = "open"
        self.record = -1
        self._run = run
        lines = read_script(script)
        self._verdicts = [each.command for each in lines if isinstance(each.command, ExpectViolation)]
        waiting = [each for each in lines if not isinstance(each.command, ExpectViolation)]
        self._open = {each.line for each in waiting}
        self._director = Director(lambda: run.now_us, run)
        self._director.add_script(waiting)

    def look(self, record: Record | None) -> None:
        if self.met != "open":
            return
        self._settle(self._director.due(self._run.now_us))
        for moment, message in self._run.happenings(record):
            self._settle(self._director.on(moment, message))
        self._settle(self._director.after(record))
        self._verdicts = [each for each in self._verdicts if each.none or not self._is_found(each)]
        if not self._open and not self._verdicts:
            self._decide("met")

    def finish(self) -> None:
        if self.met != "open":
            return
        self._settle(self._director.finish())
        held = not self._open and all(each.none and not self._is_found(each) for each in self._verdicts)
        self._decide("met" if held else "unmet")

    def _is_found(self, expected: ExpectViolation) -> bool:
        return any(is_meant(expected, violation) for violation in self._run.judge.violations)

    def _settle(self, lines: Iterable[Scripted]) -> None:
        due = deque(lines)
        while due:
            line = due.popleft()
            assert isinstance(line.command, Settled)
            if not line.command.met:
                self._decide("unmet")
                return
            self._open.discard(line.line)
            self._director.begun(line, (), ())
            due.extend(self._director.done(line))

    def _decide(self, met: Met) -> None:
        if self.met == "open":
            self.met, self.record = met, self._run.number

"""The report: from a scenario and the records of a run of it, in whatever world, to what was not as it should be.

A scenario fails when something that it expects was not, when a line of it never came, was refused or changed
nothing, when a fault of it touched nothing, when a node failed by an error of its own, and when an assertion
fails though all assumptions hold, and no line expects that. What is violated under a broken assumption is no
failure, unless a line says that it must not be.
"""

from msgspec import Struct

from lab.journal import Captioned, Cluster, Commanded, End, Expected, Fault, Header, Lines, Record
from lab.journal.failures import failure_lines
from lab.kernel import Step
from lab.properties import RAISES, Judge, Violation
from lab.scenario.file import Scenario, World
from lab.scenario.values import values_told
from lab.script import Expect, ExpectThroughout, ExpectViolation, Scripted, predecessors
from lab.script.expectations import CAUSES
from lab.script.holding import Suspicions
from lab.units import format_us

__all__ = ["Course", "Finding", "Report", "is_meant", "report_of"]

_EARLY_US = 50_000
"""A live run ends by a clock; so much sooner than it should is no matter."""
_INERT = "the fault was inert: it touched nothing"


class Finding(Struct, frozen=True):
    """What was not as it should be. ``line`` is its number in the scenario, 0 where it is of none.

    ``expected`` is what should have been, ``was`` what was. ``record`` is the number of the record that shows it,
    from 0, None where none does; ``at_us`` its time.
    """

    line: int
    expected: str
    was: str
    record: int | None = None
    at_us: int = 0


class Report(Struct, frozen=True):
    """What came of a run of a scenario. ``ended_us``: how long it went on, by its own clock; ``took_s``: how long
    that took. ``recording`` is its file, if it is kept.
    """

    name: str
    path: str
    world: World
    seed: int
    findings: tuple[Finding, ...]
    ended_us: int
    recording: str = ""
    took_s: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether all was as it should be."""
        return not self.findings


def report_of(scenario: Scenario, lines: Lines) -> Report:
    """The report on a run of the scenario, which is over."""
    course = Course(scenario, lines.header)
    for record in lines.records():
        course.observe(record)
    header = lines.header
    findings = tuple(sorted(course.findings(), key=lambda finding: (finding.line == 0, finding.line)))
    return Report(scenario.name, scenario.path, header.world, header.seed, findings, course.cluster.at_us)


class _Came(Struct):
    """A line that has come: the record that shows it for the first time, and whether what follows it may come."""

    record: int
    at_us: int
    done: bool = True


class _Declared(Struct, frozen=True):
    """A fault that a line put in force."""

    line: int
    id: int
    record: int
    at_us: int


class Course:
    """A scenario's course through a run, as the records tell it; ``observe`` is shown all of them."""

    def __init__(self, scenario: Scenario, header: Header) -> None:
        self.cluster = Cluster.of(header)
        self.judge = Judge(header)
        self._scenario = scenario
        self._lines = {line.line: line for line in scenario.lines}
        self._before = predecessors(self._lines.values())
        self._came: dict[int, _Came] = {}
        self._found: list[Finding] = []
        self._fresh: list[tuple[Fault, int]] = []
        self._faults: list[_Declared] = []
        self._suspicions = Suspicions()
        self._failed: dict[int, Step] = {}
        self._end: End | None = None
        self._file = header.protocol.file

    def observe(self, record: Record | None) -> None:
        """Take the next record."""
        self.cluster.apply(record)
        self.judge.observe(record)
        self._suspicions.observe(record)
        number = self.cluster.record
        if isinstance(record, Step):
            if record.failed:
                self._failed[number] = record
            return
        if isinstance(record, Fault) and not record.lifted:
            self._fresh.append((record, number))
        elif isinstance(record, Captioned):
            self._take(record, number)
        elif isinstance(record, Commanded):
            self._commanded(record, number)
        elif isinstance(record, Expected):
            self._expected(record, number)
        elif isinstance(record, End):
            self._end = record

    def findings(self) -> list[Finding]:
        """What was not as it should be, the run being over."""
        return [*self._found, *self._inert(), *self._missing(), *self._verdicts(), *self._ending()]

    # line by line

    def _take(self, record: Captioned | Commanded | Expected, number: int, done: bool = True) -> Scripted | None:
        """The line that the record is of; None where it is of none."""
        line = self._lines.get(record.line)
        if line is not None:
            self._came.setdefault(line.line, _Came(number, record.at_us)).done &= done
        return line

    def _commanded(self, record: Commanded, number: int) -> None:
        line = self._take(record, number)
        fresh, self._fresh = self._fresh, []
        if line is None:
            return
        if record.refused or not record.changed:
            was = f"it was refused: {record.outcome}" if record.refused else record.outcome
            self._found.append(Finding(line.line, line.source, was, number, record.at_us))
            return
        verb = line.text.partition(" ")[0]
        for fault, at in fresh:
            if fault.kind == verb:
                self._faults.append(_Declared(line.line, fault.id, at, fault.at_us))

    def _expected(self, record: Expected, number: int) -> None:
        line = self._take(record, number, record.met)
        if line is None or record.met:
            return
        predicate, wanted = None, True
        if isinstance(line.command, Expect | ExpectThroughout):
            predicate = line.command.predicate
            wanted = not isinstance(line.command, ExpectThroughout) or line.command.always
        values = "" if predicate is None else values_told(predicate, self.cluster, self._suspicions, wanted)
        was = ": ".join(filter(None, (record.why, values)))
        self._found.append(Finding(line.line, line.source, was or "it was not so", number, record.at_us))

    # the run as a whole

    def _inert(self) -> list[Finding]:
        """Lines whose faults touched nothing, all of them together."""
        views = {view.id: view for view in (*self.cluster.lifted, *self.cluster.faults.values())}
        touched: dict[int, int] = {}
        for fault in self._faults:
            view = views.get(fault.id)
            touched[fault.line] = touched.get(fault.line, 0) + (0 if view is None else view.touched)
        first = {fault.line: fault for fault in reversed(self._faults)}
        return [
            Finding(number, self._lines[number].source, _INERT, fault.record, fault.at_us)
            for number, fault in first.items()
            if not touched[number]
        ]

    def _missing(self) -> list[Finding]:
        return [
            Finding(number, line.source, self._why_missing(line))
            for number, line in self._lines.items()
            if number not in self._came and not isinstance(line.command, ExpectViolation)
        ]

    def _why_missing(self, line: Scripted) -> str:
        before = self._before.get(line.line)
        trigger = line.source.removesuffix(line.text).strip().rstrip(":").removeprefix("then").strip()
        if before is None:
            return f"its trigger never came: {trigger}" if trigger else "the run ended before it was known"
        came = self._came.get(before)
        if came is None:
            return f"it waited behind line {before}, which never came"
        if not came.done:
            return f"it waited behind line {before}, which was not met"
        since = f"line {before} was done at {_seconds(came.at_us)}"
        if not trigger:
            return f"the run ended before its turn: {since}"
        return f"its trigger never came: {trigger}; {since}"

    def _verdicts(self) -> list[Finding]:
        """What lines expect of the verdicts, and the failures that none expects."""
        found: list[Finding] = []
        spoken_of: list[Violation] = []
        for line in self._lines.values():
            expected = line.command
            if not isinstance(expected, ExpectViolation):
                continue
            hits = [each for each in self.judge.violations if is_meant(expected, each)]
            spoken_of += hits
            if expected.none and hits:
                found.append(_finding(line, f"{hits[0]}", hits[0]))
            elif not expected.none and not hits:
                found.append(self._not_violated(line, expected))
        unexpected: dict[str, Violation] = {}
        for violation in self.judge.violations:
            if violation.is_failure and violation not in spoken_of:
                unexpected.setdefault(violation.assertion, violation)
        return found + [self._unexpected(violation) for violation in unexpected.values()]

    def _unexpected(self, violation: Violation) -> Finding:
        expected, was = f"{violation.assertion} holds", str(violation)
        if violation.assertion == RAISES.id:
            expected, (was,) = RAISES.statement, failure_lines([self._failed[violation.record]], self._file)
        return Finding(0, expected, was, violation.record, violation.at_us)

    def _not_violated(self, line: Scripted, expected: ExpectViolation) -> Finding:
        other = next((each for each in self.judge.violations if each.assertion == expected.assertion), None)
        if other is None:
            return _finding(line, f"no violation of {expected.assertion} was found", None)
        cause = f"{expected.under}, which breaks assumption {CAUSES[expected.under]}"
        return _finding(line, f"not under {cause}: {other}", other)

    def _ending(self) -> list[Finding]:
        ends_us = self._scenario.ends_us
        expected = f"the run goes on for {format_us(ends_us)}"
        if self._end is None:
            return [Finding(0, expected, "the recording was cut off", self.cluster.record, self.cluster.at_us)]
        if self._end.at_us < ends_us - _EARLY_US:
            was = f"it ended at {_seconds(self._end.at_us)}: {self._end.why}"
            return [Finding(0, expected, was, self.cluster.record, self._end.at_us)]
        return []


def is_meant(expected: ExpectViolation, violation: Violation) -> bool:
    """Whether it is of the assertion and, if a cause is named, found while the assumption of that was broken."""
    """Whether the violation is one of those that a line speaks of."""
    if expected.assertion not in ("", violation.assertion):
        return False
    broken = {each.assumption for each in (*violation.broken, *violation.beside)}
    return not expected.under or CAUSES[expected.under] in broken


def _finding(line: Scripted, was: str, shown: Violation | None) -> Finding:
    if shown is None:
        return Finding(line.line, line.source, was)
    return Finding(line.line, line.source, was, shown.record, shown.at_us)


def _seconds(us: int) -> str:
    return f"{us / 1e6:.3f} s"

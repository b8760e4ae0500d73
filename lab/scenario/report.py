"""The report: from a scenario and the records of a run of it, in whatever world, to what was not as it should be.

A scenario fails when something that it expects was not, when a line of it never came, was refused or changed
nothing, when a fault of it touched nothing, when a node failed by an error of its own, and when an assertion
fails though all assumptions hold, and no line expects that. What is violated under a broken assumption is no
failure, unless a line says that it must not be.
"""

from collections.abc import Iterable

from msgspec import Struct

from lab.analysis.failures import failure_lines
from lab.analysis.script_log import Deed, deed_of, inert_deeds
from lab.kernel import Step
from lab.properties import RAISES, Judge, Violation
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import RecordStore
from lab.recording.records import End, Fault, Header, Record
from lab.scenario.file import Scenario, World
from lab.scenario.values import why_unmet
from lab.script import ExpectThroughout, ExpectViolation, Scripted, predecessors
from lab.script.expectations import CAUSES
from lab.script.holding import Suspicions
from lab.units import format_us

__all__ = ["Course", "Finding", "Report", "is_meant", "report_of"]

_EARLY_US = 50_000
"""A live run ends by a clock; so much sooner than it should is no matter."""
_INERT = "the fault was inert: it touched nothing"


class Finding(Struct, frozen=True):
    """What was not as it should be. ``line`` is its number in the scenario, 0 where it is of none.

    ``expected`` is what should have been, ``was`` what was. ``line_of_recording`` is that of the record that shows
    it, from 1, None where none does; ``at_us`` its time.
    """

    line: int
    expected: str
    was: str
    line_of_recording: int | None = None
    at_us: int = 0


class Report(Struct, frozen=True):
    """What came of a run of a scenario. ``ended_us``: how long it went on, by its own clock; ``took_s``: how long
    that took. ``recording`` is its file, if it is kept. ``too_slow`` is said of a live run that failed where the
    machine was late by itself: what failed may be no fault of the protocol.
    """

    name: str
    path: str
    world: World
    seed: int
    findings: tuple[Finding, ...]
    ended_us: int
    recording: str = ""
    took_s: float = 0.0
    too_slow: str = ""

    @property
    def passed(self) -> bool:
        """Whether all was as it should be."""
        return not self.findings


def report_of(scenario: Scenario, lines: RecordStore) -> Report:
    """The report on a run of the scenario, which is over."""
    course = Course(scenario.lines, scenario.ends_us, lines.header)
    findings = tuple(course.gone(lines))
    header = lines.header
    place = (scenario.name, scenario.path, header.world, header.seed)
    return Report(*place, findings, course.cluster.at_us, too_slow=course.too_slow if findings else "")


class Course:
    """The course of a script through a run that goes on until ``ends_us``, as the records tell it.

    ``observe`` is shown all of them.
    """

    def __init__(self, script: Iterable[Scripted], ends_us: int, header: Header) -> None:
        self.cluster = ClusterState.of(header)
        self.judge = Judge(header)
        self._ends_us = ends_us
        self._lines = {line.line: line for line in script}
        self._before = predecessors(self._lines.values())
        self._came: dict[int, Deed] = {}
        self._found: list[Finding] = []
        self._faults: list[tuple[int, Fault]] = []
        self._suspicions = Suspicions()
        self._failed: dict[int, Step] = {}
        self._end: End | None = None
        self._header = header

    def observe(self, record: Record | None) -> None:
        """Take the next record."""
        self.cluster.apply(record)
        self.judge.observe(record)
        self._suspicions.observe(record)
        number = self.cluster.record
        if isinstance(record, Step):
            if record.failed:
                self._failed[number] = record
        elif isinstance(record, Fault):
            self._faults.append((number, record))
        elif isinstance(record, End):
            self._end = record
        elif (deed := deed_of(number, record)) is not None and deed.line in self._lines:
            self._take(deed)

    def findings(self) -> list[Finding]:
        """What was not as it should be, the run being over."""
        found = [*self._found, *self._inert(), *self._missing(), *self._verdicts(), *self._ending()]
        return sorted(found, key=lambda finding: (finding.line == 0, finding.line))

    def gone(self, lines: RecordStore) -> list[Finding]:
        """The same, of a run that is over and recorded in these lines."""
        for record in lines.records():
            self.observe(record)
        return self.findings()

    @property
    def too_slow(self) -> str:
        """That the machine was late by itself in a live run, and what to do; empty where it was not."""
        late, timing, link = self.judge.late, self._header.timing, self._header.link
        as_set = link.latency_us + link.jitter_us > timing.tm_us
        if late is None or self._header.world != "live" or as_set:
            return ""
        slow = f"the machine was too slow for T = {format_us(timing.t_us)} ({late.why})"
        return f"{slow}: run it again, or give a larger t"

    # line by line

    def _take(self, deed: Deed) -> None:
        self._came.setdefault(deed.line, deed)
        if deed.is_well:
            return
        line, was = self._lines[deed.line], deed.why
        if deed.how == "refused":
            was = f"it was refused: {was}"
        elif deed.how == "not met":
            was = why_unmet(was, line.command, self.cluster, self._suspicions)
        self._found.append(_finding(line, was, deed))

    # the run as a whole

    def _inert(self) -> list[Finding]:
        """Lines whose faults touched nothing, beside those of which that is told already."""
        told = {finding.line for finding in self._found}
        return [
            _finding(self._lines[deed.line], _INERT, deed)
            for deed in inert_deeds(self._faults, self.cluster)
            if deed.line in self._lines and deed.line not in told
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
        if isinstance(self._lines[before].command, ExpectThroughout):  # nothing waits for its end
            return f"its trigger never came: {trigger or 'that of the line before it'}; it is behind line {before}"
        if came is None:
            return f"it waited behind line {before}, which never came"
        if came.how == "not met":
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
            failed, file = self._failed[violation.record], self._header.protocol.file
            expected, (was,) = RAISES.statement, failure_lines([failed], file)
        return Finding(0, expected, was, violation.record + 1, violation.at_us)

    def _not_violated(self, line: Scripted, expected: ExpectViolation) -> Finding:
        other = next((each for each in self.judge.violations if each.assertion == expected.assertion), None)
        if other is None:
            return _finding(line, f"no violation of {expected.assertion} was found", None)
        cause = f"{expected.under}, which breaks assumption {CAUSES[expected.under]}"
        return _finding(line, f"not under {cause}: {other}", other)

    def _ending(self) -> list[Finding]:
        ends_us = self._ends_us
        expected = f"the run goes on for {format_us(ends_us)}"
        if self._end is None:
            return [Finding(0, expected, "the recording was cut off", self.cluster.record + 1, self.cluster.at_us)]
        if self._end.at_us < ends_us - _EARLY_US:
            was = f"it ended at {_seconds(self._end.at_us)}: {self._end.why}"
            return [Finding(0, expected, was, self.cluster.record + 1, self._end.at_us)]
        return []


def is_meant(expected: ExpectViolation, violation: Violation) -> bool:
    """Whether it is of the assertion and, if a cause is named, a fault of that kind broke what that relies on."""
    if expected.assertion not in ("", violation.assertion):
        return False
    under = expected.under
    return not under or any(broken.is_by(under, CAUSES[under]) for broken in violation.broken)


def _finding(line: Scripted, was: str, shown: Deed | Violation | None) -> Finding:
    if shown is None:
        return Finding(line.line, line.source, was)
    return Finding(line.line, line.source, was, shown.record + 1, shown.at_us)


def _seconds(us: int) -> str:
    return f"{us / 1e6:.3f} s"

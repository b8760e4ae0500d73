"""Report on a run of a scenario, from its records, in any world.

A scenario fails if an expectation is not met; if a line never runs, is refused or changes nothing; if a fault is
inert; if a node fails by an error of its own; if an assertion is violated while all assumptions hold and no line
expects that; or if the history of its clients is wrong and no line expects that. A violation under a broken
assumption is excused, unless a line expects that there is none.
"""

from collections.abc import Iterable
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.client_history import ClientHistory, check_clients
from lab.analysis.inspection import failure_lines, has_erred
from lab.analysis.script_log import LineResult, inert_results, line_result
from lab.histories.results import CheckResult
from lab.kernel import Step
from lab.properties.assertions import RAISES
from lab.properties.judge import Judge
from lab.properties.verdicts import ERROR_IN_CODE, Violation
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import RecordStore
from lab.recording.records import End, Fault, Header, Process, Record
from lab.scenario.file import Scenario, World
from lab.script.director import TIMED_OUT
from lab.script.predicates import Suspicions
from lab.script.statements import CAUSES, Expectation, ExpectThroughout, ExpectViolation, Statement, predecessors
from lab.units import format_us

_EARLY_US = 50_000
"""Tolerance for the end of a live run, which is controlled by a clock."""
_INERT = "the fault was inert: it touched nothing"


class ScenarioFinding(Struct, frozen=True):
    """A failure of a scenario. ``line`` is its number in the scenario, 0 if it belongs to none.

    ``expected`` is what should have happened, ``was`` what did. ``line_of_recording`` is the line of the record
    that shows it, from 1, or None; ``at_us`` its time.
    """

    line: int
    expected: str
    was: str
    line_of_recording: int | None = None
    at_us: int = 0


class ScenarioReport(Struct, frozen=True):
    """A report on a run of a scenario. ``recording`` is the path of its recording, if it is kept.

    ``ended_us``: the time of its end by its own clock; ``took_s``: its duration in real time. ``too_slow``: a
    message if a live run failed on a machine that was too slow, so that the protocol may not be to blame.
    ``not_judged`` are the verdicts on assertions that were not judged; if that is all of them, and the script
    expects nothing, the run ``proves_nothing``.
    """

    name: str
    path: str
    world: World
    seed: int
    findings: tuple[ScenarioFinding, ...]
    ended_us: int
    recording: str = ""
    took_s: float = 0.0
    too_slow: str = ""
    not_judged: tuple[str, ...] = ()
    proves_nothing: bool = False

    @property
    def passed(self) -> bool:
        """True if there are no findings."""
        return not self.findings


def report_of(scenario: Scenario, store: RecordStore) -> ScenarioReport:
    """Return the report on a completed run of the scenario."""
    checker = ScriptChecker(scenario.lines, scenario.ends_us, store.header)
    findings = tuple(checker.findings_in(store))
    header = store.header
    place = (scenario.name, scenario.path, header.world, header.seed)
    verdicts = checker.judge.verdicts()
    history = checker.history
    not_judged = [str(each) for each in verdicts if each.word == "not judged"]
    if history is not None:
        not_judged += [str(history)] if history.word in ("not judged", "undecided") else []
    most = len(verdicts) + (history is not None)
    return ScenarioReport(
        *place,
        findings,
        checker.cluster.at_us,
        too_slow=checker.too_slow if findings else "",
        not_judged=tuple(not_judged),
        proves_nothing=len(not_judged) == most > 0 and not has_expectations(scenario.lines),
    )


def has_expectations(script: Iterable[Statement]) -> bool:
    """Return whether a script expects anything."""
    return any(isinstance(line.command, Expectation) for line in script)


class ScriptChecker:
    """Check a script against the records of a run that ends at ``ends_us``.

    ``observe`` must be called with each record.
    """

    def __init__(self, script: Iterable[Statement], ends_us: int, header: Header) -> None:
        self.cluster = ClusterState.of(header)
        self.judge = Judge(header)
        self._ends_us = ends_us
        self._lines = {line.line: line for line in script}
        self._before = predecessors(self._lines.values())
        self._entries: dict[int, LineResult] = {}
        self._found: list[ScenarioFinding] = []
        self._faults: list[tuple[int, Fault]] = []
        self._suspicions = Suspicions()
        self._failed: dict[int, Step | Process] = {}
        self._clients = ClientHistory(header)
        self._end: End | None = None
        self._header = header

    def observe(self, record: Record | None) -> None:
        """Process the next record."""
        self.cluster.apply(record)
        self.judge.observe(record)
        self._suspicions.observe(record)
        if self._clients.workload:
            self._clients.observe(record)
        number = self.cluster.record
        if has_erred(record):
            self._failed[number] = record
        elif isinstance(record, Fault):
            self._faults.append((number, record))
        elif isinstance(record, End):
            self._end = record
        elif (result := line_result(number, record)) is not None and result.line in self._lines:
            self._on_line_entry(result)

    def findings(self) -> list[ScenarioFinding]:
        """Return the failures, after the end of the run."""
        found = [
            *self._found,
            *self._inert(),
            *self._missing(),
            *self._verdicts(),
            *self._workload(),
            *self._ending(),
        ]
        return sorted(found, key=lambda finding: (finding.line == 0, finding.line))

    def findings_in(self, store: RecordStore) -> list[ScenarioFinding]:
        """Process all records of a completed run and return the failures."""
        for record in store.records():
            self.observe(record)
        return self.findings()

    @cached_property
    def history(self) -> CheckResult | None:
        """The verdict on the history of the clients, after the end of the run; None without clients."""
        return check_clients(self._clients)

    @property
    def too_slow(self) -> str:
        """A message if the machine was too slow for a live run; else empty."""
        late, timing, link = self.judge.late, self._header.timing, self._header.link
        as_set = link.latency_us + link.jitter_us > timing.tm_us
        if late is None or self._header.world != "live" or as_set:
            return ""
        slow = f"the machine was too slow for T = {format_us(timing.t_us)} ({late.why})"
        return f"{slow}: run it again, or give a larger t"

    # line by line

    def _on_line_entry(self, result: LineResult) -> None:
        self._entries.setdefault(result.line, result)
        if result.succeeded:
            return
        line, was = self._lines[result.line], result.why
        if result.how == "refused":
            was = f"refused: {was}"
        elif result.how == "not met" and isinstance(line.command, Expectation):
            was = line.command.explain_unmet(was, self.cluster, self._suspicions)
            was += f"; {self.judge.stall.text}" if result.why == TIMED_OUT and self.judge.stall is not None else ""
        self._found.append(_finding(line, was, result))

    # the run as a whole

    def _inert(self) -> list[ScenarioFinding]:
        """Return findings for the lines with inert faults that have no finding yet."""
        reported = {finding.line for finding in self._found}
        return [
            _finding(self._lines[result.line], _INERT, result)
            for result in inert_results(self._faults, self.cluster)
            if result.line in self._lines and result.line not in reported
        ]

    def _missing(self) -> list[ScenarioFinding]:
        return [
            ScenarioFinding(number, line.source, self._why_missing(line))
            for number, line in self._lines.items()
            if number not in self._entries and not isinstance(line.command, ExpectViolation)
        ]

    def _why_missing(self, line: Statement) -> str:
        before = self._before.get(line.line)
        trigger = line.source.removesuffix(line.text).strip().rstrip(":").removeprefix("then").strip()
        if before is None:
            return (
                f"its trigger never fired: {trigger}" if trigger else "the run ended before its result was known"
            )
        previous = self._entries.get(before)
        if isinstance(self._lines[before].command, ExpectThroughout):  # its successor does not wait for its result
            return f"its trigger never fired: {trigger or 'that of the previous line'}; it follows line {before}"
        if previous is None:
            return f"it waited for line {before}, which never ran"
        if previous.how == "not met":
            return f"it waited for line {before}, which was not met"
        since = f"line {before} was done at {_seconds(previous.at_us)}"
        if not trigger:
            return f"the run ended before it was due: {since}"
        return f"its trigger never fired: {trigger}; {since}"

    def _verdicts(self) -> list[ScenarioFinding]:
        """Return unmet expectations of violations, those that no line expects, and errors in assertions."""
        found: list[ScenarioFinding] = []
        expected_violations: list[Violation] = []
        for line in self._lines.values():
            expected = line.command
            if not isinstance(expected, ExpectViolation) or self._is_of_clients(expected):
                continue
            hits = [each for each in self.judge.violations if matches_violation(expected, each)]
            expected_violations += hits
            if expected.none and hits:
                found.append(_finding(line, f"{hits[0]}", hits[0]))
            elif expected.none and (why := why_not_judged(self.judge, expected)):
                found.append(_finding(line, why, None))
            elif not expected.none and not hits:
                found.append(self._not_violated(line, expected))
        unexpected: dict[str, Violation] = {}
        for violation in self.judge.violations:
            if violation.is_failure and violation not in expected_violations:
                unexpected.setdefault(violation.assertion, violation)
        in_error = (
            ScenarioFinding(0, f"{name} holds", f"not judged: {ERROR_IN_CODE}: {error}")
            for name, error in self.judge.errors.items()
        )
        return [*found, *map(self._unexpected, unexpected.values()), *in_error]

    def _workload(self) -> list[ScenarioFinding]:
        """Return a finding if the history of the clients is not as expected: by default, right."""
        result = self.history
        if result is None:
            return []
        found, is_expected = [], False
        for line in self._lines.values():
            expected = line.command
            if isinstance(expected, ExpectViolation) and self._is_of_clients(expected):
                is_expected = True
                if result.word != ("holds" if expected.none else "fails"):
                    found.append(_finding(line, _in_short(result), None))
        if result.word == "fails" and not is_expected:
            found.append(ScenarioFinding(0, f"{self._clients.workload} holds", _in_short(result)))
        return found

    def _is_of_clients(self, expected: ExpectViolation) -> bool:
        return expected.assertion != "" and expected.assertion == self._clients.workload

    def _unexpected(self, violation: Violation) -> ScenarioFinding:
        expected, was = f"{violation.assertion} holds", str(violation)
        if violation.assertion == RAISES.id:
            failed, file = self._failed[violation.record], self._header.protocol.file
            expected, (was,) = RAISES.statement, failure_lines([failed], file)
        return ScenarioFinding(0, expected, was, violation.record + 1, violation.at_us)

    def _not_violated(self, line: Statement, expected: ExpectViolation) -> ScenarioFinding:
        other = next((each for each in self.judge.violations if each.assertion == expected.assertion), None)
        if other is None:
            return _finding(line, f"no violation of {expected.assertion} was found", None)
        cause = f"{expected.under}, which breaks assumption {CAUSES[expected.under]}"
        return _finding(line, f"not under {cause}: {other}", other)

    def _ending(self) -> list[ScenarioFinding]:
        ends_us = self._ends_us
        expected = f"the run lasts {format_us(ends_us)}"
        if self._end is None:
            return [
                ScenarioFinding(
                    0, expected, "the recording is truncated", self.cluster.record + 1, self.cluster.at_us
                )
            ]
        if self._end.at_us < ends_us - _EARLY_US:
            was = f"it ended at {_seconds(self._end.at_us)}: {self._end.why}"
            return [ScenarioFinding(0, expected, was, self.cluster.record + 1, self._end.at_us)]
        return []


def why_not_judged(judge: Judge, expected: ExpectViolation) -> str:
    """Return why a run cannot show that there is no violation; empty if it can."""
    verdicts = [each for each in judge.verdicts() if expected.assertion in ("", each.assertion)]
    if not verdicts or any(each.word != "not judged" for each in verdicts):
        return ""
    return str(verdicts[0]) if expected.assertion else "nothing was judged"


def matches_violation(expected: ExpectViolation, violation: Violation) -> bool:
    """Return whether a violation is of the expected assertion, and under the expected kind of fault, if any."""
    if expected.assertion not in ("", violation.assertion):
        return False
    under = expected.under
    return not under or any(broken.is_caused_by(under, CAUSES[under]) for broken in violation.broken)


def _finding(line: Statement, was: str, shown: LineResult | Violation | None) -> ScenarioFinding:
    if shown is None:
        return ScenarioFinding(line.line, line.source, was)
    return ScenarioFinding(line.line, line.source, was, shown.record + 1, shown.at_us)


def _in_short(result: CheckResult) -> str:
    """Return a verdict with its first finding; ``lab consistency`` shows the others, and the picture."""
    return str(replace(result, findings=result.findings[:1])).replace("\n", ": ")


def _seconds(us: int) -> str:
    return f"{us / 1e6:.3f} s"

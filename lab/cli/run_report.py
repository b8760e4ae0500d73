"""The report of ``lab run`` without the interface: a summary, the verdicts, and what was not as expected."""

from collections import Counter
from collections.abc import Callable
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.client_history import ClientHistory
from lab.analysis.elections import ElectionLog, SettledElection
from lab.analysis.history import History
from lab.analysis.inspection import failure_lines, has_erred
from lab.cli.documents import Document, print_json
from lab.cli.history_report import WorkloadSummary, judge_clients
from lab.cli.progress import Progress
from lab.cli.recording_report import (
    VerdictSummary,
    format_errors,
    format_verdicts,
    is_unjudged,
    summarize_verdicts,
)
from lab.cli.scenario_check import format_report
from lab.cli.terminal import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, fail
from lab.kernel import CommandInput, Step
from lab.output import print_error, print_line
from lab.properties.assertions import describe_state
from lab.properties.judge import Judge
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import FileRecords, NotARecordingError, open_recording
from lab.recording.records import Captioned, Commanded, End, Expected, Header, Process, Record
from lab.recording.snapshot import ActiveFault, NodeState
from lab.scenario.file import Scenario
from lab.scenario.report import ScenarioReport, ScriptChecker, report_of
from lab.script.parse import parse, read_script
from lab.script.predicates import Suspicions
from lab.script.scope import NodeNames
from lab.script.statements import Expectation, Statement
from lab.tasks.analysis import Analysis, Report
from lab.tasks.extension import analysis_of, built_in_extensions, start_analysis
from lab.text import sanitize
from lab.units import format_count, format_ranges, format_us
from lab.worlds.loading.config import RunConfig, load_protocols
from lab.worlds.loading.sandboxed_protocol import describe_left_out


class NodeSummary(Struct, frozen=True):
    """A node at the end of the run. ``alive``: its process exists, even if paused. ``group``: such as ``5.3``."""

    alive: bool
    process: str
    status: str
    coordinator: int | None
    up: tuple[int, ...]
    definition_version: int
    group: str | None


class FaultSummary(Struct, frozen=True):
    """A fault of the run. ``touched`` counts nodes for a fault of nodes, messages for one of links; 0 if inert."""

    command: str
    touched: int
    messages: int
    assumptions: tuple[int, ...]


class Note(Struct, frozen=True):
    """A note of a node that was given a protocol command, or one on it by the analysis of the protocol."""

    at_us: int
    node: int
    text: str


class NoteLog:
    """Collect these notes; ``analysis`` is what the protocol computes of the run."""

    def __init__(self, analysis: Analysis) -> None:
        self.notes: list[Note] = []
        self._analysis = analysis
        self._commanded: set[int] = set()

    def observe(self, record: Record | None) -> None:
        """Process the next record."""
        note = self._analysis.observe(record)
        if isinstance(record, Step):
            if isinstance(record.input, CommandInput):
                self._commanded.add(record.node)
            if record.notes and record.node in self._commanded:
                self.notes += [Note(record.at_us, record.node, text) for text in record.notes]
        if note and isinstance(record, Step | Process):
            self.notes.append(Note(record.at_us, record.node, note))


Figures = TypeVar("Figures")


class RunDocument(Document, Generic[Figures], frozen=True):
    """The summary of a run. Times are microseconds since the run began; ``recording`` is a path.

    ``settings`` are the parameters, as ``name=value``; ``figures`` are what the protocol reports of the run.
    """

    world: str
    protocol: str
    settings: tuple[str, ...]
    nodes: dict[int, NodeSummary]
    elections: tuple[SettledElection, ...]
    messages: dict[str, int]
    faults: tuple[FaultSummary, ...]
    notes: tuple[Note, ...]
    figures: Figures | None
    duration_us: int
    recording: str
    verdicts: tuple[VerdictSummary, ...] = ()
    scenario: ScenarioReport | None = None
    workload: WorkloadSummary | None = None


def document_type() -> Any:
    """Return the type of the document for runs of built-in protocols."""
    kinds = [kind for each in built_in_extensions() if (kind := analysis_of(each).figures) is not None]
    return RunDocument[reduce(or_, kinds)]  # type: ignore[misc]


def summarize(
    header: Header,
    cluster: ClusterState,
    elections: ElectionLog,
    notes: NoteLog,
    report: Report,
    recording: str,
) -> RunDocument[Struct]:
    """Return the summary of a run, after all its records were applied to ``cluster`` and the logs."""
    faults = sorted([*cluster.lifted, *cluster.faults.values()], key=lambda fault: fault.id)
    return RunDocument(
        header.world,
        header.title,
        header.protocol.settings,
        {node: _node(view) for node, view in sorted(cluster.nodes.items())},
        tuple(elections.settled),
        dict(sorted(cluster.messages.items())),
        tuple(map(_fault, faults)),
        tuple(notes.notes),
        report.figures,
        cluster.at_us,
        recording,
    )


def _node(view: NodeState) -> NodeSummary:
    return NodeSummary(
        view.process in ("running", "paused"),
        view.process,
        describe_state(view) if view.state and "status" not in view.state else view.status,
        view.coordinator,
        view.up,
        view.definition_version,
        None if view.group is None else ".".join(map(str, view.group)),
    )


def _fault(fault: ActiveFault) -> FaultSummary:
    return FaultSummary(fault.text, fault.touched, fault.messages, fault.breaks)


_MOST_NOTES, _LAST_NOTES = 20, 5
_MOST_INEFFECTIVE = 5


def report_run(config: RunConfig, as_json: bool, interrupted: bool, scenario: Scenario | None) -> int:
    """Report the run that has ended, with the report of the ``scenario`` if given; return the exit status."""
    try:
        store = open_recording(Path(config.recording))
    except NotARecordingError as error:
        if interrupted:  # before the recording began
            return EXIT_INTERRUPTED
        fail(str(error), EXIT_NOT_AS_EXPECTED)
    judge = Judge(store.header)
    with Progress("judging the recording", "record", len(store)) as progress:
        clients = ClientHistory(store.header)
        summary, lines, problems = _summary_of(store, config, judge, clients, progress)
        workload = judge_clients(clients)
    report = None if scenario is None else replace(report_of(scenario, store), recording=config.recording)
    if as_json:
        verdicts = summarize_verdicts(judge)
        judged = None if workload is None else workload.summary
        print_json(replace(summary, verdicts=verdicts, scenario=report, workload=judged))
    else:
        _print_summary(summary, lines)
        lines = (
            *format_verdicts(judge, store, workload is not None),
            *(() if workload is None else workload.lines()),
            *(() if report is None else format_report(report)),
        )
        for line in lines:
            print_line(f"  {line}" if line else "")
    if report is not None:  # it contains the problems
        return EXIT_INTERRUPTED if interrupted else 0 if report.passed else EXIT_NOT_AS_EXPECTED
    if interrupted and not judge.has_run:
        return EXIT_INTERRUPTED
    problems += _script_problems(config, store) if config.script else format_errors(judge.errors)
    for line in problems:
        print_error(line)
    left_out = describe_left_out(load_protocols(config))
    if left_out:
        print_error(left_out)
    if interrupted:
        return EXIT_INTERRUPTED
    # with a script, unexpected failures are among the problems
    failed = not config.script and any(verdict.failures for verdict in judge.verdicts())
    failed |= bool(left_out) and not judge.verdicts()
    if workload is not None:
        failed |= not workload.holds
    elif is_unjudged(judge) and not any(isinstance(line.command, Expectation) for line in _lines_of(config)):
        print_error("nothing was judged, so nothing holds; let the run do more, or last longer: --for")
        failed = True
    return EXIT_NOT_AS_EXPECTED if problems or failed else 0


def _lines_of(config: RunConfig) -> list[Statement]:
    """Return the lines that the run was given, by its script and by options."""
    return [*read_script(config.script), *map(parse, config.commands)]


def _script_problems(config: RunConfig, store: FileRecords) -> list[str]:
    """Return what deviates from the script, by the rules for scenarios."""
    lines = read_script(config.script, first=config.first_line, names=NodeNames.of(store.header))
    checker = ScriptChecker(lines, config.end_us or 0, store.header)
    return [
        f"script line {finding.line}, {finding.expected}: {finding.was}" if finding.line else finding.was
        for finding in checker.findings_in(store)
    ]


def _summary_of(
    store: FileRecords,
    config: RunConfig,
    judge: Judge,
    clients: ClientHistory,
    progress: Callable[[int], None],
) -> tuple[RunDocument[Struct], tuple[str, ...], list[str]]:
    """Return the summary of the run, the lines that its protocol reports, and the problems.

    Problems are manual commands not carried out, and failed nodes; these are left out if there is a script, which
    may expect them. ``judge`` observes every record. ``progress`` is called with the number of records, every
    thousand.
    """
    header = store.header
    history = History(header)
    elections = history.add(ElectionLog(history.cluster))
    history.add(judge)
    history.add(clients)
    analysis = start_analysis(header, history.cluster)
    notes = history.add(NoteLog(analysis))
    manual = history.add(ManualCommands(config.commands, header, history.cluster))
    history.read(store.records(), progress)
    failed = [] if config.script else manual.failures
    problems = manual.problems() + failure_lines(failed, header.protocol.file)
    without = [node for node, view in history.cluster.nodes.items() if view.process == "absent"]
    if without:
        end = store.record(len(store) - 1)
        why = f": {end.why}" if isinstance(end, End) else ""
        problems.append(f"{'node' if len(without) == 1 else 'nodes'} {format_ranges(without)} never ran{why}")
    reported = analysis.report(str(store.path))
    summary = summarize(header, history.cluster, elections, notes, reported, str(store.path))
    return summary, (*manual.ineffective(), *reported.lines), problems


def _print_summary(summary: RunDocument[Struct], reported: tuple[str, ...]) -> None:
    head = (summary.protocol, *summary.settings, summary.world, format_us(round(summary.duration_us, -3)))
    print_line(", ".join(head))
    for node, view in summary.nodes.items():
        led = "" if view.coordinator is None else f" under {view.coordinator}"
        group = "" if view.group is None else f" in group {view.group}"
        print_line(f"  node {node}  {view.process:8} {view.status}{led}{group}")
    for election in summary.elections:
        lost = (
            ""
            if election.lost_at_us is None
            else f", {_seconds(election.settled_at_us - election.lost_at_us)} after"
        )
        lost += "" if election.lost_at_us is None else f" the loss at {_seconds(election.lost_at_us)}"
        print_line(f"  {_seconds(election.settled_at_us)}  all under {election.coordinator}{lost}")
    for fault in summary.faults:
        inert = "" if fault.touched else "  (inert: no effect)"
        print_line(f"  fault: {fault.command}, {format_count(fault.messages, 'message')}{inert}")
    notes = [f"  {_seconds(note.at_us)}  node {note.node}: {sanitize(note.text)}" for note in summary.notes]
    if (more := len(notes) - _MOST_NOTES) > 0:  # the last notes tell the outcome
        more_line = f"  … and {format_count(more, 'note')} more: lab show {summary.recording} --only note"
        notes[_MOST_NOTES - _LAST_NOTES : -_LAST_NOTES] = [more_line]
    for line in notes:
        print_line(line)
    for line in reported:
        print_line(f"  {line}")
    print_line(f"  {format_count(sum(summary.messages.values()), 'message')}; recorded in {summary.recording}")


def _seconds(us: int) -> str:
    return f"{us / 1e6:.3f} s"


class ManualCommands:
    """A fold over a run that was given these lines; with ``failures``, its nodes fail by errors of their own.

    ``cluster`` is the state after each record. The records of a parent run count only for suspicions: these lines
    were not given to it.
    """

    def __init__(self, lines: tuple[str, ...], header: Header, cluster: ClusterState) -> None:
        self.failures: list[Step | Process] = []
        self._names = NodeNames.of(header)
        self._pending = [parse(line, names=self._names) for line in lines]
        self._cluster = cluster
        self._own_from = 0 if header.parent is None else header.parent.record + 1
        self._suspicions = Suspicions()
        self._problems: list[str] = []
        self._ineffective = Counter[str]()

    def observe(self, record: Record | None) -> None:
        """Process the next record."""
        self._suspicions.observe(record)
        if self._cluster.record < self._own_from:
            return
        if has_erred(record):
            self.failures.append(record)
        if not isinstance(record, Captioned | Commanded | Expected) or record.line:
            return
        matching = next((line for line in self._pending if line.recorded_text == record.text), None)
        if matching is not None:
            self._pending.remove(matching)
        if isinstance(record, Commanded) and record.refused:
            self._problems.append(f"{record.text}: {record.outcome}")
        elif isinstance(record, Commanded) and not record.changed:
            why = record.outcome.removesuffix(", nothing changed")
            self._ineffective[f"{record.text} ({why})"] += 1
        elif isinstance(record, Expected) and not record.met:
            expectation, why = parse(record.text, names=self._names).command, record.why
            if isinstance(expectation, Expectation):  # else a trigger could not be evaluated
                why = expectation.explain_unmet(why, self._cluster, self._suspicions)
            self._problems.append(f"{record.text}: {why}")

    def ineffective(self) -> list[str]:
        """Return a line for each command that changed nothing, with the reason."""
        found = self._ineffective.most_common()
        lines = [
            f"without effect: {sanitize(text)}" + (f", {count:,} times" if count > 1 else "")
            for text, count in found[:_MOST_INEFFECTIVE]
        ]
        more = len(found) - len(lines)
        return [*lines, f"without effect: {format_count(more, 'other command')}"] if more else lines

    def problems(self) -> list[str]:
        """Return what was refused, not met, or not due before the end of the run."""
        return [*self._problems, *(f"never due: {line.source}" for line in self._pending)]

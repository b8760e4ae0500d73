"""Run a host, and show the interface or print a report."""

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import msgspec
from msgspec.structs import replace

from lab.analysis.commit_history import CommitLog
from lab.analysis.elections import ElectionLog
from lab.analysis.inspection import failed_steps, failure_lines
from lab.analysis.run_summary import NoteLog, Summary, summarize
from lab.cli.scenario_check import format_report
from lab.cli.terminal import (
    EXIT_INTERRUPTED,
    EXIT_NOT_AS_EXPECTED,
    count_progress,
    fail,
    progress_line,
    require_terminal,
)
from lab.cli.verdict_report import format_verdicts, summarize_verdicts
from lab.kernel import Step
from lab.properties.judge import Judge
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import FileRecords, NotARecordingError, open_recording
from lab.recording.records import Captioned, Commanded, Expected, Record
from lab.scenario.file import Scenario
from lab.scenario.report import ScriptChecker, report_of
from lab.scenario.values import explain_unmet
from lab.script.commands import Caption
from lab.script.evaluation import Suspicions
from lab.script.parse import parse, read_script
from lab.script.statements import Statement
from lab.text import sanitize
from lab.units import format_count, format_us
from lab.worlds.host.launch import HostFailedError, HostProcess, HostRefusedError
from lab.worlds.loading.config import NotRunnableError, RunConfig

_MOST_NOTES, _LAST_NOTES = 20, 5
_MOST_OPEN = 10


def run_with_interface(config: RunConfig, tour: bool = False) -> int:
    """Run with the interface, starting with the tour if wanted; print at the end where the recording is."""
    require_terminal("lab run … --headless --for 6s")
    from lab.tui.terminal.guard import run_guarded  # noqa: PLC0415 - loads the interface

    host = HostProcess(config)

    def interface() -> int:
        from lab.tui.apps.runs_app import show_run  # noqa: PLC0415

        return show_run(host.ready, config.run, tour)

    failure = ""
    try:
        status = run_guarded(interface)
    finally:
        failure = host.end()
    if failure and not status:
        print(f"lab: {sanitize(failure)}", file=sys.stderr)
        status = EXIT_NOT_AS_EXPECTED
    if Path(config.recording).exists():
        _print_failures(Path(config.recording))
        print(f"recorded: {config.recording}\nreplay:   lab replay {config.recording}")
    return status


def _print_failures(recording: Path) -> None:
    with contextlib.suppress(NotARecordingError), contextlib.closing(open_recording(recording)) as store:
        for line in failure_lines(failed_steps(store), store.header.protocol.file):
            print(f"lab: {sanitize(line)}", file=sys.stderr)


def run_headless(config: RunConfig, as_json: bool, scenario: Scenario | None = None) -> int:
    """Run without the interface and print a report, with that of the ``scenario`` if given.

    Ctrl-C ends the run early, with a complete recording.
    """
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    if config.world == "simulated":
        return _report_run(config, as_json, _simulate(config), scenario)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    host = HostProcess(config)
    try:
        host.ready()
        _wait(host, config.end_us or 0)
    except KeyboardInterrupt:
        interrupted = True
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        host.end()
    except HostRefusedError as error:
        fail(str(error))
    except HostFailedError as error:
        recording = f" (recording: {config.recording})" if Path(config.recording).exists() else ""
        text, *details = str(error).splitlines()
        for line in details:
            print(sanitize(line), file=sys.stderr)
        fail(f"{text.rstrip(':')}{recording}", EXIT_NOT_AS_EXPECTED)
    return _report_run(config, as_json, interrupted, scenario)


def _report_run(config: RunConfig, as_json: bool, interrupted: bool, scenario: Scenario | None) -> int:
    try:
        store = open_recording(Path(config.recording))
    except NotARecordingError as error:
        if interrupted:  # before the recording began
            return EXIT_INTERRUPTED
        fail(str(error), EXIT_NOT_AS_EXPECTED)
    judge = Judge(store.header)
    with count_progress(len(store)) as progress:
        summary, problems = _summary_of(store, config, judge, progress)
    report = None if scenario is None else replace(report_of(scenario, store), recording=config.recording)
    if as_json:
        found = {**msgspec.structs.asdict(summary), "verdicts": summarize_verdicts(judge)}
        print(msgspec.json.encode(found if report is None else {**found, "scenario": report}).decode())
    else:
        _report(summary)
        for line in (*format_verdicts(judge, store), *(() if report is None else format_report(report))):
            print(f"  {line}")
    if report is not None:  # it contains the problems
        return EXIT_INTERRUPTED if interrupted else 0 if report.passed else EXIT_NOT_AS_EXPECTED
    if config.script:
        problems += _script_problems(config, store)
    for line in problems:
        print(f"lab: {sanitize(line)}", file=sys.stderr)
    if interrupted:
        return EXIT_INTERRUPTED
    # with a script, unexpected failures are among the problems
    failed = not config.script and any(verdict.failures for verdict in judge.verdicts())
    return EXIT_NOT_AS_EXPECTED if problems or failed else 0


def _script_problems(config: RunConfig, store: FileRecords) -> list[str]:
    """Return what deviates from the script, by the rules for scenarios."""
    checker = ScriptChecker(read_script(config.script, first=config.first_line), config.end_us or 0, store.header)
    return [
        f"script line {finding.line}, {finding.expected}: {finding.was}" if finding.line else finding.was
        for finding in checker.findings_in(store)
    ]


@contextlib.contextmanager
def _signals_as_notes(signals: list[str]) -> Iterator[None]:
    """Append signals to the list instead of raising; restore the handlers at the end."""

    def note(number: int, frame: FrameType | None) -> None:
        signals.append(f"signal {signal.Signals(number).name}")

    before = [(number, signal.signal(number, note)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _simulate(config: RunConfig) -> bool:
    """Simulate the run in this process, as fast as possible; return whether a signal ended it early."""
    from lab.worlds.simulated.execution import run_to_end  # noqa: PLC0415 - loads the simulator

    signals: list[str] = []
    end_us = config.end_us or 0

    def check_signals(now_us: int) -> str:
        progress(_progress_bar(now_us, end_us))
        return signals[0] if signals else ""

    def on_reexecuted(done: int) -> None:
        if signals:  # nothing is recorded yet
            raise KeyboardInterrupt
        progress(f"{done:,} of {config.at:,} records")

    try:
        with _signals_as_notes(signals), progress_line() as progress:
            progress(_progress_bar(0, end_us))  # starting a thousand nodes takes some time
            why = run_to_end(config, end_us, check_signals, on_reexecuted)
    except NotRunnableError as error:
        fail(str(error))
    except OSError as error:
        fail(f"the recording cannot be written to {config.recording}: {error.strerror}")
    if why.startswith("the disk"):
        fail(f"the run was stopped: {why} (recording: {config.recording})", EXIT_NOT_AS_EXPECTED)
    return bool(signals)


def _summary_of(
    store: FileRecords, config: RunConfig, judge: Judge, progress: Callable[[int], None]
) -> tuple[Summary, list[str]]:
    """Return the summary of the run, and the problems: manual commands not carried out, and failed nodes.

    Failed nodes are left out if there is a script, which may expect them. ``judge`` observes every record.
    ``progress`` is called with the number of records, every thousand.
    """
    cluster, elections, notes = ClusterState.of(store.header), ElectionLog(), NoteLog()
    commits = CommitLog(store.header.protocol.heartbeats)
    manual = ManualCommands(config.commands, cluster)
    failed: list[Step] = []
    parent = store.header.parent
    for number, record in enumerate(store.records()):
        if number % 1000 == 0:
            progress(number)
        cluster.apply(record)
        elections.observe(record, cluster)
        judge.observe(record)
        notes.observe(record)
        commits.observe(record)
        if parent is not None and number <= parent.record:
            manual.observe_parent(record)
            continue  # that was done in the parent run
        manual.observe(record)
        if isinstance(record, Step) and record.failed and not config.script:
            failed.append(record)
    problems = manual.problems() + failure_lines(failed, store.header.protocol.file)
    return summarize(store.header, cluster, elections, notes, commits, str(store.path)), problems


def _wait(host: HostProcess, end_us: int) -> None:
    began_s = time.monotonic()
    with progress_line() as progress:
        while host.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                host.process.wait(0.1)
            progress(_progress_bar(round((time.monotonic() - began_s) * 1e6), end_us))
    host.wait()


def _progress_bar(past_us: int, end_us: int) -> str:
    return f"{'█' * int(min(1.0, past_us / end_us) * 30):░<30} {past_us / 1e6:.1f} of {format_us(end_us)}"


def _report(summary: Summary) -> None:
    head = (summary.protocol, *summary.settings, summary.world, format_us(round(summary.duration_us, -3)))
    print(", ".join(head))
    for node, view in summary.nodes.items():
        led = "" if view.coordinator is None else f" under {view.coordinator}"
        group = "" if view.group is None else f" in group {view.group}"
        print(f"  node {node}  {view.process:8} {view.status}{led}{group}")
    for election in summary.elections:
        lost = (
            ""
            if election.lost_at_us is None
            else f", {_seconds(election.settled_at_us - election.lost_at_us)} after"
        )
        lost += "" if election.lost_at_us is None else f" the loss at {_seconds(election.lost_at_us)}"
        print(f"  {_seconds(election.settled_at_us)}  all under {election.coordinator}{lost}")
    for fault in summary.faults:
        inert = "" if fault.touched else "  (inert: no effect)"
        print(f"  fault: {fault.command}, {format_count(fault.messages, 'message')}{inert}")
    notes = [f"  {_seconds(note.at_us)}  node {note.node}: {sanitize(note.text)}" for note in summary.notes]
    if (more := len(notes) - _MOST_NOTES) > 0:  # the last notes tell the outcome
        more_line = f"  … and {format_count(more, 'note')} more: lab show {summary.recording} --only note"
        notes[_MOST_NOTES - _LAST_NOTES : -_LAST_NOTES] = [more_line]
    for line in notes:
        print(line)
    if (found := summary.transactions) is not None:
        blocked = f"; nodes blocked for {_seconds(found.blocked_us)}" if found.blocked_us else ""
        text = f"{found.committed:,} committed, {found.aborted:,} aborted, {found.open:,} undecided"
        print(f"  transactions: {text}{blocked}")
    for each in summary.open[:_MOST_OPEN]:
        print(f"  {each.transaction} is open: {sanitize(each.why)}")
    if (more := len(summary.open) - _MOST_OPEN) > 0:
        print(f"  … and {more:,} more are open: lab show {summary.recording} --blocked")
    print(f"  {format_count(sum(summary.messages.values()), 'message')}; recorded in {summary.recording}")


def _seconds(us: int) -> str:
    return f"{us / 1e6:.3f} s"


class ManualCommands:
    """A fold over a run that was given these lines. ``cluster`` must be the state after each record."""

    def __init__(self, lines: tuple[str, ...], cluster: ClusterState) -> None:
        self._pending = [parse(line) for line in lines]
        self._cluster = cluster
        self._suspicions = Suspicions()
        self._problems: list[str] = []

    def observe_parent(self, record: Record | None) -> None:
        """Observe a record of the parent run: its commands were not given to this run."""
        self._suspicions.observe(record)

    def observe(self, record: Record | None) -> None:
        """Observe the next record of this run."""
        self._suspicions.observe(record)
        if not isinstance(record, Captioned | Commanded | Expected) or record.line:
            return
        matching = next((line for line in self._pending if _recorded_text(line) == record.text), None)
        if matching is not None:
            self._pending.remove(matching)
        if isinstance(record, Commanded) and record.refused:
            self._problems.append(f"{record.text}: {record.outcome}")
        elif isinstance(record, Expected) and not record.met:
            why = explain_unmet(record.why, parse(record.text).command, self._cluster, self._suspicions)
            self._problems.append(f"{record.text}: {why}")

    def problems(self) -> list[str]:
        """Return what was refused, not met, or not due before the end of the run."""
        return [*self._problems, *(f"never due: {line.source}" for line in self._pending)]


def _recorded_text(line: Statement) -> str:
    return line.command.text if isinstance(line.command, Caption) else line.source

"""``lab run``: a host, and the interface or a report in front of it."""

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
from lab.analysis.failures import failed_steps, failure_lines
from lab.analysis.run_summary import NoteLog, Summary, summarize
from lab.cli.by_hand import ByHand
from lab.cli.errors import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, fail
from lab.cli.judging import verdict_lines, verdict_summaries
from lab.cli.progress import counted, progress_line
from lab.cli.scenario_report import report_lines
from lab.cli.terminal import need_terminal
from lab.kernel import Step
from lab.properties import Judge
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import FileRecords, NotARecordingError, open_recording
from lab.scenario.file import Scenario
from lab.scenario.report import Course, report_of
from lab.script import read_script
from lab.text import sanitize
from lab.units import count_of, format_us
from lab.worlds.config import NotRunnableError, RunConfig
from lab.worlds.host.launch import HostFailedError, HostProcess, HostRefusedError

__all__ = ["run_headless", "run_with_interface"]

_MOST_NOTES, _LAST_NOTES = 20, 5
_MOST_OPEN = 10


def run_with_interface(config: RunConfig, tour: bool = False) -> int:
    """Run with the interface, which may begin with the tour; says at the end where the recording is."""
    need_terminal("lab run … --headless --for 6s")
    from lab.tui.terminal.guard import run_guarded  # noqa: PLC0415 - only where it is used

    host = HostProcess(config)

    def interface() -> int:
        from lab.tui.main import show_run  # noqa: PLC0415

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
        _tell_failures(Path(config.recording))
        print(f"recorded: {config.recording}\nreplay:   lab replay {config.recording}")
    return status


def _tell_failures(recording: Path) -> None:
    with contextlib.suppress(NotARecordingError), contextlib.closing(open_recording(recording)) as lines:
        for line in failure_lines(failed_steps(lines), lines.header.protocol.file):
            print(f"lab: {sanitize(line)}", file=sys.stderr)


def run_headless(config: RunConfig, as_json: bool, scenario: Scenario | None = None) -> int:
    """Run without the interface, and report, on the ``scenario`` too that it is of.

    Ctrl-C ends the run early, with a complete recording.
    """
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    if config.world == "simulated":
        return _reported(config, as_json, _simulate(config), scenario)
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
        kept = f" (recording: {config.recording})" if Path(config.recording).exists() else ""
        said, *details = str(error).splitlines()
        for line in details:
            print(sanitize(line), file=sys.stderr)
        fail(f"{said.rstrip(':')}{kept}", EXIT_NOT_AS_EXPECTED)
    return _reported(config, as_json, interrupted, scenario)


def _reported(config: RunConfig, as_json: bool, interrupted: bool, scenario: Scenario | None) -> int:
    try:
        lines = open_recording(Path(config.recording))
    except NotARecordingError as error:
        if interrupted:  # before it began
            return EXIT_INTERRUPTED
        fail(str(error), EXIT_NOT_AS_EXPECTED)
    judge = Judge(lines.header)
    with counted(len(lines)) as tell:
        summary, unmet = _summary_of(lines, config, judge, tell)
    report = None if scenario is None else replace(report_of(scenario, lines), recording=config.recording)
    if as_json:
        found = {**msgspec.structs.asdict(summary), "verdicts": verdict_summaries(judge)}
        print(msgspec.json.encode(found if report is None else {**found, "scenario": report}).decode())
    else:
        _report(summary)
        for line in (*verdict_lines(judge, lines), *(() if report is None else report_lines(report))):
            print(f"  {line}")
    if report is not None:  # what should not have been is in there
        return EXIT_INTERRUPTED if interrupted else 0 if report.passed else EXIT_NOT_AS_EXPECTED
    if config.script:
        unmet += _told_of_script(config, lines)
    for line in unmet:
        print(f"lab: {sanitize(line)}", file=sys.stderr)
    if interrupted:
        return EXIT_INTERRUPTED
    # where there is a script, a failure that it does not expect is among the rest
    failed = not config.script and any(verdict.failures for verdict in judge.verdicts())
    return EXIT_NOT_AS_EXPECTED if unmet or failed else 0


def _told_of_script(config: RunConfig, lines: FileRecords) -> list[str]:
    """What was not as the script has it, judged as that of a scenario is."""
    course = Course(read_script(config.script, first=config.first_line), config.end_us or 0, lines.header)
    return [
        f"line {finding.line} of the script, {finding.expected}: {finding.was}" if finding.line else finding.was
        for finding in course.gone(lines)
    ]


@contextlib.contextmanager
def _noted(signals: list[str]) -> Iterator[None]:
    """Signals only leave a note, and whoever computes looks at it when it suits; afterwards they end all again."""

    def note(number: int, frame: FrameType | None) -> None:
        signals.append(f"signal {signal.Signals(number).name}")

    before = [(number, signal.signal(number, note)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _simulate(config: RunConfig) -> bool:
    """Run in virtual time, here and now, as fast as it can be computed; whether a signal ended it early."""
    from lab.worlds.simulated.running import run_flat  # noqa: PLC0415 - only where it is used

    signals: list[str] = []
    end_us = config.end_us or 0

    def look_up(now_us: int) -> str:
        tell(_bar(now_us, end_us))
        return signals[0] if signals else ""

    def relived(done: int) -> None:
        if signals:  # nothing is recorded yet
            raise KeyboardInterrupt
        tell(f"{done:,} of {config.at:,} records")

    try:
        with _noted(signals), progress_line() as tell:
            tell(_bar(0, end_us))  # a thousand nodes take some time to come up
            why = run_flat(config, end_us, look_up, relived)
    except NotRunnableError as error:
        fail(str(error))
    except OSError as error:
        fail(f"the recording cannot be written to {config.recording}: {error.strerror}")
    if why.startswith("the disk"):
        fail(f"the run was ended, as {why} (recording: {config.recording})", EXIT_NOT_AS_EXPECTED)
    return bool(signals)


def _summary_of(
    lines: FileRecords, config: RunConfig, judge: Judge, tell: Callable[[int], None]
) -> tuple[Summary, list[str]]:
    """(what the run came to, what should not have been: what was given by hand and not done, and failed nodes).

    Of the script nothing is said, nor of failed nodes, where there is one. The judge is shown all of it.
    ``tell`` is told how many records are done, every thousand.
    """
    cluster, elections, notes = ClusterState.of(lines.header), ElectionLog(), NoteLog()
    commits = CommitLog(lines.header.protocol.heartbeats)
    by_hand = ByHand(config.commands, cluster)
    failed: list[Step] = []
    parent = lines.header.parent
    for number, record in enumerate(lines.records()):
        if number % 1000 == 0:
            tell(number)
        cluster.apply(record)
        elections.observe(record, cluster)
        judge.observe(record)
        notes.observe(record)
        commits.observe(record)
        if parent is not None and number <= parent.record:
            by_hand.suppose(record)
            continue  # what was done there is not of this run
        by_hand.observe(record)
        if isinstance(record, Step) and record.failed and not config.script:
            failed.append(record)
    unmet = by_hand.amiss() + failure_lines(failed, lines.header.protocol.file)
    return summarize(lines.header, cluster, elections, notes, commits, str(lines.path)), unmet


def _wait(host: HostProcess, end_us: int) -> None:
    began_s = time.monotonic()
    with progress_line() as tell:
        while host.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                host.process.wait(0.1)
            tell(_bar(round((time.monotonic() - began_s) * 1e6), end_us))
    host.wait()


def _bar(past_us: int, end_us: int) -> str:
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
        inert = "" if fault.touched else "  (inert: it touched nothing)"
        print(f"  fault: {fault.command}, {count_of(fault.messages, 'message')}{inert}")
    notes = [f"  {_seconds(note.at_us)}  node {note.node}: {sanitize(note.text)}" for note in summary.notes]
    if (more := len(notes) - _MOST_NOTES) > 0:  # the last ones say what came of it
        told = f"  … and {count_of(more, 'note')} more: lab show {summary.recording} --only note"
        notes[_MOST_NOTES - _LAST_NOTES : -_LAST_NOTES] = [told]
    for line in notes:
        print(line)
    if (found := summary.transactions) is not None:
        blocked = f"; nodes were blocked for {_seconds(found.blocked_us)}" if found.blocked_us else ""
        said = f"{found.committed:,} committed, {found.aborted:,} aborted, {found.open:,} not decided"
        print(f"  transactions: {said}{blocked}")
    for each in summary.open[:_MOST_OPEN]:
        print(f"  {each.transaction} is open: {sanitize(each.why)}")
    if (more := len(summary.open) - _MOST_OPEN) > 0:
        print(f"  and {more:,} more are open: lab show {summary.recording} --blocked")
    print(f"  {count_of(sum(summary.messages.values()), 'message')}; recorded in {summary.recording}")


def _seconds(us: int) -> str:
    return f"{us / 1e6:.3f} s"

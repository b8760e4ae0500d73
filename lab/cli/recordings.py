"""``lab replay`` and ``lab verify``: view and verify recordings."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

from msgspec import Struct, structs
from typer import Argument, Option

from lab.analysis.client_history import ClientHistory
from lab.cli.documents import Document, Json, print_json
from lab.cli.history_report import WorkloadSummary, WorkloadVerdict, judge_clients
from lab.cli.junit import JUnitCase, JUnitSuite, write_junit
from lab.cli.options import (
    Junit,
    OwnProperties,
    OwnProtocol,
    Recording,
    Watches,
    check_watches,
    command,
    load_protocol_of,
    writable_report,
)
from lab.cli.program import app
from lab.cli.progress import Progress
from lab.cli.recording_report import (
    RecordingSummary,
    VerdictSummary,
    format_errors,
    format_explanation,
    format_verdicts,
    is_truncated,
    is_unjudged,
    summarize_recording,
    summarize_verdict,
)
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, EXIT_USAGE, UsageError, require_terminal
from lab.output import print_error, print_line
from lab.properties.declarations import Declared
from lab.properties.judge import Judge
from lab.properties.registry import declared_for, has_programs, with_promises
from lab.properties.verdicts import Verdict
from lab.properties.witness import explain_violation
from lab.protocols import source_of
from lab.recording.reader import NotARecordingError, RecordStore, open_recording
from lab.recording.records import Header, Record
from lab.replay.reexecution import Difference, ReexecutionReport, reexecute
from lab.script.scope import scope_of
from lab.tui.terminal.guard import run_guarded
from lab.units import CountText, format_count
from lab.worlds.loading.targets import (
    check_assumptions,
    load_properties,
    load_protocol,
    recorded_protocols,
    require_other_names,
)
from lab.worlds.loading.user_module import TargetError
from lab.worlds.watchdog import watch_steps


class ReplayOptions(Struct, frozen=True):
    """The options of ``lab replay``."""

    file: Recording
    other: Annotated[
        Path | None,
        Option("--compare", metavar="FILE", help="Show this recording next to it, at the same moment."),
    ] = None
    protocol: OwnProtocol = None
    properties: OwnProperties = None
    watch: Watches = []


@command()
def replay(options: ReplayOptions) -> int:
    """Open a recording in the interface.

    Play it, step forward and back, jump from fault to fault. Bookmarks set with M are saved in FILE.bookmarks.
    """
    file = options.file
    for each in (file, options.other):
        if each is not None:
            open_recording(each).close()
    if options.protocol is not None:
        load_protocol_of(file, options.protocol)
    declared = () if options.properties is None else load_properties(str(options.properties))
    with closing(open_recording(file)) as store:
        watches = tuple(map(str, check_watches(options.watch, scope_of(store.header))))
    require_terminal(f"lab show {file}")

    def interface() -> int:
        from lab.tui.apps.runs_app import show_recording  # noqa: PLC0415 - only the child loads the interface

        return show_recording(file, options.other, declared, watches)

    return run_guarded(interface)


@app.command()
def verify(
    files: Annotated[list[Path], Argument(metavar="FILE…", help="The recordings.")],
    protocol: OwnProtocol = None,
    properties: OwnProperties = None,
    strict: Annotated[bool, Option("--strict", help="Exit with status 1 for excused violations too.")] = False,
    junit: Junit = None,
    json: Json = False,
) -> int:
    """Re-execute recordings and check the protocol's assertions.

    Fresh nodes get the recorded inputs and must make the recorded steps. The assertions must hold in every
    consistent global state; with --properties, those in that file too. A violation is excused if an assumption
    that the assertion relies on was broken; otherwise it is a failure. The first violation of each assertion is
    printed with the events that led to it.

    Exit status: 0 all recordings hold, 1 one differs (it was edited, or the protocol has changed), has a failure,
    or none of the protocol's promises could be judged, 2 a file is not a recording.
    """
    report = writable_report(junit)
    verified, refused = list[VerifiedRecording](), list[RefusedFile]()
    declared = () if properties is None else load_properties(str(properties))
    try:
        if protocol is not None:
            load_protocol(protocol)
    except TargetError as error:
        raise UsageError(f"--protocol: {error}") from None
    count = len(files)
    name, unit = ("verifying", "recording") if count > 1 else (f"verifying {files[0].name}", "record")
    with Progress(name, unit) as progress:
        for place, path in enumerate(files):
            whole = None if count == 1 else CountText(place, count, "recording", "")
            try:
                verified.append(_verify(path, protocol, declared, strict, progress, whole, quiet=json))
            except NotARecordingError as error:
                with progress.hidden():
                    print_error(str(error))
                refused.append(RefusedFile(str(path), str(error)))
    write_junit(report, [_junit_suite(verified, refused)])
    if json:
        print_json(VerifyDocument(tuple(verified), tuple(refused)))
    if refused:
        return EXIT_USAGE
    return 0 if all(each.holds for each in verified) else EXIT_NOT_AS_EXPECTED


class ExplainedEvent(Struct, frozen=True):
    """An event that led to a violation, shown by the record with that number."""

    record: int
    at_us: int
    text: str


class ExplainedVerdict(VerdictSummary, frozen=True):
    """A verdict, whether it counts against the recording, and the events that led to its first violation."""

    failed: bool
    events: tuple[ExplainedEvent, ...]


class VerifiedRecording(Struct, frozen=True):
    """A recording that was re-executed and judged; ``holds`` sums it up.

    ``steps`` were re-executed; ``differences`` are those from the recorded ones. ``source_differs``: the source of
    the protocol is not the recorded one. ``truncated``: the recording has no end. ``judged``: something was.
    ``workload``: what the clients did, if there were any.
    """

    recording: RecordingSummary
    holds: bool
    steps: int
    differences: tuple[Difference, ...]
    source_differs: bool
    truncated: bool
    judged: bool
    verdicts: tuple[ExplainedVerdict, ...]
    workload: WorkloadSummary | None = None


class RefusedFile(Struct, frozen=True):
    """A file that is not a recording, or cannot be re-executed, and why."""

    file: str
    why: str


class VerifyDocument(Document, frozen=True):
    """The recordings verified, and the files refused."""

    recordings: tuple[VerifiedRecording, ...]
    refused: tuple[RefusedFile, ...]


def _junit_suite(verified: list[VerifiedRecording], refused: list[RefusedFile]) -> JUnitSuite:
    """Return the cases of each recording: its re-execution, and a case for each assertion."""
    cases = [JUnitCase(f"verify.{each.file}", "re-execution", (each.why,), file=each.file) for each in refused]
    for each in verified:
        file, seed = each.recording.file, (("seed", str(each.recording.seed)),)
        texts = tuple(f"record {found.record}: {found.text}" for found in each.differences)
        cases.append(JUnitCase(f"verify.{file}", "re-execution", texts, file=file, properties=seed))
        for verdict in each.verdicts:
            why = f"not judged: {verdict.rests_on}" if verdict.verdict == "not judged" else ""
            failure: tuple[str, ...] = (why,) if why and not each.judged else ()
            if verdict.first is not None and verdict.failed:
                failure = (verdict.first, *(f"{event.at_us / 1e6:.6f}  {event.text}" for event in verdict.events))
            cases.append(JUnitCase(f"verify.{file}", verdict.assertion, failure, why, file=file, properties=seed))
    return JUnitSuite("verify", cases)


def _verify(
    path: Path,
    target: str | None,
    properties: tuple[Declared, ...],
    strict: bool,
    progress: Progress,
    count: CountText | None,
    quiet: bool,
) -> VerifiedRecording:
    """Verify a recording; print the result unless ``quiet``. ``count`` is the progress if not in its records."""
    watch_steps()
    with closing(open_recording(path)) as store:

        def report_progress(done: int) -> None:
            progress.report(count or CountText(done, len(store), "record", ""))

        try:
            protocol = recorded_protocols(store.header, target)
            require_other_names(declared_for(store.header.protocol), properties)
            header = with_promises(store.header, properties)
            check_assumptions(declared_for(header.protocol), {})
            judge, clients = Judge(header), ClientHistory(header)

            def watch(record: Record | None) -> None:
                judge.observe(record)
                clients.observe(record)

            source = source_of(protocol)[1]
            report = reexecute(store, protocol, source, progress=report_progress, watch=watch)
            for record in store.records(judge.number + 1):  # those after the end of the re-execution
                watch(record)
            workload = judge_clients(clients)
        except (NotARecordingError, TargetError) as error:
            raise NotARecordingError(f"{path} cannot be re-executed: {error}") from None
        unjudged = is_unjudged(judge) and workload is None
        with progress.hidden():
            if not quiet:
                _print_report(path, store.header, report)
                _print_verdicts(judge, store, workload)
            for line in (in_error := format_errors(judge.errors)):
                print_error(f"{path}: {line}")
            if unjudged:
                print_error(f"{path}: nothing was judged, so nothing holds")
        explained = tuple(_explain(verdict, store, strict) for verdict in judge.verdicts())
        return VerifiedRecording(
            summarize_recording(path, store),
            report.holds
            and not unjudged
            and not in_error
            and not any(each.failed for each in explained)
            and (workload is None or workload.holds),
            report.steps,
            tuple(report.differences),
            report.source_differs,
            is_truncated(store),
            not unjudged,
            explained,
            None if workload is None else workload.summary,
        )


def _explain(verdict: Verdict, store: RecordStore, strict: bool) -> ExplainedVerdict:
    lines = [] if verdict.first is None else explain_violation(store, verdict.first)
    events = tuple(ExplainedEvent(line.record, line.at_us, line.text) for line in lines)
    failed = verdict.word in ("fails", *(["excused"] if strict else []))
    return ExplainedVerdict(**structs.asdict(summarize_verdict(verdict)), failed=failed, events=events)


def _print_verdicts(judge: Judge, store: RecordStore, workload: WorkloadVerdict | None) -> None:
    for line in (
        *format_verdicts(judge, store, workload is not None),
        *(() if workload is None else workload.lines()),
    ):
        print_line(f"  {line}" if line else "")
    for verdict in judge.verdicts():
        for place, line in enumerate(format_explanation(verdict, store)):
            if not place:
                print_line(f"  events that led to {verdict.assertion} (line, seconds, event):")
            print_line(f"  {line}")


def _print_report(path: Path, header: Header, report: ReexecutionReport) -> None:
    for difference in report.differences:
        print_line(f"{path}:{difference.record + 1}: {difference.text}")
    remarks = list(header.protocol.settings)
    if report.torn:
        remarks.append("the last line is truncated, and was skipped")
    if report.unknown:
        remarks.append(f"{report.unknown} records of unknown kinds were skipped")
    if report.source_differs:
        remarks.append(f"the source of {header.protocol.name} differs from the recorded one")
    if has_programs(header):
        remarks.append("what the programs did to write their lines is taken as given")
    differences = format_count(len(report.differences), "difference")
    verdict = "as recorded" if report.holds else f"NOT AS RECORDED ({differences})"
    print_line(f"{path}: {verdict}; {report.steps:,} steps re-executed" + "".join(f"; {r}" for r in remarks))
    if header.remark:
        print_line(f"  {header.remark}")

"""``lab replay`` and ``lab verify``: view and verify recordings."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from typer import Argument, Option

from lab.cli.options import (
    OwnProperties,
    OwnProtocol,
    Recording,
    Watches,
    check_watches,
    command,
    load_protocol_of,
)
from lab.cli.program import app
from lab.cli.progress import Progress
from lab.cli.recording_report import (
    format_explanation,
    format_verdicts,
    is_unjudged,
)
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, EXIT_USAGE, UsageError, require_terminal
from lab.output import print_error, print_line
from lab.properties.declarations import Declared
from lab.properties.judge import Judge
from lab.properties.registry import declared_for, with_promises
from lab.protocols import source_of
from lab.recording.reader import NotARecordingError, RecordStore, open_recording
from lab.recording.records import Header
from lab.replay.reexecution import Report, reexecute
from lab.script.scope import scope_of
from lab.tui.terminal.guard import run_guarded
from lab.units import CountText, format_count
from lab.worlds.loading.own_properties import check_assumptions, load_properties
from lab.worlds.loading.targets import load_protocol, recorded_protocol
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
) -> int:
    """Re-execute recordings and check the protocol's assertions.

    Fresh nodes get the recorded inputs and must make the recorded steps. The assertions must hold in every
    consistent global state; with --properties, those in that file too. A violation is excused if an assumption
    that the assertion relies on was broken; otherwise it is a failure. The first violation of each assertion is
    printed with the events that led to it.

    Exit status: 0 all recordings hold, 1 one differs (it was edited, or the protocol has changed), has a failure,
    or none of the protocol's promises could be judged, 2 a file is not a recording.
    """
    worst = 0
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
                worst = max(worst, _verify(path, protocol, declared, strict, progress, whole))
            except NotARecordingError as error:
                with progress.hidden():
                    print_error(str(error))
                worst = EXIT_USAGE
    return worst


def _verify(
    path: Path,
    target: str | None,
    properties: tuple[Declared, ...],
    strict: bool,
    progress: Progress,
    count: CountText | None,
) -> int:
    """Verify a recording, and return the exit status; ``count`` is the progress if not that in its records."""
    watch_steps()
    with closing(open_recording(path)) as store:

        def report_progress(done: int) -> None:
            progress.report(count or CountText(done, len(store), "record", ""))

        try:
            protocol = recorded_protocol(store.header.protocol, target)
            header = with_promises(store.header, properties)
            check_assumptions(declared_for(header.protocol), {})
            judge = Judge(header)
            source = source_of(protocol)[1]
            report = reexecute(store, protocol, source, progress=report_progress, watch=judge.observe)
            for record in store.records(judge.number + 1):  # those after the end of the re-execution
                judge.observe(record)
        except (NotARecordingError, TargetError) as error:
            raise NotARecordingError(f"{path} cannot be re-executed: {error}") from None
        with progress.hidden():
            _print_report(path, store.header, report)
            _print_verdicts(judge, store)
            if is_unjudged(judge):
                print_error(f"{path}: nothing was judged, so nothing holds")
    words = {verdict.word for verdict in judge.verdicts()}
    holds = report.holds and "fails" not in words and not (strict and "excused" in words)
    return 0 if holds and not is_unjudged(judge) else EXIT_NOT_AS_EXPECTED


def _print_verdicts(judge: Judge, store: RecordStore) -> None:
    for line in format_verdicts(judge, store):
        print_line(f"  {line}")
    for verdict in judge.verdicts():
        for place, line in enumerate(format_explanation(verdict, store)):
            if not place:
                print_line(f"  events that led to {verdict.assertion} (line, seconds, event):")
            print_line(f"  {line}")


def _print_report(path: Path, header: Header, report: Report) -> None:
    for difference in report.differences:
        print_line(f"{path}:{difference.record + 1}: {difference.text}")
    remarks = list(header.protocol.settings)
    if report.torn:
        remarks.append("the last line is truncated, and was skipped")
    if report.unknown:
        remarks.append(f"{report.unknown} records of unknown kinds were skipped")
    if report.source_differs:
        remarks.append(f"the source of {header.protocol.name} differs from the recorded one")
    verdict = "holds" if report.holds else f"DOES NOT HOLD ({format_count(len(report.differences), 'difference')})"
    print_line(f"{path}: {verdict}; {report.steps:,} steps re-executed" + "".join(f"; {r}" for r in remarks))
    if header.remark:
        print_line(f"  {header.remark}")

"""``lab verify`` and ``lab show``: verify and print recordings."""

import contextlib
import sys
from pathlib import Path

from lab.analysis.delivery import LogPage
from lab.cli.progress import count_progress
from lab.cli.usage_errors import EXIT_NOT_AS_EXPECTED, EXIT_USAGE, UsageError, fail
from lab.cli.verdict_report import format_explanation, format_verdicts
from lab.properties import Judge
from lab.protocols import source_of
from lab.recording.log_lines import LINE_TYPES, LogLine
from lab.recording.reader import FileRecords, NotARecordingError, open_recording
from lab.recording.records import Header
from lab.replay.reexecution import Report, reexecute
from lab.text import did_you_mean, sanitize
from lab.units import format_count, format_ranges
from lab.worlds.targets import TargetError, load_protocol, recorded_protocol
from lab.worlds.watchdog import watch_steps

__all__ = ["describe_run", "format_log_line", "open_or_exit", "report_damage", "show", "verify"]


def open_or_exit(path: Path) -> FileRecords:
    """Open the recording; print what is wrong with it and exit if that fails."""
    try:
        return open_recording(path)
    except NotARecordingError as error:
        fail(str(error))


def verify(paths: list[Path], target: str | None, strict: bool) -> int:
    """Re-execute and judge each recording; return the worst exit status.

    ``target`` is the user's own protocol, if any.
    """
    worst = 0
    try:
        if target is not None:
            load_protocol(target)
    except TargetError as error:
        raise UsageError(f"--protocol: {error}") from None
    for path in paths:
        try:
            worst = max(worst, _verify(path, target, strict))
        except NotARecordingError as error:
            print(f"lab: {sanitize(str(error))}", file=sys.stderr)
            worst = EXIT_USAGE
    return worst


def _verify(path: Path, target: str | None, strict: bool) -> int:
    watch_steps()
    with contextlib.closing(open_recording(path)) as store:
        try:
            protocol = recorded_protocol(store.header.protocol, target)
            judge = Judge(store.header)
            with count_progress(len(store)) as progress:
                report = reexecute(store, protocol, source_of(protocol)[1], progress=progress, watch=judge.observe)
                for record in store.records(judge.number + 1):  # those after the end of the re-execution
                    judge.observe(record)
        except (NotARecordingError, TargetError) as error:
            raise NotARecordingError(f"{path} cannot be re-executed: {error}") from None
        _print_report(path, store.header, report)
        for line in format_verdicts(judge, store):
            print(f"  {line}")
        for verdict in judge.verdicts():
            for place, line in enumerate(format_explanation(verdict, store)):
                if not place:
                    print(f"  events that led to {verdict.assertion} (line, seconds, event):")
                print(f"  {line}")
    words = {verdict.word for verdict in judge.verdicts()}
    holds = report.holds and "fails" not in words and not (strict and "outside" in words)
    return 0 if holds else EXIT_NOT_AS_EXPECTED


def _print_report(path: Path, header: Header, report: Report) -> None:
    for difference in report.differences:
        print(f"{path}:{difference.record + 1}: {sanitize(difference.text)}")
    remarks = list(header.protocol.settings)
    if report.torn:
        remarks.append("the last line is truncated, and was skipped")
    if report.unknown:
        remarks.append(f"{report.unknown} records of unknown kinds were skipped")
    if report.source_differs:
        remarks.append(f"the source of {header.protocol.name} differs from the recorded one")
    verdict = "holds" if report.holds else f"DOES NOT HOLD ({format_count(len(report.differences), 'difference')})"
    print(f"{path}: {verdict}; {report.steps:,} steps re-executed" + "".join(f"; {sanitize(r)}" for r in remarks))
    if header.remark:
        print(f"  {sanitize(header.remark)}")


def show(path: Path, names: list[str], kinds: list[str], what: list[str], heartbeats: bool) -> int:
    """Print the recording as text. Different filters are combined with *and*, values of one filter with *or*."""
    for word in what:
        if word not in LINE_TYPES:
            raise UsageError(f"--only {word}: expected one of {', '.join(LINE_TYPES)}")
    store = open_or_exit(path)
    header = store.header
    known = {str(node): node for node in header.nodes}
    for name in names:
        if name not in known:
            raise UsageError(
                f"--node {name}: no such node; the nodes of this run are {format_ranges(header.nodes)}"
            )
    nodes = [known[name] for name in names]
    page = LogPage(0, len(store))
    for record in store.records():
        page.feed(record)
    _check_kinds(kinds, page)
    print(f"# {sanitize(describe_run(header))}")
    if header.remark:
        print(f"# {sanitize(header.remark)}")
    hidden = frozenset() if heartbeats or kinds else frozenset(header.protocol.heartbeats)
    shown = 0
    for line in sorted(
        page.lines, key=lambda line: line.at_us
    ):  # steps are recorded slightly after they are taken
        if _wanted(line, nodes, kinds, what) and line.kind not in hidden:
            print(format_log_line(line, page, len(store)))
            shown += 1
    left_out = sum(line.kind in hidden for line in page.lines)
    notes = [format_count(shown, "line")]
    if left_out:
        notes.append(f"{left_out} heartbeats hidden (show them with --heartbeats)")
    if store.torn:
        notes.append("the last line is truncated, and was skipped")
    if store.unknown:
        notes.append(f"{len(store.unknown)} records of unknown kinds skipped")
    print(f"# {'; '.join(notes)}")
    return EXIT_NOT_AS_EXPECTED if report_damage(path, store) else 0


def describe_run(header: Header) -> str:
    """Return the protocol, settings, world, nodes and timing of a run, in one line."""
    return ", ".join(
        (
            header.protocol.title,
            *header.protocol.settings,
            header.world,
            f"nodes {format_ranges(header.nodes)}",
            f"T {header.timing.t_us / 1000:g} ms",
            f"began {header.began}" if header.began else f"seed {header.seed}",
        )
    )


def report_damage(path: Path, store: FileRecords) -> bool:
    """Print the unreadable lines found so far; return whether there are any."""
    for number, why in store.damage.items():
        print(f"lab: {path}:{number + 1}: unreadable: {sanitize(why)}", file=sys.stderr)
    return bool(store.damage)


def _check_kinds(kinds: list[str], page: LogPage) -> None:
    sent = sorted({line.kind for line in page.lines if line.what == "message"})
    for kind in kinds:
        if not any(each.lower().startswith(kind.lower()) for each in sent):
            known = (
                f"the kinds of messages in this run are {', '.join(sent)}" if sent else "this run has no messages"
            )
            raise UsageError(f"--kind {kind}: {known}{did_you_mean(kind, sent)}")


def _wanted(line: LogLine, nodes: list[int], kinds: list[str], what: list[str]) -> bool:
    begins = tuple(kind.lower() for kind in kinds)
    return (
        (not nodes or line.source in nodes or line.target in nodes)
        and (not kinds or (line.what == "message" and line.kind.lower().startswith(begins)))
        and (not what or line.what in what)
    )


def format_log_line(line: LogLine, page: LogPage, end: int) -> str:
    """Format a log line; a message with its delivery as known at record ``end``."""
    clock = f"{line.at_us / 1e6:10.6f}"
    if line.what != "message":
        who = "" if line.source is None else str(line.source)
        return f"{clock}  {who:>3}        {line.what}: {sanitize(line.text)}"
    ending = page.outcome(line, end)
    fate = "in flight" if ending is None else ending.fate
    if ending is not None and ending.fate == "delivered":
        fate = f"+{(ending.at_us - line.at_us) / 1000:.1f} ms"
    return f"{clock}  {line.source:>3} -> {line.target:<3} {line.kind:22} {fate:14} {sanitize(line.text)}"

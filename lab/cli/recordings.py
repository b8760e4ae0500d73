"""``lab replay``, ``lab verify`` and ``lab show``: view, verify and print recordings."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from typer import Argument, Option

from lab.analysis.bank_state import ParticipantState, has_bank
from lab.analysis.blocking import TransactionDiagnosis, diagnose_open_transactions
from lab.analysis.delivery import LogPage
from lab.cli.options import OwnProtocol, Recording, command
from lab.cli.program import app
from lab.cli.recording_report import (
    describe_run,
    format_explanation,
    format_log_line,
    format_verdicts,
    report_damage,
)
from lab.cli.terminal import (
    EXIT_NOT_AS_EXPECTED,
    EXIT_USAGE,
    UsageError,
    count_progress,
    print_error,
    require_terminal,
)
from lab.properties.judge import Judge
from lab.protocols import source_of
from lab.recording.cluster_state import ClusterState
from lab.recording.log_lines import LINE_TYPES, LogLine
from lab.recording.reader import FileRecords, NotARecordingError, open_recording
from lab.recording.records import Header
from lab.replay.reexecution import Report, reexecute
from lab.text import did_you_mean, sanitize
from lab.tui.terminal.guard import run_guarded
from lab.units import format_count, format_ranges, format_us
from lab.worlds.loading.settings import duration
from lab.worlds.loading.targets import TargetError, load_protocol, recorded_protocol
from lab.worlds.watchdog import watch_steps


@app.command()
def replay(
    file: Recording,
    other: Annotated[
        Path | None,
        Option("--compare", metavar="FILE", help="Show this recording next to it, at the same moment."),
    ] = None,
) -> int:
    """Open a recording in the interface.

    Play it, step forward and back, jump from fault to fault. Bookmarks set with M are saved in FILE.bookmarks.
    """
    for each in (file, other):
        if each is not None:
            open_recording(each).close()
    require_terminal(f"lab show {file}")

    def interface() -> int:
        from lab.tui.apps.runs_app import show_recording  # noqa: PLC0415 - only the child loads the interface

        return show_recording(file, other)

    return run_guarded(interface)


@app.command()
def verify(
    files: Annotated[list[Path], Argument(metavar="FILE…", help="The recordings.")],
    protocol: OwnProtocol = None,
    strict: Annotated[bool, Option("--strict", help="Exit with status 1 for excused violations too.")] = False,
) -> int:
    """Re-execute recordings and check the protocol's assertions.

    Fresh nodes get the recorded inputs and must make the recorded steps. The assertions must hold in every
    consistent global state. A violation is excused if an assumption that the assertion relies on was broken;
    otherwise it is a failure. The first violation of each assertion is printed with the events that led to it.

    Exit status: 0 all recordings hold, 1 one differs (it was edited, or the protocol has changed) or has a
    failure, 2 a file is not a recording.
    """
    worst = 0
    try:
        if protocol is not None:
            load_protocol(protocol)
    except TargetError as error:
        raise UsageError(f"--protocol: {error}") from None
    for path in files:
        try:
            worst = max(worst, _verify(path, protocol, strict))
        except NotARecordingError as error:
            print_error(str(error))
            worst = EXIT_USAGE
    return worst


def _verify(path: Path, target: str | None, strict: bool) -> int:
    watch_steps()
    with closing(open_recording(path)) as store:
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


class ShowOptions(Struct, frozen=True):
    """The options of ``lab show``."""

    file: Annotated[Path, Argument(metavar="FILE", help="A recording.")]
    node: Annotated[
        list[str], Option(metavar="NODE", help="Show only events of this node, and its messages.")
    ] = []
    kind: Annotated[list[str], Option(metavar="KIND", help="Show only messages whose kind begins with KIND.")] = []
    only: Annotated[
        list[str],
        Option(
            metavar="WHAT",
            help="Show only lines of this type: message, status, process, command, caption, mark, expectation, "
            "protocol-command, log, note, failure or end.",
        ),
    ] = []
    heartbeats: Annotated[bool, Option("--heartbeats", help="Include heartbeats.")] = False
    blocked: Annotated[
        bool, Option("--blocked", help="Show the open transactions instead, and why each is open.")
    ] = False
    at: Annotated[
        str | None, Option(metavar="TIME", help="With --blocked: the state at this time. Default: at the end.")
    ] = None


@command(epilog="Example: lab show run.jsonl --node 4 --kind EnterElection --kind SetCoordinator")
def show(options: ShowOptions) -> int:
    """Print a recording as text.

    One line per message, status change, fault and command. A line must match all filters given; a filter given
    several times matches any of its values.
    """
    if options.blocked or options.at is not None:
        return _show_blocked(options)
    for word in options.only:
        if word not in LINE_TYPES:
            raise UsageError(f"--only {word}: expected one of {', '.join(LINE_TYPES)}")
    store = open_recording(options.file)
    header = store.header
    known = {str(node): node for node in header.nodes}
    for name in options.node:
        if name not in known:
            raise UsageError(
                f"--node {name}: no such node; the nodes of this run are {format_ranges(header.nodes)}"
            )
    nodes = [known[name] for name in options.node]
    page = LogPage(0, len(store))
    for record in store.records():
        page.feed(record)
    _check_kinds(options.kind, page)
    print(f"# {sanitize(describe_run(header))}")
    if header.remark:
        print(f"# {sanitize(header.remark)}")
    hidden = frozenset() if options.heartbeats or options.kind else frozenset(header.protocol.heartbeats)
    shown = 0
    in_order = sorted(page.lines, key=lambda line: line.at_us)  # steps are recorded slightly after they are taken
    for line in in_order:
        if _is_wanted(line, nodes, options) and line.kind not in hidden:
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
    return EXIT_NOT_AS_EXPECTED if report_damage(options.file, store) else 0


def _check_kinds(kinds: list[str], page: LogPage) -> None:
    sent = sorted({line.kind for line in page.lines if line.what == "message"})
    for kind in kinds:
        if not any(each.lower().startswith(kind.lower()) for each in sent):
            known = (
                f"the kinds of messages in this run are {', '.join(sent)}" if sent else "this run has no messages"
            )
            raise UsageError(f"--kind {kind}: {known}{did_you_mean(kind, sent)}")


def _is_wanted(line: LogLine, nodes: list[int], options: ShowOptions) -> bool:
    begins = tuple(kind.lower() for kind in options.kind)
    return (
        (not nodes or line.source in nodes or line.target in nodes)
        and (not options.kind or (line.what == "message" and line.kind.lower().startswith(begins)))
        and (not options.only or line.what in options.only)
    )


# open transactions

_WIDEST_STATE = 10


def _show_blocked(options: ShowOptions) -> int:
    """Print the open transactions and return the exit status."""
    if not options.blocked:
        raise UsageError("--at requires --blocked: lab show FILE --blocked --at 2s")
    if options.node or options.kind or options.only or options.heartbeats:
        raise UsageError("--blocked prints no log lines, so the filters do not apply; leave them out")
    at_us = None if options.at is None else duration("at", options.at)
    with closing(open_recording(options.file)) as store:
        header = store.header
        if not has_bank(header):
            raise UsageError(
                f"{options.file}: {sanitize(header.protocol.title, 40)} has no transactions; "
                "2pc and 3pc have: lab run 2pc --record run.jsonl"
            )
        cluster, ended = _cluster_at(store, at_us)
        found = diagnose_open_transactions(cluster, header)
        damaged = report_damage(options.file, store)
    now_us = cluster.at_us if at_us is None else at_us
    print(f"# {sanitize(describe_run(header))}")
    if ended:
        print(f"# the recording ends before {format_us(now_us)}; this is its end")
        now_us = cluster.at_us
    print(f"# at {_format_time(now_us)}: {format_count(len(found), 'open transaction')}")
    for diagnosis in found:
        for line in _lines(diagnosis, now_us):
            print(sanitize(line))
    return EXIT_NOT_AS_EXPECTED if damaged else 0


def _cluster_at(store: FileRecords, at_us: int | None) -> tuple[ClusterState, bool]:
    """Return the cluster's state at that time, and whether the recording ends earlier."""
    cluster = ClusterState.of(store.header)
    with count_progress(len(store)) as progress:
        for number, record in enumerate(store.records()):
            if at_us is not None and getattr(record, "at_us", 0) > at_us:
                return cluster, False
            cluster.apply(record)
            progress(number)
    return cluster, at_us is not None and cluster.at_us < at_us


def _lines(diagnosis: TransactionDiagnosis, now_us: int) -> list[str]:
    blocked_us = diagnosis.blocked_us
    blocked = "not blocked" if blocked_us is None else f"blocked for {_seconds(now_us - blocked_us)}"
    lines = ["", f"{diagnosis.transaction}  {blocked}"]
    lines += [f"  {sentence}" for sentence in diagnosis.sentences]
    lines += [f"  {_row(participant, now_us)}" for participant in diagnosis.overview.participant_states]
    if diagnosis.turned_away:
        lines.append(f"  refused because of its locks: {', '.join(map(str, diagnosis.turned_away))}")
    return lines


def _row(participant: ParticipantState, now_us: int) -> str:
    reported, wait = participant.reported, participant.wait
    parts = [f"node {participant.node}  {participant.part.state.value:{_WIDEST_STATE}}"]
    if participant.view.process != "running":
        parts.append(participant.view.process)
    if reported is not None:
        parts.append(f"for {_seconds(now_us - reported.since_us)}")
    if wait is not None:
        peers = f" of {', '.join(map(str, wait.peers))}" if wait.peers else ""
        parts.append(f"waits for {wait.what}{peers}")
    if participant.locks:
        parts.append(f"locks {', '.join(participant.locks)}")
    return "  ".join(parts).rstrip()


def _format_time(us: int) -> str:
    """Format a time as in the log, without trailing zeros."""
    return f"{us / 1e6:.6f}".rstrip("0").rstrip(".") + "s"


def _seconds(us: int) -> str:
    return f"{us / 1e6:.1f} s"

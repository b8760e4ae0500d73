"""``lab verify`` and ``lab show``: what can be read out of recordings without the interface."""

import contextlib
import sys
from pathlib import Path

from lab.analysis.delivery import LogPage
from lab.cli.errors import EXIT_NOT_AS_EXPECTED, EXIT_USAGE, UsageError, fail
from lab.cli.judging import account_lines, verdict_lines
from lab.cli.progress import counted
from lab.properties import Judge
from lab.protocols import source_of
from lab.recording.log_lines import WHATS, LogLine
from lab.recording.reader import FileRecords, NotARecordingError, open_recording
from lab.recording.records import Header
from lab.replay.reexecution import Report, reexecute
from lab.text import did_you_mean, sanitize
from lab.units import count_of, listed
from lab.worlds.targets import TargetError, load_protocol, recorded_protocol
from lab.worlds.watchdog import watch_steps

__all__ = ["head_of", "log_row", "opened", "show", "tell_damage", "verify"]


def opened(path: Path) -> FileRecords:
    """The recording, or the end of the program with what is wrong with it."""
    try:
        return open_recording(path)
    except NotARecordingError as error:
        fail(str(error))


def verify(paths: list[Path], target: str | None, strict: bool) -> int:
    """Re-execute and judge each, with the user's own protocol at ``target`` or not; the worst exit status."""
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
    with contextlib.closing(open_recording(path)) as lines:
        try:
            protocol = recorded_protocol(lines.header.protocol, target)
            judge = Judge(lines.header)
            with counted(len(lines)) as progress:
                report = reexecute(lines, protocol, source_of(protocol)[1], progress=progress, watch=judge.observe)
                for record in lines.records(judge.number + 1):  # where it gave up re-executing
                    judge.observe(record)
        except (NotARecordingError, TargetError) as error:
            raise NotARecordingError(f"{path} cannot be re-executed: {error}") from None
        _tell_report(path, lines.header, report)
        for line in verdict_lines(judge, lines):
            print(f"  {line}")
        for verdict in judge.verdicts():
            for place, line in enumerate(account_lines(verdict, lines)):
                if not place:
                    print(f"  how it came to {verdict.assertion} (line, seconds, what happened):")
                print(f"  {line}")
    words = {verdict.word for verdict in judge.verdicts()}
    holds = report.holds and "fails" not in words and not (strict and "outside" in words)
    return 0 if holds else EXIT_NOT_AS_EXPECTED


def _tell_report(path: Path, header: Header, report: Report) -> None:
    for difference in report.differences:
        print(f"{path}:{difference.record + 1}: {sanitize(difference.text)}")
    remarks = list(header.protocol.settings)
    if report.torn:
        remarks.append("the last line is torn, and left out")
    if report.unknown:
        remarks.append(f"{report.unknown} records of kinds unknown to this version were skipped")
    if report.source_differs:
        remarks.append(f"the source of {header.protocol.name} differs from the recorded one")
    verdict = "holds" if report.holds else f"DOES NOT HOLD ({count_of(len(report.differences), 'difference')})"
    print(f"{path}: {verdict}; {report.steps:,} steps re-executed" + "".join(f"; {sanitize(r)}" for r in remarks))
    if header.remark:
        print(f"  {sanitize(header.remark)}")


def show(path: Path, names: list[str], kinds: list[str], what: list[str], heartbeats: bool) -> int:
    """Print the recording as text; filters are joined by *and*, several values of one by *or*."""
    for word in what:
        if word not in WHATS:
            raise UsageError(f"--only {word}: expected one of {', '.join(WHATS)}")
    lines = opened(path)
    header = lines.header
    known = {str(node): node for node in header.nodes}
    for name in names:
        if name not in known:
            raise UsageError(f"--node {name}: the nodes of this run are {listed(header.nodes)}")
    nodes = [known[name] for name in names]
    page = LogPage(0, len(lines))
    for record in lines.records():
        page.feed(record)
    _check_kinds(kinds, page)
    print(f"# {sanitize(head_of(header))}")
    if header.remark:
        print(f"# {sanitize(header.remark)}")
    hidden = frozenset() if heartbeats or kinds else frozenset(header.protocol.heartbeats)
    shown = 0
    for line in sorted(page.lines, key=lambda line: line.at_us):  # steps come in a little after they are made
        if _wanted(line, nodes, kinds, what) and line.kind not in hidden:
            print(log_row(line, page, len(lines)))
            shown += 1
    left_out = sum(line.kind in hidden for line in page.lines)
    notes = [count_of(shown, "line")]
    if left_out:
        notes.append(f"{left_out} heartbeats left out (--heartbeats shows them)")
    if lines.torn:
        notes.append("the last line is torn, and left out")
    if lines.unknown:
        notes.append(f"{len(lines.unknown)} records of unknown kinds skipped")
    print(f"# {'; '.join(notes)}")
    return EXIT_NOT_AS_EXPECTED if tell_damage(path, lines) else 0


def head_of(header: Header) -> str:
    """What was run, in a line."""
    return ", ".join(
        (
            header.protocol.title,
            *header.protocol.settings,
            header.world,
            f"nodes {listed(header.nodes)}",
            f"T {header.timing.t_us / 1000:g} ms",
            f"began {header.began}" if header.began else f"seed {header.seed}",
        )
    )


def tell_damage(path: Path, lines: FileRecords) -> bool:
    """Say which lines were found that cannot be read; whether there are any."""
    for number, why in lines.damage.items():
        print(f"lab: {path}:{number + 1}: cannot be read: {sanitize(why)}", file=sys.stderr)
    return bool(lines.damage)


def _check_kinds(kinds: list[str], page: LogPage) -> None:
    sent = sorted({line.kind for line in page.lines if line.what == "message"})
    for kind in kinds:
        if not any(each.lower().startswith(kind.lower()) for each in sent):
            known = (
                f"the kinds of message in this run are {', '.join(sent)}" if sent else "no message is sent in it"
            )
            raise UsageError(f"--kind {kind}: {known}{did_you_mean(kind, sent)}")


def _wanted(line: LogLine, nodes: list[int], kinds: list[str], what: list[str]) -> bool:
    begins = tuple(kind.lower() for kind in kinds)
    return (
        (not nodes or line.source in nodes or line.target in nodes)
        and (not kinds or (line.what == "message" and line.kind.lower().startswith(begins)))
        and (not what or line.what in what)
    )


def log_row(line: LogLine, page: LogPage, end: int) -> str:
    """A line of the log as text, with its message's fate by record ``end``."""
    clock = f"{line.at_us / 1e6:10.6f}"
    if line.what != "message":
        who = "" if line.source is None else str(line.source)
        return f"{clock}  {who:>3}        {line.what}: {sanitize(line.text)}"
    ending = page.ending(line, end)
    fate = "in flight" if ending is None else ending.fate
    if ending is not None and ending.fate == "delivered":
        fate = f"+{(ending.at_us - line.at_us) / 1000:.1f} ms"
    return f"{clock}  {line.source:>3} -> {line.target:<3} {line.kind:22} {fate:14} {sanitize(line.text)}"

"""``lab verify`` and ``lab show``: what can be read out of recordings without the interface."""

import sys
from pathlib import Path

from lab.cli.errors import EXIT_NOT_AS_EXPECTED, EXIT_USAGE, UsageError, fail
from lab.journal import LogLine, LogPage, NotARecordingError, RecordedLines, open_recording, reexecute
from lab.protocols import UnknownProtocolError, find_protocol, source_of
from lab.text import sanitize

__all__ = ["opened", "show", "verify"]


def opened(path: Path) -> RecordedLines:
    """The recording, or the end of the program with what is wrong with it."""
    try:
        return open_recording(path)
    except NotARecordingError as error:
        fail(str(error))


def verify(paths: list[Path]) -> int:
    """Re-execute each; the worst exit status of all."""
    worst = 0
    for path in paths:
        try:
            worst = max(worst, _verify(path))
        except NotARecordingError as error:
            print(f"lab: {sanitize(str(error))}", file=sys.stderr)
            worst = EXIT_USAGE
    return worst


def _verify(path: Path) -> int:
    lines = open_recording(path)
    try:
        protocol = find_protocol(lines.header.protocol.name)
    except UnknownProtocolError as error:
        raise NotARecordingError(f"{path} cannot be re-executed: {error}") from None
    total = len(lines)
    show = sys.stderr.isatty() and total > 20_000

    def progress(done: int) -> None:
        if show:
            print(f"\r{done:,} of {total:,} records", end="", file=sys.stderr)

    try:
        report = reexecute(lines, protocol, source_of(protocol)[1], progress=progress)
    except NotARecordingError as error:
        raise NotARecordingError(f"{path} cannot be re-executed: {error}") from None
    finally:
        lines.close()
    if show:
        print("\r" + " " * 50 + "\r", end="", file=sys.stderr)
    for difference in report.differences:
        print(f"{path}:{difference.record + 1}: {sanitize(difference.text)}")
    remarks = []
    if report.torn:
        remarks.append("the last line is torn, and left out")
    if report.unknown:
        remarks.append(f"{report.unknown} records of kinds unknown to this version were skipped")
    if report.source_differs:
        remarks.append(f"the installed {protocol.name} differs from the recorded source")
    verdict = "holds" if report.holds else f"DOES NOT HOLD ({len(report.differences)} differences)"
    print(f"{path}: {verdict}; {report.steps:,} steps re-executed" + "".join(f"; {r}" for r in remarks))
    return 0 if report.holds else EXIT_NOT_AS_EXPECTED


def show(path: Path, names: list[str], kinds: list[str], what: list[str], heartbeats: bool) -> int:
    """Print the recording as text; filters are joined by *and*, several values of one by *or*."""
    lines = opened(path)
    header = lines.header
    known = {str(node): node for node in header.nodes}
    for name in names:
        if name not in known:
            raise UsageError(f"--node {name}: the nodes of this run are {' '.join(known)}")
    nodes = [known[name] for name in names]
    print(
        f"# {header.protocol.name}, {header.world}, nodes {' '.join(map(str, header.nodes))}, "
        f"T {header.timing.t_us / 1000:g} ms, began {header.began}"
    )
    hidden = frozenset() if heartbeats or kinds else frozenset(header.protocol.heartbeats)
    page = LogPage(0, len(lines))
    for record in lines.records():
        page.feed(record)
    shown = 0
    for line in sorted(page.lines, key=lambda line: line.at_us):  # steps come in a little after they are made
        if _wanted(line, nodes, kinds, what) and line.kind not in hidden:
            print(_row(line, page, len(lines)))
            shown += 1
    left_out = sum(line.kind in hidden for line in page.lines)
    notes = ["1 line" if shown == 1 else f"{shown} lines"]
    if kinds and not shown:
        sent = sorted({line.kind for line in page.lines if line.what == "message"})
        notes.append(f"the kinds of message in it: {', '.join(sent)}")
    if left_out:
        notes.append(f"{left_out} heartbeats left out (--heartbeats shows them)")
    if lines.torn:
        notes.append("the last line is torn, and left out")
    if lines.unknown:
        notes.append(f"{len(lines.unknown)} records of unknown kinds skipped")
    print(f"# {'; '.join(notes)}")
    for number, why in lines.damage.items():
        print(f"lab: {path}:{number + 1}: cannot be read: {sanitize(why)}", file=sys.stderr)
    return EXIT_NOT_AS_EXPECTED if lines.damage else 0


def _wanted(line: LogLine, nodes: list[int], kinds: list[str], what: list[str]) -> bool:
    begins = tuple(kind.lower() for kind in kinds)
    return (
        (not nodes or line.source in nodes or line.target in nodes)
        and (not kinds or (line.what == "message" and line.kind.lower().startswith(begins)))
        and (not what or line.what in what)
    )


def _row(line: LogLine, page: LogPage, end: int) -> str:
    clock = f"{line.at_us / 1e6:10.6f}"
    if line.what != "message":
        who = "" if line.source is None else str(line.source)
        return f"{clock}  {who:>3}        {line.what}: {sanitize(line.text)}"
    ending = page.ending(line, end)
    fate = "in flight" if ending is None else ending.fate
    if ending is not None and ending.fate == "delivered":
        fate = f"+{(ending.at_us - line.at_us) / 1000:.1f} ms"
    return f"{clock}  {line.source:>3} -> {line.target:<3} {line.kind:22} {fate:14} {sanitize(line.text)}"

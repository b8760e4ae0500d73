"""``lab show --blocked``: the transactions that were open at an instant of a recording, and why."""

from contextlib import closing
from pathlib import Path

from msgspec import Struct

from lab.analysis.bank_state import Standing, has_bank
from lab.analysis.blocked_transactions import Stuck, blocked_in
from lab.cli.errors import EXIT_NOT_AS_EXPECTED, UsageError
from lab.cli.progress import counted
from lab.cli.reading import head_of, opened, tell_damage
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import FileRecords
from lab.text import sanitize
from lab.units import count_of, format_us, parse_us

__all__ = ["BlockedRequest", "show_blocked"]

_WIDEST_STATE = 10


class BlockedRequest(Struct, frozen=True):
    """Which recording, and as of which instant; None: as it ended."""

    file: Path
    at_us: int | None

    @classmethod
    def of(cls, file: Path, blocked: bool, at: str | None, filters: bool) -> "BlockedRequest":
        """From the options of the command; UsageError."""
        if not blocked:
            raise UsageError("--at is the instant of --blocked: lab show FILE --blocked --at 2s")
        if filters:
            raise UsageError(
                "--blocked prints no lines of the log, so there is nothing to choose; leave out the rest"
            )
        try:
            return cls(file, None if at is None else parse_us(at))
        except ValueError as error:
            raise UsageError(f"--at: {error}") from None


def show_blocked(request: BlockedRequest) -> int:
    """Print them; the exit status."""
    with closing(opened(request.file)) as lines:
        header = lines.header
        if not has_bank(header):
            raise UsageError(
                f"{request.file}: {sanitize(header.protocol.title, 40)} has no transactions; "
                "2pc and 3pc have: lab run 2pc --record run.jsonl"
            )
        cluster, ended = _cluster_at(lines, request.at_us)
        found = blocked_in(cluster, header)
        damaged = tell_damage(request.file, lines)
    now_us = cluster.at_us if request.at_us is None else request.at_us
    print(f"# {sanitize(head_of(header))}")
    if ended:
        print(f"# it ends before {format_us(now_us)}: this is how it ended")
        now_us = cluster.at_us
    print(f"# at {_instant(now_us)}: {count_of(len(found), 'open transaction')}")
    for stuck in found:
        for line in _lines(stuck, now_us):
            print(sanitize(line))
    return EXIT_NOT_AS_EXPECTED if damaged else 0


def _cluster_at(lines: FileRecords, at_us: int | None) -> tuple[ClusterState, bool]:
    """As of that instant; and whether the recording ends before it."""
    cluster = ClusterState.of(lines.header)
    with counted(len(lines)) as progress:
        for number, record in enumerate(lines.records()):
            if at_us is not None and getattr(record, "at_us", 0) > at_us:
                return cluster, False
            cluster.apply(record)
            progress(number)
    return cluster, at_us is not None and cluster.at_us < at_us


def _lines(stuck: Stuck, now_us: int) -> list[str]:
    blocked_us = stuck.blocked_us
    for_so_long = "not blocked" if blocked_us is None else f"blocked for {_seconds(now_us - blocked_us)}"
    lines = ["", f"{stuck.transaction}  {for_so_long}"]
    lines += [f"  {sentence}" for sentence in stuck.sentences]
    lines += [f"  {_row(standing, now_us)}" for standing in stuck.case.standings]
    if stuck.turned_away:
        lines.append(f"  turned away by its locks: {', '.join(map(str, stuck.turned_away))}")
    return lines


def _row(standing: Standing, now_us: int) -> str:
    told, wait = standing.told, standing.wait
    parts = [f"node {standing.node}  {standing.part.state.value:{_WIDEST_STATE}}"]
    if standing.view.process != "running":
        parts.append(standing.view.process)
    if told is not None:
        parts.append(f"for {_seconds(now_us - told.since_us)}")
    if wait is not None:
        peers = f" of {', '.join(map(str, wait.peers))}" if wait.peers else ""
        parts.append(f"waits for {wait.what}{peers}")
    if standing.locks:
        parts.append(f"locks {', '.join(standing.locks)}")
    return "  ".join(parts).rstrip()


def _instant(us: int) -> str:
    """As the lines of the log have it, and without zeros that say nothing."""
    return f"{us / 1e6:.6f}".rstrip("0").rstrip(".") + "s"


def _seconds(us: int) -> str:
    return f"{us / 1e6:.1f} s"

"""``lab show --blocked``: print the transactions that are open at a time of a recording, and why."""

from contextlib import closing
from pathlib import Path

from msgspec import Struct

from lab.analysis.bank_state import ParticipantState, has_bank
from lab.analysis.blocked_transactions import TransactionDiagnosis, diagnose_open_transactions
from lab.cli.progress import count_progress
from lab.cli.recording_report import describe_run, open_or_exit, report_damage
from lab.cli.usage_errors import EXIT_NOT_AS_EXPECTED, UsageError
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import FileRecords
from lab.text import sanitize
from lab.units import format_count, format_us, parse_us

__all__ = ["BlockedRequest", "show_blocked"]

_WIDEST_STATE = 10


class BlockedRequest(Struct, frozen=True):
    """The arguments of ``lab show --blocked``. ``at_us`` is None for the end of the recording."""

    file: Path
    at_us: int | None

    @classmethod
    def of(cls, file: Path, blocked: bool, at: str | None, filters: bool) -> "BlockedRequest":
        """Build the request from the command's options. Raises UsageError."""
        if not blocked:
            raise UsageError("--at requires --blocked: lab show FILE --blocked --at 2s")
        if filters:
            raise UsageError("--blocked prints no log lines, so the filters do not apply; leave them out")
        try:
            return cls(file, None if at is None else parse_us(at))
        except ValueError as error:
            raise UsageError(f"--at: {error}") from None


def show_blocked(request: BlockedRequest) -> int:
    """Print the open transactions and return the exit status."""
    with closing(open_or_exit(request.file)) as store:
        header = store.header
        if not has_bank(header):
            raise UsageError(
                f"{request.file}: {sanitize(header.protocol.title, 40)} has no transactions; "
                "2pc and 3pc have: lab run 2pc --record run.jsonl"
            )
        cluster, ended = _cluster_at(store, request.at_us)
        found = diagnose_open_transactions(cluster, header)
        damaged = report_damage(request.file, store)
    now_us = cluster.at_us if request.at_us is None else request.at_us
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
        peers = f" from {', '.join(map(str, wait.peers))}" if wait.peers else ""
        parts.append(f"waits for {wait.what}{peers}")
    if participant.locks:
        parts.append(f"locks {', '.join(participant.locks)}")
    return "  ".join(parts).rstrip()


def _format_time(us: int) -> str:
    """Format a time as in the log, without trailing zeros."""
    return f"{us / 1e6:.6f}".rstrip("0").rstrip(".") + "s"


def _seconds(us: int) -> str:
    return f"{us / 1e6:.1f} s"

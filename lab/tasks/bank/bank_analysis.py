"""The report on a bank: the outcomes of its transactions, those that are open, and why."""

from typing import ClassVar

from msgspec import Struct, field

from lab.kernel import Step
from lab.protocols.bank_commands import Load
from lab.protocols.transaction import State
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Process, Record, convert_or_none
from lab.table_files import Column, Row
from lab.tasks.analysis import Analysis, Report
from lab.tasks.bank.bank_state import ParticipantState
from lab.tasks.bank.blocking import TransactionDiagnosis, diagnose_open_transactions
from lab.tasks.bank.commit_history import CommitHistory, CommitLog
from lab.text import sanitize
from lab.units import format_count

_MOST_OPEN = 10
_WIDEST_STATE = 10


class TransactionSummary(Struct, frozen=True):
    """Counts of the transactions of a bank, and the time for which nodes were blocked, summed over the nodes."""

    committed: int
    aborted: int
    open: int
    blocked_us: int


class OpenSummary(Struct, frozen=True):
    """A transaction that is open at the end, and why. ``blocked_since_us``: when it became blocked, or None."""

    transaction: str
    why: str
    blocked_since_us: int | None = field(name="blocked_us")


class BankFigures(Struct, frozen=True):
    """The transactions of a run, None if there were none; those that are ``open`` at the end."""

    transactions: TransactionSummary | None
    open: tuple[OpenSummary, ...]


class BankAnalysis(Analysis):
    """The transactions of a run; and a note on each load that a crash ended."""

    noun: ClassVar[str] = "transaction"
    outcomes: ClassVar[dict[str, str]] = {"committed": "committed", "aborted": "aborted", "open": "still open"}
    states: ClassVar[tuple[str, ...]] = tuple(state.value for state in State)
    success: ClassVar[str] = "committed"
    figures: ClassVar[type[Struct]] = BankFigures
    columns: ClassVar[tuple[Column, ...]] = (
        Column("transaction", "text", "its name: the node that began it, and a number"),
        Column("coordinator", "integer", "node that began it"),
        Column("began_us", "integer", "time of its begin"),
        Column("participants", "integer", "number of participants besides the coordinator"),
        Column("voted", "boolean", "whether a vote was taken"),
        Column("outcome", "text", "committed or aborted; empty while it is open"),
        Column("decided_us", "integer", "time of the decision"),
        Column("known_us", "integer", "time at which the last participant learned the outcome"),
        Column("messages", "integer", "messages of the commit protocol's own about it"),
        Column("writes", "integer", "steps that wrote an entry about it to stable storage"),
    )
    without_blocked: ClassVar[str] = "has no transactions; 2pc, 3pc and e3pc have: lab run 2pc --record run.jsonl"

    def __init__(self, header: Header, cluster: ClusterState) -> None:
        super().__init__(header, cluster)
        self._log = CommitLog(header.protocol.heartbeats)
        self._unbegun: dict[int, int] = {}

    def observe(self, record: Record | None) -> str:
        self._log.observe(record)
        if isinstance(record, Step) and "load" in record.changed:
            load = convert_or_none(record.changed["load"], Load) or Load()
            self._unbegun[record.node] = load.left
        elif isinstance(record, Process) and record.event in ("killed", "failed"):
            unbegun = self._unbegun.pop(record.node, 0)
            if unbegun:
                return f"{record.event}, and its load ended: {format_count(unbegun, 'transfer')} never begun"
        return ""

    def count(self) -> dict[str, int]:
        outcomes = [each.outcome or "open" for each in self._log.transactions.values()]
        return {outcome: outcomes.count(outcome) for outcome in dict.fromkeys(outcomes)}

    def rows(self) -> list[Row]:
        return [
            (
                str(name),
                name.node,
                each.began_us,
                each.participants,
                each.voted,
                each.outcome,
                each.decided_us,
                each.known_us,
                each.messages,
                each.writes,
            )
            for name, each in self._log.transactions.items()
        ]

    def states_at_once(self) -> frozenset[tuple[str, str]]:
        return frozenset(self._log.states_at_once)

    def report(self, recording: str) -> Report:
        counts = _summary(self._log.commits(self.cluster.at_us))
        stuck = [
            OpenSummary(str(each.transaction), each.sentences[0], each.blocked_since_us)
            for each in self._diagnoses()
        ]
        lines = []
        if counts is not None:
            blocked = f"; nodes blocked for {counts.blocked_us / 1e6:.3f} s" if counts.blocked_us else ""
            text = f"{counts.committed:,} committed, {counts.aborted:,} aborted, {counts.open:,} undecided"
            lines.append(f"transactions: {text}{blocked}")
        lines += [f"{each.transaction} is open: {sanitize(each.why)}" for each in stuck[:_MOST_OPEN]]
        if (more := len(stuck) - _MOST_OPEN) > 0:
            lines.append(f"… and {more:,} more are open: lab show {recording} --blocked")
        return Report(tuple(lines), BankFigures(counts, tuple(stuck)))

    def blocked(self, now_us: int) -> tuple[str, list[str]]:
        found = self._diagnoses()
        lines = [line for each in found for line in _diagnosis_lines(each, now_us)]
        return format_count(len(found), "open transaction"), lines

    def _diagnoses(self) -> tuple[TransactionDiagnosis, ...]:
        return diagnose_open_transactions(self.cluster, self.header)


def _summary(commits: CommitHistory) -> TransactionSummary | None:
    if not commits.transactions:
        return None
    outcomes = [each.outcome for each in commits.transactions]
    counts = (outcomes.count("committed"), outcomes.count("aborted"), outcomes.count(None))
    return TransactionSummary(*counts, sum(commits.blocked_us))


# why a transaction is open


def _diagnosis_lines(diagnosis: TransactionDiagnosis, now_us: int) -> list[str]:
    since_us = diagnosis.blocked_since_us
    blocked = "not blocked" if since_us is None else f"blocked for {_seconds(now_us - since_us)}"
    lines = ["", f"{diagnosis.transaction}  {blocked}"]
    lines += [f"  {sentence}" for sentence in diagnosis.sentences]
    lines += [f"  {_participant_line(each, now_us)}" for each in diagnosis.overview.participant_states]
    if diagnosis.turned_away:
        lines.append(f"  refused because of its locks: {', '.join(map(str, diagnosis.turned_away))}")
    return lines


def _participant_line(participant: ParticipantState, now_us: int) -> str:
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


def _seconds(us: int) -> str:
    return f"{us / 1e6:.1f} s"

"""Summarize a run as one object, for ``lab run --json``."""

from msgspec import Struct

from lab.analysis.elections import ElectionLog, SettledElection
from lab.kernel import CommandInput, Step
from lab.protocols.bank_commands import Load
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Process, Record, convert_or_none
from lab.recording.snapshot import ActiveFault, NodeState
from lab.tasks.bank.blocking import TransactionDiagnosis, diagnose_open_transactions
from lab.tasks.bank.commit_history import CommitHistory, CommitLog
from lab.units import format_count


class NodeSummary(Struct, frozen=True):
    """A node at the end of the run. ``alive``: its process exists, even if paused. ``group``: such as ``5.3``."""

    alive: bool
    process: str
    status: str
    coordinator: int | None
    up: tuple[int, ...]
    definition_version: int
    group: str | None


class FaultSummary(Struct, frozen=True):
    """A fault of the run. ``touched`` counts nodes for a fault of nodes, messages for one of links; 0 if inert."""

    command: str
    touched: int
    messages: int
    assumptions: tuple[int, ...]


class TransactionSummary(Struct, frozen=True):
    """Counts of the transactions of a bank, and the time for which nodes were blocked, summed over the nodes."""

    committed: int
    aborted: int
    open: int
    blocked_us: int


class OpenSummary(Struct, frozen=True):
    """A transaction that is open at the end, and why. ``blocked_us``: when it became blocked, or None."""

    transaction: str
    why: str
    blocked_us: int | None


class Note(Struct, frozen=True):
    """A note of a node that was given a protocol command, or the load that it left undone."""

    at_us: int
    node: int
    text: str


class NoteLog:
    """Collect these notes; call ``observe`` with every record."""

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self._commanded: set[int] = set()
        self._unbegun: dict[int, int] = {}

    def observe(self, record: Record | None) -> None:
        """Add the next record."""
        if isinstance(record, Step):
            if isinstance(record.input, CommandInput):
                self._commanded.add(record.node)
            if record.notes and record.node in self._commanded:
                self.notes += [Note(record.at_us, record.node, text) for text in record.notes]
            if "load" in record.changed:
                load = convert_or_none(record.changed["load"], Load) or Load()
                self._unbegun[record.node] = load.left
        elif isinstance(record, Process) and record.event in ("killed", "failed"):
            unbegun = self._unbegun.pop(record.node, 0)
            if unbegun:
                text = f"{record.event}, and its load ended: {format_count(unbegun, 'transfer')} never begun"
                self.notes.append(Note(record.at_us, record.node, text))


class Summary(Struct, frozen=True):
    """The summary of a run. Times are microseconds since the run began; ``recording`` is a path.

    ``settings`` are the parameters, as ``name=value``.
    """

    world: str
    protocol: str
    settings: tuple[str, ...]
    nodes: dict[int, NodeSummary]
    elections: tuple[SettledElection, ...]
    messages: dict[str, int]
    faults: tuple[FaultSummary, ...]
    notes: tuple[Note, ...]
    transactions: TransactionSummary | None
    open: tuple[OpenSummary, ...]
    duration_us: int
    recording: str


def summarize(
    header: Header,
    cluster: ClusterState,
    elections: ElectionLog,
    notes: NoteLog,
    commits: CommitLog,
    recording: str,
) -> Summary:
    """Return the summary of a run, after all its records were applied to ``cluster`` and the logs."""
    faults = sorted([*cluster.lifted, *cluster.faults.values()], key=lambda fault: fault.id)
    return Summary(
        header.world,
        header.protocol.title,
        header.protocol.settings,
        {node: _node(view) for node, view in sorted(cluster.nodes.items())},
        tuple(elections.settled),
        dict(sorted(cluster.messages.items())),
        tuple(map(_fault, faults)),
        tuple(notes.notes),
        _transactions(commits.commits(cluster.at_us)),
        tuple(map(_open, diagnose_open_transactions(cluster, header))),
        cluster.at_us,
        recording,
    )


def _node(view: NodeState) -> NodeSummary:
    return NodeSummary(
        view.process in ("running", "paused"),
        view.process,
        view.status,
        view.coordinator,
        view.up,
        view.definition_version,
        None if view.group is None else ".".join(map(str, view.group)),
    )


def _transactions(commits: CommitHistory) -> TransactionSummary | None:
    if not commits.transactions:
        return None
    outcomes = [each.outcome for each in commits.transactions]
    counts = (outcomes.count("committed"), outcomes.count("aborted"), outcomes.count(None))
    return TransactionSummary(*counts, sum(commits.blocked_us))


def _open(stuck: TransactionDiagnosis) -> OpenSummary:
    return OpenSummary(str(stuck.transaction), stuck.sentences[0], stuck.blocked_us)


def _fault(fault: ActiveFault) -> FaultSummary:
    return FaultSummary(fault.text, fault.touched, fault.messages, fault.breaks)

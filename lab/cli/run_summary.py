"""Summarize a run as one object, for ``lab run --json``."""

from typing import Any

from msgspec import Struct, structs

from lab.analysis.elections import ElectionLog, SettledElection
from lab.kernel import CommandInput, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Process, Record
from lab.recording.snapshot import ActiveFault, NodeState
from lab.tasks.analysis import Analysis, Report
from lab.tasks.extension import figures_of_other_runs


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


class Note(Struct, frozen=True):
    """A note of a node that was given a protocol command, or one on it by the analysis of the protocol."""

    at_us: int
    node: int
    text: str


class NoteLog:
    """Collect these notes; ``analysis`` is what the protocol computes of the run."""

    def __init__(self, analysis: Analysis) -> None:
        self.notes: list[Note] = []
        self._analysis = analysis
        self._commanded: set[int] = set()

    def observe(self, record: Record | None) -> None:
        """Process the next record."""
        note = self._analysis.observe(record)
        if isinstance(record, Step):
            if isinstance(record.input, CommandInput):
                self._commanded.add(record.node)
            if record.notes and record.node in self._commanded:
                self.notes += [Note(record.at_us, record.node, text) for text in record.notes]
        if note and isinstance(record, Step | Process):
            self.notes.append(Note(record.at_us, record.node, note))


class Summary(Struct, frozen=True):
    """The summary of a run. Times are microseconds since the run began; ``recording`` is a path.

    ``settings`` are the parameters, as ``name=value``; ``report`` is what the protocol reports of the run.
    """

    world: str
    protocol: str
    settings: tuple[str, ...]
    nodes: dict[int, NodeSummary]
    elections: tuple[SettledElection, ...]
    messages: dict[str, int]
    faults: tuple[FaultSummary, ...]
    notes: tuple[Note, ...]
    report: Report
    duration_us: int
    recording: str


def summarize(
    header: Header,
    cluster: ClusterState,
    elections: ElectionLog,
    notes: NoteLog,
    analysis: Analysis,
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
        analysis.report(recording),
        cluster.at_us,
        recording,
    )


def summary_as_json(summary: Summary) -> dict[str, Any]:
    """Return the summary with the figures of its report in place of that."""
    found: dict[str, Any] = {}
    for name, value in structs.asdict(summary).items():
        found |= figures_of_other_runs() | summary.report.figures if name == "report" else {name: value}
    return found


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


def _fault(fault: ActiveFault) -> FaultSummary:
    return FaultSummary(fault.text, fault.touched, fault.messages, fault.breaks)

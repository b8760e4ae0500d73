"""What a run came to, as one object: ``lab run --json``."""

from msgspec import Struct

from lab.journal.cluster import Cluster
from lab.journal.elections import ElectionLog, SettledElection
from lab.journal.records import FaultView, Header, NodeView

__all__ = ["FaultSummary", "NodeSummary", "Summary", "summarize"]


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
    """A fault of the run. ``touched`` counts nodes for a fault of nodes, messages for one of links; 0: inert."""

    command: str
    touched: int
    messages: int
    assumptions: tuple[int, ...]


class Summary(Struct, frozen=True):
    """Durations and instants in microseconds since the run began; ``recording`` is a path."""

    world: str
    protocol: str
    nodes: dict[int, NodeSummary]
    elections: tuple[SettledElection, ...]
    messages: dict[str, int]
    faults: tuple[FaultSummary, ...]
    duration_us: int
    recording: str


def summarize(header: Header, cluster: Cluster, elections: ElectionLog, recording: str) -> Summary:
    """The summary of a run whose records were all applied to ``cluster`` and shown to ``elections``."""
    faults = sorted([*cluster.lifted, *cluster.faults.values()], key=lambda fault: fault.id)
    return Summary(
        header.world,
        header.protocol.title,
        {node: _node(view) for node, view in sorted(cluster.nodes.items())},
        tuple(elections.settled),
        dict(sorted(cluster.messages.items())),
        tuple(map(_fault, faults)),
        cluster.at_us,
        recording,
    )


def _node(view: NodeView) -> NodeSummary:
    return NodeSummary(
        view.process in ("running", "paused"),
        view.process,
        view.status,
        view.coordinator,
        view.up,
        view.definition_version,
        None if view.group is None else ".".join(map(str, view.group)),
    )


def _fault(fault: FaultView) -> FaultSummary:
    return FaultSummary(fault.text, fault.touched, fault.messages, fault.breaks)

"""The state of a cluster after a record: its nodes, the messages in flight, the faults in force.

A *difference* is such a state as against an earlier one, the *base*. Most of what a node knows stays the same for
thousands of records: its group, its Definition, the beginning of its log.
"""

from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from lab.kernel import Wait
from lab.kernel.edits import Edit, edit_between, edited, is_same

ProcessState = Literal["absent", "running", "paused", "killed", "failed"]


def group_in(state: dict[str, Any]) -> tuple[int, int] | None:
    """Return the group in a state vector as (node that formed it, counter of that node), or None."""
    group = state.get("group")
    if not (isinstance(group, list) and len(group) == 2):
        return None
    node, counter = group
    return (node, counter) if isinstance(node, int) and isinstance(counter, int) and counter > 0 else None


class NodeState(Struct, frozen=True, omit_defaults=True):
    """A node as of a record. ``process`` is the state of its process, ``state`` the variables of the protocol.

    The properties read the variables of rule M2, and tolerate any value that a foreign recording has there.
    """

    id: int
    process: ProcessState = "absent"
    incarnation: int = field(default=0, name="life")
    pid: int = 0
    state: dict[str, Any] = {}
    waits: tuple[Wait, ...] = ()
    step_us: int = 0
    traceback: str = ""

    @property
    def status(self) -> str:
        """The Status; Down if the node has none."""
        status = self.state.get("status")
        return status if isinstance(status, str) else "Down"

    @property
    def coordinator(self) -> int | None:
        """The Coordinator."""
        coordinator = self.state.get("coordinator")
        return coordinator if isinstance(coordinator, int) else None

    @property
    def up(self) -> tuple[int, ...]:
        """The nodes that it believes to be members of its group."""
        up = self.state.get("up")
        return tuple(node for node in up if isinstance(node, int)) if isinstance(up, list) else ()

    @property
    def definition_version(self) -> int:
        """The version of its Definition; 0 if it has none."""
        definition = self.state.get("definition")
        version = definition.get("version") if isinstance(definition, dict) else None
        return version if isinstance(version, int) else 0

    @property
    def group(self) -> tuple[int, int] | None:
        """The identifier of its group, or None."""
        return group_in(self.state)

    @property
    def leads(self) -> bool:
        """True if it is Normal and its own coordinator."""
        return self.status == "Normal" and self.coordinator == self.id


class InFlightMessage(Struct, frozen=True, omit_defaults=True, gc=False):
    """A message in flight. ``copies``: how often it can still arrive."""

    source: int
    serial: int
    target: int
    kind: str
    sent_us: int
    copies: int = 1
    held: bool = False


class ActiveFault(Struct, frozen=True, omit_defaults=True):
    """A fault in force. ``messages`` counts the messages it touched, ``struck`` its observed effects on nodes."""

    id: int
    kind: str
    text: str
    since_us: int
    nodes: tuple[int, ...] = ()
    breaks: tuple[int, ...] = ()
    links: tuple[tuple[int, int], ...] = ()
    messages: int = 0
    struck: int = 0

    @property
    def touched(self) -> int:
        """Number of targets affected: nodes for a fault of nodes, messages for a fault of links; 0 if inert."""
        return self.struck if self.nodes else self.messages


class Snapshot(Struct, frozen=True, omit_defaults=True):
    """The state of the whole cluster after a record. ``lines`` is the number of log lines so far.

    ``others`` are the clients and services outside the cluster.
    """

    record: int
    at_us: int
    nodes: tuple[NodeState, ...]
    in_flight: tuple[InFlightMessage, ...] = field(name="flights")
    faults: tuple[ActiveFault, ...]
    messages: dict[str, int]
    lines: int
    others: tuple[NodeState, ...] = ()


class NodeDifference(Struct, frozen=True, omit_defaults=True):
    """A node as against the base: of its ``state``, only the fields with new values.

    ``edits``: long lists that changed little. ``gone``: the fields that it no longer has.
    """

    node: NodeState
    edits: dict[str, Edit] = {}
    gone: tuple[str, ...] = ()


class SnapshotDifference(Struct, frozen=True, omit_defaults=True):
    """A snapshot as against a base; nodes that are the same are left out."""

    record: int
    at_us: int
    nodes: tuple[NodeDifference, ...]
    in_flight: tuple[InFlightMessage, ...] = field(name="flights")
    faults: tuple[ActiveFault, ...]
    messages: dict[str, int]
    lines: int
    others: tuple[NodeDifference, ...] = ()


def difference_between(base: Snapshot, now: Snapshot) -> SnapshotDifference:
    """Return the later snapshot as against the base."""
    return SnapshotDifference(
        now.record,
        now.at_us,
        _node_differences(base.nodes, now.nodes),
        now.in_flight,
        now.faults,
        now.messages,
        now.lines,
        _node_differences(base.others, now.others),
    )


def _node_differences(base: tuple[NodeState, ...], now: tuple[NodeState, ...]) -> tuple[NodeDifference, ...]:
    before = {node.id: node for node in base}
    return tuple(
        [_node_difference(before.get(node.id), node) for node in now if not is_same(before.get(node.id), node)]
    )


def _node_difference(base: NodeState | None, now: NodeState) -> NodeDifference:
    if base is None:
        return NodeDifference(now)
    changed: dict[str, Any] = {}
    edits: dict[str, Edit] = {}
    for name, value in now.state.items():
        before = base.state.get(name)
        if name in base.state and is_same(before, value):
            continue
        edit = edit_between(before, value) if isinstance(before, list) and isinstance(value, list) else None
        if edit is None:
            changed[name] = value
        else:
            edits[name] = edit
    gone = tuple(name for name in base.state if name not in now.state)
    return NodeDifference(replace(now, state=changed), edits, gone)


def snapshot_after(base: Snapshot, difference: SnapshotDifference) -> Snapshot:
    """Return the snapshot that differs from the base in this."""
    return Snapshot(
        difference.record,
        difference.at_us,
        _nodes_after(base.nodes, difference.nodes),
        difference.in_flight,
        difference.faults,
        difference.messages,
        difference.lines,
        _nodes_after(base.others, difference.others),
    )


def _nodes_after(base: tuple[NodeState, ...], differences: tuple[NodeDifference, ...]) -> tuple[NodeState, ...]:
    nodes = {node.id: node for node in base}
    for each in differences:
        nodes[each.node.id] = _node_after(nodes.get(each.node.id), each)
    return tuple(nodes.values())


def _node_after(base: NodeState | None, difference: NodeDifference) -> NodeState:
    before = {} if base is None else base.state
    state = {name: value for name, value in before.items() if name not in difference.gone}
    for name, edit in difference.edits.items():
        state[name] = edited(state.get(name), edit)
    return replace(difference.node, state={**state, **difference.node.state})

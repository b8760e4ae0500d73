"""Find the elections of a run, measure its leadership, and find where the next leader is undecided.

An *election* lasts from the time at which the running nodes no longer agree on a coordinator (A2) until they agree
again; it counts in the measures if messages other than heartbeats are sent in it.

A node *leads* while it runs, is Normal, and is its own coordinator. The cluster is *without a coordinator* while
no node leads, and while a running node is Normal under another one that does not lead, because it has crashed or
is paused. This counts only after the first coordinator.

The leadership is *settled* while every running node is Normal under a running node that is Normal and leads
itself: one for all, or one in each group. A *decision* lasts from the record that ends this to the record that
restores it. There is no decision before all nodes have started for the first time.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from lab.kernel import Received, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import PROCESS_AFTER, Process, Record
from lab.recording.snapshot import NodeState


class SettledElection(Struct, frozen=True):
    """A completed election. ``lost_at_us`` is None if no coordinator had been lost."""

    lost_at_us: int | None
    settled_at_us: int
    coordinator: int


def agreed_coordinator(nodes: Mapping[int, NodeState]) -> int | None:
    """Return the node under which every running node, itself included, is Normal, or None (A2).

    None also while a node has not been started yet: the first node to start must not count as all of them.
    """
    agreed = None
    for view in nodes.values():
        if view.process == "absent":
            return None
        if view.process == "running":
            followed = _followed(view)
            if followed is None or agreed not in (None, followed):
                return None
            agreed = followed
    leader = None if agreed is None else nodes.get(agreed)
    return agreed if leader is not None and leader.process == "running" else None


def _followed(view: NodeState) -> int | None:
    return view.coordinator if view.status == "Normal" else None


def may_change_leader(record: Record | None) -> bool:
    """Return whether the record may change who leads, or who agrees on the leader."""
    if isinstance(record, Step):
        return "status" in record.changed or "coordinator" in record.changed
    return isinstance(record, Process)


class NodeStatus(Struct):
    """The state of a node's process, its Status and its coordinator, as its records give them."""

    process: str = "absent"
    status: str = ""
    coordinator: object = None

    def observe(self, record: Step | Process) -> None:
        """Process the next record of this node."""
        if isinstance(record, Step):
            self.status = str(record.changed.get("status", self.status))
            self.coordinator = record.changed.get("coordinator", self.coordinator)
        else:
            self.process = PROCESS_AFTER.get(record.event, self.process)
            if record.event == "started":
                self.status, self.coordinator = "", None

    @property
    def shown(self) -> str:
        """The Status or, of a node that does not run, the state of its process."""
        return self.status if self.process == "running" else self.process

    def leads(self, node: int) -> bool:
        """Return whether the node, which has this id, leads."""
        return self.shown == "Normal" and self.coordinator == node


class ElectionLog:
    """Collect the elections. ``cluster`` is the state after each record."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self.settled: list[SettledElection] = []
        self.coordinator: int | None = None
        """The node on which all agree now."""
        self._last: int | None = None
        self._lost_at_us: int | None = None

    def observe(self, record: Record | None) -> None:
        """Process the next record."""
        cluster = self._cluster
        if not may_change_leader(record):
            return
        agreed = agreed_coordinator(cluster.nodes)
        if agreed is None:
            lost = self._last is not None and cluster.nodes[self._last].process != "running"
            if lost and self._lost_at_us is None:
                self._lost_at_us = cluster.at_us
        elif self.coordinator is None:
            self.settled.append(SettledElection(self._lost_at_us, cluster.at_us, agreed))
            self._last, self._lost_at_us = agreed, None
        self.coordinator = agreed


class Span(Struct):
    """An interval of time; ``ended_us`` is None while it lasts."""

    began_us: int
    ended_us: int | None = None

    def us(self, now_us: int) -> int:
        """Return its length, up to now if it lasts."""
        return (now_us if self.ended_us is None else self.ended_us) - self.began_us


class Leadership:
    """Collect the measures; ``cluster`` is the state after each record.

    ``outages`` are the intervals without a coordinator, ``multiple_leaders`` those in which more than one node
    leads. ``elections`` holds the number of messages of each completed election.
    """

    def __init__(self, cluster: ClusterState, heartbeats: Iterable[str] = ()) -> None:
        self.outages: list[Span] = []
        self.multiple_leaders: list[Span] = []
        self.elections: list[int] = []
        self._heartbeats = frozenset(heartbeats)
        self._was_led = False
        self._cluster = cluster
        self._log = ElectionLog(cluster)
        self._messages = 0

    def observe(self, record: Record | None) -> None:
        """Process the next record."""
        settled, agreed_before = len(self._log.settled), self._log.coordinator
        self._log.observe(record)
        if may_change_leader(record):
            self._update()
        if isinstance(record, Step) and None in (agreed_before, self._log.coordinator):
            self._messages += sum(message.kind not in self._heartbeats for message in record.sent)
        if len(self._log.settled) > settled:
            if self._messages:
                self.elections.append(self._messages)
            self._messages = 0

    def _update(self) -> None:
        cluster = self._cluster
        running = [view for view in cluster.nodes.values() if view.process == "running"]
        leaders = {view.id for view in running if view.leads}
        self._was_led |= bool(leaders)
        led = bool(leaders) and not any(_follows_no_leader(view, leaders) for view in running)
        extend_spans(self.outages, self._was_led and not led, cluster.at_us)
        extend_spans(self.multiple_leaders, len(leaders) > 1, cluster.at_us)


def _follows_no_leader(view: NodeState, leaders: set[int]) -> bool:
    return view.status == "Normal" and view.coordinator not in leaders


def extend_spans(spans: list[Span], lasts: bool, at_us: int) -> None:
    """Begin a span if the condition now ``lasts`` and none is open; end the open one if it does not."""
    lasted = bool(spans) and spans[-1].ended_us is None
    if lasts and not lasted:
        spans.append(Span(at_us))
    elif lasted and not lasts:
        spans[-1].ended_us = at_us


class LeaderDecision(Struct):
    """A decision: the record with which it ``began``, and the one that ``settled`` it, or None.

    The nodes ``before`` led until it began, and the ``leaders`` lead after it. ``notifications`` are the messages
    by which nodes learned of their coordinators, as (leader, node, sender, kind).
    """

    began: int
    before: tuple[int, ...]
    settled: int | None = None
    leaders: tuple[int, ...] = ()
    notifications: list[tuple[int, int, int, str]] = []


def settled_leaders(nodes: Mapping[int, NodeState]) -> tuple[int, ...] | None:
    """Return the leaders if the leadership is settled, else None."""
    running = [view for view in nodes.values() if view.process == "running"]
    leaders = {view.id for view in running if view.leads}
    followed = {view.coordinator if view.status == "Normal" else None for view in running}
    return tuple(sorted(leaders)) if leaders and followed <= leaders else None


class DecisionLog:
    """Find the decisions, and keep the last that began, as ``decision``.

    ``observe`` itself applies each record to the cluster. ``leaders`` is None while the leadership is not settled.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self.cluster = cluster
        self.decision: LeaderDecision | None = None
        self.leaders = settled_leaders(cluster.nodes)

    def observe(self, record: Record | None) -> None:
        """Apply the next record of the run."""
        notifications = self._notifications(record)
        self.cluster.apply(record)
        if not may_change_leader(record):
            return
        nodes, was_settled = self.cluster.nodes, self.leaders
        if any(view.process == "absent" for view in nodes.values()):
            return
        self.leaders = settled_leaders(nodes)
        is_open = self.decision is not None and self.decision.settled is None
        if not is_open and self.leaders is None:
            self.decision = LeaderDecision(self.cluster.record, was_settled or (), notifications=[])
            is_open = True
        if self.decision is not None and is_open:
            self.decision.notifications += notifications
            if self.leaders is not None:
                self.decision.settled, self.decision.leaders = self.cluster.record, self.leaders

    def _notifications(self, record: Record | None) -> list[tuple[int, int, int, str]]:
        """Return the notification by which the record's node learns of its coordinator: a list of one or none."""
        if not isinstance(record, Step) or not isinstance(record.input, Received):
            return []
        leader = record.changed.get("coordinator")
        flight = self.cluster.in_flight.get((record.input.source, record.input.serial))
        if not isinstance(leader, int) or leader == record.node or flight is None:
            return []
        return [(leader, record.node, flight.source, flight.kind)]

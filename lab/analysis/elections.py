"""Find the elections of a run, and who led when; measure that, and find where the next leader is undecided.

An *election* lasts from the time at which the running nodes no longer agree on a coordinator (A2) until they agree
again; it counts in the measures if messages other than heartbeats are sent in it.

A node *leads* while it runs, is Normal, and is its own coordinator. The cluster is *without a coordinator* while
no node leads, and while a running node is Normal under another one that does not lead, because it has crashed or
is paused. This counts only after the first coordinator.

The leadership is *settled* while every running node is Normal under a running node that is Normal and leads
itself: one for all, or one in each group. A *decision* lasts from the record that ends this to the record that
restores it. There is no decision before all nodes have started for the first time.

``StatusHistory`` keeps the Status of each node over time, for a view that looks back from a cursor.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

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
        return "status" in record.updates or "coordinator" in record.updates
    return isinstance(record, Process)


class NodeStatus(Struct):
    """The state of a node's process, its Status and its coordinator, as its records give them."""

    process: str = "absent"
    status: str = ""
    coordinator: object = None

    def observe(self, record: Step | Process) -> None:
        """Process the next record of this node."""
        if isinstance(record, Step):
            self.status = str(record.updates.get("status", self.status))
            self.coordinator = record.updates.get("coordinator", self.coordinator)
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
        nodes = cluster.statuses
        agreed = agreed_coordinator(nodes)
        if agreed is None:
            lost = self._last is not None and nodes[self._last].process != "running"
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
        running = [view for view in cluster.statuses.values() if view.process == "running"]
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
        self.leaders = settled_leaders(cluster.statuses)

    def observe(self, record: Record | None) -> None:
        """Apply the next record of the run."""
        notifications = self._notifications(record)
        self.cluster.apply(record)
        if not may_change_leader(record):
            return
        nodes, was_settled = self.cluster.statuses, self.leaders
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
        leader = record.updates.get("coordinator")
        flight = self.cluster.in_flight.get((record.input.source, record.input.serial))
        if not isinstance(leader, int) or leader == record.node or flight is None:
            return []
        return [(leader, record.node, flight.source, flight.kind)]


CALM = ("Normal", "Inside", "Working", "Holding")
"""The statuses of a node with which nothing is the matter."""
_UNREMARKABLE = (*CALM, "absent", "")
"""A strip shows these only where there was no other."""
_SECOND_US = 1_000_000


class _Node(NodeStatus):
    """A node now, and the times at which its status changed, each with the status from then on."""

    times_us: list[int] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)


class StatusHistory:
    """Collect the statuses of a run. The status of a node that does not run is the state of its process."""

    def __init__(self, nodes: Iterable[int]) -> None:
        self._nodes = {node: _Node() for node in nodes}
        self._times_us: list[int] = [0]
        self._led: list[bool] = [False]

    def observe(self, record: Record | None) -> None:
        """Process the next record."""
        if not isinstance(record, Step | Process) or not may_change_leader(record):
            return
        node = self._nodes.get(record.node)
        if node is None:
            return
        node.observe(record)
        if not node.statuses or node.statuses[-1] != node.shown:
            node.times_us.append(record.at_us)
            node.statuses.append(node.shown)
        led = any(each.leads(id_) for id_, each in self._nodes.items())
        if led != self._led[-1]:
            self._times_us.append(record.at_us)
            self._led.append(led)

    def leaderless_us(self, now_us: int) -> int | None:
        """Return for how long no node has led, in microseconds; None while one does."""
        place = bisect_right(self._times_us, now_us) - 1
        return None if self._led[place] else now_us - self._times_us[place]

    def last_gap_us(self, now_us: int, within_us: int) -> int | None:
        """Return how long no node led before the present leader, if that ended so recently; None otherwise."""
        place = bisect_right(self._times_us, now_us) - 1
        if place < 2 or not self._led[place] or now_us - self._times_us[place] > within_us:
            return None
        return self._times_us[place] - self._times_us[place - 1]

    def strip(self, node: int, now_us: int, seconds: int) -> tuple[str, ...]:
        """Return the status of a node in each of the last seconds, the present one included.

        Of several in a second, it is the last with which something is the matter. Before the run, it is empty.
        """
        changes = self._nodes.get(node)
        if changes is None:
            return ()
        last = now_us // _SECOND_US
        return tuple(
            self._in_second(changes, second * _SECOND_US, min(now_us, (second + 1) * _SECOND_US - 1))
            for second in range(last - seconds + 1, last + 1)
        )

    def _in_second(self, node: _Node, since_us: int, until_us: int) -> str:
        first = max(0, bisect_right(node.times_us, since_us) - 1)
        statuses = node.statuses[first : bisect_right(node.times_us, until_us)]
        matter = [status for status in statuses if status not in _UNREMARKABLE]
        return (matter or statuses or [""])[-1]

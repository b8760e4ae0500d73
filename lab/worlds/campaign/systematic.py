"""Bounded systematic testing: an event at each point of a run, then another at each point of each of these runs.

The runs form a tree. Its root has no faults, and links of a fixed latency. Every other run has one event more than
its parent, at a point after the parent's last event: right after a message, or right before the first message of a
step that writes. There a node is killed, paused, or cut off from all others; or a node that is away comes back, or
the network is healed, which can also happen once the cluster has come to rest. A bound of three tries one, two and
three of these events in this way. Of points that are alike in a run, the first stands for all: in the same
situation of the node, within the same situation of the cluster.
"""

from msgspec import Struct

from lab.kernel import Step
from lab.recording.records import Link, Record
from lab.worlds.campaign.schedule import Schedule, ScheduledFault, SchedulePlan, finished
from lab.worlds.campaign.situations import Point, SituationReader, number_of

SYSTEMATIC = ("kill", "pause", "partition")
"""The kinds of fault that strike at points."""
_ENDS = {"kill": "restart {}", "pause": "resume {}", "partition": "heal"}
_SETTLED, _COMMANDS = 8, 3
"""After this many T without faults, a cluster is at rest; then it is given a command, and twice more."""


class TreeRun(Struct, frozen=True):
    """A run of the tree: its number of nodes, and its events. ``left`` more events may follow."""

    nodes: int
    left: int
    events: tuple[ScheduledFault, ...] = ()

    def followed_by(self, event: ScheduledFault) -> "TreeRun":
        return TreeRun(self.nodes, self.left - 1, (*self.events, event))

    def schedule(self, plan: SchedulePlan, seed: int) -> Schedule:
        """Return the schedule of the run: its events, and commands that give the protocol its work."""
        t_us = plan.timing.t_us
        nodes = tuple(range(1, self.nodes + 1))
        commands = [
            ScheduledFault((1 + turn) * _SETTLED * t_us, "", plan.line_for(plan.commands[0], nodes[-1]))
            for turn in range(_COMMANDS if plan.commands else 0)
        ]
        last_us = max((event.at_us for event in self.events), default=0)
        end_us = max(last_us, _SETTLED * t_us if commands else 0) + _SETTLED * t_us
        commands = [command for command in commands if command.at_us < end_us]
        link = Link(plan.timing.tm_us // 5, 0)
        clients = len(plan.outside(nodes).clients)
        return finished(Schedule(seed, nodes, link, (*commands, *self.events), end_us, clients))


def roots(plan: SchedulePlan, bound: int) -> list[TreeRun]:
    """Return the first run of the tree for each number of nodes; at most ``bound`` events follow in each run."""
    return [TreeRun(nodes, bound) for nodes in range(plan.nodes[0], plan.nodes[1] + 1)]


class EventCollector:
    """Finds what can happen next in the run of a branch, from its records."""

    def __init__(self, plan: SchedulePlan, branch: TreeRun, schedule: Schedule, reader: SituationReader) -> None:
        self._events: list[ScheduledFault] = []
        self._reader = reader
        self._faults = [kind for kind in SYSTEMATIC if kind in plan.faults]
        self._schedule = schedule
        self._rest_us = schedule.end_us - plan.timing.t_us
        self._last = branch.events[-1] if branch.events else ScheduledFault(0, "", "")
        self._returns = _returns(branch.events)
        self._clocked_us = {fault.at_us for fault in schedule.faults if not fault.on}
        self._found: set[int] = set()
        self._instant_us = -1
        self._passed: set[str] = set()
        self._is_after = False
        self._is_last = branch.left == 0

    def observe(self, record: Record) -> None:
        """Take the next record."""
        self._reader.observe(record)
        if not isinstance(record, Step) or self._is_last:
            return
        at_us = record.at_us
        if at_us != self._instant_us:
            self._instant_us, self._passed, self._is_after = at_us, set(), at_us > self._last.at_us
        # a line that waits from an instant on waits for the first such message of it, after its commands
        is_usable = 0 < at_us < self._rest_us and at_us not in self._clocked_us
        for point in self._reader.points:
            if self._is_after and is_usable and point.on not in self._passed:
                self._add_events(point, at_us)
            self._passed |= {point.on, f"before {point.on}"}
        # the node may have crashed in the midst of this step: what follows it is after the last event
        if at_us == self._last.at_us and self._last.on in self._passed:
            self._is_after = True

    def finish(self) -> tuple[ScheduledFault, ...]:
        """Return what can happen next: in the order of the points, and then once the cluster is at rest."""
        returns = [] if self._is_last else self._returns
        return (*self._events, *(ScheduledFault(self._rest_us, "", command) for command in returns))

    def _add_events(self, point: Point, at_us: int) -> None:
        others = " ".join(str(node) for node in self._schedule.nodes if node != point.node)
        commands = {kind: f"{kind} {point.node}" for kind in self._faults}
        if "partition" in commands:
            commands["partition"] += f" | {others}"
        commands |= {str(place): command for place, command in enumerate(self._returns)}
        for what, command in commands.items():
            number = number_of((point.kind, self._reader.cluster, what))
            if number not in self._found:
                self._found.add(number)
                self._events.append(ScheduledFault(at_us, point.on, command))


def _returns(events: tuple[ScheduledFault, ...]) -> list[str]:
    """Return the commands that end the faults still in force, in the order in which these struck."""
    ends: dict[str, None] = {}
    for event in events:
        verb, _, node = event.command.partition(" ")
        if verb in _ENDS:
            ends[_ENDS[verb].format(node)] = None
        else:
            ends.pop(event.command, None)
    return list(ends)

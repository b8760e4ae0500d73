"""The cost of calm runs: messages, forced writes, and the time until all that is owed is done.

No assertion counts messages, and the bounds of liveness allow for the worst case, in which failures follow each
other. So a mistake that only costs something violates nothing. It shows where the cost is the same whenever the
run is repeated: in calm runs, whose links all have one latency. Every crash and every restart finds the cluster
at rest, or at a known point of its reaction: as the first message of a kind is sent. Or all messages of a kind are
lost for a while. Commands are given one at a time.
"""

from msgspec import Struct
from msgspec.structs import astuple

from lab.kernel import Step
from lab.protocols import Algorithm
from lab.recording.records import Header, Link, Record
from lab.units import format_us
from lab.worlds.campaign.schedule import Schedule, ScheduledFault, SchedulePlan
from lab.worlds.campaign.striker import scripted
from lab.worlds.campaign.trial import header_for, judging_log
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.watchdog import watch_steps

_SIZES = (3, 5)
_REST_T, _COMMAND_T = 20, 7
"""The time of rest after a disturbance, and after a command, in T."""
_MOST_COMMANDS = 2
_PHASES = 2
"""The crashes of a run come at one of so many moments between two heartbeats."""
_LOST_T = 10
"""For how long all messages of a kind are lost, in T: a question is asked again, or its sender gives up."""
_USUAL, _SLOWEST = 5, 1
"""A message takes this fraction of Tm."""
_MARGIN = 0.005
"""A crash that falls elsewhere between two heartbeats changes a cost by less."""


class CalmCost(Struct, frozen=True):
    """The cost of some runs, in which ``messages`` were sent besides heartbeats.

    ``owed_us``: how long something was owed, summed over assertions and nodes: a transaction that is open at two
    nodes counts twice. ``heartbeats`` are those during ``rest_us``, while nothing was owed.
    """

    messages: int = 0
    forced_writes: int = 0
    owed_us: int = 0
    heartbeats: int = 0
    rest_us: int = 0

    def __add__(self, other: "CalmCost") -> "CalmCost":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return CalmCost(*(one + another for one, another in pairs))

    @property
    def heartbeats_per_s(self) -> float:
        """The heartbeats per second of rest."""
        return self.heartbeats / self.rest_us * 1e6 if self.rest_us else 0.0

    def excess_over(self, least: "CalmCost") -> str:
        """Return in words what costs more here, by more than a phase of heartbeats may; empty if nothing does."""
        found = [
            f"{words.format(written(here))} instead of {written(there)}"
            for words, written, here, there in (
                ("{} messages", _count, self.messages, least.messages),
                ("{} heartbeats per second", _rate, self.heartbeats_per_s, least.heartbeats_per_s),
                ("{} forced writes", _count, self.forced_writes, least.forced_writes),
                ("settled after {}", _time, self.owed_us, least.owed_us),
            )
            if here > there * (1 + _MARGIN)
        ]
        return ", ".join(found)


def _rate(number: float) -> str:
    return f"{number:.1f}"


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _time(us: float) -> str:
    return format_us(round(us / 1000) * 1000)


def calm_schedules(plan: SchedulePlan) -> tuple[Schedule, ...]:
    """Return the calm runs, in a small and in a larger cluster.

    The highest nodes crash, the lowest and the highest, or one in the middle and the lowest; also where every
    message takes as long as it may, so that nobody may wait for less. For each kind of message, a node crashes as
    the first one is sent, in the larger cluster; and all of them are lost for a while, in the small one.
    """
    fewest, most = plan.nodes
    found: list[Schedule] = []
    clusters = [tuple(range(1, size + 1)) for size in sorted({min(max(size, fewest), most) for size in _SIZES})]
    for nodes in clusters:
        pairs = dict.fromkeys(
            [(nodes[-1], nodes[-2:][0]), (nodes[0], nodes[-1]), (nodes[len(nodes) // 2], nodes[0])]
        )
        found += (_at_rest(plan, nodes, pair, phase) for pair in pairs for phase in range(_PHASES))
        found += (_at_rest(plan, nodes, pair, 0, _SLOWEST) for pair in pairs)
    for kind in dict.fromkeys(plan.kinds) if len(clusters[0]) > 1 else ():
        found += _amid(plan, clusters[-1], kind), _without(plan, clusters[0], kind)
    return tuple(found)


def _at_rest(
    plan: SchedulePlan, nodes: tuple[int, ...], victims: tuple[int, ...], phase: int, latencies: int = _USUAL
) -> Schedule:
    """Return the run in which these nodes crash one after the other, and then restart in the same order."""
    t_us = plan.timing.t_us
    victims = tuple(dict.fromkeys(victims))
    scheduled: list[ScheduledFault] = []
    at_us = _REST_T * t_us
    for event in ("", *(f"kill {victim}" for victim in victims), *(f"restart {victim}" for victim in victims)):
        if event:
            scheduled.append(ScheduledFault(at_us + phase * t_us // _PHASES, "", event))
            at_us += _REST_T * t_us
        up = [node for node in nodes if node not in victims or not event]
        for place, command in enumerate(plan.commands[:_MOST_COMMANDS] if up else ()):
            node = up[-1] if plan.elects else up[place % len(up)]
            scheduled.append(ScheduledFault(at_us, "", plan.line_for(command, node)))
            at_us += _COMMAND_T * t_us
    return Schedule(1, nodes, _link(plan, latencies), tuple(scheduled), at_us)


def _amid(plan: SchedulePlan, nodes: tuple[int, ...], kind: str) -> Schedule:
    """Return the run in which a node crashes as the first message of a kind is sent, and restarts.

    Without commands, the message belongs to the reaction to the crash of the highest node, and the next one
    crashes, or the lowest. With commands, each is given to the highest node, which leads if there is an election;
    first that one crashes, and next time the lowest.
    """
    rest_us = _REST_T * plan.timing.t_us
    at_us = rest_us
    scheduled: list[ScheduledFault] = []
    begun = _disturbances(plan, nodes)
    victims = (nodes[-1], nodes[0]) if plan.commands else tuple(dict.fromkeys((nodes[-2], nodes[0])))
    courses = [(each, victim) for each in begun for victim in victims]
    for begins, victim in courses:
        scheduled.append(ScheduledFault(at_us, f"send {kind}", f"kill {victim}"))
        scheduled.append(ScheduledFault(at_us, "", begins))
        for node in dict.fromkeys((victim, nodes[-1])):
            scheduled.append(ScheduledFault(at_us + rest_us, "", f"restart {node}"))
        at_us += 2 * rest_us
    return Schedule(1, nodes, _link(plan), tuple(scheduled), at_us)


def _without(plan: SchedulePlan, nodes: tuple[int, ...], kind: str) -> Schedule:
    """Return the run in which all messages of a kind are lost for a while after the crash, or after a command."""
    rest_us = _REST_T * plan.timing.t_us
    at_us = rest_us
    scheduled: list[ScheduledFault] = []
    for begins in _disturbances(plan, nodes):
        scheduled.append(ScheduledFault(at_us, "", f"lose all {kind} 100%"))
        scheduled.append(ScheduledFault(at_us, "", begins))
        scheduled.append(ScheduledFault(at_us + _LOST_T * plan.timing.t_us, "", "heal"))
        if not plan.commands:
            scheduled.append(ScheduledFault(at_us + rest_us, "", f"restart {nodes[-1]}"))
        at_us += 2 * rest_us
    return Schedule(1, nodes, _link(plan), tuple(scheduled), at_us)


def _disturbances(plan: SchedulePlan, nodes: tuple[int, ...]) -> list[str]:
    """Return what the nodes react to: the first commands, given to the highest node, or else its crash."""
    commands = plan.commands[:_MOST_COMMANDS]
    return [plan.line_for(command, nodes[-1]) for command in commands] or [f"kill {nodes[-1]}"]


def _link(plan: SchedulePlan, latencies: int = _USUAL) -> Link:
    return Link(latency_us=plan.timing.tm_us // latencies, jitter_us=0)


def measure(protocol: type[Algorithm], base: Header, schedule: Schedule) -> CalmCost:
    """Run a calm schedule to its end, and return what it cost. Raises RunawayError."""
    cost = _Measurement(header_for(protocol, base, schedule))
    watch_steps()
    simulation = Simulation(protocol, cost.log)
    for fault in schedule.faults:
        simulation.director.add(scripted(fault))
    simulation.start()
    simulation.run_to(schedule.end_us)
    return cost.total


class _Measurement:
    """The cost of one run so far."""

    def __init__(self, header: Header) -> None:
        self.log, self._judge = judging_log(header, self._observe)
        self._kinds = frozenset(header.protocol.heartbeats)
        self._messages = self._forced_writes = self._owed_us = self._heartbeats = self._rest_us = 0
        self._owing = self._at_us = 0

    @property
    def total(self) -> CalmCost:
        """The cost up to the last record."""
        return CalmCost(self._messages, self._forced_writes, self._owed_us, self._heartbeats, self._rest_us)

    def _observe(self, record: Record) -> None:
        passed_us = self._judge.at_us - self._at_us
        self._owed_us += self._owing * passed_us
        self._rest_us += passed_us if not self._owing else 0
        self._at_us, self._owing = self._judge.at_us, self._judge.debts
        if isinstance(record, Step):
            self._forced_writes += record.stores
            for message in record.sent:
                if message.kind not in self._kinds:
                    self._messages += 1
                elif not self._owing:
                    self._heartbeats += 1

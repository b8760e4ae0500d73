"""The cost of calm runs: messages, forced writes, and the time until all that is owed is done.

No assertion counts messages, and the bounds of liveness allow for the worst case, in which failures follow each
other. So a mistake that only costs something violates nothing. It shows where the cost is the same whenever the
run is repeated: in calm runs, whose links all have one latency. Every crash and every restart finds the cluster
at rest, or at a known point of its reaction: as the first message of a kind is sent. Commands are given one at a
time.
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
_LATENCIES = 5
"""A message takes this fraction of Tm."""
_MARGIN = 0.005
"""A crash that falls elsewhere between two heartbeats changes a cost by less."""


class CalmCost(Struct, frozen=True):
    """The cost of some runs, in which ``messages`` were sent besides heartbeats.

    ``owed_us``: how long something was owed, summed over the assertions that owed it. ``heartbeats`` are those
    during ``rest_us``, while nothing was.
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

    The highest nodes crash, the lowest and the highest, or one in the middle and the lowest; and, for each kind of
    message, a node crashes as the first one is sent.
    """
    fewest, most = plan.nodes
    found: list[Schedule] = []
    for size in sorted({min(max(size, fewest), most) for size in _SIZES}):
        nodes = tuple(range(1, size + 1))
        pairs = dict.fromkeys([(nodes[-1], nodes[-2:][0]), (nodes[0], nodes[-1]), (nodes[size // 2], nodes[0])])
        found += (_at_rest(plan, nodes, pair, phase) for pair in pairs for phase in range(_PHASES))
    found += (_amid(plan, nodes, kind) for kind in dict.fromkeys(plan.kinds) if size > 1)
    return tuple(found)


def _at_rest(plan: SchedulePlan, nodes: tuple[int, ...], victims: tuple[int, ...], phase: int) -> Schedule:
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
            scheduled.append(ScheduledFault(at_us, "", _given_to(plan, node, command)))
            at_us += _COMMAND_T * t_us
    return Schedule(1, nodes, _link(plan), tuple(scheduled), at_us)


def _amid(plan: SchedulePlan, nodes: tuple[int, ...], kind: str) -> Schedule:
    """Return the run in which a node crashes as the first message of a kind is sent, and restarts.

    Without commands, the message belongs to the reaction to the crash of the highest node, and the next one
    crashes, or the lowest. With commands, each is given to the highest node, which leads if there is an election;
    first that one crashes, and next time the lowest.
    """
    rest_us = _REST_T * plan.timing.t_us
    at_us = rest_us
    scheduled: list[ScheduledFault] = []
    courses = [(f"kill {nodes[-1]}", victim) for victim in dict.fromkeys((nodes[-2], nodes[0]))]
    if plan.commands:
        given = [_given_to(plan, nodes[-1], command) for command in plan.commands[:_MOST_COMMANDS]]
        courses = [(command, victim) for command in given for victim in (nodes[-1], nodes[0])]
    for begins, victim in courses:
        scheduled.append(ScheduledFault(at_us, f"send {kind}", f"kill {victim}"))
        scheduled.append(ScheduledFault(at_us, "", begins))
        for node in dict.fromkeys((victim, nodes[-1])):
            scheduled.append(ScheduledFault(at_us + rest_us, "", f"restart {node}"))
        at_us += 2 * rest_us
    return Schedule(1, nodes, _link(plan), tuple(scheduled), at_us)


def _given_to(plan: SchedulePlan, node: int, command: str) -> str:
    """Return the line that gives a command to the node; one for leaders goes to whoever leads."""
    return command if command.partition(" ")[0] in plan.bare else f"tell {node} {command}"


def _link(plan: SchedulePlan) -> Link:
    return Link(latency_us=plan.timing.tm_us // _LATENCIES, jitter_us=0)


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
        self._at_us, self._owing = self._judge.at_us, len(self._judge.owing)
        if isinstance(record, Step):
            self._forced_writes += record.stores
            for message in record.sent:
                if message.kind not in self._kinds:
                    self._messages += 1
                elif not self._owing:
                    self._heartbeats += 1

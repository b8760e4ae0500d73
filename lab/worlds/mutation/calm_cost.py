"""What calm runs cost: messages, forced writes, and the time until all that is owed is done.

No assertion counts messages, and the bounds of liveness allow for the worst case, in which failures follow each
other. So a mistake that only costs something violates nothing. It shows where the cost is the same whenever the
run is repeated: in calm runs, whose links all have one latency. Every crash and every restart finds the cluster
at rest, or at a known point of its reaction: as the first message of a kind is sent. Commands are given one at a
time.
"""

from msgspec import Struct

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
"""How long the cluster rests after a disturbance, and after a command, in T."""
_MOST_COMMANDS = 4
_PHASES = 2
"""The crashes of a run come at one of so many moments between two heartbeats."""
_LATENCIES = 5
"""A message takes this fraction of Tm."""
_MARGIN = 0.005
"""A crash that falls elsewhere between two heartbeats changes a cost by less."""


class CalmCost(Struct, frozen=True):
    """The cost of some runs. ``owed_us``: how long something was owed, summed over the assertions that owed it."""

    messages: int = 0
    forced_writes: int = 0
    owed_us: int = 0

    def __add__(self, other: "CalmCost") -> "CalmCost":
        return CalmCost(
            self.messages + other.messages,
            self.forced_writes + other.forced_writes,
            self.owed_us + other.owed_us,
        )

    def excess_over(self, least: "CalmCost") -> str:
        """Return in words what costs more here, by more than a phase of heartbeats may; empty if nothing does."""
        found = [
            f"{words.format(written(here))} instead of {written(there)}"
            for words, written, here, there in (
                ("{} messages", _count, self.messages, least.messages),
                ("{} forced writes", _count, self.forced_writes, least.forced_writes),
                ("settled after {}", _time, self.owed_us, least.owed_us),
            )
            if here > there * (1 + _MARGIN)
        ]
        return ", ".join(found)


def _count(number: int) -> str:
    return f"{number:,}"


def _time(us: int) -> str:
    return format_us(round(us, -3))


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
            scheduled.append(ScheduledFault(at_us, "", f"tell {up[place % len(up)]} {command}"))
            at_us += _COMMAND_T * t_us
    return Schedule(1, nodes, _link(plan), tuple(scheduled), at_us)


def _amid(plan: SchedulePlan, nodes: tuple[int, ...], kind: str) -> Schedule:
    """Return the run in which a node crashes as the first message of a kind is sent, and restarts.

    Without commands, the message belongs to the reaction to the crash of the highest node, and the next one
    crashes, or the lowest. With commands, each is given to the lowest node; first that one crashes, and next time
    the highest.
    """
    rest_us = _REST_T * plan.timing.t_us
    at_us = rest_us
    scheduled: list[ScheduledFault] = []
    courses = [(f"kill {nodes[-1]}", victim) for victim in dict.fromkeys((nodes[-2], nodes[0]))]
    if plan.commands:
        given = [f"tell {nodes[0]} {command}" for command in plan.commands[:_MOST_COMMANDS]]
        courses = [(command, victim) for command in given for victim in (nodes[0], nodes[-1])]
    for begins, victim in courses:
        scheduled.append(ScheduledFault(at_us, f"send {kind}", f"kill {victim}"))
        scheduled.append(ScheduledFault(at_us, "", begins))
        for node in dict.fromkeys((victim, nodes[-1])):
            scheduled.append(ScheduledFault(at_us + rest_us, "", f"restart {node}"))
        at_us += 2 * rest_us
    return Schedule(1, nodes, _link(plan), tuple(scheduled), at_us)


def _link(plan: SchedulePlan) -> Link:
    return Link(latency_us=plan.timing.tm_us // _LATENCIES, jitter_us=0)


def measure(protocol: type[Algorithm], base: Header, schedule: Schedule) -> CalmCost:
    """Run a calm schedule to its end, and return what it cost. Raises RunawayError."""
    messages = forced_writes = owed_us = last_us = 0
    owing = 0

    def observe(record: Record) -> None:
        nonlocal messages, forced_writes, owed_us, last_us, owing
        owed_us += owing * (judge.at_us - last_us)
        last_us, owing = judge.at_us, len(judge.owing)
        if isinstance(record, Step):
            messages += len(record.sent)
            forced_writes += record.stores

    log, judge = judging_log(header_for(protocol, base, schedule), observe)
    watch_steps()
    simulation = Simulation(protocol, log)
    for fault in schedule.faults:
        simulation.director.add(scripted(fault))
    simulation.start()
    simulation.run_to(schedule.end_us)
    return CalmCost(messages, forced_writes, owed_us)

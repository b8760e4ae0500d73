"""Schedules of faults, and drawing them at random: a schedule is a cluster, and a script that a person can run.

A random schedule depends on the plan and the seed alone. It aims at critical moments: elections, the middle of a
step, recovery from the last fault. Most faults hit the highest nodes, because those lead. Many wait for a message
of an election, usually one that the target sends or receives, so that they strike between two messages of one
step. The next fault often comes during the recovery from the last one.
"""

import re
from collections.abc import Callable
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Request, Timing
from lab.protocols import Algorithm
from lab.recording.records import Link
from lab.units import format_us

_NUMBER = re.compile(r"\d+(?![\d.]*(us|µs|ms|s|min|m|%))")


class ScheduledFault(Struct, frozen=True):
    """One command, at that time or, with ``on``, at the first such message after it."""

    at_us: int
    on: str
    command: str

    def __str__(self) -> str:
        """Return the line of the command language."""
        on = f" on {self.on}" if self.on else ""
        return f"at {format_us(self.at_us)}{on} {self.command}"

    def named_nodes(self) -> set[int]:
        """Return the nodes that the command or its trigger names."""
        return {int(match[0]) for match in _NUMBER.finditer(f"{self.on} {self.command}")}

    def without(self, node: int) -> "ScheduledFault | None":
        """Return it without that node; None if nothing is left."""
        if node not in self.named_nodes():
            return self
        if not self.command.startswith("partition"):
            return None
        sides = [
            " ".join(word for word in side.split() if word != str(node))
            for side in self.command.removeprefix("partition").split("|")
        ]
        return replace(self, command=f"partition {' | '.join(sides)}") if all(sides) else None


class Schedule(Struct, frozen=True):
    """The nodes, links and faults of one run, which ends at ``end_us``; ``seed`` determines the links' draws."""

    seed: int
    nodes: tuple[int, ...]
    link: Link
    faults: tuple[ScheduledFault, ...]
    end_us: int

    @property
    def last_us(self) -> int:
        """When the last fault is due, as far as that is known in advance."""
        return max((fault.at_us for fault in self.faults), default=0)

    def without_node(self, node: int) -> "Schedule":
        left = (fault.without(node) for fault in self.faults)
        nodes = tuple(each for each in self.nodes if each != node)
        return replace(self, nodes=nodes, faults=tuple(fault for fault in left if fault is not None))


# drawing


class SchedulePlan(Struct, frozen=True):
    """The parameters of random schedules: the range of nodes, the kinds of fault, messages to strike at, commands.

    A message kind that is in ``kinds`` twice is chosen twice as often.
    """

    nodes: tuple[int, int]
    faults: tuple[str, ...]
    timing: Timing
    kinds: tuple[str, ...]
    commands: tuple[str, ...] = ()


def plan_of(
    protocol: type[Algorithm], nodes: tuple[int, int], faults: tuple[str, ...], timing: Timing
) -> SchedulePlan:
    """Return the plan for this protocol: all its messages but the heartbeats, requests twice as often.

    If commands keep a task busy, return the task's messages; the faults then strike the election often enough.
    """
    aimed_at = protocol.upper_protocol if protocol.workload and protocol.upper_protocol is not None else protocol
    kinds = {name: kind for name, kind in aimed_at.payloads.items() if kind not in protocol.heartbeats}
    requests = [name for name, kind in kinds.items() if issubclass(kind, Request)]
    return SchedulePlan(nodes, faults, timing, tuple(sorted([*kinds, *requests])), protocol.workload)


def draw(plan: SchedulePlan, seed: int) -> Schedule:
    return _ScheduleGenerator(plan, seed).schedule()


class _ScheduleGenerator:
    def __init__(self, plan: SchedulePlan, seed: int) -> None:
        self._plan = plan
        self._seed = seed
        self._rng = Random(f"{seed}/schedule")
        self._t_us = plan.timing.t_us
        self._nodes = tuple(range(1, self._rng.randint(*plan.nodes) + 1))
        self._link = self._draw_link()
        self._faults: list[ScheduledFault] = []
        self._recovered_us = 0

    def schedule(self) -> Schedule:
        rng = self._rng
        now_us = rng.choice([0, rng.randint(0, 3 * self._t_us), 8 * self._t_us])
        for _ in range(rng.randint(1, 6)):
            FAULTS[rng.choice(self._plan.faults)](self, now_us)
            now_us += self._draw_gap_us()
        end_us = _round_ms(max(now_us, self._recovered_us) + self._t_us)
        if set(self._plan.faults) - {"kill", "wipe"}:
            self._faults += [ScheduledFault(end_us, "", "heal"), ScheduledFault(end_us, "", "resume all")]
        self._add_commands(end_us)
        faults = tuple(sorted(self._faults, key=lambda fault: fault.at_us))
        return Schedule(self._seed, self._nodes, self._link, faults, end_us)

    def _add_commands(self, end_us: int) -> None:
        """Add commands, half of them to the highest node, which leads; many of them close to a fault."""
        rng = Random(f"{self._seed}/commands")
        fault_us = [fault.at_us for fault in self._faults]
        for _ in range(rng.randint(4, 12) if self._plan.commands else 0):
            at_us = rng.randint(0, end_us)
            if rng.random() < 0.6:
                at_us = max(0, rng.choice(fault_us) + rng.randint(-2 * self._t_us, 2 * self._t_us))
            node = rng.choice([self._nodes[-1], rng.choice(self._nodes)])
            command = f"tell {node} {rng.choice(self._plan.commands)}"
            self._faults.append(ScheduledFault(_round_ms(at_us), "", command))

    def _draw_link(self) -> Link:
        """Draw a latency of up to Tm, never more; jitter decides whether messages overtake on two links."""
        tm_us = self._plan.timing.tm_us
        longest_us = self._rng.choice([tm_us // 40, tm_us // 5, tm_us // 2, tm_us - 1, tm_us - 1])
        jitter_us = self._rng.choice([0, longest_us // 4, longest_us // 2, longest_us // 2])
        return Link(longest_us - jitter_us, jitter_us)

    def _draw_gap_us(self) -> int:
        """Draw the time to the next fault: none, within an election, or after it."""
        t_us, rng = self._t_us, self._rng
        return rng.choice([0, rng.randint(0, t_us), rng.randint(t_us, 5 * t_us), 15 * t_us])

    def _draw_trigger(self, share: float, victim: int | None = None) -> str:
        """Draw a message to wait for, with this probability; sometimes on one link, preferably the victim's."""
        rng = self._rng
        if not self._plan.kinds or rng.random() >= share:
            return ""
        on = f"{rng.choice(['send', 'send', 'deliver'])} {rng.choice(self._plan.kinds)}"
        if rng.random() < 0.25 and len(self._nodes) > 1:
            source, target = rng.sample(self._nodes, 2)
            if victim is not None and victim not in (source, target):
                source, target = rng.choice([(victim, target), (source, victim)])
            on += f" {source}->{target}"
        return on

    def _draw_frequent_trigger(self, share: float, victim: int | None = None) -> str:
        """Draw a message to strike at; more often if commands keep messages in flight."""
        return self._draw_trigger(0.7 if self._plan.commands else share, victim)

    def _draw_node(self) -> int:
        nodes = self._nodes
        if self._plan.commands:
            return self._rng.choice(nodes)
        return self._rng.choice([nodes[-1], nodes[-1], nodes[-2:][0], *nodes])

    def _successor(self, victim: int) -> int | None:
        """Return the node that leads without the victim; None if there is no other."""
        return max((node for node in self._nodes if node != victim), default=None)

    def _draw_links(self) -> str:
        rng = self._rng
        if len(self._nodes) < 2 or rng.random() < 0.3:
            return "all"
        if rng.random() < 0.5:
            return str(self._draw_node())
        source, target = rng.sample(self._nodes, 2)
        return f"{source}{rng.choice(['->', '<->'])}{target}"

    def _draw_percentage(self) -> str:
        return f"{self._rng.choice([10, 30, 60, 100])}%"

    def _schedule_fault(self, at_us: int, command: str, on: str = "") -> None:
        if not self._faults and at_us > 3 * self._t_us and not self._plan.commands:
            on = ""  # before the first fault the cluster is at rest, and no such message comes
        self._faults.append(ScheduledFault(_round_ms(at_us), on, command))
        self._recovered_us = max(self._recovered_us, at_us)

    def _schedule_recovery(self, fault_us: int, command: str, meanwhile: int | None = None) -> None:
        due_us = fault_us + self._draw_gap_us() + self._rng.randint(0, self._t_us)
        self._schedule_fault(due_us, command, self._draw_trigger(0.35 if meanwhile is None else 0.6, meanwhile))

    # one kind of fault each

    def _kill(self, at_us: int) -> None:
        victim = self._draw_node()
        self._schedule_fault(at_us, f"kill {victim}", self._draw_frequent_trigger(0.4, victim))
        if self._rng.random() < 0.8:
            self._schedule_recovery(at_us, f"restart {victim}", self._successor(victim))

    def _wipe(self, at_us: int) -> None:
        victim = self._draw_node()
        self._schedule_fault(at_us, f"kill {victim}")
        self._schedule_fault(at_us, f"wipe {victim}")
        self._schedule_recovery(at_us, f"restart {victim}")

    def _pause(self, at_us: int) -> None:
        victim = self._draw_node()
        self._schedule_fault(at_us, f"pause {victim}", self._draw_frequent_trigger(0.4, victim))
        self._schedule_recovery(at_us + self._rng.randint(0, 6 * self._t_us), f"resume {victim}")

    def _partition(self, at_us: int) -> None:
        if len(self._nodes) < 2:
            return
        nodes = list(self._nodes)
        self._rng.shuffle(nodes)
        cut = self._rng.randint(1, len(nodes) - 1)
        one, other = (" ".join(map(str, sorted(side))) for side in (nodes[:cut], nodes[cut:]))
        self._schedule_fault(at_us, f"partition {one} | {other}", self._draw_frequent_trigger(0.3))
        self._schedule_recovery(at_us + self._rng.randint(0, 6 * self._t_us), "heal")

    def _delay(self, at_us: int) -> None:
        """Delay beyond Tm; or within the unused part of Tm, which breaks no assumption."""
        rng, tm_us = self._rng, self._plan.timing.tm_us
        spare_us = (tm_us - self._link.latency_us - self._link.jitter_us) // 1000 * 1000
        if spare_us > 1000 and rng.random() < 0.4:
            return self._schedule_link_fault(
                at_us, "delay", format_us(_round_ms(rng.randint(spare_us // 4, spare_us)))
            )
        delay_us = rng.randint(tm_us // 2, 6 * self._t_us)
        jitter = rng.choice(["", f" ±{format_us(_round_ms(delay_us // 2))}"])
        return self._schedule_link_fault(at_us, "delay", f"{format_us(_round_ms(delay_us))}{jitter}")

    def _loss(self, at_us: int) -> None:
        self._schedule_link_fault(at_us, "lose", self._draw_percentage())

    def _duplicate(self, at_us: int) -> None:
        self._schedule_link_fault(at_us, "duplicate", self._draw_percentage())

    def _reorder(self, at_us: int) -> None:
        spread_us = _round_ms(self._rng.randint(1_000, 2 * self._t_us))
        self._schedule_link_fault(at_us, "reorder", f"{self._draw_percentage()} {format_us(spread_us)}")

    def _schedule_link_fault(self, at_us: int, verb: str, how: str) -> None:
        links = self._draw_links()
        self._schedule_fault(at_us, f"{verb} {links} {how}", self._draw_trigger(0.3))
        self._schedule_recovery(at_us, f"heal {links}")


def _round_ms(us: int) -> int:
    """Round to whole milliseconds, at least one; 0 stays 0."""
    return max(1, round(us / 1000)) * 1000 if us else 0


FAULTS: dict[str, Callable[[_ScheduleGenerator, int], None]] = {
    "kill": _ScheduleGenerator._kill,
    "pause": _ScheduleGenerator._pause,
    "partition": _ScheduleGenerator._partition,
    "delay": _ScheduleGenerator._delay,
    "loss": _ScheduleGenerator._loss,
    "duplicate": _ScheduleGenerator._duplicate,
    "reorder": _ScheduleGenerator._reorder,
    "wipe": _ScheduleGenerator._wipe,
}
"""The kinds of fault that can be requested."""

"""Schedules of faults for hypothesis, which draws and shrinks them: each is the keyword arguments of ``simulate``.

A schedule shrinks towards few nodes, fast messages, and few faults: early ones that strike at a time instead of at
a message, and from which nothing recovers. The campaigns of ``lab check`` draw theirs from a seed, aimed at
critical moments, and shrink them by themselves (``lab.worlds.campaign``).
"""

import re
from typing import TYPE_CHECKING, Any

from lab.api.arguments import Arguments, ClusterArguments, Protocol, Time, faults_of, require_range, text_of
from lab.api.run import import_extra
from lab.units import format_us
from lab.worlds.campaign.schedule import SchedulePlan, plan_of
from lab.worlds.loading.config import settling_us

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

_FAULTS: dict[str, tuple[tuple[str, ...], str]] = {
    "kill": (("kill {node}",), "restart {node}"),
    "pause": (("pause {node}",), "resume {node}"),
    "partition": (("partition {sides}",), "heal"),
    "delay": (("delay {link} {time}",), "heal {link}"),
    "loss": (("lose {link} {percent}",), "heal {link}"),
    "duplicate": (("duplicate {link} {percent}",), "heal {link}"),
    "reorder": (("reorder {link} {percent} {time}",), "heal {link}"),
    "slow-disk": (("slow-disk {node} {time}",), "slow-disk {node} 0ms"),
    "disk": (("kill {node}", "{damage} {node}"), "restart {node}"),
    "wipe": (("kill {node}", "wipe {node}"), "restart {node}"),
}
"""The commands of each kind of fault, and the one that recovers from it."""
_WORD = re.compile(r"\{(\w+)\}")
_ENDING_BY_THEMSELVES = {"kill", "wipe", "disk"}
_LAST = ("heal", "resume all")
_GREATEST_SEED = 2**16
_MOST_FAULTS = 6
_MOST_COMMANDS = 6
_HORIZON_T = 40
"""Faults begin within so many T: enough for an election, the fall of who won it, and the next one."""
_RECOVERY_T = 15
_SETTLES_T = 60
"""The time after the last fault, in T, if no protocol says how long it needs."""


def schedules(
    nodes: int | tuple[int, int] = (3, 5),
    faults: str = "kill",
    *,
    protocol: Protocol | None = None,
    t: Time = "200ms",
) -> "SearchStrategy[dict[str, Any]]":
    """Return a hypothesis strategy of schedules: ``lab.simulate(protocol, **schedule)`` executes one.

    ``nodes`` is their number, or a range of it, ``faults`` are the kinds of faults (``"kill,pause"``). With a
    ``protocol``, faults strike at its messages, too, its commands are given, and the runs last until it has
    settled after the last fault; without one, they last 60 T after it.

    Raises ImportError without hypothesis, TargetError for an unknown protocol, UserError for wrong settings.
    """
    strategies = import_extra("hypothesis.strategies", "hypothesis")
    least, most = require_range(nodes)
    t = text_of("t", t)
    settings = Arguments(protocol="", t=t)
    plan = SchedulePlan((least, most), faults_of(faults, settings), settings.timing(), ())
    settles_us = _SETTLES_T * plan.timing.t_us
    if protocol is not None:
        cluster = ClusterArguments(protocol, most, t)
        plan = plan_of(cluster.protocol, plan.nodes, plan.faults, plan.timing)
        settles_us = settling_us(cluster.protocol, cluster.parameters, plan.timing, most) + plan.timing.t_us
    found: SearchStrategy[dict[str, Any]] = strategies.composite(
        _Drawing(strategies, plan, settles_us, t).schedule
    )()
    return found


class _Drawing:
    """Draws schedules that keep to a plan; ``draw`` is that of hypothesis, whose module ``strategies`` is."""

    def __init__(self, strategies: Any, plan: SchedulePlan, settles_us: int, t: str) -> None:
        self._strategies = strategies
        self._plan = plan
        self._settles_us = settles_us
        self._t = t
        self._t_ms, self._tm_ms = plan.timing.t_us // 1000, plan.timing.tm_us // 1000
        aims = [f"on {event} {kind} " for event in ("send", "deliver") for kind in dict.fromkeys(plan.kinds)]
        at_once = strategies.just("")
        self._fault = strategies.composite(self._draw_fault)  # once: it reads its source
        self._triggers = strategies.one_of(at_once, strategies.sampled_from(aims)) if aims else at_once

    def schedule(self, draw: "DrawFn") -> dict[str, Any]:
        """Draw the arguments of ``simulate``."""
        least, most = self._plan.nodes
        count = self._draw_number(draw, least, most)
        latency_ms = self._draw_number(draw, 1, self._tm_ms)
        jitter_ms = self._draw_number(draw, 0, min(latency_ms - 1, self._tm_ms - latency_ms))
        faults = draw(self._strategies.lists(self._fault(count), max_size=_MOST_FAULTS))
        lines: list[tuple[int, str]] = [line for each in faults for line in each]
        end_ms = max((at_ms for at_ms, _ in lines), default=0)
        if set(self._plan.faults) - _ENDING_BY_THEMSELVES:
            lines += [(end_ms, line) for line in _LAST]
        if self._plan.commands:
            lines += self._draw_commands(draw, count, end_ms + _RECOVERY_T * self._t_ms)
        lines.sort(key=lambda line: line[0])
        end_ms = max((at_ms for at_ms, _ in lines), default=0)
        return {
            "nodes": count,
            "script": [f"at {format_us(1000 * at_ms)} {line}" for at_ms, line in lines],
            "for_": format_us(1000 * end_ms + self._settles_us),
            "seed": self._draw_number(draw, 0, _GREATEST_SEED),
            "t": self._t,
            "latency": f"{latency_ms}ms",
            "jitter": f"{jitter_ms}ms",
        }

    def _draw_fault(self, draw: "DrawFn", count: int) -> list[tuple[int, str]]:
        """Draw a fault, and perhaps the recovery from it: the commands with their times in milliseconds."""
        possible = [kind for kind in self._plan.faults if count > 1 or _concerns_a_node(kind)]
        if not possible:
            return []
        begin, recovery = _FAULTS[draw(self._strategies.sampled_from(possible))]
        words = {
            name: self._draw_word(draw, name, count) for name in dict.fromkeys(_WORD.findall(" ".join(begin)))
        }
        at_ms = self._draw_number(draw, 0, _HORIZON_T * self._t_ms)
        lines = [(at_ms + place * self._t_ms, line.format(**words)) for place, line in enumerate(begin)]
        lines[0] = (at_ms, draw(self._triggers) + lines[0][1])
        if draw(self._strategies.booleans()):
            after_ms = lines[-1][0] + self._draw_number(draw, 0, _RECOVERY_T * self._t_ms)
            lines.append((after_ms, draw(self._triggers) + recovery.format(**words)))
        return lines

    def _draw_commands(self, draw: "DrawFn", count: int, until_ms: int) -> list[tuple[int, str]]:
        """Draw commands of the protocol, with their times in milliseconds."""
        times, ids = self._strategies.integers(0, until_ms), self._strategies.integers(1, count)
        command_line = self._strategies.tuples(times, ids, self._strategies.sampled_from(self._plan.commands))
        given = draw(self._strategies.lists(command_line, min_size=1, max_size=_MOST_COMMANDS))
        return [(at_ms, f"tell {node} {command}") for at_ms, node, command in given]

    def _draw_word(self, draw: "DrawFn", name: str, count: int) -> str:
        ends = range(1, count + 1)
        words: list[str]
        match name:
            case "node":
                words = [str(node) for node in reversed(ends)]  # the highest usually leads
            case "link":
                words = ["all", *map(str, ends), *(f"{a}->{b}" for a in ends for b in ends if a != b)]
            case "sides":
                chosen = self._draw_number(draw, 1, 2**count - 2)  # a bit for each node
                sides = ([str(node) for node in ends if chosen >> node - 1 & 1 == side] for side in (1, 0))
                return " | ".join(map(" ".join, sides))
            case "time":
                return format_us(1000 * self._draw_number(draw, 1, 6 * self._t_ms))
            case "percent":
                words = ["100%", "60%", "30%", "10%"]
            case _:
                words = ["unwrite", "tear", "flip"]
        return str(draw(self._strategies.sampled_from(words)))

    def _draw_number(self, draw: "DrawFn", least: int, most: int) -> int:
        return int(draw(self._strategies.integers(least, most)))


def _concerns_a_node(kind: str) -> bool:
    return "{node}" in _FAULTS[kind][0][0]

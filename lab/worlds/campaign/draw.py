"""Drawing schedules that strike where it hurts: around elections, within a step, while the last fault is healed.

A draw depends on the plan and the seed alone. Most strikes aim at the highest nodes, since those lead; many
wait for a message of an election, mostly one that the victim sends or gets, so that they fall between two
messages of one step; and the next one often comes while the last is being mended.
"""

from collections.abc import Callable
from random import Random

from msgspec import Struct

from lab.kernel import Request, Timing
from lab.protocols import Algorithm
from lab.recording.records import Link
from lab.units import format_us
from lab.worlds.campaign.schedule import Schedule, ScheduledFault

__all__ = ["FAULTS", "Plan", "draw", "plan_of"]


class Plan(Struct, frozen=True):
    """What schedules are drawn from: how many nodes, which faults, the kinds of message to strike at, and commands
    of the protocol's own.

    A kind that comes twice in ``kinds`` is struck at twice as often.
    """

    nodes: tuple[int, int]
    faults: tuple[str, ...]
    timing: Timing
    kinds: tuple[str, ...]
    commands: tuple[str, ...] = ()


def plan_of(protocol: type[Algorithm], nodes: tuple[int, int], faults: tuple[str, ...], timing: Timing) -> Plan:
    """The plan for this protocol: strikes aim at all its messages but the heartbeats, mostly at requests.

    Where commands keep a task busy, at those of the task: the election is struck at often enough by what it meets.
    """
    aimed_at = protocol.carries if protocol.kept_busy_by and protocol.carries is not None else protocol
    kinds = {name: kind for name, kind in aimed_at.payloads.items() if kind not in protocol.heartbeats}
    requests = [name for name, kind in kinds.items() if issubclass(kind, Request)]
    return Plan(nodes, faults, timing, tuple(sorted([*kinds, *requests])), protocol.kept_busy_by)


def draw(plan: Plan, seed: int) -> Schedule:
    """The schedule with that seed."""
    return _Drawing(plan, seed).schedule()


class _Drawing:
    def __init__(self, plan: Plan, seed: int) -> None:
        self._plan = plan
        self._seed = seed
        self._chance = Random(f"{seed}/schedule")
        self._t_us = plan.timing.t_us
        self._nodes = tuple(range(1, self._chance.randint(*plan.nodes) + 1))
        self._link = self._draw_link()
        self._strikes: list[ScheduledFault] = []
        self._mended_us = 0

    def schedule(self) -> Schedule:
        """Everything drawn."""
        chance = self._chance
        now_us = chance.choice([0, chance.randint(0, 3 * self._t_us), 8 * self._t_us])
        for _ in range(chance.randint(1, 6)):
            FAULTS[chance.choice(self._plan.faults)](self, now_us)
            now_us += self._gap_us()
        end_us = _whole(max(now_us, self._mended_us) + self._t_us)
        if set(self._plan.faults) - {"kill", "wipe"}:
            self._strikes += [ScheduledFault(end_us, "", "heal"), ScheduledFault(end_us, "", "resume all")]
        self._keep_busy(end_us)
        strikes = tuple(sorted(self._strikes, key=lambda strike: strike.at_us))
        return Schedule(self._seed, self._nodes, self._link, strikes, end_us)

    def _keep_busy(self, end_us: int) -> None:
        """Commands, half of them to the highest node, which leads: at any time, or about a strike."""
        chance = Random(f"{self._seed}/commands")
        struck_us = [strike.at_us for strike in self._strikes]
        for _ in range(chance.randint(4, 12) if self._plan.commands else 0):
            at_us = chance.randint(0, end_us)
            if chance.random() < 0.6:
                at_us = max(0, chance.choice(struck_us) + chance.randint(-2 * self._t_us, 2 * self._t_us))
            node = chance.choice([self._nodes[-1], chance.choice(self._nodes)])
            command = f"tell {node} {chance.choice(self._plan.commands)}"
            self._strikes.append(ScheduledFault(_whole(at_us), "", command))

    def _draw_link(self) -> Link:
        """Messages that take a part of Tm, never more; whether they overtake each other on two links varies."""
        tm_us = self._plan.timing.tm_us
        longest_us = self._chance.choice([tm_us // 40, tm_us // 5, tm_us // 2, tm_us - 1, tm_us - 1])
        jitter_us = self._chance.choice([0, longest_us // 4, longest_us // 2, longest_us // 2])
        return Link(longest_us - jitter_us, jitter_us)

    def _gap_us(self) -> int:
        """Until the next thing: at once, within an election, or once it is over."""
        t_us, chance = self._t_us, self._chance
        return chance.choice([0, chance.randint(0, t_us), chance.randint(t_us, 5 * t_us), 15 * t_us])

    def _on(self, share: float, victim: int | None = None) -> str:
        """A message to wait for, in that share of cases; sometimes on one link, the victim's if it is named."""
        chance = self._chance
        if not self._plan.kinds or chance.random() >= share:
            return ""
        on = f"{chance.choice(['send', 'send', 'deliver'])} {chance.choice(self._plan.kinds)}"
        if chance.random() < 0.25 and len(self._nodes) > 1:
            source, target = chance.sample(self._nodes, 2)
            if victim is not None and victim not in (source, target):
                source, target = chance.choice([(victim, target), (source, victim)])
            on += f" {source}->{target}"
        return on

    def _amid(self, share: float, victim: int | None = None) -> str:
        """A message to strike at; more often where commands keep something on its way nearly always."""
        return self._on(0.7 if self._plan.commands else share, victim)

    def _victim(self) -> int:
        nodes = self._nodes
        if self._plan.commands:
            return self._chance.choice(nodes)
        return self._chance.choice([nodes[-1], nodes[-1], nodes[-2:][0], *nodes])

    def _heir(self, victim: int) -> int | None:
        """Who leads while the victim does not; None: nobody else is there."""
        return max((node for node in self._nodes if node != victim), default=None)

    def _links(self) -> str:
        chance = self._chance
        if len(self._nodes) < 2 or chance.random() < 0.3:
            return "all"
        if chance.random() < 0.5:
            return str(self._victim())
        source, target = chance.sample(self._nodes, 2)
        return f"{source}{chance.choice(['->', '<->'])}{target}"

    def _percent(self) -> str:
        return f"{self._chance.choice([10, 30, 60, 100])}%"

    def _strike(self, at_us: int, command: str, on: str = "") -> None:
        if not self._strikes and at_us > 3 * self._t_us and not self._plan.commands:
            on = ""  # all is well until something is struck, and no such message comes
        self._strikes.append(ScheduledFault(_whole(at_us), on, command))
        self._mended_us = max(self._mended_us, at_us)

    def _mend(self, struck_us: int, command: str, meanwhile: int | None = None) -> None:
        due_us = struck_us + self._gap_us() + self._chance.randint(0, self._t_us)
        self._strike(due_us, command, self._on(0.35 if meanwhile is None else 0.6, meanwhile))

    # one fault each

    def _kill(self, at_us: int) -> None:
        victim = self._victim()
        self._strike(at_us, f"kill {victim}", self._amid(0.4, victim))
        if self._chance.random() < 0.8:
            self._mend(at_us, f"restart {victim}", self._heir(victim))

    def _wipe(self, at_us: int) -> None:
        victim = self._victim()
        self._strike(at_us, f"kill {victim}")
        self._strike(at_us, f"wipe {victim}")
        self._mend(at_us, f"restart {victim}")

    def _pause(self, at_us: int) -> None:
        victim = self._victim()
        self._strike(at_us, f"pause {victim}", self._amid(0.4, victim))
        self._mend(at_us + self._chance.randint(0, 6 * self._t_us), f"resume {victim}")

    def _partition(self, at_us: int) -> None:
        if len(self._nodes) < 2:
            return
        nodes = list(self._nodes)
        self._chance.shuffle(nodes)
        cut = self._chance.randint(1, len(nodes) - 1)
        one, other = (" ".join(map(str, sorted(side))) for side in (nodes[:cut], nodes[cut:]))
        self._strike(at_us, f"partition {one} | {other}", self._amid(0.3))
        self._mend(at_us + self._chance.randint(0, 6 * self._t_us), "heal")

    def _delay(self, at_us: int) -> None:
        """Beyond Tm; or by no more than the links leave of it, so that some are slower and nothing is broken."""
        chance, tm_us = self._chance, self._plan.timing.tm_us
        spare_us = (tm_us - self._link.latency_us - self._link.jitter_us) // 1000 * 1000
        if spare_us > 1000 and chance.random() < 0.4:
            return self._on_links(at_us, "delay", format_us(_whole(chance.randint(spare_us // 4, spare_us))))
        delay_us = chance.randint(tm_us // 2, 6 * self._t_us)
        jitter = chance.choice(["", f" ±{format_us(_whole(delay_us // 2))}"])
        return self._on_links(at_us, "delay", f"{format_us(_whole(delay_us))}{jitter}")

    def _loss(self, at_us: int) -> None:
        self._on_links(at_us, "lose", self._percent())

    def _duplicate(self, at_us: int) -> None:
        self._on_links(at_us, "duplicate", self._percent())

    def _reorder(self, at_us: int) -> None:
        spread_us = _whole(self._chance.randint(1_000, 2 * self._t_us))
        self._on_links(at_us, "reorder", f"{self._percent()} {format_us(spread_us)}")

    def _on_links(self, at_us: int, verb: str, how: str) -> None:
        links = self._links()
        self._strike(at_us, f"{verb} {links} {how}", self._on(0.3))
        self._mend(at_us, f"heal {links}")


def _whole(us: int) -> int:
    """In whole milliseconds, as people write them."""
    return max(1, round(us / 1000)) * 1000 if us else 0


FAULTS: dict[str, Callable[[_Drawing, int], None]] = {
    "kill": _Drawing._kill,
    "pause": _Drawing._pause,
    "partition": _Drawing._partition,
    "delay": _Drawing._delay,
    "loss": _Drawing._loss,
    "duplicate": _Drawing._duplicate,
    "reorder": _Drawing._reorder,
    "wipe": _Drawing._wipe,
}
"""The faults that can be asked for, by name."""

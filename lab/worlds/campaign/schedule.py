"""Schedules of faults, and drawing them at random: a schedule is a cluster, and a script that a person can run.

A random schedule depends on the plan and the seed alone. It aims at critical moments: elections, the middle of a
step, recovery from the last fault. Most faults hit the highest nodes, because those lead. Many wait for a message
of an election, usually one that the target sends or receives, so that they strike between two messages of one
step. The next fault often comes during the recovery from the last one.

Some schedules let one leader fall after the other, or as its predecessor returns, or cut it off amid its messages,
or let a node return to lead what it had no part in, or let many nodes start at once. Some give the links ranks,
and change these now and then: messages then overtake each other as by the priorities of probabilistic concurrency
testing (Burckhardt et al., 2010). Where that method applies, with n links and k messages, a bug that needs d
ordered deliveries shows with a probability of at least 1 / (n k^(d-1)) in each schedule with d - 1 changes.

If there are clients or services, half of the schedules strike them, too: see ``outside``. Their ids follow those
of the nodes, the clients first.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Request, Timing
from lab.protocols import Algorithm, Election
from lab.protocols.clients import Client
from lab.recording.records import Link, Role
from lab.script.verbs import bare_commands
from lab.units import format_us
from lab.worlds.campaign.outside import Outside
from lab.worlds.loading.settings import SettingError, Written, as_option

_SHARE_OF_GAPS, _SHARE_OF_RANKS = 0.25, 0.15
_SHARE_OF_FALLS, _SHARE_OF_STARTS, _SHARE_OF_SWAPS, _SHARE_OF_CUTS = 0.12, 0.08, 0.35, 0.35
_SHARE_OF_RETURNS = 0.1
"""The shares of schedules with each of the special patterns; swaps are for elections, the next two for tasks."""
_SHARE_OF_OUTSIDE, _OUTSIDE = 0.5, 0.6
"""The share of schedules that strike clients and services, and, in these, the share of such faults."""
_LONGEST_OUTSIDE = 25
"""Faults outside last up to so many T, for some operations of the clients that go on."""
_LEAST_SPARE_US = 10_000
_MOST_RANKED = 5
"""The links of more nodes get no ranks, for a schedule that a person can read."""
_NUMBER = re.compile(r"(?<!\w)\d+(?![\d.]*(us|µs|ms|s|min|m|%))")
_RETURNS = {"pause": "resume", "kill": "restart"}


class ScheduledFault(Struct, frozen=True):
    """One command, at that time or, with ``on``, at the first such message after it.

    ``on`` is *send Vote*, *deliver Vote 1->3* or *before send Vote*.
    """

    at_us: int
    on: str
    command: str

    def __str__(self) -> str:
        """Return the line of the command language."""
        return f"at {format_us(self.at_us)} {self.trigger}{self.command}"

    @property
    def trigger(self) -> str:
        """The trigger with the blank after it, as the command language has it; empty if there is none."""
        if self.on.startswith("before "):
            return f"{self.on} "
        return f"on {self.on} " if self.on else ""

    def named_nodes(self) -> set[int]:
        """Return the nodes that the command or its trigger names."""
        return {int(match[0]) for match in _NUMBER.finditer(f"{self.on} {self.command}")}

    def renamed(self, names: dict[int, int]) -> "ScheduledFault":
        """Return it with other ids for the nodes."""

        def rename(text: str) -> str:
            return _NUMBER.sub(lambda match: str(names.get(int(match[0]), match[0])), text)

        return replace(self, on=rename(self.on), command=rename(self.command))

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
    """The nodes, links and faults of one run, which ends at ``end_us``; ``seed`` determines the links' draws.

    ``clients``: how many there are, in a campaign that has some; 0: one for each node, of which no fault strikes
    any.
    """

    seed: int
    nodes: tuple[int, ...]
    link: Link
    faults: tuple[ScheduledFault, ...]
    end_us: int
    clients: int = 0

    @property
    def last_us(self) -> int:
        """When the last fault is due, as far as that is known in advance."""
        return max((fault.at_us for fault in self.faults), default=0)

    def script(self, *remarks: str) -> str:
        """Return the faults as the text of a script, below these remarks, each in one line."""
        return "\n".join([*(f"# {' '.join(each.split())}" for each in remarks), *map(str, self.faults)]) + "\n"

    def is_service(self, node: int) -> bool:
        """Return whether a node outside the cluster is a service, and no client."""
        return node > max(self.nodes) + self.clients

    def without_node(self, node: int) -> "Schedule":
        """Return it without a node of the cluster; the ids of clients and services follow those that are left."""
        left = self._without((node,))
        return left.renamed({each: each for each in self.nodes if each != node})

    def with_clients(self, count: int) -> "Schedule":
        """Return it with only the first ``count`` of its clients."""
        clients = self.clients or len(self.nodes)
        last = max(self.nodes)
        left = self._without(range(last + count + 1, last + clients + 1))
        services = {node: node - clients + count for node in left._named_after(last + clients)}
        faults = tuple(fault.renamed(services) for fault in left.faults)
        return replace(left, faults=faults, clients=count)

    def renamed(self, names: dict[int, int]) -> "Schedule":
        """Return it with other ids for the nodes; the ids of clients and services follow these."""
        last = max(self.nodes)
        further = max(names.values()) - last
        names = {**names, **{node: node + further for node in self._named_after(last)}}
        nodes = tuple(names[node] for node in self.nodes if node in names)
        return replace(self, nodes=nodes, faults=tuple(fault.renamed(names) for fault in self.faults))

    def _without(self, nodes: Iterable[int]) -> "Schedule":
        """Return it without the faults that name these nodes."""
        faults: Iterable[ScheduledFault] = self.faults
        for node in nodes:
            faults = [left for fault in faults if (left := fault.without(node)) is not None]
        return replace(self, faults=tuple(faults))

    def named_outside(self) -> dict[int, str]:
        """Return the clients and services that faults name, as ``c`` and ``s``."""
        return {node: "s" if self.is_service(node) else "c" for node in self._named_after(max(self.nodes))}

    def _named_after(self, last: int) -> list[int]:
        """Return the ids above this one that faults name."""
        return sorted({node for fault in self.faults for node in fault.named_nodes() if node > last})


# drawing


def fault_kinds(text: str, written: Written = as_option) -> tuple[str, ...]:
    """Return the kinds of faults that a setting names. Raises SettingError."""
    faults = tuple(FAULTS) if text == "all" else tuple(text.replace(" ", "").split(","))
    for fault in faults:
        if fault not in FAULTS:
            got = written("faults", text)
            raise SettingError(f"{got}: unknown fault {fault!r}; expected {', '.join(FAULTS)}, or all")
    return faults


class SchedulePlan(Struct, frozen=True):
    """The parameters of random schedules: the range of nodes, the kinds of fault, messages to strike at, commands.

    A message kind that is in ``kinds`` twice is chosen twice as often. ``requests`` are the kinds of messages that
    their receivers answer. ``bare`` are the commands that name no node: they go to whoever leads. ``elects``: the
    protocol may elect a leader. Without ``gaps``, the ids are 1, 2, 3 and so on. ``clients`` and ``services``: how
    many there are; 0 clients: one for each node, None: none. ``moments``: where on its way a message is struck at.
    """

    nodes: tuple[int, int]
    faults: tuple[str, ...]
    timing: Timing
    kinds: tuple[str, ...]
    requests: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    bare: frozenset[str] = frozenset()
    elects: bool = False
    gaps: bool = True
    clients: int | None = None
    services: int = 0
    moments: tuple[str, ...] = ("send", "send", "deliver")

    @property
    def has_elected_task(self) -> bool:
        """True if an elected coordinator works on a task, with commands that keep it busy."""
        return self.elects and bool(self.commands)

    def line_for(self, command: str, node: int) -> str:
        """Return the line that gives a command to a node; one for whoever leads names none."""
        return command if command.partition(" ")[0] in self.bare else f"tell {node} {command}"

    def with_outside(self, roles: tuple[Role, ...], clients: int | None) -> "SchedulePlan":
        """Return the plan with these roles beside the cluster; ``clients`` None: one for each node."""
        has_clients = any(role.protocol == Client.name for role in roles)
        services = sum(len(role.nodes) for role in roles if role.protocol != Client.name)
        return replace(self, clients=(clients or 0) if has_clients else None, services=services)

    def outside(self, nodes: tuple[int, ...], clients: int = 0) -> Outside:
        """Return the ids beside these nodes; with so many clients, 0: as the plan has it."""
        if self.clients is None:
            clients = 0
        elif not clients:
            clients = self.clients or len(nodes)
        first = max(nodes) + 1
        then = first + clients
        return Outside(nodes, tuple(range(first, then)), tuple(range(then, then + self.services)))


def plan_of(
    protocol: type[Algorithm], nodes: tuple[int, int], faults: tuple[str, ...], timing: Timing
) -> SchedulePlan:
    """Return the plan for this protocol: all its messages but the heartbeats, requests twice as often.

    If commands keep a task busy, return the task's messages; the faults then strike the election often enough.
    """
    aimed_at = protocol.upper_protocol if protocol.workload and protocol.upper_protocol is not None else protocol
    kinds = {name: kind for name, kind in aimed_at.payloads.items() if kind not in protocol.heartbeats}
    requests = [name for name, kind in kinds.items() if issubclass(kind, Request)]
    known = bare_commands()
    to_leaders = ("leaders", "one") if issubclass(protocol, Election) else ("leaders",)
    bare = frozenset(name for name, each in protocol.commands.items() if each.to in to_leaders and name in known)
    aims = tuple(sorted([*kinds, *requests]))
    elects = issubclass(protocol, Election) or not protocol.workload
    return SchedulePlan(nodes, faults, timing, aims, tuple(requests), protocol.workload, bare, elects)


def draw(plan: SchedulePlan, seed: int) -> Schedule:
    return ScheduleGenerator.drawing(plan, seed).schedule()


def draw_frame(plan: SchedulePlan, seed: int) -> Schedule:
    """Return a schedule with commands and hardly any faults: for a run that is struck as it goes."""
    return ScheduleGenerator.drawing(plan, seed).frame()


class ScheduleGenerator:
    """Draws the faults of one schedule, over these nodes and links, and so many clients."""

    def __init__(
        self, plan: SchedulePlan, seed: int, rng: Random, nodes: tuple[int, ...], link: Link, clients: int = 0
    ) -> None:
        self._plan = plan
        self._seed = seed
        self._rng = rng
        self._style = Random(f"{seed}/style")
        self._t_us = plan.timing.t_us
        self._nodes = nodes
        self._link = link
        self._outside = plan.outside(nodes, clients)
        self._at_outside = Random(f"{seed}/outside")
        is_struck = self._at_outside.random() < _SHARE_OF_OUTSIDE
        self._strikes_outside = is_struck and any(map(self._outside.victims, plan.faults))
        self._faults: list[ScheduledFault] = []
        self._recovered_us = 0

    @classmethod
    def drawing(cls, plan: SchedulePlan, seed: int) -> "ScheduleGenerator":
        """Return a generator with nodes and links drawn from the seed; the ids sometimes have gaps."""
        rng, gaps = Random(f"{seed}/schedule"), Random(f"{seed}/nodes")
        nodes = tuple(range(1, rng.randint(*plan.nodes) + 1))
        if plan.gaps and gaps.random() < _SHARE_OF_GAPS:
            nodes = tuple(sorted(gaps.sample(range(1, 2 * len(nodes) + 1), len(nodes))))
        return cls(plan, seed, rng, nodes, draw_link(plan.timing, rng))

    @classmethod
    def varying(cls, plan: SchedulePlan, schedule: Schedule, rng: Random) -> "ScheduleGenerator":
        """Return a generator of further faults for a schedule."""
        return cls(plan, schedule.seed, rng, schedule.nodes, schedule.link, schedule.clients)

    def schedule(self) -> Schedule:
        """Draw the schedule."""
        rng = self._rng
        kinds = self._draw_kinds()
        now_us = rng.choice([0, rng.randint(0, 3 * self._t_us), 8 * self._t_us])
        pattern = None if self._strikes_outside else self._draw_pattern()
        if pattern is not None:
            now_us = pattern(now_us)
        is_whole = pattern in (self._swap_leaders, self._cut_off_leader, self._return_to_lead)
        for _ in range(0 if is_whole else rng.randint(1, 6)):
            self._strike(rng.choice(kinds), now_us)
            now_us += self._draw_gap_us()
        end_us = _round_ms(max(now_us, self._recovered_us) + self._t_us)
        if self._style.random() < _SHARE_OF_RANKS:
            self._rank_links(end_us)
        self._add_commands(end_us)
        return finished(self._schedule_until(end_us))

    def frame(self) -> Schedule:
        """Draw a schedule with commands, and without faults but for those that leave something undecided."""
        end_us = _round_ms(
            self._rng.choice([2, 6, 10, 14, 20]) * self._t_us + self._rng.randint(0, 4 * self._t_us)
        )
        if self._style.random() < _SHARE_OF_RANKS:
            self._rank_links(end_us)
        if self._can_return_to_lead and self._style.random() < 2 * _SHARE_OF_RETURNS:
            end_us = max(end_us, self._leave_undecided(0) + 10 * self._t_us)
        self._add_commands(end_us)
        schedule = self._schedule_until(end_us)
        if set(self._plan.faults) - {"kill", "wipe", "disk"}:
            last = tuple(ScheduledFault(end_us, "", command) for command in _LAST)
            schedule = replace(schedule, faults=(*self._faults, *last))
        return replace(schedule, faults=tuple(sorted(schedule.faults, key=lambda fault: fault.at_us)))

    def _schedule_until(self, end_us: int) -> Schedule:
        clients = len(self._outside.clients)
        return Schedule(self._seed, self._nodes, self._link, tuple(self._faults), end_us, clients)

    def add_fault(self, at_us: int) -> tuple[ScheduledFault, ...]:
        """Draw one fault at about that time, with its recovery."""
        self._strike(self._rng.choice(self._plan.faults), at_us)
        return tuple(self._faults)

    def draw_trigger(self) -> str:
        """Draw a message to wait for, or none."""
        return self._draw_trigger(0.8, self._rng.choice(self._nodes))

    def _draw_kinds(self) -> tuple[str, ...]:
        """Draw the kinds of fault of this run: many are found only if no other kind excuses them."""
        faults, how = self._plan.faults, self._style.random()
        if "kill" not in faults or len(faults) < 3 or how < 0.3:
            return faults
        if how < 0.6:
            return ("kill",)
        return ("kill", self._style.choice([each for each in faults if each != "kill"]))

    def _draw_pattern(self) -> Callable[[int], int] | None:
        """Draw a special pattern, or none: it takes the time of its first fault, and returns that of its last."""
        patterns = [
            (_SHARE_OF_FALLS, self._let_leaders_fall, "kill" in self._plan.faults),
            (_SHARE_OF_STARTS, self._start_at_once, "kill" in self._plan.faults),
            (_SHARE_OF_SWAPS, self._swap_leaders, "kill" in self._plan.faults and self._plan.elects),
            (_SHARE_OF_CUTS, self._cut_off_leader, self._can_cut_off),
            (_SHARE_OF_RETURNS, self._return_to_lead, self._can_return_to_lead),
        ]
        how = self._style.random()
        for share, pattern, is_possible in patterns:
            if how < share:
                return pattern if is_possible and len(self._nodes) > 1 else None
            how -= share
        return None

    def _let_leaders_fall(self, at_us: int) -> int:
        """Kill the highest nodes one after the other, each at the time of the election that follows."""
        for victim in self._nodes[: -1 - self._style.randint(1, 3) : -1]:
            self._schedule_fault(at_us, f"kill {victim}", self._draw_frequent_trigger(0.5, victim))
            if self._style.random() < 0.5:
                self._schedule_recovery(at_us, f"restart {victim}", self._successor(victim))
            at_us += self._style.randint(0, 4 * self._t_us)
        return at_us

    def _start_at_once(self, at_us: int) -> int:
        """Kill any of the nodes at one instant, and restart them at another, so that they all begin to elect."""
        victims = self._style.sample(self._nodes, self._style.randint(1, len(self._nodes)))
        after_us = at_us + self._style.choice([0, self._style.randint(0, 6 * self._t_us)])
        for victim in victims:
            self._schedule_fault(at_us, f"kill {victim}")
            self._schedule_fault(after_us + self._style.choice([0, 0, self._t_us]), f"restart {victim}")
        return after_us

    def _swap_leaders(self, at_us: int) -> int:
        """Take the leader away, let the next node lead, and let that one fall as the first returns.

        Often another node returns right before, and the first leader has not noticed it yet. No more faults
        follow: what the swap leads to may take a while.
        """
        style, t_us = self._style, self._t_us
        *_, other, leader = self._nodes
        if style.random() < 0.7:
            third = style.choice([other, style.choice(self._nodes[:-1])])
            self._schedule_fault(at_us, f"kill {third}")
            at_us += style.randint(t_us, 15 * t_us)
            self._schedule_fault(at_us, f"restart {third}")
            at_us += style.randint(0, t_us // 2)
        rest = " ".join(map(str, self._nodes[:-1]))
        ways = {
            "kill": (f"kill {leader}", f"restart {leader}"),
            "pause": (f"pause {leader}", f"resume {leader}"),
            "partition": (f"partition {leader} | {rest}", "heal"),
        }
        away, back = ways[style.choice([kind for kind in ways if kind in self._plan.faults])]
        self._schedule_fault(at_us, away)
        at_us += style.randint(6 * t_us, 15 * t_us)
        self._schedule_fault(at_us, f"kill {other}")
        at_us += style.choice([0, style.randint(0, 3 * t_us)])
        self._schedule_fault(at_us, back)
        return at_us

    @property
    def _can_cut_off(self) -> bool:
        return "partition" in self._plan.faults and bool(self._plan.commands and self._plan.kinds)

    def _cut_off_leader(self, at_us: int) -> int:
        """Give the leader a command, and cut it off amid its messages, with fewer than half of the others.

        The cut lasts long enough for the others to elect a leader, and for that one to act. No more faults follow.
        """
        style, (*others, leader) = self._style, self._nodes
        at_us = max(at_us, 6 * self._t_us)
        near = style.sample(others, style.randint(0, (len(others) - 1) // 2))
        far = [node for node in others if node not in near]
        kind = style.choice(self._plan.requests or self._plan.kinds)
        on = f"{style.choice(['before send', 'send'])} {kind} {leader}->{style.choice(far)}"
        sides = [" ".join(map(str, sorted(side))) for side in ([*near, leader], far)]
        self._schedule_fault(at_us, f"tell {leader} {style.choice(self._plan.commands)}")
        self._schedule_fault(at_us, f"partition {' | '.join(sides)}", on)
        at_us += style.randint(6 * self._t_us, 20 * self._t_us)
        self._schedule_fault(at_us, "heal")
        return at_us

    @property
    def _can_return_to_lead(self) -> bool:
        plan = self._plan
        return "kill" in plan.faults and plan.has_elected_task and bool(plan.kinds) and len(self._nodes) > 3

    def _return_to_lead(self, at_us: int) -> int:
        """Let a node return to lead what another has left undecided, while further nodes fall.

        So the leader has had no part in it. No more faults follow.
        """
        style, away, down = self._style, self._nodes[-1], [self._nodes[-2]]
        at_us = self._leave_undecided(at_us)
        for _ in range(style.randint(1, 6)):
            at_us += style.randint(0, 4 * self._t_us)
            up = [node for node in self._nodes if node not in down]
            if down and (not up or style.random() < 0.5):
                self._schedule_fault(at_us, f"restart {down.pop(style.randrange(len(down)))}")
            else:
                down.append(style.choice(up))
                self._schedule_fault(at_us, f"kill {down[-1]}", self._draw_amid(away, down[-1:]))
        return at_us

    def _leave_undecided(self, at_us: int) -> int:
        """Take the highest node away, let the next one begin something and fall, and the first return."""
        style, t_us, (*others, begins, away) = self._style, self._t_us, self._nodes
        self._schedule_fault(at_us, f"kill {away}")
        at_us = max(at_us, 6 * t_us) + style.randint(6 * t_us, 12 * t_us)
        self._schedule_fault(at_us, f"tell {begins} {style.choice(self._plan.commands)}")
        on, after_us = style.choice([(self._draw_amid(begins, others), 0), ("", style.randint(0, 6 * t_us))])
        self._schedule_fault(at_us + after_us, f"kill {begins}", on)
        at_us += after_us + style.randint(0, 3 * t_us)
        self._schedule_fault(at_us, f"restart {away}")
        return at_us

    def _draw_amid(self, leader: int, others: Sequence[int]) -> str:
        """Draw a message of the leader to one of the others."""
        plan, style = self._plan, self._style
        kind = style.choice(plan.requests or plan.kinds)
        moment = style.choice(("before send", *plan.moments))
        return f"{moment} {kind} {leader}->{style.choice(others)}"

    def _rank_links(self, end_us: int) -> None:
        """Delay each link by its rank within the unused part of Tm, and put a few links last at random times."""
        spare_us, nodes = self._spare_us, self._nodes
        if "delay" not in self._plan.faults or spare_us < _LEAST_SPARE_US or not 1 < len(nodes) <= _MOST_RANKED:
            return
        links = [f"{a}->{b}" for a in nodes for b in nodes if a != b]
        self._style.shuffle(links)
        for rank, link in enumerate(links):
            delay_us = _round_ms(spare_us * (rank + 1) // (len(links) + 1))
            self._faults.append(ScheduledFault(0, "", f"delay {link} {format_us(delay_us)}"))
        for _ in range(self._style.randint(0, 3)):
            at_us, link = _round_ms(self._style.randint(0, end_us)), self._style.choice(links)
            last_us = self._style.choice([1_000, spare_us])
            self._faults.append(ScheduledFault(at_us, "", f"delay {link} {format_us(last_us)}"))

    @property
    def _spare_us(self) -> int:
        """The part of Tm that the links leave unused, in whole milliseconds."""
        return (self._plan.timing.tm_us - self._link.latency_us - self._link.jitter_us) // 1000 * 1000

    def _add_commands(self, end_us: int) -> None:
        """Add commands, half of them to the highest node, which leads; many of them close to a fault."""
        rng = Random(f"{self._seed}/commands")
        fault_us = [fault.at_us for fault in self._faults] or [0]
        for _ in range(rng.randint(4, 12) if self._plan.commands else 0):
            at_us = rng.randint(0, end_us)
            if rng.random() < 0.6:
                at_us = max(0, rng.choice(fault_us) + rng.randint(-2 * self._t_us, 2 * self._t_us))
            node = rng.choice([self._nodes[-1], rng.choice(self._nodes)])
            command = rng.choice(self._plan.commands)
            is_bare = command.partition(" ")[0] in self._plan.bare and rng.random() < 0.6
            line = command if is_bare else f"tell {node} {command}"
            self._faults.append(ScheduledFault(_round_ms(at_us), "", line))

    def _draw_gap_us(self) -> int:
        """Draw the time to the next fault: none, within an election, or after it."""
        t_us, rng = self._t_us, self._rng
        return rng.choice([0, rng.randint(0, t_us), rng.randint(t_us, 5 * t_us), 15 * t_us])

    def _draw_trigger(self, share: float, victim: int | None = None) -> str:
        """Draw a message to wait for, with this probability; sometimes on one link, preferably the victim's."""
        rng = self._rng
        if not self._plan.kinds or rng.random() >= share:
            return ""
        on = f"{rng.choice(self._plan.moments)} {rng.choice(self._plan.kinds)}"
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
        is_at_work = self._plan.commands or self._outside.clients
        if not self._faults and at_us > 3 * self._t_us and not is_at_work:
            on = ""  # before the first fault the cluster is at rest, and no such message comes
        self._faults.append(ScheduledFault(_round_ms(at_us), on, command))
        self._recovered_us = max(self._recovered_us, at_us)

    def _schedule_recovery(self, fault_us: int, command: str, meanwhile: int | None = None) -> None:
        due_us = fault_us + self._draw_gap_us() + self._rng.randint(0, self._t_us)
        self._schedule_fault(due_us, command, self._draw_trigger(0.35 if meanwhile is None else 0.6, meanwhile))

    def _strike(self, kind: str, at_us: int) -> None:
        """Let a fault of this kind strike the cluster, or what is outside of it."""
        rng = self._at_outside
        drawn = None
        if self._strikes_outside and rng.random() < _OUTSIDE:
            drawn = self._outside.draw(kind, self._plan.timing, rng)
        if drawn is None:
            FAULTS[kind](self, at_us)
            return
        command, end = drawn
        self._schedule_fault(at_us, command, self._draw_frequent_trigger(0.4))
        self._schedule_recovery(at_us + rng.randint(0, _LONGEST_OUTSIDE * self._t_us), end)

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
        rng, tm_us, spare_us = self._rng, self._plan.timing.tm_us, self._spare_us
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
        """Deliver messages twice: at once, or so late that the copy may meet another incarnation."""
        late = f" {format_us(_round_ms(self._style.randint(1_000, 6 * self._t_us)))}"
        late = late if self._style.random() < 0.6 else ""
        self._schedule_link_fault(at_us, "duplicate", f"{self._draw_percentage()}{late}")

    def _disk(self, at_us: int) -> None:
        """Undo or tear the last writes of a node that crashes, or damage one: it starts once it is wiped."""
        victim, how = self._draw_node(), self._rng.choice(["unwrite", "unwrite", "tear", "flip"])
        self._schedule_fault(at_us, f"kill {victim}", self._draw_frequent_trigger(0.4, victim))
        after_us = at_us + self._t_us
        last = f" last {self._rng.randint(1, 3)}" if how == "unwrite" else ""
        self._schedule_fault(after_us, f"{how} {victim}{last}")
        if how == "flip" and self._rng.random() < 0.5:
            self._schedule_fault(after_us, f"wipe {victim}")
        self._schedule_recovery(after_us, f"restart {victim}")

    def _slow_disk(self, at_us: int) -> None:
        """Let writes take longer, within what Tp leaves, or not."""
        victim, slow_us = self._draw_node(), self._rng.choice([self._plan.timing.tp_us // 2, 2 * self._t_us])
        self._schedule_fault(at_us, f"slow-disk {victim} {format_us(_round_ms(slow_us))}")
        self._schedule_recovery(at_us + self._rng.randint(0, 6 * self._t_us), f"slow-disk {victim} 0ms")

    def _reorder(self, at_us: int) -> None:
        spread_us = _round_ms(self._rng.randint(1_000, 2 * self._t_us))
        self._schedule_link_fault(at_us, "reorder", f"{self._draw_percentage()} {format_us(spread_us)}")

    def _schedule_link_fault(self, at_us: int, verb: str, how: str) -> None:
        links = self._draw_links()
        self._schedule_fault(at_us, f"{verb} {links} {how}", self._draw_trigger(0.3))
        self._schedule_recovery(at_us, f"heal {links}")


def draw_link(timing: Timing, rng: Random) -> Link:
    """Draw a latency of up to Tm, never more; jitter decides whether messages overtake on two links."""
    tm_us = timing.tm_us
    longest_us = rng.choice([tm_us // 40, tm_us // 5, tm_us // 2, tm_us - 1, tm_us - 1])
    jitter_us = rng.choice([0, longest_us // 4, longest_us // 2, longest_us // 2])
    return Link(longest_us - jitter_us, jitter_us)


def finished(schedule: Schedule) -> Schedule:
    """Return the schedule with its commands in order, ending what is still in force at its end."""
    faults = list(schedule.faults)
    verbs = {fault.command.partition(" ")[0] for fault in faults}
    last = _returns(schedule)
    if verbs & {"pause", "partition", "cut", "delay", "lose", "duplicate", "reorder", "slow-disk"}:
        last += _LAST
    faults += (ScheduledFault(schedule.end_us, "", command) for command in last)
    return replace(schedule, faults=tuple(sorted(faults, key=lambda fault: fault.at_us)))


def unfinished(schedule: Schedule) -> Schedule:
    """Return the schedule without the commands that ``finished`` added."""
    last = [ScheduledFault(schedule.end_us, "", command) for command in (*_returns(schedule), *_LAST)]
    return replace(schedule, faults=tuple(fault for fault in schedule.faults if fault not in last))


def _returns(schedule: Schedule) -> list[str]:
    """Return the commands with which all clients and services come back that faults have taken away."""
    away = (fault.command.split() for fault in schedule.faults)
    found = {
        f"{_RETURNS[verb]} {names[0]}": None
        for verb, *names in away
        if verb in _RETURNS and len(names) == 1 and int(names[0]) > max(schedule.nodes)
    }
    return list(found)


_LAST = ("heal", "resume all")


def _round_ms(us: int) -> int:
    """Round to whole milliseconds, at least one; 0 stays 0."""
    return max(1, round(us / 1000)) * 1000 if us else 0


FAULTS: dict[str, Callable[[ScheduleGenerator, int], None]] = {
    "kill": ScheduleGenerator._kill,
    "pause": ScheduleGenerator._pause,
    "partition": ScheduleGenerator._partition,
    "delay": ScheduleGenerator._delay,
    "loss": ScheduleGenerator._loss,
    "duplicate": ScheduleGenerator._duplicate,
    "reorder": ScheduleGenerator._reorder,
    "slow-disk": ScheduleGenerator._slow_disk,
    "disk": ScheduleGenerator._disk,
    "wipe": ScheduleGenerator._wipe,
}
"""The kinds of fault that can be requested."""
STRONGEST = tuple(kind for kind in FAULTS if kind not in ("wipe", "disk"))
"""The kinds that find most. After a fault of storage, most assertions are excused for the rest of the run."""

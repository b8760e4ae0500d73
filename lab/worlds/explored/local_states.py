"""Local states, as numbers, and the transition of each for every input.

A node is deterministic and sees only its own inputs. So a local state is the node's data when it was last
quiescent, and its inputs since. A transition is computed once, by replaying those inputs on a fresh node, and
remembered. Two pasts after which a node has the same fingerprint (``lab.kernel.fingerprint``) lead to one local
state, represented by the first of them. If part of a procedure is hidden from the fingerprint, states are told
apart by their whole past.

Each past has its own clock: a local state contains ages and times left, never instants. Which ages count is
learned: those that the protocol asks for, up to an age beyond which it behaves as if they were of the far past.
Learning that more ages count invalidates the states found so far: LearnedError is raised, and the search begins
again with the extended ``Ages``.
"""

import re
from collections.abc import Hashable
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import CommandInput, Fired, Message, Node, Started, Step
from lab.kernel.fingerprint import (
    EPOCH_US,
    HEARD,
    QuiescentSnapshot,
    age_instants,
    count_timers,
    fingerprint,
    oldest_us,
    quiescent_snapshot,
    resume,
)
from lab.kernel.plain import plain
from lab.recording.snapshot import NodeState
from lab.replay.roster import Roster
from lab.worlds.explored.states import STALE, Queues
from lab.worlds.explored.suspicions import NOBODY_SUSPECTED, SuspectingNode, Suspicion
from lab.worlds.watchdog import watch_steps

_FAR_PAST_US = EPOCH_US // 4
_INSTANT = re.compile(rb"(?<!\d)1\d{15}(?!\d)")
"""Matches an instant of a clock that began at EPOCH_US, in a message's body."""

_Input = Started | Message | Fired | CommandInput

_EXTREMES = (1 - 2**-53, 0.0)
"""The greatest and the least random number."""
_MOST_SPARE = 1_000
_MOST_CHOICES = 4
"""The number of draws in a step of which both extremes are tried."""


class Transition(NamedTuple):
    """The result of an input: the next local state, the messages sent, the requests no longer waited for.

    ``draws`` are the random numbers drawn.
    """

    local: int
    sent: tuple[int, ...]
    released: frozenset[int]
    draws: tuple[float, ...]


class SendsInstantsError(Exception):
    """A message contains an instant of its sender's clock, but explored clocks are unrelated."""


class LearnedError(Exception):
    """Ages that had been left out count; begin again."""


class Ages(Struct):
    """The ages that count: those of the procedures in ``asked``, and of peers if it has HEARD.

    All ages beyond ``old_us`` are equal.
    """

    old_us: int
    asked: set[str]


class _Watched(SuspectingNode):
    """A node that notes the ages its protocol asks for."""

    asked: set[str]

    def begun_us(self, name: str) -> int:
        self.asked.add(name)
        return super().begun_us(name)

    def heard_us(self, peer: int) -> int:
        self.asked.add(HEARD)
        return super().heard_us(peer)


class _Past(Struct, frozen=True):
    """A way to bring a node into the local state: its quiescent snapshot, and the inputs since.

    Each input has its time, and the random numbers drawn.
    """

    rest: QuiescentSnapshot | None
    inputs: tuple[tuple[_Input, int, tuple[float, ...]], ...]
    now_us: int


class _Local(Struct, frozen=True):
    node: int
    view: NodeState
    due_us: int | None
    stored: dict[str, Any]
    past: _Past | None
    suspicion: Suspicion = NOBODY_SUSPECTED


class _SpareNodes(dict[int, _Watched]):
    """Nodes that are in a local state, by its number, to save the next set-up; only the last ones are kept."""

    def __setitem__(self, local: int, node: _Watched) -> None:
        super().__setitem__(local, node)
        if len(self) > _MOST_SPARE:
            del self[next(iter(self))]


class LocalStates:
    """The local states met so far, by number.

    For each: whether the node is ``alive``; ``due_us``, the time until its next timer, or None; ``suspicions``,
    what this timer gives up; ``views``, what the properties observe of it. ``replays`` counts how often a node was
    set up and fed an input. ``has_drawn``: a node has drawn random numbers, of which only the extremes are tried;
    ``has_drawn_many``: so many in a step that of the later ones only the least are. ``has_timers``: several at
    once.
    ``auxiliary``: the fields by which no states are told apart.
    """

    def __init__(
        self,
        roster: Roster,
        queues: Queues,
        ages: Ages,
    ) -> None:
        self.alive: list[bool] = []
        self.due_us: list[int | None] = []
        self.suspicions: list[Suspicion] = []
        self.views: list[NodeState] = []
        self.replays = 0
        self.has_drawn = self.has_drawn_many = False
        self.has_timers = False
        self.auxiliary = frozenset(
            field.name for node in roster.ids for field in roster.protocol_of(node).fields if field.auxiliary
        )
        self._roster = roster
        self._queues = queues
        self._ages = ages
        self._known = len(ages.asked)
        self._locals: list[_Local] = []
        self._numbers: dict[Hashable, int] = {}
        self._killed: dict[tuple[int, bool], int] = {}
        self._spare = _SpareNodes()
        self._spare_aged = _SpareNodes()
        watch_steps()

    def __len__(self) -> int:
        return len(self._locals)

    def stored(self, local: int) -> dict[str, Any]:
        """Return the contents of the node's stable storage."""
        return self._locals[local].stored

    def clock_us(self, local: int) -> int:
        """Return the time of the node's clock, to which the instants in its state relate; 0 if it is down."""
        past = self._locals[local].past
        return 0 if past is None else past.now_us

    def stopped(self, node: int, why: Literal["killed", "failed"], stored: dict[str, Any]) -> int:
        """Return the local state of a node that went down, with this in stable storage."""
        key = (why, msgspec.json.encode(stored, order="deterministic"))
        return self._number(node, key, _Local(node, NodeState(node, why), None, stored, None))

    def killed(self, local: int, keeps_storage: bool) -> int:
        """Return the local state after a crash; storage matters only if the node may come up again."""
        known = self._killed.get((local, keeps_storage))
        if known is None:
            was = self._locals[local]
            why: Literal["killed", "failed"] = "failed" if was.view.process == "failed" else "killed"
            known = self.stopped(was.node, why, was.stored if keeps_storage else {})
            self._killed[local, keeps_storage] = known
        return known

    def start(self, local: int) -> list[Transition]:
        """Start the node with the contents of its stable storage."""
        known = self._locals[local]
        node_input = Started(known.stored, 1, 1)
        past = _Past(None, (), EPOCH_US)
        return self._steps(local, past, node_input, EPOCH_US, "started")

    def deliver(self, local: int, message: int) -> list[Transition]:
        past, node = self._replay(local)
        node_input = self._queues.messages[message]
        if node_input.reply_to:
            serials = {name: serial for serial, name in node.request_names().items()}
            node_input = replace(node_input, reply_to=serials.get(node_input.reply_to, STALE))
        return self._steps(local, past, node_input, past.now_us, message, node)

    def fire_timer(self, local: int) -> list[Transition]:
        """Fire the next timer, at its time, or now if that is past."""
        past, node = self._replay(local)
        due = node.next_timer()
        assert due is not None
        return self._steps(local, past, due[1], max(past.now_us, due[0]), "fired", node)

    def give_command(self, local: int, command: CommandInput) -> list[Transition]:
        past, node = self._replay(local)
        return self._steps(local, past, command, past.now_us, command, node)

    def later(self, local: int, us: int) -> int:
        """Return the local state after this much time."""
        past, node = self._replay(local)
        after = self._intern(node, replace(past, now_us=past.now_us + us), (local, "later", us))
        if after not in self._spare:
            self._keep(local, past, node)
        return after

    def _fresh(self, node: int) -> _Watched:
        fresh = self._roster.new_node_of(_Watched, node)
        fresh.asked = self._ages.asked
        return fresh

    def _replay(self, local: int) -> tuple[_Past, _Watched]:
        known = self._locals[local]
        assert known.past is not None
        return known.past, self._spare.pop(local, None) or self._set_up(known.node, known.past)

    def _keep(self, local: int, past: _Past, node: _Watched) -> None:
        """Keep a node that is in this local state, for the next input to it."""
        if past.inputs:  # else it is restored as fast, and a restored node reports all fields as changed
            self._spare[local] = node

    def _set_up(self, node: int, past: _Past) -> _Watched:
        fresh = self._fresh(node)
        if past.rest is not None:
            resume(fresh, past.rest)
        for node_input, at_us, draws in past.inputs:
            fresh.step(node_input, at_us, draws)
        return fresh

    def _steps(
        self, local: int, past: _Past, node_input: _Input, at_us: int, what: Hashable, node: _Watched | None = None
    ) -> list[Transition]:
        """Return the transitions for an input: one, or one for each choice of the random numbers drawn.

        Of each number, the least and the greatest possible are tried; of all after the first few, the least.
        """
        found: list[Transition] = []
        plans: list[tuple[float, ...]] = [()]
        while plans:
            plan = plans.pop()
            node = node or self._set_up(self._locals[local].node, past)
            transition = self._step(local, past, node, node_input, at_us, what, plan)
            node = None
            if len(transition.draws) == len(plan):
                found.append(transition)
                continue
            self.has_drawn = True
            self.has_drawn_many |= len(plan) >= _MOST_CHOICES
            plans += [(*plan, draw) for draw in (_EXTREMES if len(plan) < _MOST_CHOICES else _EXTREMES[-1:])]
        return found

    def _step(
        self,
        local: int,
        past: _Past,
        node: _Watched,
        node_input: _Input,
        at_us: int,
        what: Hashable,
        draws: tuple[float, ...],
    ) -> Transition:
        self.replays += 1
        waited = node.request_names()
        aged = self._spare_aged.pop(local, None) or self._aged_copy(node, past)
        step = node.step(node_input, at_us, draws)
        if len(step.draws) > len(draws):
            return Transition(local, (), frozenset(), step.draws)
        if aged is not None and not _steps_alike(aged, node_input, at_us, draws, step):
            self._learn_to_count()
        if step.failed:
            return Transition(self.stopped(node.id, "failed", {}), (), frozenset(waited.values()), draws)
        waits = node.request_names()
        answered = node_input.reply_to if isinstance(node_input, Message) else 0
        released = frozenset(name for serial, name in waited.items() if serial not in waits and serial != answered)
        for each in step.sent:
            if _INSTANT.search(bytes(each.body)):
                raise SendsInstantsError(each.kind)
        sent = tuple(
            self._queues.number(replace(each, serial=0 if each.reply_to else waits.get(each.serial, STALE)))
            for each in step.sent
        )
        inputs = (*past.inputs, (node_input, at_us, draws))
        after = self._intern(node, _Past(past.rest, inputs, at_us), (local, what, draws))
        return Transition(after, sent, released, draws)

    def _intern(self, node: _Watched, past: _Past, how: tuple[Hashable, ...]) -> int:
        """Return the local state of ``node`` after ``past``; ``how`` identifies it where a fingerprint cannot."""
        due_us = _left_us(node, past.now_us)
        if len(self._ages.asked) > self._known:
            raise LearnedError
        key = (due_us, fingerprint(node, past.now_us, self._ages.old_us, self._ages.asked) or how)
        known = self._numbers.get((node.id, key))
        if known is not None:
            return known
        self.has_timers |= count_timers(node) > 1
        rest = quiescent_snapshot(node)
        if rest is not None:
            past = _Past(rest, (), past.now_us)
        aged = self._aged_copy(node, past)
        if aged is not None and _left_us(aged, past.now_us) != due_us:
            self._learn_to_count()
        values = {name: plain(value) for name, value in node.protocol.values().items()}
        stored = {field.name: values[field.name] for field in node.protocol.fields if field.safe}
        view = NodeState(node.id, "running", 1, state=values)
        number = self._number(node.id, key, _Local(node.id, view, due_us, stored, past, node.suspicion()))
        self._keep(number, past, node)
        if aged is not None:
            self._spare_aged[number] = aged
        return number

    def _aged_copy(self, node: _Watched, past: _Past) -> _Watched | None:
        """Return the node with all that is old moved to the far past; None if nothing is old."""
        old_us = past.now_us - self._ages.old_us
        if oldest_us(node) > old_us:
            return None
        aged = self._set_up(node.id, past)
        age_instants(aged, old_us, _FAR_PAST_US)
        return aged

    def _learn_to_count(self) -> None:
        self._ages.old_us *= 2
        raise LearnedError

    def _number(self, node: int, key: Hashable, local: _Local) -> int:
        known = self._numbers.setdefault((node, key), len(self._locals))
        if known == len(self._locals):
            self._locals.append(local)
            self.views.append(local.view)
            self.alive.append(local.past is not None)
            self.due_us.append(local.due_us)
            self.suspicions.append(local.suspicion)
        return known


def _steps_alike(node: Node, node_input: _Input, at_us: int, draws: tuple[float, ...], step: Step) -> bool:
    """Return whether the node makes this step, too; where a step that never ends was interrupted is ignored."""
    if isinstance(node_input, Fired):
        due = node.next_timer()
        if due is None or due[1] != node_input:
            return False  # of several timers that are due, another one comes first
    other = node.step(node_input, at_us, draws)
    return other == step or bool(other.failed and step.failed)


def _left_us(node: Node, now_us: int) -> int | None:
    due = node.next_timer()
    return None if due is None else max(0, due[0] - now_us)

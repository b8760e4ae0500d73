"""Local states, as numbers, and what each does with an input.

A node is deterministic and sees only its own inputs. So a local state is its data when it was last at rest
and its inputs since; what it does with one input more is found once, by replaying those into a fresh node,
and kept. Two pasts after which a node looks the same (``lab.kernel.sight``) are one local state, which has the
first of them as its past. A procedure of which not all can be seen is told apart by its whole past.

Each past has a clock of its own: what counts in a local state is how long ago things were and how long it is
until they are due. Which ages count is learned: those that the protocol asks for, and none beyond the age from
which on it does the same as if it were an aeon. What is learned late makes the states told apart so far worthless:
LearnedError, and the search begins anew with ``Ages`` that know more.
"""

import re
from collections.abc import Hashable
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import CommandInput, Fired, Message, Node, Started, Step, Timing
from lab.kernel.sight import ERA_US, HEARD, Rest, age, oldest_us, open_requests, rest_of, resume, sight_of
from lab.kernel.state import plain
from lab.properties import BOOKED
from lab.properties.books import booked
from lab.protocols import Algorithm
from lab.recording.snapshot import NodeState
from lab.worlds.explored.queues import STALE, Queues
from lab.worlds.watchdog import watch_steps

__all__ = ["Ages", "LearnedError", "LocalStates", "SendsInstantsError", "Transition"]

_AEON_US = ERA_US // 4
_INSTANT = re.compile(rb"(?<!\d)1\d{15}(?!\d)")
"""An instant of a clock that began at ERA_US, in a message's body."""

_Given = Started | Message | Fired | CommandInput


class Transition(NamedTuple):
    """What an input leads to: the local state after it, the messages sent, and what is waited for no longer."""

    local: int
    sent: tuple[int, ...]
    released: frozenset[int]


class SendsInstantsError(Exception):
    """A message says what time it is by its sender's clock, and here clocks have nothing in common."""


class LearnedError(Exception):
    """Ages count that had been left out; begin anew."""


class Ages(Struct):
    """Which ages count: ``asked`` are procedures and HEARD; beyond ``old_us``, old is old."""

    old_us: int
    asked: set[str]


class _Watched(Node):
    """A node that notes which ages its protocol asks for."""

    asked: set[str]

    def begun_us(self, name: str) -> int:
        self.asked.add(name)
        return super().begun_us(name)

    def heard_us(self, peer: int) -> int:
        self.asked.add(HEARD)
        return super().heard_us(peer)


class _Past(Struct, frozen=True):
    """How to make a node be in the local state: what it was at rest, and the inputs since, with their times."""

    rest: Rest | None
    inputs: tuple[tuple[_Given, int], ...]
    now_us: int


class _Local(Struct, frozen=True):
    node: int
    view: NodeState
    due_us: int | None
    stored: dict[str, Any]
    past: _Past | None


class LocalStates:
    """The local states met so far, by number. Of each: whether the node is ``alive``; ``due_us``, the time until
    its next timer, or None; ``views``, what the properties see of it.

    ``replays`` counts how often a node was set up and fed.
    """

    def __init__(
        self,
        protocol: type[Algorithm],
        ids: tuple[int, ...],
        timing: Timing,
        parameters: Struct,
        queues: Queues,
        ages: Ages,
    ) -> None:
        self.alive: list[bool] = []
        self.due_us: list[int | None] = []
        self.views: list[NodeState] = []
        self.replays = 0
        self._protocol = protocol
        self._ids = ids
        self._timing = timing
        self._parameters = parameters
        self._queues = queues
        self._ages = ages
        self._known = len(ages.asked)
        self._keeps_books = not set(BOOKED).isdisjoint(protocol.promises)
        self._locals: list[_Local] = []
        self._numbers: dict[Hashable, int] = {}
        self._killed: dict[tuple[int, bool], int] = {}
        watch_steps()

    def __len__(self) -> int:
        return len(self._locals)

    def stopped(
        self, node: int, why: Literal["killed", "failed"], stored: dict[str, Any], last: dict[str, Any]
    ) -> int:
        """The local state of a node that went down in state ``last``, with this in its safe storage."""
        books = booked(last) if self._keeps_books else {}
        key = (why, msgspec.json.encode((stored, books), order="deterministic"))
        return self._number(node, key, _Local(node, NodeState(node, why, state=books), None, stored, None))

    def killed(self, local: int, keeps_storage: bool) -> int:
        """The local state after a crash; what is stored matters only to a node that may come up again."""
        known = self._killed.get((local, keeps_storage))
        if known is None:
            was = self._locals[local]
            why: Literal["killed", "failed"] = "failed" if was.view.process == "failed" else "killed"
            known = self.stopped(was.node, why, was.stored if keeps_storage else {}, was.view.state)
            self._killed[local, keeps_storage] = known
        return known

    def start(self, local: int) -> Transition:
        """The node comes up with what its safe storage held."""
        known = self._locals[local]
        given = Started(known.stored, 1, 1)
        return self._feed(local, _Past(None, (), ERA_US), self._fresh(known.node), given, ERA_US, "started")

    def deliver(self, local: int, message: int) -> Transition:
        """The message arrives."""
        past, node = self._replay(local)
        given = self._queues.messages[message]
        if given.answers:
            serials = {name: serial for serial, name in open_requests(node).items()}
            given = replace(given, answers=serials.get(given.answers, STALE))
        return self._feed(local, past, node, given, past.now_us, message)

    def fire(self, local: int) -> Transition:
        """The next timer fires, at its time, or now where that is past."""
        past, node = self._replay(local)
        due = node.next_timer()
        assert due is not None
        return self._feed(local, past, node, due[1], max(past.now_us, due[0]), "fired")

    def tell(self, local: int, told: CommandInput) -> Transition:
        """The node is given a command of its protocol's own."""
        past, node = self._replay(local)
        return self._feed(local, past, node, told, past.now_us, told)

    def later(self, local: int, us: int) -> int:
        """The local state when so much time has passed."""
        past, node = self._replay(local)
        return self._look(node, replace(past, now_us=past.now_us + us), (local, "later", us))

    def _fresh(self, node: int) -> Node:
        fresh = _Watched(self._protocol, node, self._ids, self._timing, self._parameters)
        fresh.asked = self._ages.asked
        return fresh

    def _replay(self, local: int) -> tuple[_Past, Node]:
        known = self._locals[local]
        assert known.past is not None
        return known.past, self._set_up(known.node, known.past)

    def _set_up(self, node: int, past: _Past) -> Node:
        fresh = self._fresh(node)
        if past.rest is not None:
            resume(fresh, past.rest)
        for given, at_us in past.inputs:
            fresh.step(given, at_us)
        return fresh

    def _feed(self, local: int, past: _Past, node: Node, given: _Given, at_us: int, what: Hashable) -> Transition:
        self.replays += 1
        waited = open_requests(node)
        ancient = self._ancient(node, past)
        step = node.step(given, at_us)
        if ancient is not None and not _is_same(ancient.step(given, at_us), step):
            self._learn_to_count()
        if step.failed:
            last = self.views[local].state
            return Transition(self.stopped(node.id, "failed", {}, last), (), frozenset(waited.values()))
        waits = open_requests(node)
        answered = given.answers if isinstance(given, Message) else 0
        released = frozenset(name for serial, name in waited.items() if serial not in waits and serial != answered)
        for each in step.sent:
            if _INSTANT.search(bytes(each.body)):
                raise SendsInstantsError(each.kind)
        sent = tuple(
            self._queues.number(replace(each, serial=0 if each.answers else waits.get(each.serial, STALE)))
            for each in step.sent
        )
        after = self._look(node, _Past(past.rest, (*past.inputs, (given, at_us)), at_us), (local, what))
        return Transition(after, sent, released)

    def _look(self, node: Node, past: _Past, how: tuple[Hashable, ...]) -> int:
        """The local state that ``node`` is in after ``past``; ``how`` it came there, where it cannot be seen."""
        due_us = _left_us(node, past.now_us)
        if len(self._ages.asked) > self._known:
            raise LearnedError
        key = (due_us, sight_of(node, past.now_us, self._ages.old_us, self._ages.asked) or how)
        known = self._numbers.get((node.id, key))
        if known is not None:
            return known
        rest = rest_of(node)
        if rest is not None:
            past = _Past(rest, (), past.now_us)
        ancient = self._ancient(node, past)
        if ancient is not None and _left_us(ancient, past.now_us) != due_us:
            self._learn_to_count()
        values = {name: plain(value) for name, value in node.protocol.values().items()}
        stored = {field.name: values[field.name] for field in node.protocol.fields if field.safe}
        view = NodeState(node.id, "running", 1, state=values)
        return self._number(node.id, key, _Local(node.id, view, due_us, stored, past))

    def _ancient(self, node: Node, past: _Past) -> Node | None:
        """The node as if all that is old were an aeon old; None where nothing is."""
        old_us = past.now_us - self._ages.old_us
        if oldest_us(node) > old_us:
            return None
        ancient = self._set_up(node.id, past)
        age(ancient, old_us, _AEON_US)
        return ancient

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
        return known


def _is_same(one: Step, other: Step) -> bool:
    """Whether these do the same; where a step that never came back was interrupted is chance."""
    return one == other or bool(one.failed and other.failed)


def _left_us(node: Node, now_us: int) -> int | None:
    """The time until the next timer of the node; None where it has none."""
    due = node.next_timer()
    return None if due is None else max(0, due[0] - now_us)

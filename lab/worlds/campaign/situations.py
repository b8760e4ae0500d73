"""The situations that a run passes through: what a campaign has reached, and what guides it to more.

A situation is recognized by what is abstract in the records: enumerations such as the Status, flags, whether a
value is there at all, names of messages and procedures; never by ids, counters or times. So a protocol has
finitely many, and clusters of any size meet the same ones.

* an input in a local state: *Vote delivered to a node in Election that waits in ask_higher*
* the enumerations and flags that occur together in the cluster, and how many nodes lead
* a fault that strikes a node in a local state, and the two last such faults together
* a message of a kind that a fault touched
* a violation, with the assumptions broken

Apart from these, ``majorities_in`` says how many nodes could talk to each other: protocols that count often err
where they are exactly half plus one.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from enum import Enum
from functools import lru_cache
from itertools import chain
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin
from zlib import crc32

from msgspec import Struct
from msgspec.structs import fields

from lab.kernel import CommandInput, Fired, Protocol, Received, Started, Step
from lab.kernel.step import EVERY_WAIT
from lab.properties.conditions import CUTS
from lab.properties.states import largest_group
from lab.properties.verdicts import Violation
from lab.recording.records import Fault, Header, Process, Record, Routed

_MOST_SENT = 3
"""Points after more messages of a step than this are alike."""

Abstraction = Callable[[Any], str]
"""Return what is abstract in a recorded value of a field."""


class Point(NamedTuple):
    """A moment of a run at which a fault can strike, between two effects of a step.

    It is between the write of the step and its first message, right after a message is sent, or after one was
    handled. ``kind`` is its situation as a number. ``on`` is the trigger, ``message`` the kind of the message,
    ``node`` the node of the step, ``peer`` the one at the other end of the message. ``stores``: the step writes.
    """

    kind: int
    on: str
    message: str
    node: int
    peer: int
    stores: bool


class Situations(NamedTuple):
    """The situations of one run. ``all`` are the situations as numbers, equal in every process.

    ``deliveries`` are the (message kind, status) pairs of the messages handled, for a report in words.
    """

    all: frozenset[int]
    deliveries: frozenset[tuple[str, str]]


NO_SITUATIONS = Situations(frozenset(), frozenset())


class SituationReader:
    """The situations in the records of a run, passed to ``observe`` in order.

    ``points`` are those of the last step, found only ``with_points``; ``down`` and ``paused`` are the nodes that
    are. ``cluster`` has the enumerations and flags that occur together in the cluster, and how many nodes lead.
    ``outside`` are the clients and services of the run, of which only the messages matter.
    """

    def __init__(self, protocol: type[Protocol], with_points: bool) -> None:
        self._with_points = with_points
        self.outside: frozenset[int] = frozenset()
        known = _abstractions_of(protocol)  # type: ignore[arg-type]  # a class is hashable
        self._abstractions, self._named = known
        self.points: list[Point] = []
        self.down: dict[int, None] = {}
        self.paused: dict[int, None] = {}
        self.cluster: Hashable = None
        self._found: set[Hashable] = set()
        self._deliveries: set[tuple[str, str]] = set()
        self._kinds: dict[tuple[int, int], str] = {}
        self._states: dict[int, dict[str, Any]] = {}
        self._abstract: dict[int, dict[str, str]] = {}
        self._local: dict[int, Hashable] = {}
        self._waits: dict[int, tuple[str, ...]] = {}
        self._last_strike: Hashable = None

    def observe(self, record: Record) -> None:
        """Take the next record."""
        if isinstance(record, Step):
            if record.node in self.outside:
                self._step_outside(record)
            else:
                self._step(record)
        elif isinstance(record, Process):
            if record.node not in self.outside:
                self._process(record)
        elif isinstance(record, Fault) and record.links and not record.lifted:
            self._strike((record.kind,))
        elif isinstance(record, Routed) and record.fate:
            self._found.add(("routed", record.fate, self._kinds.get((record.source, record.serial), "")))

    def situations(self, violations: Iterable[Violation]) -> Situations:
        """Return what the run has reached, with its violations."""
        found = {
            ("violation", each.assertion, tuple(sorted(str(broken.assumption) for broken in each.broken)))
            for each in violations
        }
        return Situations(frozenset(map(number_of, (*self._found, *found))), frozenset(self._deliveries))

    def _step(self, step: Step) -> None:
        node, given = step.node, step.input
        local, waits = self._local.get(node), self._waits.get(node, ())
        handled = ""
        if isinstance(given, Received):
            kind = handled = self._kinds.get((given.source, given.serial), "")  # it may come again
            self._found.add((kind, local, waits))
            cause: Hashable = kind
            self._deliveries.add((kind, str(self._states.get(node, {}).get("status", ""))))
        elif isinstance(given, Fired):
            self._found.add(("timer", given.procedure, local))
            cause = given.procedure
        elif isinstance(given, CommandInput):
            self._found.add(("command", given.command, local))
            cause = given.command
        else:
            cause = "start"
        for message in step.sent:
            self._kinds[node, message.serial] = message.kind
        if isinstance(given, Started):
            self._states[node], self._abstract[node] = {}, {}
            self._change(node, given.stored)
        if step.changes_state and (changed := step.values_after(self._states.get(node, {}))):
            self._change(node, changed)
        if step.changes_procedures:
            self._waits[node] = _waiting_after(step, waits)
        if self._with_points:
            self._find_points(step, handled, (cause, self._local.get(node), self._waits.get(node, ())))

    def _step_outside(self, step: Step) -> None:
        self.points = []
        for message in step.sent:
            self._kinds[step.node, message.serial] = message.kind

    def _find_points(self, step: Step, handled: str, situation: Hashable) -> None:
        """Find the points of a step: after its write, after each of its messages, or after what it handled."""
        node, given = step.node, step.input
        rank = "highest" if node == max(self._local, default=node) else "lower"
        context = (situation, rank, min(len(self.down), 2))
        self.points = []

        def add(kind: Hashable, moment: str, message: str, source: int, target: int) -> None:
            peer = target if node == source else source
            on = f"{moment} {message} {source}->{target}"
            self.points.append(Point(number_of(kind), on, message, node, peer, bool(step.stores)))

        if step.sent and step.stores:
            first = step.sent[0]
            add((context, "stored"), "before send", first.kind, node, first.target)
        kinds = [message.kind for message in step.sent]
        for place, message in enumerate(step.sent, 1):
            add((context, *kinds[:place][-_MOST_SENT:]), "send", message.kind, node, message.target)
        if not step.sent and isinstance(given, Received):
            add(context, "deliver", handled, given.source, node)

    def _strike(self, strike: Hashable) -> None:
        """Note that a fault strikes."""
        self._found.add((self._last_strike, strike))
        self._last_strike = strike

    def _change(self, node: int, changed: dict[str, Any]) -> None:
        """Take the new values of fields of a node."""
        self._states.setdefault(node, {}).update(changed)
        abstract = self._abstract.setdefault(node, {})
        for name, value in changed.items():
            if name in self._abstractions:
                abstract[name] = self._abstractions[name](value)
        local = tuple([abstract.get(name) for name in self._abstractions])
        if self._local.get(node) != local:
            self._local[node] = local
            self._cluster()

    def _process(self, record: Process) -> None:
        node = record.node
        if record.event == "started":
            self.down.pop(node, None)
            if record.incarnation == 1:
                return
        if record.event in ("killed", "failed"):
            self.down[node] = None
        if record.event == "paused":
            self.paused[node] = None
        else:
            self.paused.pop(node, None)
        strike = (record.event, self._local.get(node), self._waits.get(node, ()))
        self._found.add(strike)
        self._strike(strike)
        if record.event in ("killed", "failed"):
            self._local.pop(node, None)
            self._waits.pop(node, None)
            self._cluster()

    def _cluster(self) -> None:
        leaders = sum(
            state.get("coordinator") == node and state.get("status") == "Normal"
            for node, state in self._states.items()
            if node in self._local
        )
        states = (self._abstract[node] for node in self._local)
        named = frozenset(tuple([state.get(name) for name in self._named]) for state in states)
        self.cluster = ("cluster", named, min(leaders, 2))
        self._found.add(self.cluster)


def _waiting_after(step: Step, before: tuple[str, ...]) -> tuple[str, ...]:
    """Return the procedures that wait after a step of the node, sorted, given those before."""
    is_first = step.failed or isinstance(step.input, Started) or EVERY_WAIT in step.ended
    waiting = set() if is_first else set(before).difference(step.ended)
    return tuple(sorted(waiting.union([wait.procedure for wait in step.began])))


# what is abstract in a value


@lru_cache(maxsize=4)
def _abstractions_of(protocol: type[Protocol]) -> tuple[dict[str, Abstraction], tuple[str, ...]]:
    """Return the abstractions of the protocol's fields, and the names of those with an enumeration or a flag."""
    types = {each.name: each.type for each in protocol.fields if not each.log}
    abstractions = {name: _abstraction_of(kind) for name, kind in types.items()}
    return abstractions, tuple(name for name, kind in types.items() if _has_names(kind))


def _has_names(kind: Any) -> bool:
    """Return whether an enumeration or a flag is part of this type."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return any(_has_names(each.type) for each in fields(kind))
    if isinstance(kind, type) and issubclass(kind, Enum | bool):
        return True
    return any(map(_has_names, get_args(kind)))


def _abstraction_of(kind: Any) -> Abstraction:
    """Return the abstraction of the recorded values of a declared type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        inner = _abstraction_of(next((each for each in arguments if each is not NoneType), None))
        return lambda value: "none" if value is None else inner(value)
    if origin is not None and issubclass(origin, Mapping):
        inner = _abstraction_of(arguments[-1])
        return lambda value: _set_of(map(inner, value.values())) if isinstance(value, dict) else "?"
    if origin is not None and issubclass(origin, Iterable):
        inner = _abstraction_of(arguments[0])
        return lambda value: _set_of(map(inner, value)) if isinstance(value, list | tuple) else "?"
    if isinstance(kind, type) and issubclass(kind, Enum | bool):
        return str
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _abstraction_of_struct(kind)
    return _some_or_none


def _abstraction_of_struct(kind: type[Struct]) -> Abstraction:
    """Return the abstraction of a structure: its enumerations and flags."""
    parts = {
        each.encode_name: _abstraction_of(each.type)
        for each in fields(kind)
        if isinstance(each.type, type) and issubclass(each.type, Enum | bool)
    }

    def abstract(value: Any) -> str:
        if not isinstance(value, dict) or not parts:
            return _some_or_none(value)
        return ",".join(part(value[name]) for name, part in parts.items() if name in value)

    return abstract


def _set_of(parts: Iterable[str]) -> str:
    return f"{{{' '.join(sorted(set(parts)))}}}"


def _some_or_none(value: Any) -> str:
    return "some" if value else "none"


# majorities


Majority = Literal["all", "some majority", "smallest majority", "no majority"]
"""The share of nodes that run and can all talk to each other; the smallest majority is exactly half plus one."""
MAJORITIES: tuple[Majority, ...] = get_args(Majority)


def majorities_in(records: Iterable[Record]) -> frozenset[Majority]:
    """Return which of these a run has passed through, once all nodes had started."""
    nodes: tuple[int, ...] = ()
    started: set[int] = set()
    away: set[int] = set()
    cuts: dict[int, tuple[tuple[int, int], ...]] = {}
    found: set[Majority] = set()
    for record in records:
        if isinstance(record, Step):
            continue
        if isinstance(record, Header):
            nodes = record.nodes
        elif isinstance(record, Process):
            if record.node not in nodes:
                continue
            started.add(record.node)
            (away.discard if record.event in ("started", "resumed") else away.add)(record.node)
        elif isinstance(record, Fault) and record.kind in CUTS:
            cuts[record.id] = () if record.lifted else record.links
        else:
            continue
        if len(started) == len(nodes) > 0:
            up = tuple(node for node in nodes if node not in away)
            found.add(_majority(largest_group(up, frozenset(chain.from_iterable(cuts.values()))), len(nodes)))
    return frozenset(found)


def _majority(connected: int, nodes: int) -> Majority:
    if connected == nodes:
        return "all"
    if 2 * connected <= nodes:
        return "no majority"
    return "smallest majority" if connected == nodes // 2 + 1 else "some majority"


# situations as numbers


_NUMBERS: dict[Hashable, int] = {}


def number_of(situation: Hashable) -> int:
    """Return a number that is the same in every process, unlike a hash."""
    known = _NUMBERS.get(situation)
    if known is None:
        known = _NUMBERS[situation] = crc32(_text(situation).encode())
    return known


def _text(situation: Hashable) -> str:
    """Return a text that is the same in every process: sets are sorted."""
    if isinstance(situation, frozenset):
        return f"{{{','.join(sorted(map(_text, situation)))}}}"
    if isinstance(situation, tuple):
        return f"({','.join(map(_text, situation))})"
    return repr(situation)

"""Evaluate predicates on the present state of a cluster."""

import operator
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from lab.analysis.blocking import blocked_since_us
from lab.analysis.elections import agreed_coordinator
from lab.kernel import Fired, Received, Started, Step, Wait
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Record
from lab.recording.snapshot import NodeState
from lab.script import predicates
from lab.script.bank_terms import (
    ATTRIBUTES_OF_BANK,
    COUNTS_OF_BANK,
    balance_of,
    evaluate_bank_count,
    keeps_accounts,
)
from lab.script.predicates import (
    Arithmetic,
    Attribute,
    Balance,
    Compare,
    Count,
    Is,
    LinkIs,
    Not,
    Number,
    Predicate,
    Suspects,
    Text,
    Value,
    Who,
)
from lab.script.statements import Expect, ExpectThroughout, Statement, When

ATTRIBUTES: dict[str, Callable[[NodeState], Any]] = {
    "status": lambda view: view.status,
    "coordinator": lambda view: view.coordinator,
    "group": lambda view: view.group,
    "version": lambda view: view.definition_version,
    "leads": lambda view: view.leads,
    "process": lambda view: view.process,
}
"""Attributes of every node, in addition to the fields that its protocol declares."""

_UP = ("running", "paused")
_STATES: dict[str, Callable[[NodeState], bool]] = {
    "normal": lambda view: view.status == "Normal",
    "election": lambda view: view.status == "Election",
    "reorganization": lambda view: view.status == "Reorganization",
    "leads": lambda view: view.leads,
    "up": lambda view: view.process in _UP,
    "down": lambda view: view.process not in _UP,
    "running": lambda view: view.process == "running",
    "paused": lambda view: view.process == "paused",
    "blocked": lambda view: blocked_since_us(view) is not None,
}
_OF_PROCESSES = ("up", "down", "running", "paused")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None}
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: left // right if right else 0,
}
_UNKNOWN = object()
"""The value of all attributes of a node that is down, except its process and its status, Down."""


class Suspicions:
    """The suspicions in the records observed so far: pairs of a node and a peer that did not answer in time.

    ``cluster`` is the state before the first of those records; None if that is the start of the run.
    """

    def __init__(self, cluster: ClusterState | None = None) -> None:
        self.pairs: set[tuple[int, int]] = set()
        self._waits: dict[int, tuple[Wait, ...]] = (
            {} if cluster is None else {view.id: view.waits for view in cluster.nodes.values()}
        )

    def observe(self, record: Record | None) -> None:
        """Process the next record."""
        if not isinstance(record, Step):
            return
        node, input_ = record.node, record.input
        if isinstance(input_, Fired):
            for wait in self._waits.get(node, ()):
                if wait.procedure == input_.procedure:
                    self.pairs |= {(node, peer) for peer in wait.peers}
        elif isinstance(input_, Received):
            self.pairs.discard((node, input_.source))
        elif isinstance(input_, Started):
            self.pairs = {pair for pair in self.pairs if pair[0] != node}
        self._waits[node] = record.waits


def holds(predicate: Predicate, cluster: ClusterState, suspicions: Suspicions) -> bool:
    """Return whether the predicate holds now."""
    match predicate:
        case predicates.All(parts):
            return all(holds(part, cluster, suspicions) for part in parts)
        case predicates.Any(parts):
            return any(holds(part, cluster, suspicions) for part in parts)
        case Not(part):
            return not holds(part, cluster, suspicions)
        case Suspects(who, whom):
            return (who, whom) in suspicions.pairs
    return _atom_holds(predicate, cluster)


def _atom_holds(predicate: Is | LinkIs | Compare, cluster: ClusterState) -> bool:
    match predicate:
        case Is(who, state):
            return _is_holds(who, state, cluster)
        case LinkIs(source, target):
            cuts = [fault for fault in cluster.faults.values() if fault.kind in ("cut", "partition")]
            return any((source, target) in fault.links for fault in cuts)
        case Compare():
            return _compare_holds(predicate, cluster)


def _is_holds(who: Who, state: str, cluster: ClusterState) -> bool:
    if who == "all" and state == "normal":
        return agreed_coordinator(cluster.nodes) is not None
    views = (
        list(cluster.nodes.values())
        if state in _OF_PROCESSES and who in ("all", "any")
        else states_of(who, cluster)
    )
    found = [_STATES[state](view) for view in views]
    return any(found) if who == "any" else bool(found) and all(found)


def states_of(who: Who, cluster: ClusterState) -> list[NodeState]:
    """Return the states of the nodes named; ``all`` and ``any`` name the nodes that are up."""
    nodes = cluster.nodes
    if isinstance(who, int):
        return [_hide_stale_state(nodes[who])] if who in nodes else []
    live = [view for view in nodes.values() if view.process in _UP]
    if who == "coordinator":
        return [view for view in live if view.leads][-1:]
    return live


def _hide_stale_state(view: NodeState) -> NodeState:
    """Return the state without fields if the node is down: its last known status no longer applies."""
    return view if view.process in _UP else replace(view, state={})


def _compare_holds(predicate: Compare, cluster: ClusterState) -> bool:
    compare = _COMPARED[predicate.operator]
    lefts, rights = _values(predicate.left, cluster), _values(predicate.right, cluster)
    found = [_compare_values(compare, left, right) for left in lefts for right in rights]
    return any(found) if quantifier_of(predicate) == "any" else bool(found) and all(found)


def _compare_values(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    if left is _UNKNOWN or right is _UNKNOWN:
        return compare is operator.eq and (left is None or right is None)
    if isinstance(left, tuple) != isinstance(right, tuple):
        left, right = _as_number(left), _as_number(right)
    try:
        return bool(compare(left, right))
    except TypeError:
        return False  # none and words cannot be ordered


def _values(value: Value, cluster: ClusterState) -> list[Any]:
    """Return the value in a list; for an attribute of ``all`` or ``any``, one value per node."""
    match value:
        case Number(number):
            return [number]
        case Text(word):
            return [_WORDS.get(word, word)]
        case Attribute(who, name):
            return [_attribute_value(view, name) for view in states_of(who, cluster)]
        case Count():
            return [_or_unknown(evaluate_count(value, cluster))]
        case Balance(account):
            return [_or_unknown(balance_of(account, states_of("all", cluster)))]
        case Arithmetic(sign, left, right):
            return [
                _COMPUTED[sign](one, other)
                for one in map(_as_number, _values(left, cluster))
                for other in map(_as_number, _values(right, cluster))
                if isinstance(one, int | Decimal) and isinstance(other, int | Decimal)
            ]


def _as_number(value: Any) -> Any:
    """Return the length of a list, and any other value unchanged."""
    return len(value) if isinstance(value, tuple) else value


def _or_unknown(value: Any) -> Any:
    return _UNKNOWN if value is None else value


def _attribute_value(view: NodeState, name: str) -> Any:
    known = view.process in _UP or name in ("status", "process")
    return attribute_of(view, name) if known else _UNKNOWN


def attribute_of(view: NodeState, name: str) -> Any:
    """Return the attribute of this name; a list as a tuple."""
    known = ATTRIBUTES.get(name) or (ATTRIBUTES_OF_BANK.get(name) if keeps_accounts(view.state) else None)
    found = view.state.get(name) if known is None else known(view)
    return tuple(found) if isinstance(found, list) else found


def evaluate_count(count: Count, cluster: ClusterState) -> int | Decimal | None:
    """Return the count, or None if it is unknown."""
    if count.what in COUNTS_OF_BANK:
        return evaluate_bank_count(count.what, cluster)
    return _count(count, cluster, states_of("all", cluster))


def _count(count: Count, cluster: ClusterState, views: list[NodeState]) -> int:
    if count.what == "live":
        return len(views)
    if count.what == "coordinators":
        return sum(view.leads for view in views)
    if count.what == "groups":
        led = [view for view in views if view.status in ("Reorganization", "Normal")]
        return len({view.group or view.coordinator for view in led})
    if count.what == "faults":
        return len(cluster.faults)
    if count.what == "messages":
        return cluster.messages.get(count.kind, 0) if count.kind else sum(cluster.messages.values())
    return sum(
        flight.held == (count.what == "held")
        and count.kind in ("", flight.kind)
        and count.source in (None, flight.source)
        and count.target in (None, flight.target)
        for flight in cluster.in_flight.values()
    )


def parts_of(predicate: Predicate | Value) -> Iterator[Predicate | Value]:
    """Yield the predicate or value and, recursively, its parts."""
    yield predicate
    match predicate:
        case predicates.All(parts) | predicates.Any(parts):
            inner: tuple[Predicate | Value, ...] = parts
        case Not(part):
            inner = (part,)
        case Compare(_, left, right) | Arithmetic(_, left, right):
            inner = (left, right)
        case _:
            inner = ()
    for each in inner:
        yield from parts_of(each)


def quantifier_of(predicate: Compare) -> str:
    """Return the quantifier of the attributes in a comparison, ``all`` or ``any``; empty if it has none."""
    found = [
        part.who for part in parts_of(predicate) if isinstance(part, Attribute) and part.who in ("all", "any")
    ]
    return str(found[0]) if found else ""


def predicates_in(line: Statement) -> list[Predicate]:
    """Return the predicates of a line: of its triggers and of its expectation."""
    found = [trigger.predicate for trigger in (line.trigger, *line.then) if isinstance(trigger, When)]
    return [*found, line.command.predicate] if isinstance(line.command, Expect | ExpectThroughout) else found


def depends_on_suspicion(line: Statement) -> bool:
    """Return whether a predicate of the line is about suspicions."""
    return any(isinstance(part, Suspects) for each in predicates_in(line) for part in parts_of(each))


def depends_on_messages(predicate: Predicate) -> bool:
    """Return whether a step that only sends or receives, without changing state, can change its value."""
    return any(
        isinstance(part, Suspects) or (isinstance(part, Count) and part.what in ("messages", "flying", "held"))
        for part in parts_of(predicate)
    )

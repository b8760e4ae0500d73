"""Values in predicates: constants, attributes of nodes, counts, and arithmetic on them; and their types."""

import operator
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Protocol
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState, ProcessState
from lab.script.scope import CommandError, Scope, format_link, join_words, require_node
from lab.script.vocabulary import (
    AMOUNT,
    ANYTHING,
    CENTS,
    NUMBER,
    WORD,
    YES_OR_NO,
    ValueType,
    brought_by,
    brought_to,
    evaluate,
    require_term,
    type_of,
)
from lab.text import did_you_mean

Who = int | Literal["all", "any", "coordinator"]
"""A node by its number; all nodes that are up, any of them, or the coordinator."""

UP = ("running", "paused")
"""The states of a process that is up."""

UNKNOWN = object()
"""The value of all attributes of a node that is down, except its process and its status, Down."""

_WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None}
_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: left // right if right else 0,
}

ATTRIBUTES: dict[str, Callable[[NodeState], Any]] = {
    "status": lambda view: view.status,
    "coordinator": lambda view: view.coordinator,
    "group": lambda view: view.group,
    "version": lambda view: view.definition_version,
    "leads": lambda view: view.leads,
    "process": lambda view: view.process,
}
"""Attributes of every node, in addition to the fields that its protocol declares, and the terms that it brings."""

_TYPES = {
    "coordinator": ValueType("a number", none=True),
    "group": ValueType("a group", none=True),
    "version": NUMBER,
    "leads": YES_OR_NO,
    "process": ValueType("a process", get_args(ProcessState)),
}
"""The types of these attributes, but for the status."""


class Part(Struct, frozen=True):
    """A predicate, a value, or a part of one. Its ``str`` is its text; parsing that gives an equal part."""

    @property
    def inner(self) -> tuple["Part", ...]:
        """The parts of which it consists, if any."""
        return ()

    def parts(self) -> Iterator["Part"]:
        """Yield the part itself and, recursively, its parts."""
        yield self
        for each in self.inner:
            yield from each.parts()

    def check(self, scope: Scope) -> None:
        """Raise CommandError if it or a part of it has no meaning in the run."""
        for each in self.parts():
            each.check_alone(scope)

    def check_alone(self, scope: Scope) -> None:
        """Raise CommandError if it has no meaning itself, apart from its parts."""


class Value(Part, frozen=True):
    """A value in a comparison. ``label`` names it in messages."""

    @property
    def label(self) -> str:
        """A short name."""
        return str(self)

    def values(self, cluster: ClusterState) -> list[Any]:
        """Return the value in a list; for an attribute of ``all`` or ``any``, one value per node."""
        raise NotImplementedError

    def type_in(self, protocol: type[Protocol]) -> ValueType:
        """Return its type in a run of the protocol."""
        return NUMBER

    def check_against(self, other: "Value", comparison: str, scope: Scope) -> None:
        """Raise CommandError if it is a constant that the other side of the comparison never has."""

    def at_node(self, node: int) -> "Value":
        """Replace ``all`` or ``any`` by the node."""
        return self

    def explain(self, cluster: ClusterState) -> str:
        """Return ``groups was 2``: its value; empty for a constant, or an attribute."""
        return ""


class Number(Value, frozen=True):
    """A whole number, or an amount in dollars and cents."""

    value: int | Decimal

    def __str__(self) -> str:
        return str(self.value)

    def values(self, cluster: ClusterState) -> list[Any]:
        return [self.value]

    def type_in(self, protocol: type[Protocol]) -> ValueType:
        return CENTS if isinstance(self.value, Decimal) else NUMBER

    def check_against(self, other: Value, comparison: str, scope: Scope) -> None:
        if isinstance(other, Attribute) and other.name == "coordinator" and comparison in ("==", "!="):
            require_node(self.value, scope.ids)


class Text(Value, frozen=True):
    """A word to compare with: a status, ``running``, ``true``, ``none``."""

    word: str

    def __str__(self) -> str:
        return self.word

    def values(self, cluster: ClusterState) -> list[Any]:
        return [_WORDS.get(self.word, self.word)]

    def type_in(self, protocol: type[Protocol]) -> ValueType:
        return WORD

    def check_against(self, other: Value, comparison: str, scope: Scope) -> None:
        word, kind = self.word, other.type_in(scope.protocol)
        constant = word.lower() if word.lower() in _WORDS else ""
        known = (*kind.words, *(("none",) if kind.none else ()))
        if word in known or (kind is ANYTHING and (word == constant or not constant)):
            return
        is_near = kind is ANYTHING or constant in known
        near = f"; did you mean {constant}?" if is_near else did_you_mean(word, known)
        parts = ([kind.name] if not kind.words and kind is not ANYTHING else []) + list(known)
        types = f"; expected {', '.join(parts)}" if parts else ""
        raise CommandError(f"{other.label} is never {word}{types}{near}")


class QuotedText(Value, frozen=True):
    """``"a text"``: a text to compare with, of any characters."""

    text: str

    def __str__(self) -> str:
        return f'"{self.text}"'

    def values(self, cluster: ClusterState) -> list[Any]:
        return [self.text]

    def type_in(self, protocol: type[Protocol]) -> ValueType:
        return WORD

    def check_against(self, other: Value, comparison: str, scope: Scope) -> None:
        kind = other.type_in(scope.protocol)
        if kind is not ANYTHING and self.text not in kind.words:
            known = f"; expected {', '.join(kind.words) or kind.name}"
            raise CommandError(f"{other.label} is never {self}{known}")


class Attribute(Value, frozen=True):
    """``4.coordinator``: a field of a node's state vector, or a property of its process.

    ``path`` leads to a part of its value: ``4.votes[0].term``. An element of a list is counted from 0.
    """

    who: Who
    name: str
    path: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return f"{self.who}.{self.label}"

    @property
    def label(self) -> str:
        parts = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in self.path)
        return self.name + "".join(parts)

    def values(self, cluster: ClusterState) -> list[Any]:
        return [self._of(view, cluster) for view in states_of(self.who, cluster)]

    def _of(self, view: NodeState, cluster: ClusterState) -> Any:
        known = view.process in UP or self.name in ("status", "process")
        return self._part(view, cluster) if known else UNKNOWN

    def _part(self, view: NodeState, cluster: ClusterState) -> Any:
        """Return the value, or the part of it that the path leads to; none if there is no such part."""
        found = attribute_of(view, self.name, cluster)
        for step in self.path:
            if isinstance(found, dict):
                found = found.get(str(step))
            elif isinstance(found, list | tuple) and isinstance(step, int) and step < len(found):
                found = found[step]
            else:
                return None
        return tuple(found) if isinstance(found, list) else found

    def type_in(self, protocol: type[Protocol]) -> ValueType:
        return ANYTHING if self.path else _attribute_type(self.name, protocol)

    def check_alone(self, scope: Scope) -> None:
        scope.require_who(self.who)
        declared = (field.name for each in scope.protocols for field in each.fields)
        brought = (term.name for term in brought_by(scope.protocol).node_terms)
        known = sorted({*ATTRIBUTES, *brought, *declared})
        if self.name not in known:
            raise CommandError(
                f"a node of {scope.protocol.name} has no attribute {self.name}; it has {', '.join(known)}"
                f"{did_you_mean(self.name, known)}"
            )

    def at_node(self, node: int) -> Value:
        return replace(self, who=node) if self.who in ("all", "any") else self

    def explain_at(self, view: NodeState, cluster: ClusterState) -> str:
        """Return ``4.coordinator was 5``."""
        return f"{view.id}.{self.label} was {format_plain(self._part(view, cluster))}"


class Count(Value, frozen=True):
    """One of ``COUNTS``, whose counts of messages may be limited to a ``kind`` or to one link."""

    what: str
    kind: str = ""
    source: int | None = None
    target: int | None = None

    def __str__(self) -> str:
        which = join_words(self.kind, format_link(self.source, self.target))
        return f"{self.what}({which})" if which else self.what

    @property
    def label(self) -> str:
        return self.what

    def values(self, cluster: ClusterState) -> list[Any]:
        return [self._count(cluster)]

    def _count(self, cluster: ClusterState) -> int:
        if self.what in ("messages", "flying", "held"):
            return self._count_messages(cluster)
        if self.what == "faults":
            return len(cluster.faults)
        views = states_of("all", cluster)
        if self.what == "live":
            return len(views)
        if self.what == "coordinators":
            return sum(view.leads for view in views)
        led = [view for view in views if view.status in ("Reorganization", "Normal")]
        return len({view.group or view.coordinator for view in led})

    def _count_messages(self, cluster: ClusterState) -> int:
        if self.what == "messages":
            return cluster.messages.get(self.kind, 0) if self.kind else sum(cluster.messages.values())
        return sum(
            flight.held == (self.what == "held")
            and self.kind in ("", flight.kind)
            and self.source in (None, flight.source)
            and self.target in (None, flight.target)
            for flight in cluster.in_flight.values()
        )

    def check_alone(self, scope: Scope) -> None:
        scope.require_kinds([self.kind])
        scope.require_link(self.source, self.target)

    def explain(self, cluster: ClusterState) -> str:
        return f"{self} was {format_plain(self._count(cluster))}"


class Quantity(Value, frozen=True):
    """A quantity that the protocol brings: ``locks``, or with an argument ``balance(savings)``."""

    name: str
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.name}({self.argument})" if self.argument else self.name

    @property
    def label(self) -> str:
        return self.name

    def values(self, cluster: ClusterState) -> list[Any]:
        found = self._of(cluster)
        return [UNKNOWN if found is None else found]

    def _of(self, cluster: ClusterState) -> Any:
        term = brought_to(cluster).cluster_term(self.name)
        if term is None:
            return None
        return evaluate(term.evaluate, cluster, *([self.argument] if term.argument else []))

    def type_in(self, protocol: type[Protocol]) -> ValueType:
        term = brought_by(protocol).cluster_term(self.name)
        return ANYTHING if term is None else type_of(term.type)

    def check_alone(self, scope: Scope) -> None:
        term = require_term(self.name, scope.protocol)
        objection = term.objection(self.argument, scope.ids, scope.parameters) if term.argument else ""
        if objection:
            raise CommandError(objection)

    def explain(self, cluster: ClusterState) -> str:
        return f"{self} was {format_plain(self._of(cluster))}"


class Arithmetic(Value, frozen=True):
    """An arithmetic operation; ``/`` rounds down."""

    operator: Literal["+", "-", "*", "/"]
    left: Value
    right: Value

    def __str__(self) -> str:
        # Operators are left-associative: a right operand of the same rank needs parentheses.
        binds = self.operator in "*/"
        sides = [str(self.left), str(self.right)]
        for place, side in enumerate(self.inner):
            if isinstance(side, Arithmetic) and (side.operator in "*/") < binds + place:
                sides[place] = f"({sides[place]})"
        return f" {self.operator} ".join(sides)

    @property
    def label(self) -> str:
        return f"the result of {self.operator}"

    @property
    def inner(self) -> tuple[Value, ...]:
        return self.left, self.right

    def values(self, cluster: ClusterState) -> list[Any]:
        return [
            _OPERATIONS[self.operator](one, other)
            for one in map(as_number, self.left.values(cluster))
            for other in map(as_number, self.right.values(cluster))
            if isinstance(one, int | Decimal) and isinstance(other, int | Decimal)
        ]

    def type_in(self, protocol: type[Protocol]) -> ValueType:
        return AMOUNT if AMOUNT in (self.left.type_in(protocol), self.right.type_in(protocol)) else NUMBER

    def check_alone(self, scope: Scope) -> None:
        for side in self.inner:
            if not side.type_in(scope.protocol).is_computable:
                raise CommandError(f"{side.label} is not a number, so it cannot be used in arithmetic")
        if self.operator == "/" and self.right == Number(0):
            raise CommandError("division by 0")

    def at_node(self, node: int) -> Value:
        return Arithmetic(self.operator, self.left.at_node(node), self.right.at_node(node))


# nodes and their attributes


def states_of(who: Who, cluster: ClusterState) -> list[NodeState]:
    """Return the states of the nodes named; ``all`` and ``any`` name the nodes that are up."""
    nodes = cluster.nodes
    if isinstance(who, int):
        return [_hide_stale_state(cluster.view_of(who))] if who in cluster.ids else []
    live = [view for view in nodes.values() if view.process in UP]
    if who == "coordinator":
        return [view for view in live if view.leads][-1:]
    return live


def _hide_stale_state(view: NodeState) -> NodeState:
    """Return the state without fields if the node is down: its last known status no longer applies."""
    return view if view.process in UP else replace(view, state={})


def attribute_of(view: NodeState, name: str, cluster: ClusterState) -> Any:
    """Return the attribute of this name; a list as a tuple."""
    known = ATTRIBUTES.get(name)
    if known is not None:
        return known(view)
    term = brought_to(cluster).node_term(name)
    found = view.state.get(name) if term is None else evaluate(term.evaluate, view) if view.process in UP else None
    return tuple(found) if isinstance(found, list) else found


def _attribute_type(name: str, protocol: type[Protocol]) -> ValueType:
    """Return the type of an attribute of the protocol's nodes."""
    fields = {field.name: field.type for field in protocol.fields}
    term = brought_by(protocol).node_term(name)
    found = _TYPES.get(name) or type_of(fields.get(name, Any) if term is None else term.type)
    if name != "status" or not found.words:
        return found
    return found if "Down" in found.words else ValueType(found.name, (*found.words, "Down"))


def as_number(value: Any) -> Any:
    """Return the length of a list, and any other value unchanged."""
    return len(value) if isinstance(value, tuple) else value


def nobody(who: Who) -> str:
    """Return the text for the case that no node was meant."""
    return "nobody led" if who == "coordinator" else "no node was up"


def format_plain(value: Any) -> str:
    """Return a value as a predicate has it, without quotes."""
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case Decimal():
            return f"{value:.2f}".removesuffix(".00")
        case tuple():
            return f"[{' '.join(map(str, value))}]"
    return str(value)

"""Values in predicates: constants, attributes of nodes, counts, and arithmetic on them; and their types."""

import operator
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Protocol
from lab.protocols.transaction import State
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState, ProcessState
from lab.script.bank_terms import (
    ATTRIBUTES_OF_BANK,
    COUNTS_OF_BANK,
    balance_of,
    check_account,
    check_bank,
    evaluate_bank_count,
    keeps_accounts,
)
from lab.script.scope import CommandError, Scope, format_link, join_words, require_node
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
"""Attributes of every node, in addition to the fields that its protocol declares."""

COUNTS = {
    "live": "nodes that are up",
    "groups": "different groups of nodes in Reorganization or Normal; without groups, their coordinators",
    "coordinators": "nodes that lead",
    "faults": "faults in force",
    "messages": "messages sent so far, of all kinds or one: messages(Accept)",
    "flying": "messages in flight, of all kinds or one, on all links or one: flying(Accept 3->1)",
    "held": "held messages, selected in the same way",
    "money": "bank: the balances of all accounts plus the cash paid out, in dollars; none while a node is down",
    "committed": "bank: transactions that are committed in some node's log",
    "aborted": "bank: transactions that are aborted in some node's log",
    "locks": "bank: locked accounts, on nodes that are up",
    "blocked": "bank: nodes that are blocked",
}
"""The counts."""


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
        """Raise CommandError if it has no meaning, whatever its parts are."""


class Value(Part, frozen=True):
    """A value in a comparison. ``label`` names it in messages."""

    @property
    def label(self) -> str:
        """A short name."""
        return str(self)

    def values(self, cluster: ClusterState) -> list[Any]:
        """Return the value in a list; for an attribute of ``all`` or ``any``, one value per node."""
        raise NotImplementedError

    def type_in(self, protocol: type[Protocol]) -> "ValueType":
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

    def type_in(self, protocol: type[Protocol]) -> "ValueType":
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

    def type_in(self, protocol: type[Protocol]) -> "ValueType":
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


class Attribute(Value, frozen=True):
    """``4.coordinator``: a field of a node's state vector, or a property of its process."""

    who: Who
    name: str

    def __str__(self) -> str:
        return f"{self.who}.{self.name}"

    @property
    def label(self) -> str:
        return self.name

    def values(self, cluster: ClusterState) -> list[Any]:
        return [self._of(view) for view in states_of(self.who, cluster)]

    def _of(self, view: NodeState) -> Any:
        known = view.process in UP or self.name in ("status", "process")
        return attribute_of(view, self.name) if known else UNKNOWN

    def type_in(self, protocol: type[Protocol]) -> "ValueType":
        return _attribute_type(self.name, protocol)

    def check_alone(self, scope: Scope) -> None:
        scope.require_who(self.who)
        declared = [field.name for field in scope.protocol.fields]
        known = sorted({*ATTRIBUTES, *(ATTRIBUTES_OF_BANK if keeps_accounts(declared) else ()), *declared})
        if self.name not in known:
            raise CommandError(
                f"a node of {scope.protocol.name} has no attribute {self.name}; it has {', '.join(known)}"
                f"{did_you_mean(self.name, known)}"
            )

    def at_node(self, node: int) -> Value:
        return Attribute(node, self.name) if self.who in ("all", "any") else self

    def explain_at(self, view: NodeState) -> str:
        """Return ``4.coordinator was 5``."""
        return f"{view.id}.{self.name} was {_format(attribute_of(view, self.name))}"


class Count(Value, frozen=True):
    """One of ``COUNTS``. Counts of messages may be limited to a ``kind`` or to one link."""

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
        found = self._count(cluster)
        return [UNKNOWN if found is None else found]

    def _count(self, cluster: ClusterState) -> int | Decimal | None:
        """Return the count, or None if it is unknown."""
        if self.what in COUNTS_OF_BANK:
            return evaluate_bank_count(self.what, cluster)
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

    def type_in(self, protocol: type[Protocol]) -> "ValueType":
        return AMOUNT if self.what == "money" else NUMBER

    def check_alone(self, scope: Scope) -> None:
        if self.what in COUNTS_OF_BANK:
            check_bank(self.what, scope.protocol)
        scope.require_kinds([self.kind])
        scope.require_link(self.source, self.target)

    def explain(self, cluster: ClusterState) -> str:
        return f"{self} was {_format(self._count(cluster))}"


class Balance(Value, frozen=True):
    """``balance(savings)``: the balance of an account of a bank, in dollars."""

    account: str

    def __str__(self) -> str:
        return f"balance({self.account})"

    @property
    def label(self) -> str:
        return "balance"

    def values(self, cluster: ClusterState) -> list[Any]:
        found = balance_of(self.account, states_of("all", cluster))
        return [UNKNOWN if found is None else found]

    def type_in(self, protocol: type[Protocol]) -> "ValueType":
        return AMOUNT

    def check_alone(self, scope: Scope) -> None:
        check_account(self.account, scope.protocol, scope.ids, scope.parameters)

    def explain(self, cluster: ClusterState) -> str:
        return f"{self} was {_format(balance_of(self.account, states_of('all', cluster)))}"


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

    def type_in(self, protocol: type[Protocol]) -> "ValueType":
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
        return [_hide_stale_state(nodes[who])] if who in nodes else []
    live = [view for view in nodes.values() if view.process in UP]
    if who == "coordinator":
        return [view for view in live if view.leads][-1:]
    return live


def _hide_stale_state(view: NodeState) -> NodeState:
    """Return the state without fields if the node is down: its last known status no longer applies."""
    return view if view.process in UP else replace(view, state={})


def attribute_of(view: NodeState, name: str) -> Any:
    """Return the attribute of this name; a list as a tuple."""
    known = ATTRIBUTES.get(name) or (ATTRIBUTES_OF_BANK.get(name) if keeps_accounts(view.state) else None)
    found = view.state.get(name) if known is None else known(view)
    return tuple(found) if isinstance(found, list) else found


def as_number(value: Any) -> Any:
    """Return the length of a list, and any other value unchanged."""
    return len(value) if isinstance(value, tuple) else value


def nobody(who: Who) -> str:
    """Say that nobody was there."""
    return "nobody led" if who == "coordinator" else "no node was up"


def _format(value: Any) -> str:
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


# types, to refuse comparisons that are always true or always false


class ValueType(Struct, frozen=True):
    """A type of values: its name, the ``words`` that are its values, if any, and whether it includes ``none``."""

    name: str
    words: tuple[str, ...] = ()
    none: bool = False

    @property
    def is_computable(self) -> bool:
        """True if its values can be ordered and computed with."""
        return self.name in _COMPUTABLE

    def overlaps(self, other: "ValueType") -> bool:
        """Return whether values of the two types may be equal."""
        names = {self.name, other.name}
        return len(names) == 1 or ANYTHING in (self, other) or names in _MAY_BE_EQUAL


ANYTHING = ValueType("anything")
NUMBER = ValueType("a number")
AMOUNT = ValueType("an amount", none=True)
CENTS = ValueType("an amount of dollars and cents")
LIST = ValueType("a list")
WORD = ValueType("a word")
_YES_OR_NO = ValueType("true or false", ("true", "false"))

_MAY_BE_EQUAL = [{AMOUNT.name, NUMBER.name}, {AMOUNT.name, CENTS.name}, {LIST.name, NUMBER.name}]
"""Different types whose values may be equal; a list compares by its length."""
_COMPUTABLE = {each.name for each in (ANYTHING, NUMBER, AMOUNT, CENTS, LIST)}

_TYPES = {
    "coordinator": ValueType("a number", none=True),
    "group": ValueType("a group", none=True),
    "version": NUMBER,
    "leads": _YES_OR_NO,
    "process": ValueType("a process", get_args(ProcessState)),
}
"""The attributes of every node, except its status."""
_TYPES_OF_BANK = {
    "state": ValueType("a state", tuple(each.value for each in State), none=True),
    "cash_out": AMOUNT,
    "blocked": _YES_OR_NO,
}


def _attribute_type(name: str, protocol: type[Protocol]) -> ValueType:
    """Return the type of an attribute of the protocol's nodes."""
    fields = {field.name: field.type for field in protocol.fields}
    known = _TYPES.get(name) or (_TYPES_OF_BANK.get(name) if keeps_accounts(fields) else None)
    found = known or _declared_type(fields.get(name, Any))
    if name != "status" or not found.words:
        return found
    return found if "Down" in found.words else ValueType(found.name, (*found.words, "Down"))


def _declared_type(declared: Any) -> ValueType:
    """Return the type of a field by its annotation; ``ANYTHING`` if that is not a simple one."""
    none = False
    if get_origin(declared) in (Union, UnionType):
        parts = [part for part in get_args(declared) if part is not NoneType]
        none = len(parts) < len(get_args(declared))
        if len(parts) > 1:
            return ANYTHING
        declared = parts[0]
    if get_origin(declared) is tuple:
        return LIST
    words = _declared_words(declared)
    if words:
        return ValueType(WORD.name, words, none)
    plain = {int: NUMBER, bool: _YES_OR_NO}.get(declared)
    return ANYTHING if plain is None else ValueType(plain.name, plain.words, none)


def _declared_words(declared: Any) -> tuple[str, ...]:
    if get_origin(declared) is Literal:
        values = get_args(declared)
    elif isinstance(declared, type) and issubclass(declared, Enum):
        values = tuple(each.value for each in declared)
    else:
        return ()
    return values if all(isinstance(each, str) for each in values) else ()

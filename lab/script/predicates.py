"""Predicates over the nodes, groups, links and counts of a cluster as structs; ``evaluation`` evaluates them."""

from decimal import Decimal
from typing import Literal

from msgspec import Struct

__all__ = [
    "COUNTS",
    "STATES",
    "All",
    "Any",
    "Arithmetic",
    "Attribute",
    "Balance",
    "Compare",
    "Count",
    "Is",
    "LinkIs",
    "Not",
    "Number",
    "Predicate",
    "Suspects",
    "Text",
    "Value",
    "Who",
]

Who = int | Literal["all", "any", "coordinator"]
"""A node by its number; all nodes that are up, any of them, or the coordinator."""

STATES = {
    "normal": "status Normal; all normal: every running node is Normal, under one coordinator",
    "election": "status Election",
    "reorganization": "status Reorganization",
    "leads": "status Normal, and its own coordinator",
    "up": "its process is running or paused",
    "down": "its process has crashed, or has not been started",
    "running": "its process is running",
    "paused": "its process is paused",
    "blocked": "bank: a transaction is blocked: the node has asked all others, and must wait",
}
"""The states of a node."""

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


class Number(Struct, frozen=True, tag=True):
    """A whole number, or an amount in dollars and cents."""

    value: int | Decimal


class Text(Struct, frozen=True, tag=True):
    """A word to compare with: a status, ``running``, ``true``, ``none``."""

    word: str


class Attribute(Struct, frozen=True, tag=True):
    """``4.coordinator``: a field of a node's state vector, or a property of its process."""

    who: Who
    name: str


class Count(Struct, frozen=True, tag=True):
    """One of ``COUNTS``. Counts of messages may be limited to a ``kind`` or to one link."""

    what: str
    kind: str = ""
    source: int | None = None
    target: int | None = None


class Balance(Struct, frozen=True, tag=True):
    """``balance(savings)``: the balance of an account of a bank, in dollars."""

    account: str


class Arithmetic(Struct, frozen=True, tag=True):
    """An arithmetic operation; ``/`` rounds down."""

    operator: Literal["+", "-", "*", "/"]
    left: "Value"
    right: "Value"


Value = Number | Text | Attribute | Count | Balance | Arithmetic


class Compare(Struct, frozen=True, tag=True):
    """A comparison. At most one attribute in it is of all or any."""

    operator: Literal["==", "!=", "<", "<=", ">", ">="]
    left: Value
    right: Value


class Is(Struct, frozen=True, tag=True):
    """``4 normal``, ``any leads``: one of ``STATES``."""

    who: Who
    state: str


class Suspects(Struct, frozen=True, tag=True):
    """``4 suspects 7``: a request of 4 to 7 timed out, and 4 has received nothing from 7 since."""

    who: int
    whom: int


class LinkIs(Struct, frozen=True, tag=True):
    """``2->3 cut``: a cut or a partition is in force on the link."""

    source: int
    target: int


class Not(Struct, frozen=True, tag=True):
    """The part does not hold."""

    part: "Predicate"


class All(Struct, frozen=True, tag=True):
    """``… and …``: every part holds; two or more."""

    parts: tuple["Predicate", ...]


class Any(Struct, frozen=True, tag=True):
    """``… or …``: at least one part holds; two or more."""

    parts: tuple["Predicate", ...]


Predicate = Compare | Is | Suspects | LinkIs | Not | All | Any

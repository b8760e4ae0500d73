"""Predicates over the nodes, groups, links and counts of a cluster, parsed; ``holding`` says whether one holds."""

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
"""A node by its number; all that are up, one of them, or the one that leads."""

STATES = {
    "normal": "in status Normal; all normal: every running node, and under one coordinator",
    "election": "in status Election",
    "reorganization": "in status Reorganization",
    "leads": "Normal, and its own coordinator",
    "up": "its process runs, or is paused",
    "down": "its process is gone",
    "running": "its process runs",
    "paused": "its process stands still",
    "blocked": "of a bank: it knows that it has to wait, though it asked everybody",
}
"""What can be said of a node in one word."""

COUNTS = {
    "live": "how many nodes are up",
    "groups": "how many groups there are: of nodes in Reorganization or Normal, by their group or coordinator",
    "coordinators": "how many nodes lead",
    "faults": "how many faults are in force",
    "messages": "messages sent so far, of all kinds or one: messages(Accept)",
    "flying": "messages on their way, of all kinds or one, on all links or one: flying(Accept 3->1)",
    "held": "messages that are held, named in the same way",
    "money": "of a bank, on all accounts and handed out, in dollars; none while a node is down",
    "committed": "of a bank, transactions that some node's log has as committed",
    "aborted": "of a bank, those that some node's log has as aborted",
    "locks": "of a bank, accounts that are locked, at nodes that are up",
    "blocked": "of a bank, nodes that are blocked",
}
"""What can be counted."""


class Number(Struct, frozen=True, tag=True):
    """A whole number; or an amount of dollars and cents."""

    value: int | Decimal


class Text(Struct, frozen=True, tag=True):
    """A word to compare with: a status, ``running``, ``true``, ``none``."""

    word: str


class Attribute(Struct, frozen=True, tag=True):
    """``4.coordinator``: what a node's state vector, or its process, has under this name."""

    who: Who
    name: str


class Count(Struct, frozen=True, tag=True):
    """One of ``COUNTS``; of messages perhaps of a ``kind`` only, or on one link."""

    what: str
    kind: str = ""
    source: int | None = None
    target: int | None = None


class Balance(Struct, frozen=True, tag=True):
    """``balance(savings)``: what is on an account of a bank, in dollars."""

    account: str


class Arithmetic(Struct, frozen=True, tag=True):
    """Two whole numbers make one; ``/`` rounds down."""

    operator: Literal["+", "-", "*", "/"]
    left: "Value"
    right: "Value"


Value = Number | Text | Attribute | Count | Balance | Arithmetic


class Compare(Struct, frozen=True, tag=True):
    """At most one side has an attribute of all or any."""

    operator: Literal["==", "!=", "<", "<=", ">", ">="]
    left: Value
    right: Value


class Is(Struct, frozen=True, tag=True):
    """``4 normal``, ``any leads``: one of ``STATES``."""

    who: Who
    state: str


class Suspects(Struct, frozen=True, tag=True):
    """``4 suspects 7``: a request of 4's to 7 had no answer in time, and 4 has heard nothing of 7 since."""

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
    """``… or …``: one of the parts holds at least; two or more."""

    parts: tuple["Predicate", ...]


Predicate = Compare | Is | Suspects | LinkIs | Not | All | Any

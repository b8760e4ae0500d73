"""The assertions, numbered as in the sources (rules from A1.1 on).

A safety property of pairs of nodes is an ``Agreement``: all nodes concerned must have the same value. It is
checked on pairs of concurrent local states, and so in every consistent global state, whether or not the run passed
through that state at one instant of the clock.
"""

from collections.abc import Callable, Hashable

import msgspec
from msgspec import Struct

from lab.recording.snapshot import NodeState

_LED = ("Reorganization", "Normal")
_HOLDING = ("Inside", "Holding")


class Assertion(Struct, frozen=True):
    """An assertion: ``id`` as in the sources, ``statement`` in words, ``short`` for a line of verdicts.

    ``marked``: it depends on identifiers that stable storage keeps unique, so the effect of a wipe may show at any
    later time. ``reads`` are the fields of a node's state that it is about.
    """

    id: str
    statement: str
    short: str
    marked: bool = False
    reads: tuple[str, ...] = ()


class Agreement(Assertion, frozen=True, kw_only=True):
    """An assertion that any two nodes that it concerns at the same time have the same value for the same key.

    ``value_of`` maps a local state to (key, value), or to None if the node is not concerned. Two nodes violate the
    assertion if they have different values for one key. ``concerned`` says in words which nodes are.
    """

    value_of: Callable[[NodeState], tuple[Hashable, Hashable] | None]
    concerned: str


class UniquenessAssertion(Assertion, frozen=True, kw_only=True):
    """An assertion that nothing is claimed twice in a whole run.

    ``claims`` maps the transition from one local state of a node to the next to (item, claimant), or to None if
    nothing is claimed. A second claim of an item violates the assertion unless both have the same claimant; a
    claimant of None equals no other. ``noun`` and ``done`` are words for messages: *group* and *formed*.
    """

    claims: Callable[[NodeState, NodeState], tuple[Hashable, Hashable | None] | None]
    noun: str
    done: str


def disagree(agreement: Agreement, one: NodeState, other: NodeState) -> bool:
    """Return whether two nodes in these local states violate the assertion if the states are concurrent."""
    this, that = agreement.value_of(one), agreement.value_of(other)
    return this is not None and that is not None and this[0] == that[0] and this[1] != that[1]


def _coordinator(node: NodeState) -> tuple[Hashable, Hashable] | None:
    return ("", node.coordinator) if node.status in _LED else None


def _definition(node: NodeState) -> tuple[Hashable, Hashable] | None:
    if node.status != "Normal":
        return None
    try:
        return "", msgspec.json.encode(node.state.get("definition"), order="deterministic")
    except RecursionError:
        return None  # a recording may nest it just deeply enough to be decoded


def _coordinator_of_group(node: NodeState) -> tuple[Hashable, Hashable] | None:
    return (node.group, node.coordinator) if node.status in _LED and node.group else None


def _definition_of_group(node: NodeState) -> tuple[Hashable, Hashable] | None:
    definition = _definition(node)
    return (node.group, definition[1]) if definition is not None and node.group else None


def _group_formed(before: NodeState, after: NodeState) -> tuple[Hashable, None] | None:
    group = after.group
    formed = group is not None and group != before.group and group[0] == after.id
    return (f"group {group[0]}.{group[1]}", None) if group is not None and formed else None


def _edition_published(before: NodeState, after: NodeState) -> tuple[Hashable, Hashable] | None:
    # the newest edition that the node knows, and the operation that published it, by its state
    match after.state.get("published"):
        case [int(edition), int(node), int(number)] if edition > 0:
            return f"edition {edition}", f"operation {number} of {node}"
    return None


def _holder(node: NodeState) -> tuple[Hashable, Hashable] | None:
    return ("token", node.id) if node.status in _HOLDING else None


A1_1 = Agreement(
    "A1.1",
    "any two nodes in Reorganization or Normal have the same Coordinator",
    "one coordinator",
    reads=("status", "coordinator"),
    value_of=_coordinator,
    concerned="in Reorganization or Normal",
)
A1_2 = Agreement(
    "A1.2",
    "any two nodes in Normal have the same Definition",
    "one definition",
    reads=("status", "definition"),
    value_of=_definition,
    concerned="Normal",
)
A2 = Assertion(
    "A2",
    "with no further failure, in a bounded time some node is Normal and its own Coordinator, and every other "
    "running node is Normal under it",
    "elects in time",
    reads=("status", "coordinator"),
)
A3_1 = Agreement(
    "A3.1",
    "any two nodes in Reorganization or Normal in the same Group have the same Coordinator",
    "one coordinator per group",
    marked=True,
    reads=("status", "coordinator", "group"),
    value_of=_coordinator_of_group,
    concerned="in Reorganization or Normal in a group",
)
A3_2 = Agreement(
    "A3.2",
    "any two nodes in Normal in the same Group have the same Definition",
    "one definition per group",
    marked=True,
    reads=("status", "definition", "group"),
    value_of=_definition_of_group,
    concerned="Normal in a group",
)
A4 = Assertion(
    "A4",
    "with no further failure, in a bounded time, in any set of running nodes that can all talk to each other,"
    " and to no others, some node is Normal and its own Coordinator, and all are Normal under it in the same "
    "Group",
    "merges in time",
    reads=("status", "coordinator", "group"),
)
A5 = UniquenessAssertion(
    "A5",
    "no group identifier is used a second time, by any node, across any crash",
    "identifiers are new",
    marked=True,
    reads=("group",),
    claims=_group_formed,
    noun="group",
    done="formed",
)
A6 = Assertion(
    "A6",
    "no transaction is committed at one node and aborted at another",
    "one outcome",
    marked=True,
    reads=("log",),
)
A7 = Assertion(
    "A7",
    "a node that voted NO never commits, and what is committed has the vote YES of every participant",
    "all voted YES",
    marked=True,
    reads=("log",),
)
A8 = Assertion(
    "A8",
    "whenever no transaction is open, all accounts and the cash handed out add up to the opening total",
    "no cent is lost",
    marked=True,
    reads=("balances", "open"),
)
A9 = UniquenessAssertion(
    "A9",
    "each edition of the survey is published by at most one operation, ever",
    "one publication",
    marked=True,
    reads=("published",),
    claims=_edition_published,
    noun="edition",
    done="published",
)
K1 = Agreement(
    "K1",
    "at most one node holds the token, in every consistent state",
    "one token",
    marked=True,
    reads=("status",),
    value_of=_holder,
    concerned="Inside or Holding",
)
ENDS = Assertion(
    "ends",
    "with no further failure, in a bounded time no transaction is open at any node, once all nodes are up and can "
    "talk to each other",
    "ends in time",
    marked=True,
    reads=("open",),
)
RAISES = Assertion("raises", "no node fails because of an error in its own code", "no error raised")

_IN_ORDER: tuple[Assertion, ...] = (
    A1_1,
    A1_2,
    A2,
    A3_1,
    A3_2,
    A4,
    A5,
    A6,
    A7,
    A8,
    A9,
    K1,
    ENDS,
    RAISES,
)
ASSERTIONS: dict[str, Assertion] = {each.id: each for each in _IN_ORDER}
AGREEMENTS: dict[str, Agreement] = {each.id: each for each in _IN_ORDER if isinstance(each, Agreement)}
UNIQUENESS: dict[str, UniquenessAssertion] = {
    each.id: each for each in _IN_ORDER if isinstance(each, UniquenessAssertion)
}
AUDITED: tuple[str, ...] = (A6.id, A7.id, A8.id, ENDS.id)
"""The assertions about the logs and the accounts of all nodes together, checked by the ledger audit."""


ASSUMPTIONS: dict[int, str] = {
    1: "all nodes run the same algorithm",
    2: "the local system works",
    3: "no message appears that was not sent",
    4: "stable storage is permanent and atomic",
    5: "a failed node halts",
    6: "a message reaches its receiver whole",
    7: "messages arrive in order",
    8: "messages arrive within Tm",
    9: "nodes answer within Tp",
}

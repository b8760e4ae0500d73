"""The assertions, as objects with the sources' numbers (rules A1.1 and on of the model).

A safety assertion over pairs of nodes is an ``Agreement``: whoever is concerned must say the same. It is judged
on two local states that are concurrent, so in every consistent global state, whether the run passed through
it at an instant of the clock or not.
"""

from collections.abc import Callable, Hashable

import msgspec
from msgspec import Struct

from lab.recording.snapshot import NodeState

__all__ = [
    "A1_1",
    "A1_2",
    "A2",
    "A3_1",
    "A3_2",
    "A4",
    "A5",
    "A6",
    "A7",
    "A8",
    "A9",
    "AGREEMENTS",
    "ASSERTIONS",
    "BOOKED",
    "CLAIMS",
    "ENDS",
    "K1",
    "RAISES",
    "Agreement",
    "Assertion",
    "Claim",
    "offend",
]

_LED = ("Reorganization", "Normal")
_HOLDING = ("Inside", "Holding")


class Assertion(Struct, frozen=True):
    """``id`` as the sources number it, ``statement`` in words, ``short`` for a line of verdicts.

    ``marked``: it is about identifiers that safe storage keeps unique, so a wipe, once made, may show for ever.
    """

    id: str
    statement: str
    short: str
    marked: bool = False


class Agreement(Assertion, frozen=True, kw_only=True):
    """Any two nodes that are concerned at once say the same.

    ``says`` gives what a node in a local state says, as (about what, what); None: it is not concerned. Two
    nodes offend where they say different things about the same.
    """

    says: Callable[[NodeState], tuple[Hashable, Hashable] | None]


class Claim(Assertion, frozen=True, kw_only=True):
    """What one has claimed, nobody claims again, in the whole of a run.

    ``claims`` gives what a node claims as it comes from one local state to the next, as (what, claimant); None:
    nothing. A second claim of the same offends unless its claimant is the same; None is the same as nobody.
    ``done`` is the word for it.
    """

    claims: Callable[[NodeState, NodeState], tuple[Hashable, Hashable | None] | None]
    done: str


def offend(agreement: Agreement, one: NodeState, other: NodeState) -> bool:
    """Whether two nodes in these local states break the assertion, if both states are there at once."""
    this, that = agreement.says(one), agreement.says(other)
    return this is not None and that is not None and this[0] == that[0] and this[1] != that[1]


def _coordinator(node: NodeState) -> tuple[Hashable, Hashable] | None:
    return ("", node.coordinator) if node.status in _LED else None


def _definition(node: NodeState) -> tuple[Hashable, Hashable] | None:
    if node.status != "Normal":
        return None
    try:
        return "", msgspec.json.encode(node.state.get("definition"), order="deterministic")
    except RecursionError:
        return None  # of a recording that nests it as deeply as can just be decoded


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
    """The newest edition that a node knows of, and the operation that it says published it."""
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
    says=_coordinator,
)
A1_2 = Agreement(
    "A1.2",
    "any two nodes in Normal have the same Definition",
    "one definition",
    says=_definition,
)
A2 = Assertion(
    "A2",
    "with no further failure, in a bounded time some node is Normal and its own Coordinator, "
    "and every other live node is Normal under it",
    "elects in time",
)
A3_1 = Agreement(
    "A3.1",
    "any two nodes in Reorganization or Normal in the same Group have the same Coordinator",
    "one coordinator a group",
    marked=True,
    says=_coordinator_of_group,
)
A3_2 = Agreement(
    "A3.2",
    "any two nodes in Normal in the same Group have the same Definition",
    "one definition a group",
    marked=True,
    says=_definition_of_group,
)
A4 = Assertion(
    "A4",
    "with no further failure, in a bounded time, in any set of live nodes that can all talk to each other, and to "
    "no others, some node is Normal and its own Coordinator, and all are Normal under it in the same Group",
    "merges in time",
)
A5 = Claim(
    "A5",
    "no group identifier is used a second time, by any node, across any crash",
    "identifiers are new",
    marked=True,
    claims=_group_formed,
    done="formed",
)
A6 = Assertion(
    "A6",
    "no transaction is committed at one node and aborted at another",
    "one outcome",
    marked=True,
)
A7 = Assertion(
    "A7",
    "a node that voted NO never commits, and what is committed has the vote YES of every participant",
    "all voted YES",
    marked=True,
)
A8 = Assertion(
    "A8",
    "whenever no transaction is open, all accounts and what was handed out come to what there was at first",
    "no cent is lost",
    marked=True,
)
A9 = Claim(
    "A9",
    "each edition is published by one operation, ever",
    "one publication",
    marked=True,
    claims=_edition_published,
    done="published",
)
K1 = Agreement(
    "K1",
    "at most one node holds the token, in every consistent state",
    "one token",
    marked=True,
    says=_holder,
)
ENDS = Assertion(
    "ends",
    "with no further failure, in a bounded time no transaction is open at any node, once all nodes are up and can "
    "talk to each other",
    "ends in time",
    marked=True,
)
RAISES = Assertion("raises", "no node fails by an error of its own code", "no error raised")

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
CLAIMS: dict[str, Claim] = {each.id: each for each in _IN_ORDER if isinstance(each, Claim)}
BOOKED: tuple[str, ...] = (A6.id, A7.id, A8.id, ENDS.id)
"""Those that are about what the logs and the accounts of all nodes say together."""

"""The assertions, as objects with the sources' numbers (rules A1.1 and on of the model).

A safety assertion over pairs of nodes is an ``Agreement``: whoever is concerned must say the same. It is judged
on two local states that are concurrent, so in every consistent global state, whether the run passed through
it at an instant of the clock or not.
"""

from collections.abc import Callable, Hashable

import msgspec
from msgspec import Struct

from lab.journal import NodeView

__all__ = ["A1_1", "A1_2", "A2", "AGREEMENTS", "ASSERTIONS", "RAISES", "Agreement", "Assertion", "offend"]

_LED = ("Reorganization", "Normal")


class Assertion(Struct, frozen=True):
    """``id`` as the sources number it, ``statement`` in words, ``short`` for a line of verdicts."""

    id: str
    statement: str
    short: str


class Agreement(Assertion, frozen=True, kw_only=True):
    """Any two nodes that are concerned at once say the same.

    ``says`` gives what a node in a local state says, as (about what, what); None: it is not concerned. Two
    nodes offend where they say different things about the same.
    """

    says: Callable[[NodeView], tuple[Hashable, Hashable] | None]


def offend(agreement: Agreement, one: NodeView, other: NodeView) -> bool:
    """Whether two nodes in these local states break the assertion, if both states are there at once."""
    this, that = agreement.says(one), agreement.says(other)
    return this is not None and that is not None and this[0] == that[0] and this[1] != that[1]


def _coordinator(node: NodeView) -> tuple[Hashable, Hashable] | None:
    return ("", node.coordinator) if node.status in _LED else None


def _definition(node: NodeView) -> tuple[Hashable, Hashable] | None:
    if node.status != "Normal":
        return None
    try:
        return "", msgspec.json.encode(node.state.get("definition"), order="deterministic")
    except RecursionError:
        return None  # of a recording that nests it as deeply as can just be decoded


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
RAISES = Assertion("raises", "no node fails by an error of its own code", "no error raised")

AGREEMENTS: dict[str, Agreement] = {each.id: each for each in (A1_1, A1_2)}
ASSERTIONS: dict[str, Assertion] = {**AGREEMENTS, A2.id: A2, RAISES.id: RAISES}

"""Liveness: who has to agree with whom, and whether they do (rules A2 and A4); or that nothing is open."""

from collections.abc import Mapping

from lab.properties.assertions import A2, A4, ENDS, Assertion
from lab.properties.books import is_open
from lab.recording.snapshot import NodeState

__all__ = ["Liveness", "parties"]


class Liveness:
    """A2: all nodes that run have one coordinator. A4: all that can talk to each other have, and one group.

    ENDS: where all nodes run and can talk to each other, none has an open transaction.
    """

    def __init__(self, assertion: Assertion) -> None:
        assert assertion in (A2, A4, ENDS)
        self.assertion = assertion
        self.of_groups = assertion is A4

    def astray(self, views: Mapping[int, NodeState], cut: frozenset[tuple[int, int]]) -> list[NodeState]:
        """The nodes of every party that does not agree; ``cut`` are the links on which nothing passes."""
        if self.assertion is ENDS:
            whole = not cut and all(view.process == "running" for view in views.values())
            return [view for view in views.values() if whole and is_open(view.state)]
        running = {node: view for node, view in views.items() if view.process == "running"}
        together = parties(tuple(running), cut) if self.of_groups else [tuple(running)]
        return [running[node] for party in together if not self._agree(party, running) for node in party]

    def _agree(self, party: tuple[int, ...], running: Mapping[int, NodeState]) -> bool:
        if not party:
            return True
        first = running[party[0]]
        said = {(running[node].status, running[node].coordinator) for node in party}
        groups = {running[node].group for node in party} if self.of_groups else ()
        return said == {("Normal", first.coordinator)} and first.coordinator in party and len(groups) <= 1


def parties(nodes: tuple[int, ...], cut: frozenset[tuple[int, int]]) -> list[tuple[int, ...]]:
    """The sets of nodes that can all talk to each other, both ways, and with no others.

    Of nodes that could talk to one another through a third, but not directly, nothing can be asked: they are in
    several maximal sets at once, and cannot follow a coordinator in each.
    """
    if not cut:
        return [nodes] if nodes else []
    heard = {node: tuple(other for other in nodes if not {(node, other), (other, node)} & cut) for node in nodes}
    return [party for node, party in heard.items() if party[0] == node and all(heard[n] == party for n in party)]

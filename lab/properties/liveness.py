"""Liveness properties: the nodes that must agree but do not (A2, A4), or have a transaction open (ENDS)."""

from collections.abc import Mapping

from lab.properties.assertions import A2, A4, ENDS, Assertion
from lab.properties.ledger_audit import is_open
from lab.recording.snapshot import NodeState

__all__ = ["Liveness", "closed_groups"]


class Liveness:
    """The state that a liveness property requires after its bound.

    A2: all running nodes have one coordinator. A4: all running nodes that can talk to each other, and to no
    others, have one coordinator and one group. ENDS: if all nodes run and can talk to each other, no transaction
    is open.
    """

    def __init__(self, assertion: Assertion) -> None:
        assert assertion in (A2, A4, ENDS)
        self.assertion = assertion
        self.of_groups = assertion is A4

    def disagreeing(self, views: Mapping[int, NodeState], cut: frozenset[tuple[int, int]]) -> list[NodeState]:
        """Return the nodes of all groups that do not agree, or for ENDS the nodes with an open transaction.

        ``cut`` holds the links that are cut.
        """
        if self.assertion is ENDS:
            whole = not cut and all(view.process == "running" for view in views.values())
            return [view for view in views.values() if whole and is_open(view.state)]
        running = {node: view for node, view in views.items() if view.process == "running"}
        together = closed_groups(tuple(running), cut) if self.of_groups else [tuple(running)]
        return [running[node] for group in together if not self._agree(group, running) for node in group]

    def _agree(self, group: tuple[int, ...], running: Mapping[int, NodeState]) -> bool:
        if not group:
            return True
        first = running[group[0]]
        followed = {(running[node].status, running[node].coordinator) for node in group}
        groups = {running[node].group for node in group} if self.of_groups else ()
        return followed == {("Normal", first.coordinator)} and first.coordinator in group and len(groups) <= 1


def closed_groups(nodes: tuple[int, ...], cut: frozenset[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Return the sets of nodes that can all talk to each other, both ways, and to no others.

    Nothing can be required of nodes that are connected only through a third: they belong to several maximal sets
    at once, and cannot follow a coordinator in each.
    """
    if not cut:
        return [nodes] if nodes else []
    heard = {node: tuple(other for other in nodes if not {(node, other), (other, node)} & cut) for node in nodes}
    return [group for node, group in heard.items() if group[0] == node and all(heard[n] == group for n in group)]

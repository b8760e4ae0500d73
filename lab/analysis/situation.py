"""Who hears whom of the participants of a transaction, and which of them are in the same situation.

All of it is a fact of the record: which processes are up, which links are cut, which messages are held.
"""

from collections.abc import Iterable

from lab.analysis.bank_state import Case, Standing
from lab.protocols.termination import StateAnswer, next_state
from lab.protocols.transaction import DECIDED, State
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState

__all__ = ["Situation"]


class Situation:
    """One transaction's. ``by_majority``: one that is elected may end it, if most participants answer."""

    def __init__(self, case: Case, cluster: ClusterState, by_majority: bool) -> None:
        self.transaction = case.transaction
        self.all = case.standings
        self.by_majority = by_majority
        self._nodes = cluster.nodes
        cuts = (fault for fault in cluster.faults.values() if fault.kind in ("cut", "partition"))
        self._cut = {link for fault in cuts for link in fault.links}
        self._held = {(flight.source, flight.target) for flight in cluster.in_flight.values() if flight.held}

    def groups(self) -> list[list[Standing]]:
        """Of the participants that are up and not done with it, those that are alike together."""
        groups: list[list[Standing]] = []
        for one in self.all:
            if one.is_up and one.told is not None and one.part.is_open:
                alike = (group for group in groups if all(self._is_alike(one, other) for other in group))
                group = next(alike, None)
                if group is None:
                    groups.append([one])
                else:
                    group.append(one)
        return groups

    def _is_alike(self, one: Standing, other: Standing) -> bool:
        what = [(each.part.state, each.view.process, self.leads(each)) for each in (one, other)]
        rest = [each for each in self.all if each not in (one, other)]
        if what[0] != what[1] or self.between(one, other) in ("cut", "held"):
            return False
        return all(self.between(one, each) == self.between(other, each) for each in rest)

    def between(self, one: Standing, other: Standing) -> str:
        """What keeps one from having an answer of another, as far as that one is concerned; or nothing."""
        return self._hindrance(one.node, other.view)

    def _hindrance(self, node: int, other: NodeState) -> str:
        if node == other.id:
            return ""
        if other.process != "running":
            return other.process
        links = {(node, other.id), (other.id, node)}
        return "cut" if links & self._cut else "held" if links & self._held else ""

    def leads(self, one: Standing) -> bool:
        """Whether it is the coordinator, and about it; in 3PC one that came back is a participant like others."""
        if one.node != self.transaction.node:
            return False
        carries_on = one.wait is not None and one.wait.procedure.startswith("terminate")
        return one.part.state in DECIDED or not (self.by_majority and carries_on)

    def silent(self, one: Standing, others: Iterable[Standing]) -> list[Standing]:
        """Those of the others of whom it gets no answer."""
        return [each for each in others if self.between(one, each)]

    def is_coordinator(self, one: Standing) -> bool:
        """Whether the transaction was begun by it."""
        return one.node == self.transaction.node

    def awaits_coordinator(self, one: Standing) -> bool:
        """Whether the coordinator can be reached, and is about it."""
        return any(self.leads(each) and not self.between(one, each) for each in self.all)

    def next_state(self, heard: Iterable[Standing]) -> State | None:
        """What one that is elected would make of what these would tell it."""
        answers = {
            each.node: StateAnswer(each.part.state, each.part.round, each.part.promised, each.crashed)
            for each in heard
        }
        return next_state(answers, len(self.all))

    def elected(self, one: Standing) -> int | None:
        """Whom it follows, if that one can be reached."""
        elected = one.view.coordinator if one.view.status == "Normal" else None
        view = None if elected is None else self._nodes.get(elected)
        return None if view is None or self._hindrance(one.node, view) else view.id

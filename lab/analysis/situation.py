"""Determine which participants of a transaction can hear each other, and which are in the same situation.

Both follow from the facts at a record: the processes that are up, the links that are cut, the messages held.
"""

from collections.abc import Iterable

from lab.analysis.bank_state import ParticipantState, TransactionOverview
from lab.protocols.termination import StateAnswer, next_state
from lab.protocols.transaction import DECIDED, State
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState

__all__ = ["Situation"]


class Situation:
    """The situation of one transaction. ``by_majority``: an elected node may end it if most nodes answer."""

    def __init__(self, overview: TransactionOverview, cluster: ClusterState, by_majority: bool) -> None:
        self.transaction = overview.transaction
        self.all = overview.participant_states
        self.by_majority = by_majority
        self._nodes = cluster.nodes
        cuts = (fault for fault in cluster.faults.values() if fault.kind in ("cut", "partition"))
        self._cut = {link for fault in cuts for link in fault.links}
        self._held = {(flight.source, flight.target) for flight in cluster.in_flight.values() if flight.held}

    def groups(self) -> list[list[ParticipantState]]:
        """Return the live participants at which it is open, grouped by situation."""
        groups: list[list[ParticipantState]] = []
        for one in self.all:
            if one.is_alive and one.reported is not None and one.part.is_open:
                alike = (group for group in groups if all(self._is_alike(one, other) for other in group))
                group = next(alike, None)
                if group is None:
                    groups.append([one])
                else:
                    group.append(one)
        return groups

    def _is_alike(self, one: ParticipantState, other: ParticipantState) -> bool:
        what = [(each.part.state, each.view.process, self.leads(each)) for each in (one, other)]
        rest = [each for each in self.all if each not in (one, other)]
        if what[0] != what[1] or self.obstacle(one, other) in ("cut", "held"):
            return False
        return all(self.obstacle(one, each) == self.obstacle(other, each) for each in rest)

    def obstacle(self, one: ParticipantState, other: ParticipantState) -> str:
        """Return the obstacle to an answer of ``other`` to ``one`` (process state, cut, held), or empty."""
        return self._obstacle(one.node, other.view)

    def _obstacle(self, node: int, other: NodeState) -> str:
        if node == other.id:
            return ""
        if other.process != "running":
            return other.process
        links = {(node, other.id), (other.id, node)}
        return "cut" if links & self._cut else "held" if links & self._held else ""

    def leads(self, one: ParticipantState) -> bool:
        """Return whether it acts as the coordinator; in 3PC a recovered coordinator is an ordinary participant."""
        if one.node != self.transaction.node:
            return False
        is_terminating = one.wait is not None and one.wait.procedure.startswith("terminate")
        return one.part.state in DECIDED or not (self.by_majority and is_terminating)

    def silent(self, one: ParticipantState, others: Iterable[ParticipantState]) -> list[ParticipantState]:
        """Return the others from which it gets no answer."""
        return [each for each in others if self.obstacle(one, each)]

    def is_coordinator(self, one: ParticipantState) -> bool:
        """Return whether it began the transaction."""
        return one.node == self.transaction.node

    def awaits_coordinator(self, one: ParticipantState) -> bool:
        """Return whether the coordinator is reachable and acts as such."""
        return any(self.leads(each) and not self.obstacle(one, each) for each in self.all)

    def next_state(self, heard: Iterable[ParticipantState]) -> State | None:
        """Return the decision of a newly elected coordinator if these participants answered it."""
        replies = {
            each.node: StateAnswer(each.part.state, each.part.round, each.part.promised, each.crashed)
            for each in heard
        }
        return next_state(replies, len(self.all))

    def elected(self, one: ParticipantState) -> int | None:
        """Return the node that it follows, if that one is reachable."""
        elected = one.view.coordinator if one.view.status == "Normal" else None
        view = None if elected is None else self._nodes.get(elected)
        return None if view is None or self._obstacle(one.node, view) else view.id

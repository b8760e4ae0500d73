"""Built-in lenses: what programs that speak a well-known protocol show, read off their messages.

A lens knows messages only. So it shows a change with the message that tells of it, which may be later than the
program itself knew.
"""

from typing import Any, ClassVar

from lab.kernel import Displayed
from lab.protocols.election import Status
from lab.protocols.history import Group
from lab.protocols.maelstrom import kind_of
from lab.protocols.program import Program

__all__ = ["LENSES", "BullyLens", "ElectionLens", "InvitationLens", "RaftLens", "RingLens"]


class ElectionLens(Program):
    """Programs that elect a coordinator, and say themselves whom they follow (``lab_state``)."""

    name: ClassVar[str] = "program-election"
    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A2")

    def on_ready(self) -> None:
        self.status = Status.ELECTION


class RaftLens(Program):
    """Programs that speak Raft: RequestVote and AppendEntries, with a ``term``."""

    name: ClassVar[str] = "program-raft"

    term: Displayed[int] = 0

    def on_ready(self) -> None:
        self._follow(None)

    def on_sent(self, peer: int | None, body: dict[str, Any]) -> None:
        self._observe(self.id, body)

    def on_received(self, peer: int | None, body: dict[str, Any]) -> None:
        if peer is not None:
            self._observe(peer, body)

    def _observe(self, sender: int, body: dict[str, Any]) -> None:
        term, kind = body.get("term"), kind_of(body)
        if not isinstance(term, int) or term < self.term or "PreVote" in kind:
            return  # a pre-vote names the next term, in which nobody is yet (Ongaro 2014, section 9.6)
        if term > self.term:
            self.term = term
            self._follow(None)
        if kind in ("AppendEntries", "InstallSnapshot"):
            self._follow(sender)

    def _follow(self, leader: int | None) -> None:
        self.status = Status.ELECTION if leader is None else Status.NORMAL
        self.coordinator, self.processing = leader, leader is not None


class BullyLens(Program):
    """Programs that speak bully, with messages as in the listings: EnterElection, SetCoordinator, NewState.

    Small letters with underscores will do: ``enter_election``. A message that comes too late is ignored, as in
    listing 10.21. A coordinator that no other node follows sends none of them; it says so with ``lab_state``.
    """

    name: ClassVar[str] = "program-bully"
    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A2")

    halted: int | None = None

    def on_ready(self) -> None:
        self.status = Status.DOWN

    def on_sent(self, peer: int | None, body: dict[str, Any]) -> None:
        match kind_of(body):
            case "EnterElection":
                self._halt(self.id)
            case "SetCoordinator":
                self._enter(Status.REORGANIZATION, self.id)
            case "NewState":
                self._enter(Status.NORMAL, self.id)

    def on_received(self, peer: int | None, body: dict[str, Any]) -> None:
        match kind_of(body):
            case "EnterElection":
                self._halt(peer)
            case "SetCoordinator" if self.status is Status.ELECTION and self.halted == peer:
                self._enter(Status.REORGANIZATION, peer)
            case "NewState" if self.status is Status.REORGANIZATION and self.coordinator == peer:
                self._enter(Status.NORMAL, peer)

    def _halt(self, leader: int | None) -> None:
        self._enter(Status.ELECTION, None)
        self.halted = leader

    def _enter(self, status: Status, coordinator: int | None) -> None:
        self.status, self.coordinator, self.processing = status, coordinator, status is Status.NORMAL


class RingLens(Program):
    """Programs that speak the ring algorithm: ELECTION and COORDINATOR circulate, with a list of ``members``.

    The highest member leads, unless the message names a ``coordinator``. Small letters will do. A node that is
    alone has nobody to send COORDINATOR to; it says with ``lab_state`` that it leads.
    """

    name: ClassVar[str] = "program-ring"
    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A2")

    def on_ready(self) -> None:
        self.status = Status.ELECTION

    def on_sent(self, peer: int | None, body: dict[str, Any]) -> None:
        self._observe(body)

    def on_received(self, peer: int | None, body: dict[str, Any]) -> None:
        self._observe(body)

    def _observe(self, body: dict[str, Any]) -> None:
        match kind_of(body).upper():
            case "ELECTION":
                self.status, self.coordinator, self.up = Status.ELECTION, None, frozenset()
            case "COORDINATOR":
                named = body.get("members")
                members = frozenset(self.nodes_of(named if isinstance(named, list) else []))
                leader = next(iter(self.nodes_of([body.get("coordinator")])), max(members, default=None))
                if leader is None:
                    self.note("COORDINATOR names no node: members is a list of nodes")
                else:
                    self.status, self.coordinator, self.up = Status.NORMAL, leader, members
        self.processing = self.status is Status.NORMAL


class InvitationLens(Program):
    """Programs that speak the invitation algorithm with the messages of the listings: Invitation, Accept, Ready.

    Each has a ``group``: the node that formed it, and a number that the node uses once, as ``["n3", 7]``. A node
    that is alone sends no message that would tell; it says so with ``lab_state``.
    """

    name: ClassVar[str] = "program-invitation"
    promises: ClassVar[tuple[str, ...]] = ("A3.1", "A5")

    group: Group = Group()

    def on_ready(self) -> None:
        self.status, self.coordinator, self.processing = Status.NORMAL, self.id, True

    def on_sent(self, peer: int | None, body: dict[str, Any]) -> None:
        match kind_of(body), self._group_in(body):
            case "Invitation", Group() as group if group.id == self.id:
                self._enter(Status.ELECTION, self.id, group)
            case "Accept", Group() as group:
                self._enter(Status.REORGANIZATION, peer, group)
            case "Ready", Group() as group:
                self._enter(Status.NORMAL, self.id, group)

    def on_received(self, peer: int | None, body: dict[str, Any]) -> None:
        match kind_of(body), self._group_in(body):
            case "Ready", Group() as group if group == self.group:
                self._enter(Status.NORMAL, peer, group)

    def _group_in(self, body: dict[str, Any]) -> Group | None:
        match body.get("group"):
            case [former, int(counter)]:
                return next((Group(node, counter) for node in self.nodes_of([former])), None)
        return None

    def _enter(self, status: Status, coordinator: int | None, group: Group) -> None:
        self.status, self.coordinator, self.group = status, coordinator, group
        self.processing = status is Status.NORMAL


LENSES: dict[str, type[Program]] = {
    each.name: each for each in (Program, ElectionLens, RaftLens, BullyLens, RingLens, InvitationLens)
}
"""The lenses by name; the first one shows only what programs say of themselves."""

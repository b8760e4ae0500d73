"""Built-in lenses: what programs that speak a well-known protocol show, read off their messages.

A lens knows messages only. So it shows a change with the message that tells of it, which may be later than the
program itself knew.
"""

from typing import Any, ClassVar

from lab.kernel import Displayed
from lab.protocols.election import Status
from lab.protocols.maelstrom import kind_of
from lab.protocols.program import Program

__all__ = ["LENSES", "BullyLens", "ElectionLens", "RaftLens"]


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
        term = body.get("term")
        if not isinstance(term, int) or term < self.term:
            return
        if term > self.term:
            self.term = term
            self._follow(None)
        if kind_of(body) == "AppendEntries":
            self._follow(sender)

    def _follow(self, leader: int | None) -> None:
        self.status = Status.ELECTION if leader is None else Status.NORMAL
        self.coordinator, self.processing = leader, leader is not None


class BullyLens(Program):
    """Programs that speak bully, with messages as in the listings: EnterElection, SetCoordinator, NewState.

    Small letters with underscores will do: ``enter_election``.
    """

    name: ClassVar[str] = "program-bully"
    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A2")

    def on_ready(self) -> None:
        self.status = Status.DOWN

    def on_sent(self, peer: int | None, body: dict[str, Any]) -> None:
        match kind_of(body):
            case "EnterElection":
                self._enter(Status.ELECTION, None)
            case "SetCoordinator":
                self._enter(Status.REORGANIZATION, self.id)
            case "NewState":
                self._enter(Status.NORMAL, self.id)

    def on_received(self, peer: int | None, body: dict[str, Any]) -> None:
        match kind_of(body):
            case "EnterElection":
                self._enter(Status.ELECTION, None)
            case "SetCoordinator":
                self._enter(Status.REORGANIZATION, peer)
            case "NewState":
                self._enter(Status.NORMAL, peer)

    def _enter(self, status: Status, coordinator: int | None) -> None:
        self.status, self.coordinator, self.processing = status, coordinator, status is Status.NORMAL


LENSES: dict[str, type[Program]] = {each.name: each for each in (Program, ElectionLens, RaftLens, BullyLens)}
"""The lenses by name; the first one shows only what programs say of themselves."""

"""Each node follows the highest that it has seen when the list comes by."""

from typing import ClassVar

from lab.kernel import Payload, on
from lab.protocols import Election, Status


class ELECTION(Payload, frozen=True):
    """The nodes that have passed this on."""

    members: tuple[int, ...]


class COORDINATOR(Payload, frozen=True):
    """The ring: the highest of it leads."""

    members: tuple[int, ...]


class MyRing(Election):
    """Each node knows its successor; the highest in the ring leads."""

    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A2", "highest")

    @property
    def successor(self) -> int:
        """The next node in the ring."""
        return min(self.higher or self.peers)

    def started(self) -> None:
        """Start an election."""
        self.status = Status.ELECTION
        self.send(self.successor, ELECTION((self.id,)))

    @on(ELECTION)
    def on_election(self, sender: int, message: ELECTION) -> None:
        """Add this node, or turn the list into COORDINATOR."""
        self.follow((*message.members, self.id))
        if message.members[0] != self.id:
            self.send(self.successor, ELECTION((*message.members, self.id)))

    @on(COORDINATOR)
    def on_coordinator(self, sender: int, message: COORDINATOR) -> None:
        """Follow, and pass it on until it is back."""
        if message.members[0] != self.id:
            self.follow(message.members)
            self.send(self.successor, message)

    def follow(self, members: tuple[int, ...]) -> None:
        """Follow the highest."""
        self.status, self.coordinator = Status.NORMAL, max(members)

"""Protocols that misbehave in campaigns: one raises, one kills its process, others never end."""

import os

from lab.kernel import Payload, on, procedure
from lab.protocols import Bully
from lab.protocols.bully import SetCoordinator, SetCoordinatorAnswer

__all__ = ["Dies", "Forwards", "Hangs", "Multiplies", "Raises", "Spins"]


class Raises(Bully):
    """Raises in a handler."""

    @on(SetCoordinator)
    def on_set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer | None:
        if self.id == 2:
            raise ValueError("node 2 is no good")
        return super().on_set_coordinator(sender, message)


class Spins(Bully):
    """Has a procedure that loops without waiting."""

    @procedure
    async def election(self) -> None:
        while True:
            await self.ask_all((), SetCoordinator(), within=1)


class Dies(Bully):
    """Kills its process."""

    def started(self) -> None:
        os._exit(7)


class Hangs(Bully):
    """Has a step that never ends."""

    def started(self) -> None:
        while True:
            pass


class Again(Payload, frozen=True):
    """A message that causes two of its own kind."""


class Multiplies(Bully):
    """Doubles its messages each time."""

    def started(self) -> None:
        self.again(self.id, Again())

    @on(Again)
    def again(self, sender: int, message: Again) -> None:
        for peer in self.peers[:2]:
            self.send(peer, Again())


class Forwards(Bully):
    """Forwards a message for ever; copies multiply."""

    def started(self) -> None:
        super().started()
        self.again(self.id, Again())

    @on(Again)
    def again(self, sender: int, message: Again) -> None:
        self.send(self.peers[0], Again())

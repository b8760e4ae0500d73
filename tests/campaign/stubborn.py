"""Protocols that a campaign has to bear: one that raises, one whose process dies, and others that never end."""

import os

from lab.kernel import Payload, on, procedure
from lab.protocols import Bully
from lab.protocols.bully import SetCoordinator, SetCoordinatorAnswer

__all__ = ["Dies", "Hangs", "Multiplies", "Raises", "Spins"]


class Raises(Bully):
    """An error of its own, in a handler."""

    @on(SetCoordinator)
    def set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer | None:
        """For one node only."""
        if self.id == 2:
            raise ValueError("node 2 is no good")
        return super().set_coordinator(sender, message)


class Spins(Bully):
    """A procedure that goes round without waiting."""

    @procedure
    async def election(self) -> None:
        """Asks nobody, again and again."""
        while True:
            await self.ask_all((), SetCoordinator(), within=1)


class Dies(Bully):
    """It takes its process with it."""

    def started(self) -> None:
        """Not by an exception."""
        os._exit(7)


class Hangs(Bully):
    """A step that never ends."""

    def started(self) -> None:
        """For ever."""
        while True:
            pass


class Again(Payload, frozen=True):
    """A message that two of its own kind follow."""


class Multiplies(Bully):
    """Messages of which there are twice as many each time."""

    def started(self) -> None:
        """Two to begin with."""
        self.again(self.id, Again())

    @on(Again)
    def again(self, sender: int, message: Again) -> None:
        """Two more."""
        for peer in self.peers[:2]:
            self.send(peer, Again())

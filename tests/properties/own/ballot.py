"""A ballot in which each kind of property is violated once: the nodes count without asking one another."""

from lab.kernel import Payload, on, procedure
from lab.protocols import Algorithm


class Seen(Payload, frozen=True):
    """I have reached this round."""

    round: int


class Ballot(Algorithm):
    """Each node counts its rounds, and claims a chair in the third."""

    round: int = 0
    chair: str = ""
    wants: bool = False

    def started(self) -> None:
        self.begin(self.count)

    @procedure
    async def count(self) -> None:
        while self.round < 5:
            await self.sleep(self.timing.t_us, "the next round")
            self.round += 1
            self.wants = self.round >= 2
            if self.round == 3:
                self.chair = "first"
            for peer in self.peers:
                self.send(peer, Seen(self.round))

    @on(Seen)
    def on_seen(self, sender: int, message: Seen) -> None:
        """Learn nothing."""

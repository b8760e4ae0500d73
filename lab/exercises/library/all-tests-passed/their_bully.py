"""An implementation of the bully algorithm with its own Check."""

from lab.kernel import periodic
from lab.protocols import Bully
from lab.protocols.bully import AreYouNormal


class TheirBully(Bully):
    """The highest node that is up leads."""

    @periodic(Bully._check_due_us)
    async def check(self) -> None:
        """Check the members."""
        replies = await self.ask_all(self.peers, AreYouNormal(), within=self.t_us)
        silent = self.up - replies.keys()
        if silent:
            self.begin(self.election)

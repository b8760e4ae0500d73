"""The bully algorithm, as somebody handed it in: what a coordinator does again and again is written here."""

from lab.kernel import periodic
from lab.protocols import Bully
from lab.protocols.bully import AreYouNormal


class TheirBully(Bully):
    """The highest node that is up leads."""

    @periodic(Bully._check_due_us)
    async def check(self) -> None:
        """Look after the members."""
        answers = await self.ask_all(self.peers, AreYouNormal(), within=self.t_us)
        silent = self.up - answers.keys()
        if silent:
            self.begin(self.election)

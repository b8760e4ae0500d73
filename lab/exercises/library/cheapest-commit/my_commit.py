"""A commit without a coordinator: every node sends its vote to all others, and decides for itself."""

from typing import ClassVar

from lab.kernel import Log, Payload, Safe, command, on, procedure
from lab.protocols import Algorithm


class Vote(Payload, frozen=True):
    """YES or NO."""

    transaction: str
    yes: bool


class MyCommit(Algorithm):
    """Every node begins transactions, and takes part in those of all others."""

    workload: ClassVar[tuple[str, ...]] = ("commit",)

    log: Log[str] = Log()
    begun: Safe[int] = 0
    refuses: bool = False
    received: frozenset[tuple[int, str]] = frozenset()

    @command(to="one", example="commit")
    def commit(self) -> None:
        """Begin a transaction, in which all nodes take part."""
        self.begun += 1
        self.begin(self.take_part, key=f"{self.id}.{self.begun}")

    @command(to="named", example="refuse 2")
    def refuse(self) -> None:
        """Vote NO on the next transaction."""
        self.refuses = True

    @procedure
    async def take_part(self, transaction: str) -> None:
        """Vote, wait for the votes of all others, and decide."""
        yes, self.refuses = not self.refuses, False
        self.log += (f"{'yes' if yes else 'no'} {transaction}",)
        for peer in self.peers:
            self.send(peer, Vote(transaction, yes))
        agreed = await self.until(
            lambda: len(self.others_yes(transaction)) == len(self.peers), "all votes", within=3 * self.timing.t_us
        )
        self.log += (f"{'commit' if yes and agreed else 'abort'} {transaction}",)

    def others_yes(self, transaction: str) -> list[int]:
        """Return who has voted YES."""
        return [node for node, voted in self.received if voted == transaction]

    @on(Vote)
    def on_vote(self, sender: int, message: Vote) -> None:
        """Note the vote, and take part."""
        if message.yes:
            self.received |= {(sender, message.transaction)}
        voted = f"yes {message.transaction}" in self.log or f"no {message.transaction}" in self.log
        if not voted:
            self.begin(self.take_part, key=message.transaction)

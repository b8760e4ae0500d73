"""Stage 2: one NO is enough to abort."""

from typing import ClassVar

from lab.kernel import Log, Payload, Request, Safe, command, on, procedure
from lab.protocols import Algorithm


class Vote(Payload, frozen=True):
    """YES or NO."""

    yes: bool


class Prepare(Request[Vote], frozen=True):
    """A question to all others, whether they can commit."""

    transaction: str


class Decided(Payload, frozen=True):
    """The outcome: commit or abort."""

    transaction: str
    outcome: str


class MyCommit(Algorithm):
    """Every node begins transactions, and takes part in those of all others."""

    workload: ClassVar[tuple[str, ...]] = ("commit",)

    log: Log[str] = Log()
    begun: Safe[int] = 0
    refuses: bool = False

    @command(to="one", example="commit")
    def commit(self) -> None:
        """Begin a transaction, in which all nodes take part."""
        self.begun += 1
        self.begin(self.coordinate, key=f"{self.id}.{self.begun}")

    @command(to="named", example="refuse 2")
    def refuse(self) -> None:
        """Vote NO on the next transaction."""
        self.refuses = True

    @procedure
    async def coordinate(self, transaction: str) -> None:
        """Collect the votes, and send the outcome to all."""
        yes = self.vote(transaction)
        votes = await self.ask_all(self.peers, Prepare(transaction), within=self.timing.t_us)
        agreed = yes and len(votes) == len(self.peers) and all(vote.yes for vote in votes.values())
        outcome = "commit" if agreed else "abort"
        self.decide(transaction, outcome)
        for peer in self.peers:
            self.send(peer, Decided(transaction, outcome))

    def vote(self, transaction: str) -> bool:
        """Log the vote, and return it."""
        yes, self.refuses = not self.refuses, False
        self.log += (f"{'yes' if yes else 'no'} {transaction}",)
        return yes

    def decide(self, transaction: str, outcome: str) -> None:
        """Log the outcome."""
        self.log += (f"{outcome} {transaction}",)

    @on(Prepare)
    def on_prepare(self, sender: int, message: Prepare) -> Vote:
        """Vote."""
        return Vote(self.vote(message.transaction))

    @on(Decided)
    def on_decided(self, sender: int, message: Decided) -> None:
        """Do as the coordinator."""
        self.decide(message.transaction, message.outcome)

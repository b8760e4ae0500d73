"""Stage 1: two-phase commit, in which every outcome is acknowledged."""

from typing import ClassVar

from lab.kernel import Log, Payload, Request, Safe, command, on, procedure
from lab.protocols import Algorithm


class Vote(Payload, frozen=True):
    """YES or NO."""

    yes: bool


class Prepare(Request[Vote], frozen=True):
    """A question to all others, whether they can commit."""

    transaction: str


class Acknowledged(Payload, frozen=True):
    """I have the outcome."""


class Decided(Payload, frozen=True):
    """The outcome: commit or abort; empty if this node does not know it."""

    transaction: str
    outcome: str


class Announce(Request[Acknowledged], frozen=True):
    """It is decided."""

    transaction: str
    outcome: str


class OutcomeOf(Request[Decided], frozen=True):
    """A question about the outcome."""

    transaction: str


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

    def started(self) -> None:
        """Abort what this node has begun and not decided, and ask about what is in doubt."""
        for number in range(1, self.begun + 1):
            self.decide(f"{self.id}.{number}", "abort")
        for transaction in self.in_doubt():
            self.begin(self.inquire, key=transaction)

    @procedure
    async def coordinate(self, transaction: str) -> None:
        """Collect the votes, and send the outcome to all."""
        yes = self.vote(transaction)
        votes = await self.ask_all(self.peers, Prepare(transaction), within=self.timing.t_us)
        agreed = yes and len(votes) == len(self.peers) and all(vote.yes for vote in votes.values())
        outcome = "commit" if agreed else "abort"
        self.decide(transaction, outcome)
        await self.ask_all(self.peers, Announce(transaction, outcome), within=self.timing.t_us)

    def vote(self, transaction: str) -> bool:
        """Log the vote, and return it."""
        yes, self.refuses = not self.refuses, False
        self.log += (f"{'yes' if yes else 'no'} {transaction}",)
        return yes

    def decide(self, transaction: str, outcome: str) -> None:
        """Log the outcome, once."""
        if outcome and not self.outcome(transaction):
            self.log += (f"{outcome} {transaction}",)

    def outcome(self, transaction: str) -> str:
        """Return the outcome in the log; empty if there is none."""
        return next((word for word in ("commit", "abort") if f"{word} {transaction}" in self.log), "")

    def in_doubt(self) -> list[str]:
        """Return what has the vote YES of this node, and no outcome."""
        voted = [line.removeprefix("yes ") for line in self.log if line.startswith("yes ")]
        return [transaction for transaction in voted if not self.outcome(transaction)]

    @procedure
    async def await_outcome(self, transaction: str) -> None:
        """Ask if the outcome does not come."""
        known = await self.until(
            lambda: bool(self.outcome(transaction)), "the outcome", within=3 * self.timing.t_us
        )
        if not known:
            self.begin(self.inquire, key=transaction)

    @procedure
    async def inquire(self, transaction: str) -> None:
        """Ask everybody until somebody knows the outcome."""
        while not self.outcome(transaction):
            replies = await self.ask_all(self.peers, OutcomeOf(transaction), within=self.timing.t_us)
            for answer in replies.values():
                self.decide(transaction, answer.outcome)
            await self.sleep(self.timing.t_us, "somebody to know")

    @on(Prepare)
    def on_prepare(self, sender: int, message: Prepare) -> Vote:
        """Vote once, and wait for the outcome; what is aborted here gets no YES."""
        if self.outcome(message.transaction) == "abort" or f"no {message.transaction}" in self.log:
            return Vote(False)
        yes = f"yes {message.transaction}" in self.log or self.vote(message.transaction)
        if yes and not self.is_running(self.await_outcome, key=message.transaction):
            self.begin(self.await_outcome, key=message.transaction)
        return Vote(yes)

    @on(Announce)
    def on_announce(self, sender: int, message: Announce) -> Acknowledged:
        """Do as the coordinator."""
        self.decide(message.transaction, message.outcome)
        return Acknowledged()

    @on(OutcomeOf)
    def on_outcome_of(self, sender: int, message: OutcomeOf) -> Decided:
        """Answer with the outcome; what has no vote of this node yet never gets a YES, so it is aborted."""
        own = message.transaction.startswith(f"{self.id}.")
        if not own and f"yes {message.transaction}" not in self.log:
            self.decide(message.transaction, "abort")
        return Decided(message.transaction, self.outcome(message.transaction))

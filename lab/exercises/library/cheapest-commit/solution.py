"""Stage 3: linear two-phase commit: the votes go along a chain, and the outcome comes back along it."""

from typing import ClassVar

from lab.kernel import Log, Payload, Request, Safe, command, on, procedure
from lab.protocols import Algorithm


class Prepare(Payload, frozen=True):
    """All before you in the chain have voted YES."""

    transaction: str


class Decided(Payload, frozen=True):
    """The outcome: commit or abort; empty if this node does not know it."""

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
        """Ask about what is in doubt."""
        for transaction in self.in_doubt():
            self.begin(self.inquire, key=transaction)

    def chain(self, transaction: str) -> tuple[int, ...]:
        """Return all nodes in the order in which they vote; the last one decides."""
        first = int(transaction.partition(".")[0])
        return (first, *(node for node in sorted((self.id, *self.peers)) if node != first))

    def neighbour(self, transaction: str, step: int) -> int | None:
        """Return the node that is so many steps further in the chain; None at its ends."""
        chain = self.chain(transaction)
        place = chain.index(self.id) + step
        return chain[place] if 0 <= place < len(chain) else None

    @procedure
    async def coordinate(self, transaction: str) -> None:
        """Vote first."""
        self.vote(transaction)

    def vote(self, transaction: str) -> None:
        """Vote, and pass it on; a NO, or the YES of the last node, is the outcome."""
        yes, self.refuses = not self.refuses, False
        self.log += (f"{'yes' if yes else 'no'} {transaction}",)
        following = self.neighbour(transaction, 1)
        if not yes:
            self.conclude(transaction, "abort")
        elif following is None:
            self.conclude(transaction, "commit")
        else:
            self.send(following, Prepare(transaction))
            self.begin(self.await_outcome, key=transaction)

    def conclude(self, transaction: str, outcome: str) -> None:
        """Log the outcome, once, and pass it back."""
        if outcome and not self.outcome(transaction):
            self.log += (f"{outcome} {transaction}",)
            self.pass_back(transaction)

    def pass_back(self, transaction: str) -> None:
        """Send the outcome to the node before this one."""
        previous = self.neighbour(transaction, -1)
        if previous is not None:
            self.send(previous, Decided(transaction, self.outcome(transaction)))

    def outcome(self, transaction: str) -> str:
        """Return the outcome in the log; empty if there is none."""
        return next((word for word in ("commit", "abort") if f"{word} {transaction}" in self.log), "")

    def in_doubt(self) -> list[str]:
        """Return what has the vote YES of this node, and no outcome."""
        voted = [line.removeprefix("yes ") for line in self.log if line.startswith("yes ")]
        return [transaction for transaction in voted if not self.outcome(transaction)]

    @procedure
    async def await_outcome(self, transaction: str) -> None:
        """Ask if the outcome does not come back in the time of the whole chain."""
        within_us = (len(self.peers) + 1) * self.timing.t_us
        known = await self.until(lambda: bool(self.outcome(transaction)), "the outcome", within=within_us)
        if not known:
            self.begin(self.inquire, key=transaction)

    @procedure
    async def inquire(self, transaction: str) -> None:
        """Ask everybody until somebody knows the outcome."""
        while not self.outcome(transaction):
            replies = await self.ask_all(self.peers, OutcomeOf(transaction), within=self.timing.t_us)
            for answer in replies.values():
                self.conclude(transaction, answer.outcome)
            await self.sleep(self.timing.t_us, "somebody to know")

    @on(Prepare)
    def on_prepare(self, sender: int, message: Prepare) -> None:
        """Vote once; what is decided here goes back."""
        if self.outcome(message.transaction):
            self.pass_back(message.transaction)
        elif f"yes {message.transaction}" not in self.log:
            self.vote(message.transaction)

    @on(Decided)
    def on_decided(self, sender: int, message: Decided) -> None:
        """Log it and pass it back."""
        self.conclude(message.transaction, message.outcome)

    @on(OutcomeOf)
    def on_outcome_of(self, sender: int, message: OutcomeOf) -> Decided:
        """Answer with the outcome; what has no vote of this node yet never gets a YES, so it is aborted."""
        transaction = message.transaction
        if not self.outcome(transaction) and f"yes {transaction}" not in self.log:
            self.log += (f"abort {transaction}",)
        return Decided(transaction, self.outcome(transaction))

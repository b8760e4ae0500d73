"""The majority guard (rule F4) without one of its precautions: to be caught by a campaign."""

from lab.kernel import on, procedure
from lab.protocols import Field
from lab.protocols.publishing import AreYouReady, Outcome, OutcomeOf
from lab.protocols.survey import PublishOperation


class NoMajority(Field):
    """Any group publishes."""

    def _is_majority(self, members: int) -> bool:
        return True


class VotesTwice(Field):
    """A pledged node votes for another operation."""

    def _busy_reason(self) -> str:
        return ""


class PledgeNotStored(Field):
    """A crash makes a node forget what it voted for."""

    pledge: PublishOperation | None = None


class DecisionNotStored(Field):
    """A coordinator announces a decision that a crash makes it forget."""

    published: PublishOperation = PublishOperation()


class SilenceIsConsent(Field):
    """A missing vote counts for the operation."""

    @procedure
    async def publication(self) -> None:
        self.operations += 1
        operation = PublishOperation(self.published.edition + 1, self.id, self.operations)
        self.publishing = operation
        voters = self._voters()
        votes = await self.ask_all(voters, AreYouReady(operation), within=self.timing.t_us)
        if any(vote.against for vote in votes.values()):
            self._conclude("against")
            return
        self.published = operation
        self.unacknowledged = voters
        self._conclude("published")
        self.begin(self.announce_edition)


class PledgedForAWhile(Field):
    """A pledged node waits for the decision for one timeout only."""

    @procedure
    async def inquire(self) -> None:
        await self.sleep(2 * self.timing.t_us, "the decision")
        self.pledge = None


class UnknownMeansOver(Field):
    """A node that knows nothing of an operation answers that it is over."""

    @on(OutcomeOf)
    def on_outcome_of(self, sender: int, message: OutcomeOf) -> Outcome:
        return Outcome(self.published, message.operation != self.publishing)

"""The majority guard (rule F4) with one of its precautions left out: what a campaign has to catch."""

from lab.kernel import on, procedure
from lab.protocols import Field
from lab.protocols.publishing import AreYouReady, Outcome, OutcomeOf
from lab.protocols.survey import Operation


class NoMajority(Field):
    """Any group publishes."""

    def _is_majority(self, members: int) -> bool:
        return True


class VotesTwice(Field):
    """A pledged node votes for another operation."""

    def _against_publishing(self) -> str:
        return ""


class PledgeNotStored(Field):
    """A crash makes a node forget what it voted for."""

    pledge: Operation | None = None


class DecisionNotStored(Field):
    """A coordinator tells what a crash makes it forget."""

    published: Operation = Operation()


class SilenceIsConsent(Field):
    """A vote that is missing counts for the operation."""

    @procedure
    async def publication(self) -> None:
        """Nobody's silence is against it."""
        self.operations += 1
        operation = Operation(self.published.edition + 1, self.id, self.operations)
        self.publishing = operation
        voters = self._voters()
        votes = await self.ask_all(voters, AreYouReady(operation), within=self.timing.t_us)
        if any(vote.against for vote in votes.values()):
            self._conclude("against")
            return
        self.published = operation
        self.untold = voters
        self._conclude("published")
        self.begin(self.tell_voters)


class PledgedForAWhile(Field):
    """A pledged node waits for the decision no longer than a timeout."""

    @procedure
    async def inquire(self) -> None:
        """It does not ask."""
        await self.sleep(2 * self.timing.t_us, "the decision")
        self.pledge = None


class AnybodySaysOver(Field):
    """Who knows nothing of an operation says that it is over."""

    @on(OutcomeOf)
    def outcome_of(self, sender: int, message: OutcomeOf) -> Outcome:
        """Of any operation."""
        return Outcome(self.published, message.operation != self.publishing)

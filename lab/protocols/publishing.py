"""Publishing the survey: an operation that takes effect in one group at most, by a majority guard (rule F4).

Two groups may both be Normal, each under a coordinator, and both may want to publish. So *edition k* of the survey
is published by a two-phase commit within a group that has a majority of all configured nodes:

    publish        a command to a coordinator; without a majority it is refused
    publication    AreYouReady  to all members: a vote missing or against it, and nothing is published
                   Published    to all members: the edition is out; again, until each has said that it knows
    inquire        OutcomeOf    to all, by a member that has voted for it and hears no more

Who votes for an operation is *pledged*: it votes for no other one until it knows what became of this. Any two
majorities have a node in common, which votes for one edition k only; so no two operations take effect as edition
k, whatever is lost, delayed, cut or stopped, in however many groups (A9). The decision is the coordinator's
``published``, in safe storage before it is told to anybody; vote and pledge are in safe storage before they leave.

What is not in the coordinator's storage has not been decided, and a coordinator that crashed without a decision
never decides it (presumed abort): so it may say that an operation *is over*, and does not have to remember which.
As each edition follows the one before, it is enough to know the newest: who knows that edition k is out need not
keep a pledge for edition k or an earlier one, whatever became of it, since it will vote for none of these again.
As long as its coordinator is down, a pledged node has to wait, and its group publishes nothing: two-phase commit
blocks. (That a member which has not voted yet could end it, by never voting, as C4 has it, is not done here.) This
relies on safe storage alone (4); all else that breaks may keep an edition from coming out.
"""

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace

from lab.kernel import Payload, Request, Safe, command, on, procedure
from lab.protocols.definition import Definition
from lab.protocols.election import Election, Status
from lab.protocols.survey import Operation
from lab.protocols.task import Task

__all__ = ["Publishing"]


class Vote(Payload, frozen=True):
    """Yes where there is nothing ``against`` it; and the newest edition that I know."""

    against: str
    newest: Operation


class AreYouReady(Request[Vote], frozen=True):
    """Phase 1: do you vote for it?"""

    operation: Operation


class PublishedAnswer(Payload, frozen=True):
    """I know now."""


class Published(Request[PublishedAnswer], frozen=True):
    """Phase 2: this is the newest edition."""

    newest: Operation


class Outcome(Payload, frozen=True):
    """The newest edition that I know; and whether I began the operation, and am about it no more."""

    newest: Operation
    over: bool


class OutcomeOf(Request[Outcome], frozen=True):
    """I am pledged to this operation: what became of it?"""

    operation: Operation


class Publishing(Task):
    """A task of which a group with a majority publishes one edition after the other."""

    promises: ClassVar[tuple[str, ...]] = ("A9",)
    relies_on: ClassVar[dict[str, tuple[int, ...]]] = {"A9": (4,)}

    published: Safe[Operation] = Operation()
    pledge: Safe[Operation | None] = None
    untold: Safe[tuple[int, ...]] = ()
    operations: Safe[int] = 0
    publishing: Operation | None = None
    outcome: str = ""

    @property
    def _election(self) -> Election:
        assert isinstance(self.below, Election)
        return self.below

    def _follows(self, node: int) -> bool:
        return self._election.status is Status.NORMAL and self._election.coordinator == node

    @property
    def _leads(self) -> bool:
        return self._follows(self.id)

    def started(self) -> None:
        """What safe storage says is to be done goes on: the decision is told, and a pledge is asked about."""
        if self.untold:
            self.begin(self.tell_voters)
        if self.pledge is not None:
            self.begin(self.inquire)

    def stop_processing(self) -> None:
        """An operation without a decision ends with the group."""
        if self.publishing is not None:
            self.stop(self.publication)
            self._conclude(f"edition {self.publishing.edition} is not published: the group ended meanwhile")

    def resume_processing(self, definition: Definition) -> None:
        """Which edition is the newest is told with the Definition."""
        self._learn(definition.published)

    def report(self, definition: Definition) -> Definition:
        """The newest edition that this node knows of."""
        return replace(definition, published=self.published)

    def divide(self, new: Definition, reports: Sequence[Definition]) -> Definition:
        """The newest edition that anybody knows of."""
        return replace(new, published=max(report.published for report in reports))

    # the coordinator

    @command
    def publish(self) -> None:
        """Publish the survey: only a coordinator whose group has a majority can."""
        refused = self._refused()
        if refused:
            self._tell(f"refused: {refused}")
        else:
            self.begin(self.publication)

    def _refused(self) -> str:
        if not self._leads:
            return "only a Normal coordinator publishes"
        members, nodes = 1 + len(self._voters()), 1 + len(self.peers)
        if not self._is_majority(members):
            return f"{members} of {nodes} nodes are no majority"
        return self._against_publishing()

    def _is_majority(self, members: int) -> bool:
        return 2 * members > 1 + len(self.peers)

    def _voters(self) -> tuple[int, ...]:
        return tuple(peer for peer in self.peers if peer in self._election.definition.members)

    def _against_publishing(self) -> str:
        if self.publishing is not None:
            return f"an operation for edition {self.publishing.edition} is going on"
        if self.pledge is not None:
            return f"it is pledged to an operation of {self.pledge.node} for edition {self.pledge.edition}"
        return ""

    @procedure
    async def publication(self) -> None:
        """F4: two-phase commit within the group."""
        self.operations += 1
        operation = Operation(self.published.edition + 1, self.id, self.operations)
        self.publishing = operation
        voters = self._voters()
        votes = await self.ask_all(voters, AreYouReady(operation), within=self.timing.t_us)

        for vote in votes.values():
            self._learn(vote.newest)
        against = [f"{node}: {vote.against}" for node, vote in votes.items() if vote.against]
        against += [f"{node} did not vote" for node in voters if node not in votes]
        if against:
            self._conclude(f"edition {operation.edition} is not published: {'; '.join(against)}")
            return
        self.published = operation
        self.untold = tuple(peer for peer in self.peers if peer in (*self.untold, *voters))
        self._conclude(f"edition {operation.edition} is published")
        self.restart(self.tell_voters)

    def _conclude(self, outcome: str) -> None:
        self.publishing = None
        self._tell(outcome)

    def _tell(self, outcome: str) -> None:
        self.outcome = outcome
        self.note(outcome)

    @procedure
    async def tell_voters(self) -> None:
        """Until all voters know, those of earlier editions too; an answer to an earlier one counts no longer."""
        while self.untold:
            told = await self.ask_all(self.untold, Published(self.published), within=self.timing.t_us)
            self.untold = tuple(node for node in self.untold if node not in told)
            if self.untold:
                await self.sleep(4 * self.timing.t_us, "those to come back that do not know")

    # the members

    @on(AreYouReady)
    def are_you_ready(self, sender: int, message: AreYouReady) -> Vote:
        """A vote for it is a pledge."""
        against = self._against(sender, message.operation)
        if not against:
            self.pledge = message.operation
            self.restart(self.inquire)
        return Vote(against, self.published)

    def _against(self, sender: int, operation: Operation) -> str:
        if operation.edition <= self.published.edition:
            return f"edition {self.published.edition} is out"
        if not self._follows(sender):
            return "not of the group"
        return "" if self.pledge == operation else self._against_publishing()

    @on(Published)
    def is_published(self, sender: int, message: Published) -> PublishedAnswer:
        """The edition takes effect here as well."""
        self._learn(message.newest)
        if self.pledge is None:
            self.stop(self.inquire)
        return PublishedAnswer()

    @procedure
    async def inquire(self) -> None:
        """A pledged node that hears no more asks: who began the operation knows, and who knows a later edition."""
        await self.sleep(2 * self.timing.t_us, "the decision")
        while self.pledge is not None:
            outcomes = await self.ask_all(self.peers, OutcomeOf(self.pledge), within=self.timing.t_us)
            for outcome in outcomes.values():
                self._learn(outcome.newest)
            if any(outcome.over for outcome in outcomes.values()):
                self.pledge = None
            if self.pledge is not None:
                await self.sleep(2 * self.timing.t_us, "somebody who knows the decision")

    @on(OutcomeOf)
    def outcome_of(self, sender: int, message: OutcomeOf) -> Outcome:
        """What is not decided, and nobody is about, never will be."""
        operation = message.operation
        return Outcome(self.published, operation.node == self.id and operation != self.publishing)

    def _learn(self, newest: Operation) -> None:
        if newest.edition > self.published.edition:
            self.published = newest
        if self.pledge is not None and self.pledge.edition <= self.published.edition:
            self.pledge = None

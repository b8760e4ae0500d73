"""Publishing the survey: an operation that takes effect in at most one group, by a majority guard (rule F4).

Two groups may both be Normal under their coordinators, and both may want to publish. So *edition k* of the survey
is published by a two-phase commit within a group that has a majority of all configured nodes:

    publish        a command to a coordinator; refused without a majority
    publication    AreYouReady  to all members: if a vote is missing or against it, nothing is published
                   Published    to all members: the edition is out; resent until each has acknowledged it
    inquire        OutcomeOf    to all nodes, by a member that has voted and hears nothing more

A node that votes for an operation is *pledged*: it votes for no other one until it knows the outcome. Two
majorities have a node in common, and that node does not vote for a second operation while the first may still take
effect. So no two operations take effect as edition k, whatever is lost, delayed, cut or stopped, in any number of
groups (A9). The decision is the coordinator's ``published``, in stable storage before it is sent; vote and pledge
are in stable storage before the vote is sent.

What is not in the coordinator's storage has not been decided, and a coordinator that crashed before the decision
never decides it (presumed abort). So it can answer that an operation *is over* without remembering which ones it
began. Editions are consecutive, so it is enough to know the newest: a node that knows edition k drops its pledge
for edition k or an earlier one, whatever the outcome, since it will not vote for these editions again. While its
coordinator is down, a pledged node has to wait, and its group publishes nothing: two-phase commit blocks.
(Cooperative termination by a member that has not voted, as in C4, is not implemented.) Safety relies on safe
storage alone (4); other broken assumptions can only delay or prevent an edition.
"""

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace

from lab.kernel import Payload, Request, Safe, command, on, procedure
from lab.protocols.definition import Definition
from lab.protocols.election import Election, Status
from lab.protocols.survey import PublishOperation
from lab.protocols.task import Task

__all__ = ["Publishing"]


class Vote(Payload, frozen=True):
    """Yes if ``against`` is empty, otherwise the reason; and the newest edition that I know."""

    against: str
    newest: PublishOperation


class AreYouReady(Request[Vote], frozen=True):
    """Phase 1: please vote on this operation."""

    operation: PublishOperation


class PublishedAnswer(Payload, frozen=True):
    """I know the edition."""


class Published(Request[PublishedAnswer], frozen=True):
    """Phase 2: this is the newest edition."""

    newest: PublishOperation


class Outcome(Payload, frozen=True):
    """The newest edition that I know; ``over``: I began the operation and no longer run it."""

    newest: PublishOperation
    over: bool


class OutcomeOf(Request[Outcome], frozen=True):
    """A question for the outcome of this operation, by a pledged node."""

    operation: PublishOperation


class Publishing(Task):
    """A task whose results a group with a majority publishes, edition by edition."""

    promises: ClassVar[tuple[str, ...]] = ("A9", "editions")
    relies_on: ClassVar[dict[str, tuple[int, ...]]] = {"A9": (4,), "editions": (4,)}

    published: Safe[PublishOperation] = PublishOperation()
    pledge: Safe[PublishOperation | None] = None
    unacknowledged: Safe[tuple[int, ...]] = ()
    operations: Safe[int] = 0
    publishing: PublishOperation | None = None
    outcome: str = ""

    @property
    def _election(self) -> Election:
        assert isinstance(self.lower_layer, Election)
        return self.lower_layer

    def _follows(self, node: int) -> bool:
        return self._election.status is Status.NORMAL and self._election.coordinator == node

    @property
    def _leads(self) -> bool:
        return self._follows(self.id)

    def started(self) -> None:
        """Continue from stable storage: resend a decision, and inquire about a pledge."""
        if self.unacknowledged:
            self.begin(self.announce_edition)
        if self.pledge is not None:
            self.begin(self.inquire)

    def stop_processing(self) -> None:
        """Abandon an undecided operation: it ends with the group."""
        if self.publishing is not None:
            self.stop(self.publication)
            self._conclude(f"edition {self.publishing.edition} is not published: the group ended meanwhile")

    def resume_processing(self, definition: Definition) -> None:
        """Learn the newest edition from the Definition."""
        self._learn(definition.published)

    def report(self, definition: Definition) -> Definition:
        """Add the newest edition that this node knows."""
        return replace(definition, published=self.published)

    def divide(self, new: Definition, reports: Sequence[Definition]) -> Definition:
        """Set the newest edition that any report knows."""
        return replace(new, published=max(report.published for report in reports))

    # the coordinator

    @command
    def publish(self) -> None:
        """Publish the survey; only the coordinator of a group with a majority can."""
        refusal = self._publish_refusal()
        if refusal:
            self._report_outcome(f"refused: {refusal}")
        else:
            self.begin(self.publication)

    def _publish_refusal(self) -> str:
        if not self._leads:
            return "only a Normal coordinator publishes"
        members, nodes = 1 + len(self._voters()), 1 + len(self.peers)
        if not self._is_majority(members):
            return f"{members} of {nodes} nodes are not a majority"
        return self._busy_reason()

    def _is_majority(self, members: int) -> bool:
        return 2 * members > 1 + len(self.peers)

    def _voters(self) -> tuple[int, ...]:
        return tuple(peer for peer in self.peers if peer in self._election.definition.members)

    def _busy_reason(self) -> str:
        if self.publishing is not None:
            return f"an operation for edition {self.publishing.edition} is in progress"
        if self.pledge is not None:
            return f"it is pledged to an operation of {self.pledge.node} for edition {self.pledge.edition}"
        return ""

    @procedure
    async def publication(self) -> None:
        """Publish the next edition by two-phase commit within the group (rule F4)."""
        self.operations += 1
        operation = PublishOperation(self.published.edition + 1, self.id, self.operations)
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
        self.unacknowledged = tuple(peer for peer in self.peers if peer in (*self.unacknowledged, *voters))
        self._conclude(f"edition {operation.edition} is published")
        self.restart(self.announce_edition)  # acknowledgements of earlier editions no longer count

    def _conclude(self, outcome: str) -> None:
        self.publishing = None
        self._report_outcome(outcome)

    def _report_outcome(self, outcome: str) -> None:
        self.outcome = outcome
        self.note(outcome)

    @procedure
    async def announce_edition(self) -> None:
        """Send the newest edition until all voters know it, voters of earlier editions included."""
        while self.unacknowledged:
            acknowledged = await self.ask_all(
                self.unacknowledged, Published(self.published), within=self.timing.t_us
            )
            self.unacknowledged = tuple(node for node in self.unacknowledged if node not in acknowledged)
            if self.unacknowledged:
                await self.sleep(4 * self.timing.t_us, "nodes that do not know the edition to recover")

    # the members

    @on(AreYouReady)
    def on_are_you_ready(self, sender: int, message: AreYouReady) -> Vote:
        """Vote; a vote for the operation is a pledge."""
        against = self._against(sender, message.operation)
        if not against:
            self.pledge = message.operation
            self.restart(self.inquire)
        return Vote(against, self.published)

    def _against(self, sender: int, operation: PublishOperation) -> str:
        if operation.edition <= self.published.edition:
            return f"edition {self.published.edition} is out"
        if not self._follows(sender):
            return "not of the group"
        return "" if self.pledge == operation else self._busy_reason()

    @on(Published)
    def on_published(self, sender: int, message: Published) -> PublishedAnswer:
        """Let the edition take effect here as well."""
        self._learn(message.newest)
        if self.pledge is None:
            self.stop(self.inquire)
        return PublishedAnswer()

    @procedure
    async def inquire(self) -> None:
        """Ask for the outcome: the node that began the operation, or one with a later edition, knows it."""
        await self.sleep(2 * self.timing.t_us, "the decision")
        while self.pledge is not None:
            outcomes = await self.ask_all(self.peers, OutcomeOf(self.pledge), within=self.timing.t_us)
            for outcome in outcomes.values():
                self._learn(outcome.newest)
            if any(outcome.over for outcome in outcomes.values()):
                self.pledge = None
            if self.pledge is not None:
                await self.sleep(2 * self.timing.t_us, "a node that knows the decision")

    @on(OutcomeOf)
    def on_outcome_of(self, sender: int, message: OutcomeOf) -> Outcome:
        """Answer; an own operation that is neither decided nor running is over."""
        operation = message.operation
        return Outcome(self.published, operation.node == self.id and operation != self.publishing)

    def _learn(self, newest: PublishOperation) -> None:
        if newest.edition > self.published.edition:
            self.published = newest
        if self.pledge is not None and self.pledge.edition <= self.published.edition:
            self.pledge = None

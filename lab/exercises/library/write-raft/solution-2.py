"""Stage 2: a leader sends heartbeats, and whoever hears none becomes a candidate."""

from lab.kernel import Displayed, Payload, Request, on, procedure
from lab.protocols import Election, Status


class VoteReply(Payload, frozen=True):
    """The vote, and the term of the voter."""

    term: int
    granted: bool


class RequestVote(Request[VoteReply], frozen=True):
    """Vote for me in this term."""

    term: int


class Followed(Payload, frozen=True):
    """The term of the follower."""

    term: int


class ILead(Request[Followed], frozen=True):
    """The heartbeat of a leader."""

    term: int


class MyRaft(Election):
    """A node leads a term if a majority of all nodes has voted for it in that term."""

    term: Displayed[int] = 0
    voted_for: int | None = None

    def started(self) -> None:
        """Wait for a leader."""
        self.follow(None)

    def follow(self, leader: int | None) -> None:
        """Follow a leader, or wait for one."""
        self.status = Status.ELECTION if leader is None else Status.NORMAL
        self.coordinator = leader
        self.restart(self.await_leader)

    def learn_term(self, term: int) -> None:
        """Enter a later term, in which this node has not voted."""
        if term > self.term:
            self.term, self.voted_for = term, None
            self.follow(None)

    @procedure
    async def await_leader(self) -> None:
        """Become a candidate after a random time without a leader."""
        await self.sleep(round(self.random.uniform(4, 8) * self.timing.t_us), "a leader")
        self.begin(self.campaign)

    @procedure
    async def campaign(self) -> None:
        """Ask all for their votes in a new term."""
        self.learn_term(self.term + 1)
        term, self.voted_for = self.term, self.id
        votes = await self.ask_all(self.peers, RequestVote(term), within=self.timing.t_us)
        for vote in votes.values():
            self.learn_term(vote.term)
        granted = 1 + sum(vote.granted for vote in votes.values())
        if self.term == term and self.coordinator is None and 2 * granted > len(self.peers) + 1:
            self.status, self.coordinator = Status.NORMAL, self.id
            self.stop(self.await_leader)
            self.begin(self.lead)

    @on(RequestVote)
    def on_request_vote(self, sender: int, message: RequestVote) -> VoteReply:
        """Vote for the first candidate of a term."""
        self.learn_term(message.term)
        granted = message.term == self.term and self.voted_for in (None, sender)
        if granted:
            self.voted_for = sender
            self.restart(self.await_leader)
        return VoteReply(self.term, granted)

    @procedure
    async def lead(self) -> None:
        """Send heartbeats."""
        while self.coordinator == self.id:
            replies = await self.ask_all(self.peers, ILead(self.term), within=self.timing.t_us)
            for reply in replies.values():
                self.learn_term(reply.term)
            await self.sleep(self.timing.t_us, "the next heartbeat")

    @on(ILead)
    def on_i_lead(self, sender: int, message: ILead) -> Followed:
        """Follow the leader of this term or a later one."""
        self.learn_term(message.term)
        if message.term == self.term:
            self.follow(sender)
        return Followed(self.term)

"""Raft's leader election: terms, votes, randomized timeouts, and what is kept in stable storage.

D. Ongaro and J. Ousterhout, In Search of an Understandable Consensus Algorithm, USENIX ATC 2014, sections 5.1, 5.2
and 9.3. There is no log here, so any node may lead. A leader that hears from no majority steps down, as in
Ongaro's dissertation (section 6.2).
"""

from enum import Enum
from typing import ClassVar

from msgspec import Struct

from lab.kernel import Displayed, Payload, Request, Safe, on, procedure
from lab.properties import GlobalState, LocalState, Memory, Outcome, assumption, eventually, over_history
from lab.protocols import Election, Status


class VoteReply(Payload, frozen=True):
    """An answer to RequestVote."""

    term: int
    granted: bool


class RequestVote(Request[VoteReply], frozen=True):
    """A candidate asks for a vote in its term."""

    term: int


class Followed(Payload, frozen=True):
    """An answer to AppendEntries."""

    term: int


class AppendEntries(Request[Followed], frozen=True):
    """The heartbeat of a leader."""

    term: int


class Role(Enum):
    """The role of a node."""

    FOLLOWER = "follower"
    CANDIDATE = "candidate"
    LEADER = "leader"


class Raft(Election):
    """The leader of a term is the node that a majority voted for; each node votes once in a term."""

    promises: ClassVar[tuple[str, ...]] = ("A2",)
    relies_on: ClassVar[dict[str, tuple[int | str, ...]]] = {"A2": ("a_majority_is_up", "a_term_is_left")}
    heartbeats: ClassVar[tuple[type[Payload], ...]] = (AppendEntries, Followed)

    class Parameters(Struct, frozen=True):
        most_terms: int = 0
        """No node becomes a candidate in a later term than this; 0: no bound. For lab explore."""

    term: Displayed[Safe[int]] = 0
    voted_for: Safe[int | None] = None
    role: Displayed[Role] = Role.FOLLOWER

    @property
    def majority(self) -> int:
        return (len(self.peers) + 1) // 2 + 1

    def started(self) -> None:
        self.follow(None)

    def follow(self, leader: int | None) -> None:
        self.role, self.coordinator = Role.FOLLOWER, leader
        self.status = Status.ELECTION if leader is None else Status.NORMAL
        self.restart(self.election_timeout)

    def learn_term(self, term: int) -> None:
        if term > self.term:
            self.term, self.voted_for = term, None
            self.follow(None)

    @procedure
    async def election_timeout(self) -> None:
        await self.sleep(round(self.random.uniform(4, 8) * self.timing.t_us), "a heartbeat")
        if not 0 < self.parameters.most_terms <= self.term:
            self.begin(self.campaign)

    @procedure
    async def campaign(self) -> None:
        term = self.term = self.term + 1
        self.voted_for = self.id
        self.follow(None)
        self.role = Role.CANDIDATE
        votes = await self.ask_all(self.peers, RequestVote(term), within=self.timing.t_us)
        for vote in votes.values():
            self.learn_term(vote.term)
        granted = 1 + sum(vote.granted for vote in votes.values())
        if self.role is Role.CANDIDATE and self.term == term and granted >= self.majority:
            self.role, self.coordinator, self.status = Role.LEADER, self.id, Status.NORMAL
            self.stop(self.election_timeout)
            self.begin(self.lead)

    @on(RequestVote)
    def on_request_vote(self, sender: int, message: RequestVote) -> VoteReply:
        self.learn_term(message.term)
        granted = message.term == self.term and self.voted_for in (None, sender)
        if granted:
            self.voted_for = sender
            self.restart(self.election_timeout)
        return VoteReply(self.term, granted)

    @procedure
    async def lead(self) -> None:
        while self.role is Role.LEADER:
            followed = await self.ask_all(self.peers, AppendEntries(self.term), within=self.timing.t_us)
            for answer in followed.values():
                self.learn_term(answer.term)
            if self.role is Role.LEADER and 1 + len(followed) < self.majority:
                self.follow(None)
            await self.sleep(self.timing.t_us, "the next heartbeat")

    @on(AppendEntries)
    def on_append_entries(self, sender: int, message: AppendEntries) -> Followed:
        self.learn_term(message.term)
        if message.term == self.term:
            self.follow(sender)
        return Followed(self.term)


class ForgetfulRaft(Raft):
    """Raft that keeps its term and its vote in memory: a node that restarts may vote again in a term."""

    term: Displayed[int] = 0
    voted_for: int | None = None


@assumption
def a_majority_is_up(state: GlobalState) -> Outcome:
    """A majority of the nodes is up and connected."""
    return 2 * state.largest_group() > len(state.ids)


@assumption
def a_term_is_left(state: GlobalState) -> Outcome:
    """Some node may still become a candidate: the bound on terms is not reached."""
    most = state.parameters.most_terms
    return most == 0 or any(node.term < most for node in state)


@over_history(relies_on=(1, 2, 3, 4, 5, 6), noun="term", done="led")
def one_leader_per_term(leaders: Memory, before: LocalState, after: LocalState) -> Outcome:
    """At most one node leads a term, ever."""
    if after.role is not Role.LEADER:
        return None
    return leaders.claim(f"term {after.term}", after.id)


@eventually(within="80T", relies_on=(a_majority_is_up, a_term_is_left), despite_cuts=True)
def a_leader_is_elected(state: GlobalState) -> Outcome:
    """A bounded time after the last fault, a majority follows one leader."""
    leaders = [node.coordinator for node in state if node.coordinator is not None]
    return any(2 * leaders.count(leader) > len(state.ids) for leader in leaders)

"""Mutual exclusion by a token with path compression, from the end of section 10.1 of Chow & Johnson.

There is one token; its holder may be inside the critical section. No node knows where the token is. Each node has
a guess of the last node in the waiting queue; a guess may be outdated, but it leads to a node with a better one:

    RequestToken   forwarded along the guesses to the last in the queue; each forwarder then guesses the requester
    PassToken      from a node that leaves its critical section to the next in the queue

The queue is a linked list: each waiting node knows its ``next``. A request redirects the guess of every node on
its route to the requester, the new end of the queue, so routes get shorter with use (path compression). A request
takes one message per guess on its route: amortized over many requests at most log2(n), in the worst case (Ginat,
Sleator and Tarjan, 1989), and in simulation about the natural logarithm of n. The token then takes one message.

This contrasts with an election. There all nodes must learn who leads; here it is enough that nodes without the
token know that they do not have it. And an election is held because a node has failed, while this algorithm
assumes that no node fails:

Assumptions that can be broken here: no node crashes, and no message is lost (8: loss, partition). If the holder
crashes, or the message with the token is lost, the token is lost forever, and all wait. A lost request leaves its
sender waiting, and all nodes that queue behind it. Delay, pauses and reordering only slow the algorithm down. A
duplicated request (3) may queue a node that wants nothing, and another one may wait forever.

None of these breaks K1: at most one node holds the token, from the step that receives it to the step that passes
it on. A duplicate of the message with the token would be a second token. So the token is renumbered each time that
it is passed, and a node accepts only a token newer than all that it has had; the last number is in stable storage.
For the same reason the lowest node, the initial holder, creates the token only if it never had one. If its safe
storage is wiped (4), there are two tokens.

A node that restarts holds nothing, wants nothing, is in no queue, and has its initial guess. If another node still
passes the token to it, because of a request before the crash, it keeps the token until the next request.
"""

from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar

from msgspec import Struct

from lab.kernel import Payload, Safe, Timing, command, on, periodic
from lab.protocols.algorithm import Algorithm

__all__ = ["Token", "TokenStatus"]


class TokenStatus(Enum):
    """The status of a node: without the token, waiting for it, using it, or holding it unused."""

    IDLE = "Idle"
    WAITING = "Waiting"
    INSIDE = "Inside"
    HOLDING = "Holding"


class RequestToken(Payload, frozen=True):
    """A request of this node for the last place in the queue."""

    requester: int


class PassToken(Payload, frozen=True):
    """The token, passed for the ``number``-th time."""

    number: int


class Token(Algorithm):
    """Mutual exclusion by a token with path compression: only the holder may enter the critical section."""

    name: ClassVar[str] = "token"
    promises: ClassVar[tuple[str, ...]] = ("K1", "K2", "idle", "leaves")
    relies_on: ClassVar[dict[str, tuple[int, ...]]] = {"K1": (4,)}
    workload: ClassVar[tuple[str, ...]] = ("request",)
    environment: ClassVar[tuple[str, ...]] = ("_hold_us", "_want_every_us", "_want_due_us", "entries")
    finite_parameters: ClassVar[Mapping[str, Any]] = {"by_itself": 1}

    class Parameters(Struct, frozen=True):
        """The times for which nodes stay inside the critical section, and between their attempts to enter."""

        hold_us: int = 0
        """Time inside the critical section; 0: T."""

        want_every_us: int = 0
        """Interval at which the lowest node wants to enter, longer for higher nodes; 0: hold times nodes."""

        by_itself: int | None = None
        """Number of entries that a node makes unprompted; 0: only on request; null: without limit."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Parameters, nodes: int) -> int:
        """Allow for a request along all guesses, and then a queue of all nodes: each stays, and passes it on."""
        hold_us = int(parameters.hold_us) or timing.t_us
        return nodes * (timing.t_us + hold_us + timing.t_us)

    status: TokenStatus = TokenStatus.IDLE
    guess: int | None = None
    next: int | None = None
    entries: int = 0
    number: Safe[int] = 0

    @cached_property
    def _hold_us(self) -> int:
        return int(self.parameters.hold_us) or self.timing.t_us

    @cached_property
    def _want_every_us(self) -> int:
        """The interval differs between nodes, so that queues form and dissolve, identically in every run."""
        nodes = 1 + len(self.peers)
        every_us = self.parameters.want_every_us or nodes * self._hold_us
        lower = sum(peer < self.id for peer in self.peers)
        return int(every_us) * (nodes + lower) // nodes

    def started(self) -> None:
        """Create the token at the lowest node; all other nodes guess that it has the token."""
        if self.number == 0 and self.id < min(self.peers, default=self.id + 1):
            self.number = 1
            self.status = TokenStatus.HOLDING
            self.guess = self.id
        else:
            self.guess = min(self.peers, default=None)

    @command
    def request(self) -> None:
        """Enter the critical section as soon as possible."""
        self.begin(self.enter)

    def _want_due_us(self) -> int | None:
        most = self.parameters.by_itself
        if most is not None and self.entries >= most:
            return None
        return self.begun_us(self.enter) + self._want_every_us

    @periodic(_want_due_us)
    async def enter(self) -> None:
        """Get the token, enter the critical section, and leave it (rule K2)."""
        if self.status is TokenStatus.IDLE:
            self.stand_in_line()
            await self.until(lambda: self.status is TokenStatus.HOLDING, "the token")
        self.status = TokenStatus.INSIDE
        self.entries += 1
        await self.sleep(self._hold_us, "the end of its stay")
        self.status = TokenStatus.HOLDING
        if self.next is not None:
            self._pass_to(self.next)

    def stand_in_line(self) -> None:
        """Send a request along the guess, and become the last in the queue."""
        if self.guess is not None:
            self.send(self.guess, RequestToken(self.id))
        self.guess = self.id
        self.status = TokenStatus.WAITING

    def _pass_to(self, peer: int) -> None:
        self.send(peer, PassToken(self.number + 1))
        self.status = TokenStatus.IDLE
        self.next = None

    @on(RequestToken)
    def on_request_token(self, sender: int, message: RequestToken) -> None:
        """Pass the token, or queue the requester, or forward the request; then compress the path."""
        requester = message.requester
        if requester == self.id:
            return  # after a crash, guesses may form a cycle, but no request circulates twice
        if self.status is TokenStatus.HOLDING:
            self._pass_to(requester)
        elif self.status is not TokenStatus.IDLE and self.next is None:
            self.next = requester
        elif self.guess is not None:
            self.send(self.guess, message)
        self.guess = requester

    @on(PassToken)
    def on_pass_token(self, sender: int, message: PassToken) -> None:
        """Accept the token, unless it is a duplicate of an earlier one (rule K1)."""
        if message.number > self.number and self.status in (TokenStatus.IDLE, TokenStatus.WAITING):
            self.number = message.number
            self.status = TokenStatus.HOLDING

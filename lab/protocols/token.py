"""Mutual exclusion by a token with path compression, as section 10.1 of Chow & Johnson ends with it.

There is one token, and who holds it may be inside the critical section. No node knows where the token is. Each
has a guess of who is last in the line for it, which need not be true, but leads to somebody who knows better:

    RequestToken   along the guesses, to the last in line; who passes it on guesses the requester from now on
    PassToken      from a node that leaves its critical section to the next in line

The line itself is a linked list: each waiter knows its ``next``. A request points every node that it comes by at
the requester, which is to be the last in line, so the ways get short by being used. A request takes as many
messages as there are guesses on its way: over many requests at most log2(n) each, in the worst case (Ginat,
Sleator and Tarjan, 1989), and in simulation about the natural logarithm of n. The token then takes one.

It is the contrast to an election. There all nodes must come to know who leads; here it is enough that those
without the token know that they have none. And an election is held because a node has failed, while this one
assumes that none does:

What is assumed, and can be broken here: no node crashes, and no message is lost (8: loss, partition). With the
holder, or with the message that carries it, the token is lost for ever, and all wait; a lost request leaves its
sender waiting, with all that come to stand in line behind it. Late messages, pauses and messages that overtake
each other do no harm but to make it slow. A request that is duplicated (3) may put a node in line that wants
nothing, and another one may wait for ever.

What nothing of that breaks is K1, that at most one node holds the token: it is held from the step that takes it
to the step that passes it on. A copy of the message that carries it would be a second token. So the token is
numbered anew each time it is passed, and a node takes only a token newer than all it has had; the number of the
last is in safe storage. For the same reason the lowest node, which has the token at first, makes it only if
it never had one. Wipe its safe storage (4), and there are two.

A node that restarts holds nothing, wants nothing, stands in no line and guesses as at first. If somebody still
passes the token on to it, because it had asked before the crash, it keeps it for whoever asks next.
"""

from enum import Enum
from functools import cached_property
from typing import ClassVar

from msgspec import Struct

from lab.kernel import Payload, Safe, command, on, periodic
from lab.protocols.algorithm import Algorithm

__all__ = ["Token", "TokenStatus"]


class TokenStatus(Enum):
    """What the token is to a node: nothing, awaited, used, or just there."""

    IDLE = "Idle"
    WAITING = "Waiting"
    INSIDE = "Inside"
    HOLDING = "Holding"


class RequestToken(Payload, frozen=True):
    """Let this node be the last in line."""

    requester: int


class PassToken(Payload, frozen=True):
    """Here is the token; it is being passed for the ``number``-th time."""

    number: int


class Token(Algorithm):
    """The token by path compression: its holder alone may be inside."""

    name: ClassVar[str] = "token"
    promises: ClassVar[tuple[str, ...]] = ("K1",)
    relies_on: ClassVar[dict[str, tuple[int, ...]]] = {"K1": (4,)}

    class Parameters(Struct, frozen=True):
        """How long a node stays inside its critical section, and when it wants to enter."""

        hold_us: int = 0
        """How long a node stays inside; 0: T."""

        want_every_us: int = 0
        """How often the lowest node wants to enter, others less and less often; 0: hold, once for each node."""

        by_itself: int | None = None
        """How often a node enters without being told to; 0: only when told; null: without end."""

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
        """The nodes differ in it, so lines form and dissolve, in every run the same."""
        nodes = 1 + len(self.peers)
        every_us = self.parameters.want_every_us or nodes * self._hold_us
        lower = sum(peer < self.id for peer in self.peers)
        return int(every_us) * (nodes + lower) // nodes

    def started(self) -> None:
        """The lowest has the token at first, and all others guess that."""
        if self.number == 0 and self.id < min(self.peers, default=self.id + 1):
            self.number = 1
            self.status = TokenStatus.HOLDING
            self.guess = self.id
        else:
            self.guess = min(self.peers, default=None)

    @command
    def request(self) -> None:
        """Want to enter the critical section, now."""
        self.begin(self.enter)

    def _want_due_us(self) -> int | None:
        most = self.parameters.by_itself
        if most is not None and self.entries >= most:
            return None
        return self.begun_us(self.enter) + self._want_every_us

    @periodic(_want_due_us)
    async def enter(self) -> None:
        """K2: get the token, be inside, and leave."""
        if self.status is TokenStatus.IDLE:
            self.stand_in_line()
            await self.until(lambda: self.status is TokenStatus.HOLDING, "the token")
        self.status = TokenStatus.INSIDE
        self.entries += 1
        await self.sleep(self._hold_us, "its stay to end")
        self.status = TokenStatus.HOLDING
        if self.next is not None:
            self._pass_to(self.next)

    def stand_in_line(self) -> None:
        """Ask whoever is guessed to be the last in line, and be the last oneself."""
        if self.guess is not None:
            self.send(self.guess, RequestToken(self.id))
        self.guess = self.id
        self.status = TokenStatus.WAITING

    def _pass_to(self, peer: int) -> None:
        self.send(peer, PassToken(self.number + 1))
        self.status = TokenStatus.IDLE
        self.next = None

    @on(RequestToken)
    def requested(self, sender: int, message: RequestToken) -> None:
        """Give the token, or let the requester stand behind, or pass the request on; then compress the path."""
        requester = message.requester
        if requester == self.id:
            return  # after a crash guesses may lead in a circle, but no request goes round twice
        if self.status is TokenStatus.HOLDING:
            self._pass_to(requester)
        elif self.status is not TokenStatus.IDLE and self.next is None:
            self.next = requester
        elif self.guess is not None:
            self.send(self.guess, message)
        self.guess = requester

    @on(PassToken)
    def passed(self, sender: int, message: PassToken) -> None:
        """K1: take the token, unless it is a copy of one that was here before."""
        if message.number > self.number and self.status in (TokenStatus.IDLE, TokenStatus.WAITING):
            self.number = message.number
            self.status = TokenStatus.HOLDING

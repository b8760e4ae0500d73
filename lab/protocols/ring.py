"""The ring algorithm, as Tanenbaum tells it (figure 3-13).

The nodes stand in a ring in the order of their ids, and each knows the whole ring. Two messages go round:

    ELECTION      who misses the coordinator sends it with its own id; each adds its id and passes it on
    COORDINATOR   ELECTION becomes this at its starter: the highest id in the list leads; goes round once, too

Who gets a message acknowledges it. A successor that does not within T is skipped for the next one along.
Several may start at once (2 and 5 in the figure): all messages go round, and the extra ones do no harm.

The text has no statuses. Here, who starts or passes on an ELECTION is in status Election, and follows nobody. So
when ELECTION is back at its starter, nobody follows anybody, and A1.1 holds. Who gets COORDINATOR is in
Reorganization. By the text all go back to work when that has been round, but only its starter sees that. Here, a
node asks its coordinator, is Normal with the Definition that it gets, and asks every T, so silence is noticed.

What is assumed, and can be broken here: messages arrive, in order, within Tm (8, 7), none appears that nobody
sent (3), nodes answer within Tp (9), safe storage is safe (4). With 4, 8 or 9 broken, two can lead.
A1.2 is not promised: what members bring, those before them know T later.

Four holes of the text, and what is done here (not with ``as_printed``; what comes of that: recordings/holes):

* The starter of an ELECTION dies, and the message circles for ever, while all wait for a COORDINATOR. Here nobody
  passes it on past its starter (ring-starter-dies.jsonl).
* A node acknowledges a message, and dies before it has passed it on. Here whoever waits for COORDINATOR for as
  long as two circulations may take starts anew (ring-message-lost.jsonl).
* Two ELECTIONs go round, and the highest node dies in between: it is in one list only, and some follow the one
  COORDINATOR, some the other. Here elections are numbered: a node follows the COORDINATOR of the highest that it
  has passed on, if it came by no node that was in a higher one (ring-two-lists.jsonl). And two that come up
  may each be skipped in the election of the other: so an ELECTION becomes COORDINATOR only when those that are not
  in its list are silent still. Who comes up later skips nobody that is in it.
* Participants miss their coordinator, but no coordinator its participants: after a partition there are two rings.
  Here a coordinator has the ring elect anew when one of its members asks it no more, or when a node outside its
  ring turns out to be up (ring-two-rings.jsonl).
"""

from functools import cached_property
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Payload, Request, Safe, Timing, on, periodic, procedure
from lab.protocols.cost import Cost
from lab.protocols.definition import Definition
from lab.protocols.election import Election, Status

__all__ = ["Ring"]


class Number(Struct, frozen=True, order=True):
    """Which election it is. The higher one counts: the later round's, and in one round the higher starter's."""

    round: int = 0
    starter: int = 0


class Passed(Payload, frozen=True):
    """I have it, and pass it on."""


class Circulating(Request[Passed], frozen=True):
    """What goes round. ``met`` is the highest election that one of the nodes on its way was in."""

    members: tuple[int, ...]
    number: Number
    met: Number

    @property
    def counts(self) -> bool:
        """Whether no node on its way was in a higher election."""
        return self.met == self.number


class ELECTION(Circulating, frozen=True):
    """These have passed me on: let us elect."""


class COORDINATOR(Circulating, frozen=True):
    """The highest of these leads, and these are the ring."""


class Outgoing(Struct, frozen=True):
    """What is to be passed on, and who was silent when it was tried."""

    message: ELECTION | COORDINATOR
    silent: frozenset[int] = frozenset()


class AreYouThereAnswer(Payload, frozen=True, omit_defaults=True):
    """I lead you, and this is what we do; without ``definition``: there is an election, wait."""

    definition: Definition | None = None


class AreYouThere(Request[AreYouThereAnswer], frozen=True):
    """To the coordinator: are you still there? This is what I last knew of the task."""

    report: Definition


class AreYouUpAnswer(Payload, frozen=True):
    """I am up."""


class AreYouUp(Request[AreYouUpAnswer], frozen=True):
    """To those outside the ring, from its coordinator, or from who is about to make one."""


_ONE = "R2, R3, from 3 nodes on: n ELECTION, n − 1 COORDINATOR (the ring's 2n), 2(n − 1) acknowledgements"
_ALL = "R4: 4(n − 1) for each of the n − 1 that start, and 1 to the dead one: node n − 1 skips it for all"


class Ring(Election):
    """Tanenbaum's ring: a list goes round, and the highest node in it leads."""

    name: ClassVar[str] = "ring"
    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A2")
    heartbeats: ClassVar[tuple[type[Payload], ...]] = (AreYouThere, AreYouThereAnswer, AreYouUp, AreYouUpAnswer)

    costs: ClassVar[tuple[Cost, ...]] = (
        Cost("one notices", "4n − 3", lambda n: 4 * n - 3, _ONE),
        Cost("everyone notices, worst case", "4n² − 8n + 5", lambda n: 4 * (n - 1) ** 2 + 1, _ALL, "at once"),
    )

    class Parameters(Struct, frozen=True):
        """The ring, or the text's ring."""

        as_printed: bool = False
        """Leave the four holes of the text open."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Parameters, nodes: int) -> int:
        """Two elections, one of them in vain, and the time in which it is noticed that there has to be one."""
        return 2 * (4 * timing.t_us + _election_us(timing.t_us, nodes))

    number: Safe[Number] = Number()
    outbox: tuple[Outgoing, ...] = ()
    passed: tuple[tuple[str, int, int], ...] = ()
    returned: ELECTION | None = None
    reported: frozenset[int] = frozenset()

    @cached_property
    def _along(self) -> tuple[int, ...]:
        """R1: the others in the order of the ring, the successor first."""
        return (*self.higher, *self.lower)

    def started(self) -> None:
        """R6: the node comes up, and gets itself into the ring by an election."""
        self.begin(self.election)

    def _question_due_us(self) -> int | None:
        return self.begun_us(self.ask_coordinator) + self.t_us if self.coordinator not in (None, self.id) else None

    @periodic(_question_due_us)
    async def ask_coordinator(self) -> None:
        """R2: it notices that the coordinator is silent."""
        assert self.coordinator is not None
        answer = await self.ask(self.coordinator, AreYouThere(self.report()), within=self.t_us)
        if answer is None:
            self.begin(self.election)
        elif answer.definition is not None and self._is_news(answer.definition):
            self._take(answer.definition)

    def _is_news(self, definition: Definition) -> bool:
        return self.status is Status.REORGANIZATION or definition.version > self.definition.version

    def _check_due_us(self) -> int | None:
        return self.begun_us(self.check) + self.t_us if self.leads and not self.parameters.as_printed else None

    @periodic(_check_due_us)
    async def check(self) -> None:
        """The coordinator misses a member, or finds a node that is outside its ring."""
        strangers = await self.ask_all(sorted(set(self.peers) - self.up), AreYouUp(), within=self.t_us)
        missed = [peer for peer in sorted(self.up) if self.now_us - self.heard_us(peer) > 3 * self.t_us]
        if strangers or missed:
            self.begin(self.election)

    @procedure
    async def election(self) -> None:
        """R2: build an ELECTION with the own id, and send it to the successor."""
        self._enter(Number(self.number.round + 1, self.id))
        self._pass(ELECTION((self.id,), self.number, self.number))

    def _enter(self, number: Number) -> None:
        self._leave()
        self.stop(self.ask_the_rest)
        self.status = Status.ELECTION
        self.number = number
        self.restart(self.await_coordinator)

    def _leave(self) -> None:
        self.stop(self.ask_coordinator, self.check, self.lead)
        self.stop_processing()
        self.coordinator, self.up = None, frozenset()

    @procedure
    async def await_coordinator(self) -> None:
        """R5: what does not come back is lost with the node that had it, and the election starts again."""
        await self.sleep(_election_us(self.t_us, len(self.peers) + 1), "COORDINATOR to come")
        if not self.parameters.as_printed:
            self.begin(self.election)

    def _pass(self, message: ELECTION | COORDINATOR) -> None:
        self.outbox = (*self.outbox, Outgoing(message))
        if not self.is_running(self.pass_on):
            self.begin(self.pass_on)

    @procedure
    async def pass_on(self) -> None:
        """R2: to the successor, or the next one along that acknowledges."""
        while self.outbox:
            first = self.outbox[0]
            successor = self._successor(first)
            if successor is None:
                self.outbox = self.outbox[1:]
                self._come_round(first.message)
                continue
            passed = await self.ask(successor, first.message, within=self.t_us)
            if passed is not None:
                self.outbox = self.outbox[1:]
            else:
                self._skip(successor)

    def _successor(self, outgoing: Outgoing) -> int | None:
        message = outgoing.message
        ring = message.members if isinstance(message, COORDINATOR) else self._along
        way = self._way_to(message.number.starter)
        return next((peer for peer in way if peer in ring and peer not in outgoing.silent), None)

    def _way_to(self, starter: int) -> tuple[int, ...]:
        """R5: no further than to its starter; so it goes round once, whoever has died."""
        whole = starter == self.id or self.parameters.as_printed
        return self._along if whole else self._along[: self._along.index(starter) + 1]

    def _skip(self, peer: int) -> None:
        """For what waits behind it, too."""
        self.outbox = tuple(Outgoing(each.message, each.silent | {peer}) for each in self.outbox)

    @on(ELECTION)
    def election_comes(self, sender: int, message: ELECTION) -> Passed:
        """R3."""
        if self._comes_again(message):
            return Passed()
        if message.number.starter == self.id:
            self._come_round(message)
        else:
            if message.number > self.number or self.parameters.as_printed:
                self._enter(message.number)
            self._pass(replace(message, members=(*message.members, self.id), met=max(message.met, self.number)))
        return Passed()

    def _comes_again(self, message: ELECTION | COORDINATOR) -> bool:
        """R4: a copy of the last of its kind and starter. A lower one is none: the starter may have been wiped."""
        this = (type(message).__name__, message.number.starter, message.number.round)
        if this in self.passed:
            return True
        if not self.parameters.as_printed:
            self.passed = tuple(sorted([this, *(each for each in self.passed if each[:2] != this[:2])]))
        return False

    def _come_round(self, message: ELECTION | COORDINATOR) -> None:
        """R3: back at its starter, an ELECTION becomes a COORDINATOR, and a COORDINATOR is removed."""
        if message.number.starter != self.id or isinstance(message, COORDINATOR):
            return
        if message.number != self.number or self.parameters.as_printed:
            self._proclaim(message)
        elif message.counts:
            self.returned = message
            self.restart(self.ask_the_rest)
        else:  # others elected while it was down, or its number was lost: it was too low, and nobody heeds it
            self.number = message.met
            self.begin(self.election)

    @procedure
    async def ask_the_rest(self) -> None:
        """R4: who was silent when it was tried may be up by now, and follow another COORDINATOR."""
        assert self.returned is not None
        rest = set(self.peers) - set(self.returned.members)
        answers = await self.ask_all(sorted(rest), AreYouUp(), within=self.t_us)
        if answers:
            self.begin(self.election)
        else:
            self._proclaim(self.returned)

    def _proclaim(self, message: ELECTION) -> None:
        coordinator = COORDINATOR(message.members, message.number, max(message.met, self.number))
        self._pass(coordinator)
        self._follow(coordinator)

    @on(COORDINATOR)
    def coordinator_comes(self, sender: int, message: COORDINATOR) -> Passed:
        """R3."""
        if message.number.starter != self.id and not self._comes_again(message):
            self._pass(message)
            self._follow(message)
        return Passed()

    def _follow(self, message: COORDINATOR) -> None:
        awaited = self.status is Status.ELECTION and message.counts and message.number == self.number
        if awaited or self.parameters.as_printed:
            self._leave()
            self.stop(self.await_coordinator)
            self.status = Status.REORGANIZATION
            self.up = frozenset(message.members) - {self.id}
            self.coordinator = max(message.members)
            self.begin(self.lead if self.coordinator == self.id else self.ask_coordinator)

    @procedure
    async def lead(self) -> None:
        """The new coordinator takes office, and expects to be asked by all members of the ring."""
        self.reported = frozenset()
        self._define([])
        within_us = _election_us(self.t_us, len(self.peers) + 1) // 2 + 2 * self.t_us
        complete = await self.until(lambda: self.up <= self.reported, "all members to ask", within=within_us)
        if not complete and not self.parameters.as_printed:
            self.begin(self.election)

    @on(AreYouThere)
    def is_there(self, sender: int, message: AreYouThere) -> AreYouThereAnswer | None:
        """Silent to who takes it for a coordinator that it is not: that one has missed an election."""
        if self.status is Status.ELECTION:
            return AreYouThereAnswer()
        if not self.leads or sender not in self.up:
            return None
        if sender not in self.reported:
            self.reported |= {sender}
            self._define([message.report])
        return AreYouThereAnswer(self.definition)

    def _define(self, reports: list[Definition]) -> None:
        known = [self.report(), *reports]
        version = max(self.number.round, *(each.version for each in known)) + 1
        self._take(self.define(version, sorted({*self.up, self.id}), known))

    def _take(self, definition: Definition) -> None:
        self.definition = definition
        self.status = Status.NORMAL
        self.passed = ()  # these elections are over, and a wiped starter may number its own like one of them
        self.resume_processing()

    @on(AreYouUp)
    def is_up(self, sender: int, message: AreYouUp) -> AreYouUpAnswer:
        """To a coordinator that does not have it in its ring."""
        return AreYouUpAnswer()


def _election_us(t_us: int, nodes: int) -> int:
    """The longest: twice n journeys of Tm, behind n others, each acknowledged within T; T to ask the rest."""
    return 3 * nodes * t_us + t_us

"""The ring algorithm in Tanenbaum's version (figure 3-13).

The nodes form a ring in the order of their ids, and each knows the whole ring. Two messages circulate:

    ELECTION      sent with its own id by a node that misses the coordinator; each adds its id and passes it on
    COORDINATOR   replaces ELECTION at its starter: the highest id in the list leads; circulates once, too

The receiver of a message acknowledges it. A successor that does not acknowledge within T is skipped for the next
one. Several nodes may start at once (2 and 5 in the figure): all messages circulate, and the extra ones do no
harm.

The text has no statuses. Here, a node that starts or passes on an ELECTION is in status Election and follows
nobody. So when ELECTION is back at its starter, no node follows another, and A1.1 holds. A node that gets
COORDINATOR is in Reorganization. In the text, all nodes go back to work once COORDINATOR has circulated, but only
its starter sees that. Here, a node asks its coordinator, becomes Normal with the Definition in the answer, and
asks again every T, so that it detects silence.

Assumptions that can be broken here: messages arrive in order and within Tm (8, 7), none arrives that was not sent
(3), nodes answer within Tp (9), stable storage survives (4). With 4, 8 or 9 broken, two can lead. A1.2 is not
promised: earlier members learn T later what later members report.

The text has four gaps, which are closed here (not with ``as_printed``; recordings/holes show the consequences):

* The starter of an ELECTION dies, and the message circulates forever, while all nodes wait for a COORDINATOR.
  Here nobody passes it on past its starter (ring-starter-dies.jsonl).
* A node acknowledges a message and dies before it has passed it on. Here a node that has waited for COORDINATOR
  for the duration of two circulations starts anew (ring-message-lost.jsonl).
* Two ELECTIONs circulate, and the highest node dies in between: it is in only one of the lists, and some nodes
  follow the one COORDINATOR, some the other. Here elections are numbered: a node follows the COORDINATOR of the
  highest election that it has passed on, if that passed no node in a higher one (ring-two-lists.jsonl). Moreover,
  two nodes that come up may each be skipped in the election of the other. So ELECTION becomes COORDINATOR only if
  the nodes that are not in its list are still silent; a node that comes up later skips no node in the list.
* Participants detect a silent coordinator, but a coordinator does not detect silent participants: after a
  partition there are two rings. Here a coordinator starts an election when one of its members no longer asks, or
  when a node outside its ring is up (ring-two-rings.jsonl).
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
    """The number of an election, ordered by round, then by starter; the highest one counts."""

    round: int = 0
    starter: int = 0


class Passed(Payload, frozen=True):
    """I have it and pass it on."""


class Circulating(Request[Passed], frozen=True):
    """A circulating message. ``met`` is the highest election in which any node on its route was."""

    members: tuple[int, ...]
    number: Number
    met: Number

    @property
    def counts(self) -> bool:
        """True if no node on its route was in a higher election."""
        return self.met == self.number


class ELECTION(Circulating, frozen=True):
    """An election, with the nodes that have passed it on."""


class COORDINATOR(Circulating, frozen=True):
    """The result: these nodes are the ring, and the highest of them leads."""


class Outgoing(Struct, frozen=True):
    """A message to be passed on, and the nodes that were silent when it was tried."""

    message: ELECTION | COORDINATOR
    silent: frozenset[int] = frozenset()


class AreYouThereAnswer(Payload, frozen=True, omit_defaults=True):
    """I lead you with this Definition; without ``definition``: an election is in progress, wait."""

    definition: Definition | None = None


class AreYouThere(Request[AreYouThereAnswer], frozen=True):
    """A member's question to its coordinator, with its last state of the task."""

    report: Definition


class AreYouUpAnswer(Payload, frozen=True):
    """I am up."""


class AreYouUp(Request[AreYouUpAnswer], frozen=True):
    """A question to nodes outside the ring, by its coordinator or by a starter about to form one."""


_ONE = "R2, R3, from 3 nodes on: n ELECTION, n − 1 COORDINATOR (the ring's 2n), 2(n − 1) acknowledgements"
_ALL = "R4: 4(n − 1) for each of the n − 1 that start, and 1 to the dead one: node n − 1 skips it for all"


class Ring(Election):
    """Tanenbaum's ring: a list of ids circulates, and the highest node in it leads."""

    name: ClassVar[str] = "ring"
    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A2", "highest", "M7")
    heartbeats: ClassVar[tuple[type[Payload], ...]] = (AreYouThere, AreYouThereAnswer, AreYouUp, AreYouUpAnswer)

    costs: ClassVar[tuple[Cost, ...]] = (
        Cost("one notices", "4n − 3", lambda n: 4 * n - 3, _ONE),
        Cost("everyone notices, worst case", "4n² − 8n + 5", lambda n: 4 * (n - 1) ** 2 + 1, _ALL, "at once"),
    )

    class Parameters(Struct, frozen=True):
        """Choose between the repaired ring and the text's."""

        as_printed: bool = False
        """Leave the four gaps in the text open."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Parameters, nodes: int) -> int:
        """Allow for two elections, one of them in vain, and for the detection of the failure before each."""
        return 2 * (4 * timing.t_us + _election_us(timing.t_us, nodes))

    number: Safe[Number] = Number()
    outbox: tuple[Outgoing, ...] = ()
    passed: tuple[tuple[str, int, int], ...] = ()
    returned: ELECTION | None = None
    reported: frozenset[int] = frozenset()

    @cached_property
    def _ring_order(self) -> tuple[int, ...]:
        """The other nodes in the order of the ring, the successor first (rule R1)."""
        return (*self.higher, *self.lower)

    def started(self) -> None:
        """Join the ring by an election, as the node starts (rule R6)."""
        self.begin(self.election)

    def _question_due_us(self) -> int | None:
        return self.begun_us(self.ask_coordinator) + self.t_us if self.coordinator not in (None, self.id) else None

    @periodic(_question_due_us)
    async def ask_coordinator(self) -> None:
        """Ask the coordinator; elect if it is silent (rule R2)."""
        assert self.coordinator is not None
        answer = await self.ask(self.coordinator, AreYouThere(self.report()), within=self.t_us)
        if answer is None:
            self.begin(self.election)
        elif answer.definition is not None and self._is_news(answer.definition):
            self._adopt(answer.definition)

    def _is_news(self, definition: Definition) -> bool:
        return self.status is Status.REORGANIZATION or definition.version > self.definition.version

    def _check_due_us(self) -> int | None:
        return self.begun_us(self.check) + self.t_us if self.leads and not self.parameters.as_printed else None

    @periodic(_check_due_us)
    async def check(self) -> None:
        """Elect if a member is silent or a node outside the ring is up."""
        strangers = await self.ask_all(sorted(set(self.peers) - self.up), AreYouUp(), within=self.t_us)
        missed = [peer for peer in sorted(self.up) if self.now_us - self.heard_us(peer) > 3 * self.t_us]
        if strangers or missed:
            self.begin(self.election)

    @procedure
    async def election(self) -> None:
        """Send an ELECTION with the own id to the successor (rule R2)."""
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
        """Start the election anew if no COORDINATOR comes: the message was lost with a node (rule R5)."""
        await self.sleep(_election_us(self.t_us, len(self.peers) + 1), "COORDINATOR")
        if not self.parameters.as_printed:
            self.begin(self.election)

    def _pass(self, message: ELECTION | COORDINATOR) -> None:
        self.outbox = (*self.outbox, Outgoing(message))
        if not self.is_running(self.pass_on):
            self.begin(self.pass_on)

    @procedure
    async def pass_on(self) -> None:
        """Pass messages on to the next node in the ring that acknowledges (rule R2)."""
        while self.outbox:
            first = self.outbox[0]
            successor = self._successor(first)
            if successor is None:
                self.outbox = self.outbox[1:]
                self._on_return(first.message)
                continue
            passed = await self.ask(successor, first.message, within=self.t_us)
            if passed is not None:
                self.outbox = self.outbox[1:]
            else:
                self._skip(successor)

    def _successor(self, outgoing: Outgoing) -> int | None:
        message = outgoing.message
        ring = message.members if isinstance(message, COORDINATOR) else self._ring_order
        way = self._route_to(message.number.starter)
        return next((peer for peer in way if peer in ring and peer not in outgoing.silent), None)

    def _route_to(self, starter: int) -> tuple[int, ...]:
        """Return the nodes up to the starter: a message circulates once, even if nodes die (rule R5)."""
        whole = starter == self.id or self.parameters.as_printed
        return self._ring_order if whole else self._ring_order[: self._ring_order.index(starter) + 1]

    def _skip(self, peer: int) -> None:
        # for all queued messages: the peer would be silent to them, too
        self.outbox = tuple(Outgoing(each.message, each.silent | {peer}) for each in self.outbox)

    @on(ELECTION)
    def on_election(self, sender: int, message: ELECTION) -> Passed:
        """Acknowledge ELECTION; add this node and pass it on (rule R3)."""
        if self._is_duplicate(message):
            return Passed()
        if message.number.starter == self.id:
            self._on_return(message)
        else:
            if message.number > self.number or self.parameters.as_printed:
                self._enter(message.number)
            self._pass(replace(message, members=(*message.members, self.id), met=max(message.met, self.number)))
        return Passed()

    def _is_duplicate(self, message: ELECTION | COORDINATOR) -> bool:
        """Return whether this copies the last message of its kind and starter (rule R4); remember it otherwise."""
        # a lower round is not a duplicate: the storage of the starter may have been wiped
        this = (type(message).__name__, message.number.starter, message.number.round)
        if this in self.passed:
            return True
        if not self.parameters.as_printed:
            self.passed = tuple(sorted([this, *(each for each in self.passed if each[:2] != this[:2])]))
        return False

    def _on_return(self, message: ELECTION | COORDINATOR) -> None:
        """Handle a message back at its starter: ELECTION becomes COORDINATOR, COORDINATOR is removed (rule R3)."""
        if message.number.starter != self.id or isinstance(message, COORDINATOR):
            return
        if message.number != self.number or self.parameters.as_printed:
            self._proclaim(message)
        elif message.counts:
            self.returned = message
            self.restart(self.ask_the_rest)
        else:  # its number was too low: others elected while it was down, or its storage was wiped
            self.number = message.met
            self.begin(self.election)

    @procedure
    async def ask_the_rest(self) -> None:
        """Elect anew if a skipped node is up by now: it may follow another COORDINATOR (rule R4)."""
        assert self.returned is not None
        rest = set(self.peers) - set(self.returned.members)
        replies = await self.ask_all(sorted(rest), AreYouUp(), within=self.t_us)
        if replies:
            self.begin(self.election)
        else:
            self._proclaim(self.returned)

    def _proclaim(self, message: ELECTION) -> None:
        coordinator = COORDINATOR(message.members, message.number, max(message.met, self.number))
        self._pass(coordinator)
        self._follow(coordinator)

    @on(COORDINATOR)
    def on_coordinator(self, sender: int, message: COORDINATOR) -> Passed:
        """Acknowledge COORDINATOR; pass it on and follow (rule R3)."""
        if message.number.starter != self.id and not self._is_duplicate(message):
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
        """Take office, and wait for the questions of all members of the ring."""
        self.reported = frozenset()
        self._define([])
        within_us = _election_us(self.t_us, len(self.peers) + 1) // 2 + 2 * self.t_us
        complete = await self.until(lambda: self.up <= self.reported, "all members to ask", within=within_us)
        if not complete and not self.parameters.as_printed:
            self.begin(self.election)

    @on(AreYouThere)
    def on_are_you_there(self, sender: int, message: AreYouThere) -> AreYouThereAnswer | None:
        """Answer members; ignore a node that has missed an election and takes this one for its coordinator."""
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
        self._adopt(self.define(version, sorted({*self.up, self.id}), known))

    def _adopt(self, definition: Definition) -> None:
        self.definition = definition
        self.status = Status.NORMAL
        self.passed = ()  # these elections are over, and a starter with wiped storage may reuse their numbers
        self.resume_processing()

    @on(AreYouUp)
    def on_are_you_up(self, sender: int, message: AreYouUp) -> AreYouUpAnswer:
        return AreYouUpAnswer()


def _election_us(t_us: int, nodes: int) -> int:
    """Return the bound of an election: 2n hops of Tm, behind n others acknowledged within T; T for the rest."""
    return 3 * nodes * t_us + t_us

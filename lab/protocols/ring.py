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

``RingText`` is the text with these questions, and nothing else. After it come the repairs, a class each; ``Ring``
is the text with all of them. ``lab list protocols ring`` says on which words each repair rests.
"""

from functools import cached_property
from typing import ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Payload, Request, Safe, Timing, on, periodic, procedure
from lab.protocols.cost import Cost
from lab.protocols.definition import Definition
from lab.protocols.departures import Reading, repair
from lab.protocols.election import Election, Status
from lab.protocols.ring_departures import (
    ASK_SKIPPED,
    CHECK_RING,
    CIRCULATE_ONCE,
    NUMBER_ELECTIONS,
    READINGS,
    RETRY_IF_NO_COORDINATOR,
)

__all__ = ["Ring", "RingText"]


class Number(Struct, frozen=True, order=True):
    """The number of an election, ordered by round, then by starter; the highest one counts."""

    round: int = 0
    starter: int = 0


class Passed(Payload, frozen=True):
    """I have it and pass it on."""


class Circulating(Request[Passed], frozen=True, omit_defaults=True):
    """A circulating message: a list of nodes, its starter first.

    In the text it has no numbers. ``met`` is the highest election in which any node on its route was.
    """

    members: tuple[int, ...]
    number: Number = Number()
    met: Number = Number()

    @property
    def starter(self) -> int:
        return self.members[0]

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


class RingText(Election):
    """Section 3.3.2 and figure 3-13; a member notices by questions that its coordinator is silent."""

    heartbeats: ClassVar[tuple[type[Payload], ...]] = (AreYouThere, AreYouThereAnswer, AreYouUp, AreYouUpAnswer)

    class Parameters(Struct, frozen=True):
        """The reading of the text."""

        back_at: Literal["starter", "listed"] = "starter"
        """The node that turns ELECTION into COORDINATOR: its starter, or whoever is in its list."""

    outbox: tuple[Outgoing, ...] = ()
    reported: frozenset[int] = frozenset()

    @cached_property
    def ring_order(self) -> tuple[int, ...]:
        """The other nodes in the order of the ring, the successor first (rule R1)."""
        return (*self.higher, *self.lower)

    def started(self) -> None:
        """Join the ring by an election, as the node starts (rule R6)."""
        self.begin(self.election)

    # ELECTION

    @procedure
    async def election(self) -> None:
        """Send an ELECTION with the own id to the successor (rule R2)."""
        message = self.new_election()
        self.enter(message)
        self.pass_on(message)

    def new_election(self) -> ELECTION:
        """Build an ELECTION that contains the own id."""
        return ELECTION((self.id,))

    def enter(self, message: ELECTION) -> None:
        """Take part in an election."""
        self.leave()
        self.status = Status.ELECTION

    def leave(self) -> None:
        """Leave the ring, and follow nobody."""
        self.stop(self.ask_coordinator, self.lead)
        self.stop_processing()
        self.coordinator, self.up = None, frozenset()

    @on(ELECTION)
    def on_election(self, sender: int, message: ELECTION) -> Passed:
        """Acknowledge ELECTION; add this node and pass it on, or turn it into COORDINATOR (rule R3)."""
        if self.is_back(message):
            self.on_return(message)
        else:
            self.enter(message)
            self.pass_on(self.extended(message))
        return Passed()

    def is_back(self, message: ELECTION) -> bool:
        """Return whether the message is back where it started."""
        return message.starter == self.id or (self.parameters.back_at == "listed" and self.id in message.members)

    def extended(self, message: ELECTION) -> ELECTION:
        """Add the own id to the list."""
        return replace(message, members=(*message.members, self.id))

    # COORDINATOR

    def on_return(self, message: ELECTION) -> None:
        """Handle an ELECTION that is back."""
        self.proclaim(message)

    def proclaim(self, message: ELECTION) -> None:
        """Turn ELECTION into COORDINATOR: the nodes that have passed it on since it was here are the ring."""
        members = message.members[message.members.index(self.id) :]
        coordinator = COORDINATOR(members, message.number, message.met)
        self.pass_on(coordinator)
        self.follow(coordinator)

    @on(COORDINATOR)
    def on_coordinator(self, sender: int, message: COORDINATOR) -> Passed:
        """Acknowledge COORDINATOR; pass it on and follow; remove it if it has circulated once (rule R3)."""
        if message.starter != self.id:
            self.pass_on(message)
            self.follow(message)
        return Passed()

    def follow(self, message: COORDINATOR) -> None:
        """Follow the highest node in the list; the others in it are the new ring."""
        self.leave()
        self.status = Status.REORGANIZATION
        self.up = frozenset(message.members) - {self.id}
        self.coordinator = max(message.members)
        self.begin(self.lead if self.coordinator == self.id else self.ask_coordinator)

    # both

    def pass_on(self, message: ELECTION | COORDINATOR) -> None:
        """Queue a message for the successor."""
        self.outbox = (*self.outbox, Outgoing(message))
        if not self.is_running(self.send_outbox):
            self.begin(self.send_outbox)

    @procedure
    async def send_outbox(self) -> None:
        """Send each message to the next node in the ring that acknowledges it (rule R2)."""
        while self.outbox:
            first = self.outbox[0]
            successor = self.successor(first)
            if successor is None:
                self.outbox, alone = self.outbox[1:], first.silent >= {*self.peers}
                if alone and isinstance(first.message, ELECTION) and self.is_back(first.message):
                    self.on_return(first.message)
                continue
            passed = await self.ask(successor, first.message, within=self.t_us)
            if passed is not None:
                self.outbox = self.outbox[1:]
            else:
                self.skip(successor)

    def successor(self, outgoing: Outgoing) -> int | None:
        """Return the next node that has not been silent; of the new ring, for COORDINATOR."""
        message = outgoing.message
        ring = message.members if isinstance(message, COORDINATOR) else self.ring_order
        route = self.route_to(message.starter)
        return next((peer for peer in route if peer in ring and peer not in outgoing.silent), None)

    def route_to(self, starter: int) -> tuple[int, ...]:
        """Return the nodes to try for a message of this starter, in order."""
        return self.ring_order

    def skip(self, peer: int) -> None:
        """Skip a silent node for all queued messages: it would be silent to them, too."""
        self.outbox = tuple(Outgoing(each.message, each.silent | {peer}) for each in self.outbox)

    # the coordinator and its ring

    def _question_due_us(self) -> int | None:
        return self.begun_us(self.ask_coordinator) + self.t_us if self.coordinator not in (None, self.id) else None

    @periodic(_question_due_us)
    async def ask_coordinator(self) -> None:
        """Ask the coordinator; elect if it is silent (rule R2)."""
        assert self.coordinator is not None
        answer = await self.ask(self.coordinator, AreYouThere(self.report()), within=self.t_us)
        if answer is None:
            self.begin(self.election)
        elif answer.definition is not None and self.is_news(answer.definition):
            self.adopt(answer.definition)

    def is_news(self, definition: Definition) -> bool:
        """Return whether to adopt it: this node waits for one, or has an older one."""
        return self.status is Status.REORGANIZATION or definition.version > self.definition.version

    @procedure
    async def lead(self) -> None:
        """Lead the ring: everyone goes back to work."""
        self.reported = frozenset()
        self.redefine([])

    @on(AreYouThere)
    def on_are_you_there(self, sender: int, message: AreYouThere) -> AreYouThereAnswer | None:
        """Answer members; ignore a node that has missed an election and takes this one for its coordinator."""
        if self.status is Status.ELECTION:
            return AreYouThereAnswer()
        if not self.leads or sender not in self.up:
            return None
        if sender not in self.reported:
            self.reported |= {sender}
            self.redefine([message.report])
        return AreYouThereAnswer(self.definition)

    def redefine(self, reports: list[Definition]) -> None:
        """Define the task for the ring, from the newest state that is reported."""
        known = [self.report(), *reports]
        version = max(self.least_version(), *(each.version for each in known)) + 1
        self.adopt(self.define(version, sorted({*self.up, self.id}), known))

    def least_version(self) -> int:
        """Return a version that is exceeded by the next."""
        return 0

    def adopt(self, definition: Definition) -> None:
        """Go back to work."""
        self.definition = definition
        self.status = Status.NORMAL
        self.resume_processing()


# repairs


@repair(RETRY_IF_NO_COORDINATOR)
class RetryIfNoCoordinator(RingText):
    """A node elects anew if no COORDINATOR comes (rule R5)."""

    def enter(self, message: ELECTION) -> None:
        """Take part, and wait for the result."""
        super().enter(message)
        self.restart(self.await_coordinator)

    @procedure
    async def await_coordinator(self) -> None:
        """Elect anew if no COORDINATOR comes in the time of two circulations: it was lost with a node."""
        await self.sleep(_election_us(self.t_us, len(self.peers) + 1), "COORDINATOR")
        self.begin(self.election)

    def follow(self, message: COORDINATOR) -> None:
        """Wait no longer."""
        self.stop(self.await_coordinator)
        super().follow(message)


@repair(ASK_SKIPPED)
class AskSkipped(RetryIfNoCoordinator):
    """ELECTION becomes COORDINATOR only if the nodes that were skipped are still silent (rule R4)."""

    returned: ELECTION | None = None

    def proclaim(self, message: ELECTION) -> None:
        """Ask the nodes that are not in the list."""
        self.returned = message
        self.restart(self.ask_skipped)

    @procedure
    async def ask_skipped(self) -> None:
        """Elect anew if a skipped node is up by now: it may follow another COORDINATOR."""
        assert self.returned is not None
        skipped = set(self.peers) - set(self.returned.members)
        replies = await self.ask_all(sorted(skipped), AreYouUp(), within=self.t_us)
        if replies:
            self.begin(self.election)
        else:
            super().proclaim(self.returned)

    def enter(self, message: ELECTION) -> None:
        """Proclaim nothing that is outdated."""
        self.stop(self.ask_skipped)
        super().enter(message)

    @on(AreYouUp)
    def on_are_you_up(self, sender: int, message: AreYouUp) -> AreYouUpAnswer:
        return AreYouUpAnswer()


@repair(NUMBER_ELECTIONS)
class NumberElections(AskSkipped):
    """Elections are numbered; a node follows the highest that it has passed on (rule R4)."""

    number: Safe[Number] = Number()

    def new_election(self) -> ELECTION:
        """Give it a number: in a round above all that this node knows."""
        number = Number(self.number.round + 1, self.id)
        return replace(super().new_election(), number=number, met=number)

    def enter(self, message: ELECTION) -> None:
        """Take part in a higher election than before."""
        if self.is_newer(message):
            self.number = message.number
            super().enter(message)

    def is_newer(self, message: ELECTION) -> bool:
        """Return whether an election is higher than those that this node took part in."""
        return message.number > self.number

    def extended(self, message: ELECTION) -> ELECTION:
        """Note the highest election that it meets."""
        return replace(super().extended(message), met=max(message.met, self.number))

    def on_return(self, message: ELECTION) -> None:
        """Elect anew if the number is too low: others elected while this node was down, or it was wiped."""
        if message.number == self.number and not message.counts:
            self.number = message.met
            self.begin(self.election)
        else:
            super().on_return(replace(message, met=max(message.met, self.number)))

    def follow(self, message: COORDINATOR) -> None:
        """Follow the result of the highest election, if all that passed it on were in no higher one."""
        if self.status is Status.ELECTION and message.counts and message.number == self.number:
            super().follow(message)

    def least_version(self) -> int:
        """Exceed what earlier rings had."""
        return self.number.round


@repair(CIRCULATE_ONCE)
class CirculateOnce(NumberElections):
    """Nobody passes a message on past its starter, or twice (rules R4 and R5)."""

    passed: tuple[tuple[str, int, int], ...] = ()

    def route_to(self, starter: int) -> tuple[int, ...]:
        """Return the nodes up to the starter: there it ends, even if the starter is dead."""
        whole = super().route_to(starter)
        return whole if starter == self.id else whole[: whole.index(starter) + 1]

    @on(ELECTION)
    def on_election(self, sender: int, message: ELECTION) -> Passed:
        """Remove a copy."""
        return Passed() if self.is_copy(message) else super().on_election(sender, message)

    @on(COORDINATOR)
    def on_coordinator(self, sender: int, message: COORDINATOR) -> Passed:
        """Remove a copy."""
        return Passed() if self.is_copy(message) else super().on_coordinator(sender, message)

    def is_copy(self, message: ELECTION | COORDINATOR) -> bool:
        """Return whether this copies the last message of its kind and starter; remember it otherwise."""
        # a lower round is not a copy: the storage of the starter may have been wiped
        this = (type(message).__name__, message.starter, message.number.round)
        if this in self.passed:
            return True
        self.passed = tuple(sorted([this, *(each for each in self.passed if each[:2] != this[:2])]))
        return False

    def adopt(self, definition: Definition) -> None:
        """Forget these elections: they are over, and a starter with wiped storage may reuse their numbers."""
        super().adopt(definition)
        self.passed = ()


@repair(CHECK_RING)
class CheckRing(CirculateOnce):
    """A coordinator elects if a member is silent, or a node outside its ring is up."""

    def _check_due_us(self) -> int | None:
        checks = self.leads and CHECK_RING.applies(self.parameters)
        return self.begun_us(self.check) + self.t_us if checks else None

    @periodic(_check_due_us)
    async def check(self) -> None:
        """Elect if a member is silent or a node outside the ring is up."""
        strangers = await self.ask_all(sorted(set(self.peers) - self.up), AreYouUp(), within=self.t_us)
        missed = [peer for peer in sorted(self.up) if self.now_us - self.heard_us(peer) > 3 * self.t_us]
        if strangers or missed:
            self.begin(self.election)

    @procedure
    async def lead(self) -> None:
        """Lead, and elect if not all members of the ring ask in time."""
        await super().lead()
        within_us = _election_us(self.t_us, len(self.peers) + 1) // 2 + 2 * self.t_us
        complete = await self.until(lambda: self.up <= self.reported, "all members to ask", within=within_us)
        if not complete:
            self.begin(self.election)

    def leave(self) -> None:
        """Check no more."""
        self.stop(self.check)
        super().leave()


_ONE = "R2, R3, from 3 nodes on: n ELECTION, n − 1 COORDINATOR (the ring's 2n), 2(n − 1) acknowledgements"
_ALL = "R4: 4(n − 1) for each of the n − 1 that start, and 1 to the dead one: node n − 1 skips it for all"


class Ring(CheckRing):
    """Tanenbaum's ring: a list of ids circulates, and the highest node in it leads."""

    name: ClassVar[str] = "ring"
    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A2", "highest", "M7", "newer", "notices", "spreads")
    readings: ClassVar[tuple[Reading, ...]] = READINGS

    costs: ClassVar[tuple[Cost, ...]] = (
        Cost("one notices", "4n − 3", lambda n: 4 * n - 3, _ONE),
        Cost("everyone notices, worst case", "4n² − 8n + 5", lambda n: 4 * (n - 1) ** 2 + 1, _ALL, "at once"),
    )

    class Parameters(RingText.Parameters, frozen=True):
        """The reading of the text, and what is added to it."""

        without: tuple[
            Literal[
                "retry_if_no_coordinator",
                "ask_skipped",
                "number_elections",
                "circulate_once",
                "check_ring",
                "all",
            ],
            ...,
        ] = ()
        """Repairs to leave out; all: the text alone."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Parameters, nodes: int) -> int:
        """Allow for two elections, one of them in vain, and for the detection of the failure before each."""
        return 2 * (4 * timing.t_us + _election_us(timing.t_us, nodes))


def _election_us(t_us: int, nodes: int) -> int:
    """Return the bound of an election: 2n hops of Tm, behind n others acknowledged within T; T for the rest."""
    return 3 * nodes * t_us + t_us

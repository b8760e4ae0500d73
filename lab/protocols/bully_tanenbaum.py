"""The bully algorithm in Tanenbaum's version (Distributed Operating Systems, section 3.3.1, figure 3-12).

The highest node that is up leads. A node whose coordinator is silent asks those above it to take over:

    (a)   ELECTION      to all higher      the node that detected the failure holds an election
    (b)   OK            from those up      its job is done: one of them takes over
    (c)   ELECTION      to all higher      each of them holds an election
    (d)   OK            from those up      until one is left that gets no answer
    (e)   COORDINATOR   to all others      it has won, and announces itself

A node that comes up holds an election; the highest of all asks nobody and announces itself at once.

Assumptions that can be broken here: messages arrive in order and within Tm (8, 7: delay, loss, partition,
reordering), none arrives that was not sent (3: duplication), and nodes answer within Tp (9: pause). With one of
them broken, two coordinators at once are possible until they find each other.

The text leaves open how a silent coordinator is detected. Here every participant periodically sends
``AreYouThere`` to its coordinator. From that the coordinator learns its members, and its answer carries the
Definition, a new one whenever the members change. A node that is no coordinator does not answer. These are
heartbeats; the figure shows the rest. Since members ask one after the other, two of them may have different
Definitions for a while (A1.2 is not promised).

``TanenbaumText`` is the text and nothing else. After it come the repairs, a class each; ``BullyTanenbaum`` is the
text with all of them. ``lab list protocols bully-tanenbaum`` says on which words each departure rests.
"""

from functools import cached_property
from typing import ClassVar, Literal

from msgspec import Struct

from lab.kernel import Payload, Request, Safe, Timing, on, periodic, procedure
from lab.protocols.bully_tanenbaum_departures import (
    ADMIT_BEFORE_NORMAL,
    CHECK_STRANGERS,
    OVERRULE_LOWER_WINNER,
    READINGS,
    RETRY_IF_NO_WINNER,
)
from lab.protocols.cost import Cost
from lab.protocols.definition import Definition
from lab.protocols.departures import Reading, repair
from lab.protocols.election import Election, Status

__all__ = ["BullyTanenbaum", "TanenbaumText"]

# The messages of the figure keep its spelling, so that they can be found in every run.


class OK(Payload, frozen=True):
    """I am alive and take over."""


class ELECTION(Request[OK], frozen=True):
    """I hold an election."""


class COORDINATOR(Payload, frozen=True):
    """I have won: follow me."""


class AreYouThereAnswer(Payload, frozen=True, omit_defaults=True):
    """I am there; and, if I lead and have heard from all nodes, the Definition."""

    definition: Definition | None = None


class AreYouThere(Request[AreYouThereAnswer], frozen=True, omit_defaults=True):
    """A participant's question to its coordinator, with its last state of the task.

    After a crash, which has lost that, with the ``version`` that is kept in stable storage (B10).
    """

    report: Definition
    version: int = 0


class AreYouUpAnswer(Payload, frozen=True):
    """I am up."""


class AreYouUp(Request[AreYouUpAnswer], frozen=True):
    """A coordinator's question to non-members."""


class TanenbaumText(Election):
    """Section 3.3.1 and figure 3-12; a participant notices by questions that its coordinator is silent."""

    heartbeats: ClassVar[tuple[type[Payload], ...]] = (AreYouThere, AreYouThereAnswer, AreYouUp, AreYouUpAnswer)

    class Parameters(Struct, frozen=True):
        """A time of 0 is derived from T."""

        ask_every_us: int = 0
        """Interval at which participants ask the coordinator, and it asks non-members; 0: T."""
        responding: Literal["coordinator", "any_node"] = "coordinator"
        """The nodes that answer the question of a participant: only coordinators, or all that are up."""

    version: Safe[int] = 0

    @cached_property
    def _ask_every_us(self) -> int:
        return int(self.parameters.ask_every_us) or self.t_us

    # the election: (a), (c), (e)

    def started(self) -> None:
        """Hold an election, as the node starts (rule T4)."""
        self.begin(self.election)

    @procedure
    async def election(self) -> None:
        """Election (rules T1 and T3). The highest of all asks nobody and announces itself at once (T4)."""
        self.stop(self.ask_coordinator, self.check)
        self._step_down()
        oks = await self.ask_all(self.higher, ELECTION(), within=self.t_us, enough=1)
        if oks:
            self.coordinator = None
            await self.await_winner()
            return
        self.coordinator = self.id
        self._define(frozenset())
        for peer in self.peers:
            self.send(peer, COORDINATOR())
        await self.become_coordinator()

    async def await_winner(self) -> None:
        """Sit back: an OK has come."""

    async def become_coordinator(self) -> None:
        """Be the coordinator, starting immediately."""
        self.status = Status.NORMAL
        self.resume_processing()

    def _step_down(self) -> None:
        self.status = Status.ELECTION
        self.stop_processing()

    # the messages: (b), (d), (e)

    @on(ELECTION)
    def on_election(self, sender: int, message: ELECTION) -> OK:
        """Answer OK and hold an election (rule T2), unless this node just waits to be admitted by the winner."""
        if self.status is not Status.ELECTION or self.coordinator is None:
            self.begin(self.election)
        return OK()

    @on(COORDINATOR)
    def on_coordinator(self, sender: int, message: COORDINATOR) -> None:
        """Follow the winner (rule T3)."""
        self.stop(self.election, self.check)
        self._step_down()
        self.coordinator = sender
        self.follow()
        self.restart(self.ask_coordinator)

    def follow(self) -> None:
        """Work under the winner at once."""
        self.status = Status.NORMAL
        self.resume_processing()

    # the participant

    def _question_due_us(self) -> int | None:
        if self.coordinator is None or self.coordinator == self.id:
            return None
        every_us = self._ask_every_us if self.status is Status.NORMAL else self.t_us
        return self.begun_us(self.ask_coordinator) + every_us

    @periodic(_question_due_us)
    async def ask_coordinator(self) -> None:
        """Ask the coordinator; if it is silent, elect (rule T1)."""
        assert self.coordinator is not None
        answer = await self.ask(self.coordinator, self._question(), within=self.t_us)
        if answer is None:
            self.begin(self.election)
        elif answer.definition is not None:
            self._adopt(answer.definition)

    def _question(self) -> AreYouThere:
        report = self.report()
        return AreYouThere(report, 0 if report.version else self.version)

    def _adopt(self, definition: Definition) -> None:
        if self.processing and self.definition == definition:
            return
        self.definition = definition
        self.version = max(self.version, definition.version)
        self.up = frozenset(definition.members) - {self.id}
        self.status = Status.NORMAL
        self.resume_processing()

    # the coordinator

    @on(AreYouThere)
    def on_are_you_there(self, sender: int, message: AreYouThere) -> AreYouThereAnswer | None:
        """Answer the sender, which becomes a member; be silent if this node is no coordinator."""
        if self.coordinator != self.id:
            return AreYouThereAnswer() if self.parameters.responding == "any_node" else None
        if sender not in self.up:
            self._define(self.up | {sender}, message.report, remembered=message.version)
        return AreYouThereAnswer(self.definition if self.leads else None)

    def _check_due_us(self) -> int | None:
        return self.begun_us(self.check) + self._ask_every_us if self.leads else None

    @periodic(_check_due_us)
    async def check(self) -> None:
        """Remove members that no longer ask."""
        since_us = self.now_us - self._ask_every_us - 2 * self.t_us
        heard = frozenset(member for member in sorted(self.up) if self.heard_us(member) > since_us)
        if heard != self.up:
            self._define(heard)

    def _define(self, up: frozenset[int], *reports: Definition, remembered: int = 0) -> None:
        """Define the task for these members, from the newest state that they report, in a newer version."""
        known = [self.report(), *reports]
        self.up = up
        self.version = max(self.version, remembered, *(report.version for report in known)) + 1
        self.definition = self.define(self.version, sorted({*up, self.id}), known)
        if self.leads:
            self.resume_processing()


# repairs


@repair(RETRY_IF_NO_WINNER)
class RetryIfNoWinner(TanenbaumText):
    """A node that sat back elects again if nobody has won in time (rule T3)."""

    async def await_winner(self) -> None:
        """Wait for 2·T: Tm to hear of the election, T to find nobody above, and Tm to announce the result."""
        await self.sleep(2 * self.t_us, "a higher node to win")
        self.restart(self.election)


@repair(ADMIT_BEFORE_NORMAL)
class AdmitBeforeNormal(RetryIfNoWinner):
    """The winner, and those who follow it, are Normal once it knows that nobody follows another node."""

    async def become_coordinator(self) -> None:
        """Wait until all nodes have asked, or for T: those that have not asked by then are dead."""
        await self.until(lambda: len(self.up) == len(self.peers), "the others to follow", within=self.t_us)
        await super().become_coordinator()

    def follow(self) -> None:
        """Wait for the Definition in the coordinator's answer."""


@repair(OVERRULE_LOWER_WINNER)
class OverruleLowerWinner(AdmitBeforeNormal):
    """A node that hears of a lower winner holds an election."""

    @on(COORDINATOR)
    def on_coordinator(self, sender: int, message: COORDINATOR) -> None:
        """Follow the winner (rule T3), or elect if it is lower."""
        if sender < self.id:
            self.begin(self.election)
        else:
            super().on_coordinator(sender, message)


@repair(CHECK_STRANGERS)
class CheckStrangers(OverruleLowerWinner):
    """A coordinator asks non-members whether they are up, and holds an election if one is."""

    @periodic(TanenbaumText._check_due_us)
    async def check(self) -> None:
        """Remove members that no longer ask; elect if a non-member is up."""
        await super().check()
        strangers = [peer for peer in self.peers if peer not in self.up]
        there = await self.ask_all(strangers, AreYouUp(), within=self.t_us)
        if there.keys() - self.up:
            self.begin(self.election)

    @on(AreYouUp)
    def on_are_you_up(self, sender: int, message: AreYouUp) -> AreYouUpAnswer:
        return AreYouUpAnswer()


class BullyTanenbaum(CheckStrangers):
    """Tanenbaum's bully: the highest node that is up leads."""

    name: ClassVar[str] = "bully-tanenbaum"
    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A2", "highest", "M7", "B10", "notices", "spreads")
    readings: ClassVar[tuple[Reading, ...]] = READINGS

    # Node i that holds an election asks all above (n - i), of which all but the dead answer (n - i - 1).
    costs: ClassVar[tuple[Cost, ...]] = (
        Cost(
            "everyone notices, or the lowest does",
            "n² − n",
            lambda n: n * n - n,
            "figure 3-12 with the lowest noticing: n(n − 1)/2 ELECTION, (n − 1)(n − 2)/2 OK, n − 1 COORDINATOR",
        ),
        Cost(
            "only the next coordinator notices",
            "n",
            lambda n: n,
            "figure 3-12 with node n − 1 noticing: ELECTION to the dead one, n − 1 COORDINATOR",
            detection="in turn",
        ),
        Cost(
            "the same, by messages that arrive",
            "n − 2",
            lambda n: n - 2,
            "the count of the textbooks: COORDINATOR to the n − 2 others that are up",
            detection=None,
        ),
    )

    class Parameters(TanenbaumText.Parameters, frozen=True):
        """A time of 0 is derived from T."""

        without: tuple[
            Literal[
                "retry_if_no_winner",
                "admit_before_normal",
                "overrule_lower_winner",
                "check_strangers",
                "all",
            ],
            ...,
        ] = ()
        """Repairs to leave out; all: the text alone."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Parameters, nodes: int) -> int:
        """Allow for two coordinators to find each other, and two elections: the first winner may be dead.

        Finding takes two periods and 2·T: a lost member is first removed, then asked whether it is up. Each
        election takes T to win, T to hear from all nodes, T until they ask again, and 2·T of waiting for a dead
        winner.
        """
        return 12 * timing.t_us + 2 * (parameters.ask_every_us or timing.t_us)

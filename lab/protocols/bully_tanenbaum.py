"""The bully algorithm, as Tanenbaum tells it (Distributed Operating Systems, section 3.3.1, figure 3-12).

The highest node that is up leads. A node that misses its coordinator asks those above it to take over:

    (a)   ELECTION      to all higher      the node that noticed holds an election
    (b)   OK            from those up      its job is done: one of them takes over
    (c)   ELECTION      to all higher      each of them holds an election of its own
    (d)   OK            from those up      until one is left that nobody answers
    (e)   COORDINATOR   to all others      it has won, and says so

A node that comes up holds an election; the highest of all asks nobody, and just announces itself.

What is assumed, and can be broken here: messages arrive, in order, within Tm (8, 7: delay, loss, partition,
reordering), none appears that nobody sent (3: duplication), and nodes answer within Tp (9: pause). With one of
them broken two coordinators at once are possible, until they find each other.

The telling leaves open how a silent coordinator is noticed. Here every participant asks its coordinator
``AreYouThere`` again and again. The coordinator learns from that who its members are, and hands them the
Definition with its answer, anew whenever they change. These are heartbeats; the figure is of the rest. As one
member asks after the other, two of them may have different Definitions for a while (A1.2 is not promised).

Where the telling leaves nodes in the lurch, and what is done here. With the parameter ``as_printed`` nothing
is; the recordings in recordings/holes show what then comes of it:

* Whoever got an OK "just sits back and waits to see who the winner will be". If that one dies before it has
  won, it waits for ever (bully-tanenbaum-winner-dies.jsonl). Here it starts anew after 2·T: the highest that is
  up takes Tm to hear of the election, T to find nobody above it, and Tm to tell.
* The winner is coordinator "starting immediately", while the others still follow the old one, which may even be
  up: two coordinators, with nothing but a crash and a restart (bully-tanenbaum-no-halt.jsonl). Here whoever gets
  COORDINATOR leaves its coordinator at once, and is Normal again when the new one answers its ``AreYouThere``
  with a Definition. The winner does so, and is Normal itself, when it has heard from all, or T later: who has
  not asked by then is dead. No message is added for it.
* A node that comes up just as a lower one has won gets the other's COORDINATOR, and the other gets its own: each
  follows the other (bully-tanenbaum-crossing.jsonl). Here a node that is told to follow a lower one bullies it.
* A participant that missed a COORDINATOR follows a node that leads no longer, but is not silent either
  (bully-tanenbaum-led-astray.jsonl). Here the answer says whether the node leads.
* Two coordinators that never hear of each other both lead for ever: one was paused while the other was elected
  (bully-tanenbaum-paused-wakes.jsonl), or a partition was between them (bully-tanenbaum-partition-heals.jsonl).
  Here a coordinator asks the nodes that are no members of its own whether they are up, as Garcia-Molina's Check
  does. If one is, it holds an election.
"""

from functools import cached_property
from typing import ClassVar

from msgspec import Struct

from lab.kernel import Payload, Request, Safe, Timing, on, periodic, procedure
from lab.protocols.cost import Cost
from lab.protocols.definition import Definition
from lab.protocols.election import Election, Status

__all__ = ["BullyTanenbaum"]

# The three of the figure are written as it writes them: who follows the figure finds them in every run.


class OK(Payload, frozen=True):
    """I am alive, and take over."""


class ELECTION(Request[OK], frozen=True):
    """I hold an election."""


class COORDINATOR(Payload, frozen=True):
    """I have won: follow me."""


class AreYouThereAnswer(Payload, frozen=True, omit_defaults=True):
    """Whether I lead; and, once I have heard from all, what we do from now on."""

    leads: bool
    definition: Definition | None = None


class AreYouThere(Request[AreYouThereAnswer], frozen=True):
    """A participant's question to its coordinator, with the last that it knows of the task."""

    report: Definition


class AreYouUpAnswer(Payload, frozen=True):
    """I am up."""


class AreYouUp(Request[AreYouUpAnswer], frozen=True):
    """A coordinator's question to those that are no members of its own."""


class BullyTanenbaum(Election):
    """Tanenbaum's bully: the highest node that is up leads."""

    name: ClassVar[str] = "bully-tanenbaum"
    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A2")
    heartbeats: ClassVar[tuple[type[Payload], ...]] = (AreYouThere, AreYouThereAnswer, AreYouUp, AreYouUpAnswer)

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
            noticed="in turn",
        ),
        Cost(
            "the same, by messages that arrive",
            "n − 2",
            lambda n: n - 2,
            "the count of the textbooks: COORDINATOR to the n − 2 others that are up",
            noticed=None,
        ),
    )

    class Parameters(Struct, frozen=True):
        """A time of 0 is derived from T."""

        ask_every_us: int = 0
        """How often a participant asks its coordinator, and a coordinator looks for strangers; 0: T."""
        as_printed: bool = False
        """Leave the five holes of the telling open."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Parameters, nodes: int) -> int:
        """Two coordinators find each other, and two elections follow, as the winner of the first may be dead.

        To find takes two periods and 2·T, until a lost member is none any more and is asked whether it is up. Each
        election takes T to win, T to hear from all, T until they ask again, and 2·T to wait for a winner in vain.
        """
        return 12 * timing.t_us + 2 * (parameters.ask_every_us or timing.t_us)

    version: Safe[int] = 0

    @cached_property
    def _ask_every_us(self) -> int:
        return int(self.parameters.ask_every_us) or self.t_us

    # the election: (a), (c), (e)

    def started(self) -> None:
        """T4."""
        self.begin(self.election)

    @procedure
    async def election(self) -> None:
        """T1 and T3. The highest of all has nobody to ask, and announces itself at once (T4)."""
        self.stop(self.ask_coordinator, self.check)
        self._step_down()
        oks = await self.ask_all(self.higher, ELECTION(), within=self.t_us, enough=1)
        if oks:
            self.coordinator = None
            await self._sit_back()
            return
        self.coordinator = self.id
        self._define(frozenset())
        for peer in self.peers:
            self.send(peer, COORDINATOR())
        await self._hear_all()
        self.status = Status.NORMAL
        self.resume_processing()

    async def _sit_back(self) -> None:
        if self.parameters.as_printed:
            return
        await self.sleep(2 * self.t_us, "a higher node to win")
        self.restart(self.election)

    async def _hear_all(self) -> None:
        if self.parameters.as_printed:
            return
        await self.until(lambda: len(self.up) == len(self.peers), "the others to follow", within=self.t_us)

    def _step_down(self) -> None:
        self.status = Status.ELECTION
        self.stop_processing()

    # the messages: (b), (d), (e)

    @on(ELECTION)
    def take_over(self, sender: int, message: ELECTION) -> OK:
        """T2. For who knows the winner, and is to be taken in by it, the election is not over."""
        if self.status is not Status.ELECTION or self.coordinator is None:
            self.begin(self.election)
        return OK()

    @on(COORDINATOR)
    def follow(self, sender: int, message: COORDINATOR) -> None:
        """T3."""
        if sender < self.id and not self.parameters.as_printed:
            self.begin(self.election)
            return
        self.stop(self.election, self.check)
        self._step_down()
        self.coordinator = sender
        if self.parameters.as_printed:
            self.status = Status.NORMAL
        self.restart(self.ask_coordinator)

    # the participant

    def _question_due_us(self) -> int | None:
        if self.coordinator is None or self.coordinator == self.id:
            return None
        every_us = self._ask_every_us if self.status is Status.NORMAL else self.t_us
        return self.begun_us(self.ask_coordinator) + every_us

    @periodic(_question_due_us)
    async def ask_coordinator(self) -> None:
        """T1: this is how it notices."""
        assert self.coordinator is not None
        answer = await self.ask(self.coordinator, AreYouThere(self.report()), within=self.t_us)
        if answer is None or not answer.leads:
            self.begin(self.election)
        elif answer.definition is not None:
            self._take(answer.definition)

    def _take(self, definition: Definition) -> None:
        if self.processing and self.definition == definition:
            return
        self.definition = definition
        self.version = max(self.version, definition.version)
        self.up = frozenset(definition.members) - {self.id}
        self.status = Status.NORMAL
        self.resume_processing()

    # the coordinator

    @on(AreYouThere)
    def is_there(self, sender: int, message: AreYouThere) -> AreYouThereAnswer:
        """Whoever asks is a member from now on."""
        if self.coordinator != self.id:
            return AreYouThereAnswer(self.parameters.as_printed)
        if sender not in self.up:
            self._define(self.up | {sender}, message.report)
        return AreYouThereAnswer(True, self.definition if self.leads else None)

    def _check_due_us(self) -> int | None:
        return self.begun_us(self.check) + self._ask_every_us if self.leads else None

    @periodic(_check_due_us)
    async def check(self) -> None:
        """Who asks no longer is no member any more; and who else is there?"""
        since_us = self.now_us - self._ask_every_us - 2 * self.t_us
        heard = frozenset(member for member in sorted(self.up) if self.heard_us(member) > since_us)
        if heard != self.up:
            self._define(heard)
        if self.parameters.as_printed:
            return
        strangers = [peer for peer in self.peers if peer not in self.up]
        there = await self.ask_all(strangers, AreYouUp(), within=self.t_us)
        if there.keys() - self.up:
            self.begin(self.election)

    @on(AreYouUp)
    def is_up(self, sender: int, message: AreYouUp) -> AreYouUpAnswer:
        """As it stands."""
        return AreYouUpAnswer()

    def _define(self, up: frozenset[int], *reports: Definition) -> None:
        """Go on with these members, from the newest state that any of them reports."""
        known = [self.report(), *reports]
        self.up = up
        self.version = max(self.version, *(report.version for report in known)) + 1
        self.definition = self.define(self.version, sorted({*up, self.id}), known)
        if self.leads:
            self.resume_processing()

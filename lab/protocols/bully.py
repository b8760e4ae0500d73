"""The bully algorithm of Garcia-Molina (1982), by the listings of Chow & Johnson (1997): 10.16-10.21, figure 10.8.

The highest node that is up leads. A node whose coordinator is silent first asks the nodes above it. If none is up,
it halts the nodes below it, makes itself their coordinator, and distributes the new state of the task:

    stage 1   AreYouUp        to all higher      any answer: leave the election to them
    stage 2   EnterElection   to all lower       nodes that answer are in Up, and have stopped their task
    stage 3   SetCoordinator  to all of Up       an answer missing: start anew
    stage 4   NewState        to all of Up       an answer missing: start anew

After stage 2 no node is Normal, after stage 3 all of Up follow one coordinator, after stage 4 all of Up have one
Definition: these are the cuts c1 to c4 of figure 10.8.

Assumptions that can be broken here: messages arrive in order and within Tm (8, 7: delay, loss, partition,
reordering), none arrives that was not sent (3: duplication), nodes answer within Tp (9: pause), and stable storage
survives (4: wipe). With 8 or 9 broken, two coordinators at once are possible: silence then proves no crash.

``BullyListing`` is the text and nothing else: listing 10.16 is the state vector, 10.17 ``up`` and ``halted``,
10.18 ``coordinator_timeout`` and ``recovery``, 10.19 ``check``, 10.20 ``election``, 10.21 the handlers. Where the
text can be read in several ways, a parameter chooses. After it come the repairs, a class each; ``Bully`` is the
listing with all of them. ``lab list protocols bully`` says on which words each reading and repair rests.
"""

from functools import cached_property
from typing import ClassVar, Literal

from lab.kernel import Payload, Request, Safe, Timing, on, periodic, procedure
from lab.protocols.bully_departures import (
    READINGS,
    REFUSE_LOWER_LEADER,
    RETRY_IF_NO_TAKEOVER,
    STEP_DOWN_FOR_HIGHER,
)
from lab.protocols.cost import Cost
from lab.protocols.definition import Definition
from lab.protocols.departures import Reading, repair
from lab.protocols.election import Status
from lab.protocols.timeout_election import TimeoutElection

__all__ = ["Bully", "BullyListing"]


class AreYouUpAnswer(Payload, frozen=True):
    """I am up."""


class AreYouUp(Request[AreYouUpAnswer], frozen=True):
    """Please answer if you are up."""


class AreYouNormalAnswer(Payload, frozen=True):
    """My status is Normal, or it is not."""

    normal: bool


class AreYouNormal(Request[AreYouNormalAnswer], frozen=True):
    """The question of a coordinator's Check."""


class EnterElectionAnswer(Payload, frozen=True, omit_defaults=True):
    """I have stopped; this is my last state of the task (rule B10). ``refused``: a higher node has halted me."""

    definition: Definition
    version: int
    refused: bool = False


class EnterElection(Request[EnterElectionAnswer], frozen=True):
    """Stop your task: I hold an election."""


class SetCoordinatorAnswer(Payload, frozen=True):
    """I follow you."""


class SetCoordinator(Request[SetCoordinatorAnswer], frozen=True):
    """I am your coordinator."""


class NewStateAnswer(Payload, frozen=True):
    """I continue with this Definition."""


class NewState(Request[NewStateAnswer], frozen=True):
    """The Definition of the new group."""

    definition: Definition


class BullyListing(TimeoutElection):
    """Listings 10.16 to 10.21."""

    heartbeats: ClassVar[tuple[type[Payload], ...]] = (AreYouNormal, AreYouNormalAnswer)

    class Parameters(TimeoutElection.Parameters, frozen=True):
        """A time of 0 is derived from T."""

        halting: Literal["in_order", "at_once"] = "in_order"
        """The order in which stage 2 halts the lower nodes: one after the other from the top, or all at once."""
        silence: Literal["elects", "waits"] = "elects"
        """The reaction of a node in Election to the silence of the leader of that election."""
        answering: Literal["if_taken", "always"] = "if_taken"
        """The answer to SetCoordinator and NewState: if the node does what they say, or always."""

    halted: int | None = None
    version: Safe[int] = 0

    # listing 10.18

    def started(self) -> None:
        """Recover, as the node starts."""
        self.recovery()

    def recovery(self) -> None:
        """Recovery (rule B2): elect."""
        self.status = Status.DOWN
        self.begin(self.election)

    def _silence_ends_us(self) -> int | None:
        leader = self.coordinator
        if self.status is Status.ELECTION:
            leader = self.halted if self.parameters.silence == "elects" else None
        if leader is None or leader == self.id:
            return None
        return self.heard_us(leader) + self.timeout_us

    @periodic(_silence_ends_us)
    async def coordinator_timeout(self) -> None:
        """Timeout (rule B1). In status Election the silent node is the leader of the election."""
        if self.status in (Status.NORMAL, Status.REORGANIZATION):
            assert self.coordinator is not None
            answer = await self.ask(self.coordinator, AreYouUp(), within=self.t_us)
            if answer is not None:
                return
        self.begin(self.election)

    # listing 10.19

    def _check_due_us(self) -> int | None:
        return self.begun_us(self.check) + self.check_us if self.leads else None

    @periodic(_check_due_us)
    async def check(self) -> None:
        """Check the other nodes (rule B3)."""
        replies = await self.ask_all(self.peers, AreYouNormal(), within=self.t_us)
        silent = self.up - replies.keys()
        strangers = replies.keys() - self.up
        astray = [node for node, answer in replies.items() if not answer.normal]
        if silent or strangers or astray:
            self.begin(self.election)

    # listing 10.20

    @procedure
    async def election(self) -> None:
        """Election (rules B4-B7): the four stages."""
        self.stop(self.check, self.coordinator_timeout)
        highest = await self.is_highest()
        if not highest:
            return

        self.status = Status.ELECTION
        self.stop_processing()
        self.halted = self.id
        self.up = frozenset()
        entered = await self.halt_lower()
        self.up = frozenset(entered)

        self.coordinator = self.id
        self.status = Status.REORGANIZATION
        followers = await self.ask_all(sorted(self.up), SetCoordinator(), within=self.t_us)
        if len(followers) < len(self.up):
            self.restart(self.election)
            return

        self._define(entered)
        informed = await self.ask_all(sorted(self.up), NewState(self.definition), within=self.t_us)
        if len(informed) < len(self.up):
            self.restart(self.election)
            return
        self.status = Status.NORMAL
        self.resume_processing()

    async def is_highest(self) -> bool:
        """Stage 1 (rule B4): ask all higher nodes."""
        replies = await self.ask_all(self.higher, AreYouUp(), within=self.t_us, enough=1)
        return not replies

    async def halt_lower(self) -> dict[int, EnterElectionAnswer]:
        """Stage 2 (rule B5): halt all lower nodes; return the answers of those that are up."""
        if self.parameters.halting == "at_once":
            return await self.ask_all(self.lower, EnterElection(), within=self.t_us)
        entered: dict[int, EnterElectionAnswer] = {}
        for node in reversed(self.lower):
            answer = await self.ask(node, EnterElection(), within=self.t_us)
            if answer is not None:
                entered[node] = answer
        return entered

    def _define(self, entered: dict[int, EnterElectionAnswer]) -> None:
        """Define the new task from the newest state that the group knows, with a higher version (rule B10)."""
        reports = [self.report(), *(answer.definition for answer in entered.values())]
        known = [self.version, *(answer.version for answer in entered.values())]
        self.version = max(*known, *(report.version for report in reports)) + 1
        self.definition = self.define(self.version, (*sorted(self.up), self.id), reports)

    # listing 10.21

    @on(AreYouUp)
    def on_are_you_up(self, sender: int, message: AreYouUp) -> AreYouUpAnswer:
        """Answer AreYouUp (rule B8)."""
        return AreYouUpAnswer()

    @on(AreYouNormal)
    def on_are_you_normal(self, sender: int, message: AreYouNormal) -> AreYouNormalAnswer:
        """Answer AreYouNormal (rule B8)."""
        return AreYouNormalAnswer(self.status is Status.NORMAL)

    @on(EnterElection)
    def on_enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer:
        """Enter the election (rule B8)."""
        self.status = Status.ELECTION
        self.stop_processing()
        self.stop(self.election, self.check, self.coordinator_timeout)
        self.halted = sender
        return EnterElectionAnswer(self.report(), self.version)

    @on(SetCoordinator)
    def on_set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer | None:
        """Follow the leader of the election that halted this node (rule B8)."""
        if self.status is Status.ELECTION and self.halted == sender:
            self.coordinator = sender
            self.status = Status.REORGANIZATION
        elif self.parameters.answering == "if_taken":
            return None
        return SetCoordinatorAnswer()

    @on(NewState)
    def on_new_state(self, sender: int, message: NewState) -> NewStateAnswer | None:
        """Adopt the Definition and become Normal (rule B8)."""
        if self.coordinator == sender and self.status is Status.REORGANIZATION:
            self.definition = message.definition
            self.version = message.definition.version
            self.up = frozenset(message.definition.members) - {self.id}
            self.status = Status.NORMAL
            self.resume_processing()
        elif self.parameters.answering == "if_taken":
            return None
        return NewStateAnswer()


# repairs


@repair(RETRY_IF_NO_TAKEOVER)
class RetryIfNoTakeover(BullyListing):
    """A node elects again if the higher node to which it left the election does not take over (rule B4)."""

    async def is_highest(self) -> bool:
        """Stage 1 of the listing, and what follows if this node is not the highest."""
        highest = await super().is_highest()
        if not highest:
            await self.await_takeover()
        return highest

    async def await_takeover(self) -> None:
        """Wait for a higher node to take over; if none does, start the election anew."""
        await self.sleep(self._takeover_us, "a higher node to take over")
        if not self.is_led():
            self.restart(self.election)

    @cached_property
    def _takeover_us(self) -> int:
        # the higher node may have heard its coordinator a moment ago: its timeout, T to ask it, T for stage 1;
        # then it halts this node and, if in order, those between first, which may all be dead
        halting = len(self.higher) if self.parameters.halting == "in_order" else 1
        return self.timeout_us + (2 + halting) * self.t_us

    def is_led(self) -> bool:
        """Return whether this node follows a coordinator that it hears."""
        silence_ends_us = self._silence_ends_us()
        return self.status is Status.NORMAL and silence_ends_us is not None and self.now_us < silence_ends_us


@repair(STEP_DOWN_FOR_HIGHER)
class StepDownForHigher(RetryIfNoTakeover):
    """A node that leaves an election to a higher one does not stay Normal (rule B4)."""

    async def await_takeover(self) -> None:
        """Step down before the wait, if this node leads; after it, if nobody has taken over."""
        if self.leads:
            self.step_down()
        await super().await_takeover()
        if self.status is Status.NORMAL and not self.is_led():
            self.step_down()

    def step_down(self) -> None:
        """Be in Election, and halted by nobody."""
        self.status = Status.ELECTION
        self.stop_processing()
        self.halted = None


@repair(REFUSE_LOWER_LEADER)
class RefuseLowerLeader(StepDownForHigher):
    """A node that a higher leader has halted refuses a lower one, if all are halted at once (rule B8)."""

    async def halt_lower(self) -> dict[int, EnterElectionAnswer]:
        """Stage 2, without the nodes that refuse."""
        entered = await super().halt_lower()
        return {node: answer for node, answer in entered.items() if not answer.refused}

    @on(EnterElection)
    def on_enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer:
        """Enter the election, unless a higher leader holds one."""
        if self.parameters.halting == "at_once" and self.is_halted_above(sender):
            return EnterElectionAnswer(self.definition, self.version, refused=True)
        return super().on_enter_election(sender, message)

    def is_halted_above(self, leader: int) -> bool:
        """Return whether a leader higher than this one has halted the node, and was heard within 2·T."""
        if self.status is not Status.ELECTION or self.halted is None or self.halted <= leader:
            return False
        return self.now_us < self.heard_us(self.halted) + 2 * self.t_us


class Bully(RefuseLowerLeader):
    """Garcia-Molina's bully: the highest node that is up leads."""

    name: ClassVar[str] = "bully"
    promises: ClassVar[tuple[str, ...]] = (
        *("A1.1", "A1.2", "A2", "highest", "M7"),
        *("stages", "B10", "spreads", "defined"),
    )
    readings: ClassVar[tuple[Reading, ...]] = READINGS

    # Node i that notices asks the dead one (1), then all above (n - i), of which all but the dead answer
    # (n - i - 1): 2(n - i). Stages 2 to 4 of node n - 1 are a request and an answer of n - 2 nodes each: 6(n - 2).
    costs: ClassVar[tuple[Cost, ...]] = (
        Cost(
            "everyone notices",
            "n² + 5n − 12",
            lambda n: n * n + 5 * n - 12,
            "listings 10.18 and 10.20: 2(n − i) for each i below n, and 6(n − 2) for stages 2 to 4",
        ),
        Cost(
            "Tanenbaum's version, worst case",
            "n² − n",
            lambda n: n * n - n,
            "figure 3-12 with the lowest noticing: n(n − 1)/2 ELECTION, (n − 1)(n − 2)/2 OK, n − 1 COORDINATOR",
            detection=None,
        ),
        Cost(
            "only the next coordinator notices",
            "6n − 10",
            lambda n: 6 * n - 10,
            "listings 10.18 and 10.20: 2 for i = n − 1, and 6(n − 2) for stages 2 to 4",
            detection="in turn",
        ),
    )

    class Parameters(BullyListing.Parameters, frozen=True):
        """A time of 0 is derived from T."""

        without: tuple[
            Literal["retry_if_no_takeover", "step_down_for_higher", "refuse_lower_leader", "all"], ...
        ] = ()
        """Repairs to leave out; all: the listings alone."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Parameters, nodes: int) -> int:
        """Allow for three elections, each preceded by a timeout and by a Check, in which all but two are dead."""
        dead_us = 6 * max(0, nodes - 2) * timing.t_us
        return 9 * timing.t_us + dead_us + 6 * parameters.timeout_us(timing) + 3 * parameters.check_us(timing)

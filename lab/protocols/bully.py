"""The bully algorithm, as Garcia-Molina published it in 1982 (listings 10.16-10.21, figure 10.8).

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

Listing 10.16 is the state vector, 10.17 ``up`` and ``halted``, 10.18 ``coordinator_timeout`` and
``recovery``, 10.19 ``check``, 10.20 ``election``, 10.21 the handlers.

The listings have four gaps, which are closed here. The parameter ``as_printed`` leaves them open; the recordings
in recordings/holes show the consequences:

* A node enters an election, and the leader of that election dies. The node is in status Election, but listing
  10.18 covers only Normal and Reorganization: it would stay there forever (bully-leader-dies.jsonl). Here it
  starts an election itself.
* A node that finds a higher one up leaves the election to it, and the listing returns. If the higher one dies at
  that moment, nobody elects (bully-higher-dies.jsonl). Here the node waits, and starts again unless a coordinator
  takes over (B4).
* A coordinator that was paused (assumption 9) resumes while its members are Normal under its successor. Its Check
  finds nothing wrong. The successor's Check finds the old coordinator and leaves the election to it, as the higher
  one, but the successor stays a Normal coordinator. So both would lead forever (bully-paused-wakes.jsonl). Here a
  coordinator that leaves the election to a higher node steps down, so the higher node's Check finds a node that is
  not Normal.
* Two leaders at once: 2 has passed stage 1 when 3 comes up, and a third node gets first 3's EnterElection and then
  2's. By the listing it is then halted by 2 and follows it, while 3 relies on the earlier answer: two
  coordinators, with crashes only (bully-two-leaders.jsonl). Here a node halted by a higher leader refuses a lower
  one for 2·T, the longest time that the higher one can take to reach it again, and the lower one starts anew. The
  refusal must be an answer: silence would hide from the lower one the last state that the refusing node knows.
"""

from functools import cached_property
from typing import ClassVar

from lab.kernel import Payload, Request, Safe, Timing, on, periodic, procedure
from lab.protocols.cost import Cost
from lab.protocols.definition import Definition
from lab.protocols.election import Status
from lab.protocols.timeout_election import TimeoutElection

__all__ = ["Bully"]


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
    """I have stopped; this is my last state of the task (rule B10). Not ``entered``: a higher leader halted me."""

    definition: Definition
    version: int
    entered: bool = True


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


class Bully(TimeoutElection):
    """Garcia-Molina's bully: the highest node that is up leads."""

    name: ClassVar[str] = "bully"
    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A1.2", "A2", "highest", "M7", "B10")
    heartbeats: ClassVar[tuple[type[Payload], ...]] = (AreYouNormal, AreYouNormalAnswer)

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

    class Parameters(TimeoutElection.Parameters, frozen=True):
        """A time of 0 is derived from T."""

        as_printed: bool = False
        """Leave the four gaps in the listings open."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Parameters, nodes: int) -> int:
        """Allow for three elections, each preceded by a timeout and by a Check."""
        return 9 * timing.t_us + 6 * parameters.timeout_us(timing) + 3 * parameters.check_us(timing)

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
        leader = self._leader_of_election() if self.status is Status.ELECTION else self.coordinator
        if leader is None or leader == self.id:
            return None
        return self.heard_us(leader) + self.timeout_us

    def _leader_of_election(self) -> int | None:
        return None if self.parameters.as_printed else self.halted

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
        higher = await self.ask_all(self.higher, AreYouUp(), within=self.t_us, enough=1)
        if higher and self.parameters.as_printed:
            return
        if higher:
            self.resign()
            await self.sleep(self._takeover_us, "a higher node to take over")
            if not self._is_led():
                self._leave_dead_leader()
                self.restart(self.election)
            return

        self._step_down()
        self.halted = self.id
        self.up = frozenset()
        entered = await self.ask_all(self.lower, EnterElection(), within=self.t_us)
        if not all(answer.entered for answer in entered.values()):
            self.restart(self.election)
            return
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

    def resign(self) -> None:
        """Step down, if this node leads, because it leaves the election to a higher node."""
        if self.leads:
            self._step_down()

    def _leave_dead_leader(self) -> None:
        """Be Normal no longer (rule B4): or else a higher leader finds nothing wrong at its Check."""
        if self.status is Status.NORMAL:
            self._step_down()

    def _step_down(self) -> None:
        self.status = Status.ELECTION
        self.stop_processing()
        self.halted = None

    @cached_property
    def _takeover_us(self) -> int:
        # the higher node may have heard its coordinator a moment ago: its timeout, T to ask it, T for stage 1;
        # the papers allow T more
        return self.timeout_us + 3 * self.t_us

    def _is_led(self) -> bool:
        silence_ends_us = self._silence_ends_us()
        return self.status is Status.NORMAL and silence_ends_us is not None and self.now_us < silence_ends_us

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
        """Enter the election (rule B8); refuse a lower leader that comes after a higher one."""
        if self._is_halted_above(sender):
            return EnterElectionAnswer(self.report(), self.version, entered=False)
        self.status = Status.ELECTION
        self.stop_processing()
        self.stop(self.election, self.check, self.coordinator_timeout)
        self.halted = sender
        return EnterElectionAnswer(self.report(), self.version)

    def _is_halted_above(self, sender: int) -> bool:
        return (
            not self.parameters.as_printed
            and self.status is Status.ELECTION
            and self.halted is not None
            and self.halted > sender
            and self.now_us - self.heard_us(self.halted) < 2 * self.t_us
        )

    @on(SetCoordinator)
    def on_set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer | None:
        """Follow the leader of the election that halted this node (rule B8)."""
        if self.status is not Status.ELECTION or self.halted != sender:
            return None
        self.coordinator = sender
        self.status = Status.REORGANIZATION
        return SetCoordinatorAnswer()

    @on(NewState)
    def on_new_state(self, sender: int, message: NewState) -> NewStateAnswer | None:
        """Adopt the Definition and become Normal (rule B8)."""
        if self.coordinator != sender or self.status is not Status.REORGANIZATION:
            return None
        self.definition = message.definition
        self.version = message.definition.version
        self.up = frozenset(message.definition.members) - {self.id}
        self.status = Status.NORMAL
        self.resume_processing()
        return NewStateAnswer()

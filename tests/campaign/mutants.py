"""Bully with one rule of section 3 removed or inverted: to be caught by a campaign, or harmless.

Each runs like a user's own protocol: ``lab check tests/campaign/mutants.py:NoHalt``. Rules about the requests of
an election are changed in ``ask_all``, so that each mutant is only the lines that differ.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from lab.kernel import Payload, Request, on, periodic
from lab.protocols import Bully, Status
from lab.protocols.bully import (
    AreYouNormal,
    AreYouNormalAnswer,
    AreYouUp,
    EnterElection,
    EnterElectionAnswer,
    NewState,
    NewStateAnswer,
    RetryIfNoTakeover,
    SetCoordinator,
    SetCoordinatorAnswer,
)

A = TypeVar("A", bound=Payload)

# B1


class NoTimeout(Bully):
    """B1 removed: no node misses its coordinator."""

    @periodic(lambda self: None)
    async def coordinator_timeout(self) -> None:
        pass


class NoQuestion(Bully):
    """B1 shortened: after silence the coordinator is not asked.

    Harmless while the assumptions hold: a node not heard from for three times T, that checks every T, is dead, or
    is about to ask.
    """

    @periodic(Bully._silence_ends_us)
    async def coordinator_timeout(self) -> None:
        self.begin(self.election)


# B2


class NoRecovery(Bully):
    """B2 removed: a restarted node stays Down."""

    def recovery(self) -> None:
        pass


class NormalAtOnce(Bully):
    """B2 inverted: a restarted node makes itself coordinator without asking."""

    def recovery(self) -> None:
        self.coordinator = self.id
        self.status = Status.NORMAL


# B3


class BlindCheck(Bully):
    """B3 removed: Check asks, and finds nothing."""

    @periodic(Bully._check_due_us)
    async def check(self) -> None:
        await self.ask_all(self.peers, AreYouNormal(), within=self.t_us)


class AstrayUnseen(Bully):
    """B3: a member that is not Normal, because it restarted before it was missed, is ignored."""

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        replies = await super().ask_all(peers, request, within, enough)
        if isinstance(request, AreYouNormal):
            return {n: AreYouNormalAnswer(True) for n in replies if n in self.up}  # type: ignore[misc]
        return replies


class StrangersUnseen(Bully):
    """B3: a node outside Up that is Normal is ignored.

    Harmless with crashes alone, after which no such node is Normal. Two partitions in succession leave a node
    Normal under a coordinator that has given it up: it asks ``AreYouUp``, hears yes, and stays.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        replies = await super().ask_all(peers, request, within, enough)
        if isinstance(request, AreYouNormal):
            return {n: a for n, a in replies.items() if n in self.up or not a.normal}  # type: ignore[attr-defined]
        return replies


class SilenceUnseen(Bully):
    """B3: a silent member of Up is ignored.

    Harmless: a dead member is not Normal when it comes back, which Check sees. One behind a partition has another
    coordinator by then, whose own Check finds this one as a stranger.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        replies = await super().ask_all(peers, request, within, enough)
        if isinstance(request, AreYouNormal):
            return {**dict.fromkeys(self.up, AreYouNormalAnswer(True)), **replies}  # type: ignore[arg-type]
        return replies


# B4


class NoStage1(Bully):
    """B4 removed: the higher nodes are not asked."""

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        if isinstance(request, AreYouUp):
            return {}
        return await super().ask_all(peers, request, within, enough)


class Stage1Ignored(Bully):
    """B4 inverted: the higher nodes are asked, and their answers ignored."""

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        replies = await super().ask_all(peers, request, within, enough)
        return {} if isinstance(request, AreYouUp) else replies


class NoFurtherWait(Bully):
    """B4 shortened, and the second hole: a node that finds a higher one up does not wait for the result."""

    async def await_takeover(self) -> None:
        pass


class NoTakeoverTime(Bully):
    """B4 shortened: a higher node that is up gets no time to take over.

    Harmless for A1 and A2: stage 1 is repeated until the higher node has led. It costs messages.
    """

    @property
    def _takeover_us(self) -> int:
        return 0


# B5


class UpKept(Bully):
    """B5: Up is not emptied before stage 2."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "up" and self.is_running(self.election):
            value |= self.up
        super().__setattr__(name, value)


class HaltedNotSet(Bully):
    """B5: a leader does not set ``halted`` to itself, and keeps the node that led it last.

    No two lead: ``halted`` names the node that a node in Election misses and follows. While its own election runs
    it misses nobody, and the earlier leader is dead, or sends EnterElection before anything else, which sets it.
    """

    async def halt_lower(self) -> dict[int, EnterElectionAnswer]:
        self.halted = self.coordinator
        return await super().halt_lower()


class LeadsBeforeStage2(Bully):
    """B5 and B6 exchanged: the coordinator is set before the others are told to stop."""

    async def halt_lower(self) -> dict[int, EnterElectionAnswer]:
        self.coordinator = self.id
        self.status = Status.REORGANIZATION
        return await super().halt_lower()


class NobodyEnters(Bully):
    """B5 inverted: nodes that answer EnterElection are left out of Up."""

    async def halt_lower(self) -> dict[int, EnterElectionAnswer]:
        await super().halt_lower()
        return {}


# B6, B7


class Stage3Unanswered(Bully):
    """B6: a missing answer in stage 3 is ignored.

    Harmless as long as B7 holds: a node that has not answered SetCoordinator is not in Reorganization under the
    sender, so it does not answer NewState either, and the election starts anew T later.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        replies = await super().ask_all(peers, request, within, enough)
        if isinstance(request, SetCoordinator):
            return {**dict.fromkeys(peers, SetCoordinatorAnswer()), **replies}  # type: ignore[arg-type]
        return replies


class Stage4Unanswered(Bully):
    """B7: a missing answer in stage 4 is ignored.

    Harmless as long as B3 holds: a node that has not answered NewState is not Normal, or is dead; Check finds it.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        replies = await super().ask_all(peers, request, within, enough)
        if isinstance(request, NewState):
            return {**dict.fromkeys(peers, NewStateAnswer()), **replies}  # type: ignore[arg-type]
        return replies


class Stages34Unanswered(Bully):
    """B6 and B7: missing answers are ignored in both stages. Harmless too, as long as B3 holds."""

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        replies = await super().ask_all(peers, request, within, enough)
        if isinstance(request, SetCoordinator | NewState):
            return {**dict.fromkeys(peers, NewStateAnswer()), **replies}  # type: ignore[arg-type]
        return replies


class NormalTooEarly(Bully):
    """B7: the coordinator is Normal before NewState is answered, and performs no task yet."""

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        if isinstance(request, NewState):
            self.status = Status.NORMAL
        return await super().ask_all(peers, request, within, enough)


# B8


class NeverUp(Bully):
    """B8 inverted: AreYouUp gets no answer."""

    @on(AreYouUp)
    def on_are_you_up(self, sender: int, message: AreYouUp) -> None:  # type: ignore[override]
        pass


class AlwaysNormal(Bully):
    """B8 inverted: AreYouNormal is always answered with yes."""

    @on(AreYouNormal)
    def on_are_you_normal(self, sender: int, message: AreYouNormal) -> AreYouNormalAnswer:
        super().on_are_you_normal(sender, message)
        return AreYouNormalAnswer(True)


class NoHalt(Bully):
    """B8: EnterElection does not stop the node's own election."""

    def stop(self, *stopped: Callable[..., Any], key: Hashable | None = None) -> None:
        super().stop(*(each for each in stopped if each != self.election), key=key)


class StatusKept(Bully):
    """B8: EnterElection leaves Status as it is."""

    @on(EnterElection)
    def on_enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer:
        status = self.status
        answer = super().on_enter_election(sender, message)
        self.status = status
        return answer


class HaltedByNobody(Bully):
    """B8: EnterElection does not note which node holds the election."""

    @on(EnterElection)
    def on_enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer:
        halted = self.halted
        answer = super().on_enter_election(sender, message)
        self.halted = halted
        return answer


class FollowsAnyone(Bully):
    """B8: SetCoordinator is accepted from anyone."""

    @on(SetCoordinator)
    def on_set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer:
        self.coordinator = sender
        self.status = Status.REORGANIZATION
        return SetCoordinatorAnswer()


class FollowsAnyLeader(Bully):
    """B8: SetCoordinator is accepted in an election, but from anyone."""

    @on(SetCoordinator)
    def on_set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer | None:
        self.halted = sender
        return super().on_set_coordinator(sender, message)


class FollowsAnytime(Bully):
    """B8: SetCoordinator is accepted from the leader, in any Status.

    While messages arrive once and in order, the leader's EnterElection comes before it. A late copy makes a Normal
    node follow without stopping its task.
    """

    @on(SetCoordinator)
    def on_set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer | None:
        if self.halted == sender:
            self.status = Status.ELECTION
        return super().on_set_coordinator(sender, message)


class AnyState(Bully):
    """B8: NewState is accepted from anyone, at any time."""

    @on(NewState)
    def on_new_state(self, sender: int, message: NewState) -> NewStateAnswer:
        self.definition = message.definition
        self.coordinator = sender
        self.status = Status.NORMAL
        return NewStateAnswer()


class StateWithoutCoordinator(Bully):
    """B8: NewState is accepted from any node while in Reorganization, without following the sender.

    Harmless: only an earlier leader's can arrive so. The node is then Normal with a Definition that no other node
    has yet, and does not answer the NewState of its own leader, which starts anew.
    """

    @on(NewState)
    def on_new_state(self, sender: int, message: NewState) -> NewStateAnswer | None:
        follows, self.coordinator = self.coordinator, sender
        answer = super().on_new_state(sender, message)
        self.coordinator = follows
        return answer


# B9


class Enter(Payload, frozen=True):
    """``EnterElection``, as a message that has no answer."""


class Entered(Payload, frozen=True):
    """The answer, as a message that does not say to what."""


class LateAnswersCount(Bully):
    """B9: the answers of stage 2 are collected as they arrive, in a set that is never emptied."""

    answered: frozenset[int] = frozenset()

    async def halt_lower(self) -> dict[int, EnterElectionAnswer]:
        asked = frozenset(self.lower)
        for peer in sorted(asked):
            self.send(peer, Enter())
        await self.until(lambda: asked <= self.answered, "answers", self.t_us)
        known = EnterElectionAnswer(self.definition, self.version)
        return dict.fromkeys(sorted(asked & self.answered), known)

    @on(Enter)
    def enter(self, sender: int, message: Enter) -> None:
        self.on_enter_election(sender, EnterElection())
        self.send(sender, Entered())

    @on(Entered)
    def entered(self, sender: int, message: Entered) -> None:
        self.answered |= {sender}


# B10


class OwnStateOnly(Bully):
    """B10 ignored: the new coordinator continues from its own state alone.

    Harmless as yet: the Definition has no content that could be lost, only its author and its version.
    """

    def _define(self, entered: dict[int, EnterElectionAnswer]) -> None:
        super()._define({})


# the four holes that bully.py closes; the second is NoFurtherWait


class LeaderNotMissed(Bully):
    """The first hole, as in listing 10.18: in status Election no node is missed."""

    def _silence_ends_us(self) -> int | None:
        return None if self.status is Status.ELECTION else super()._silence_ends_us()

    @periodic(_silence_ends_us)
    async def coordinator_timeout(self) -> None:
        await super().coordinator_timeout()


class LeadsOn(Bully):
    """The third hole: a coordinator that leaves an election to a higher node continues to lead.

    Harmless for A1 and A2, because it leads only until nothing has come of the election.
    """

    async def await_takeover(self) -> None:
        await RetryIfNoTakeover.await_takeover(self)
        if self.status is Status.NORMAL and not self.is_led():
            self.step_down()


class HaltedAtOnce(Bully):
    """The fourth hole: a node halted by a higher leader is halted again by a lower one that it hears later."""

    async def halt_lower(self) -> dict[int, EnterElectionAnswer]:
        return await self.ask_all(self.lower, EnterElection(), within=self.t_us)


EVERYTHING = "kill,pause,partition,delay,loss,duplicate,reorder"
CAUGHT: list[tuple[type[Bully], str, str, int]] = [
    (NormalTooEarly, "M7", EVERYTHING, 1),
    (FollowsAnytime, "M7", EVERYTHING, 207),
    (NoTimeout, "A2", "kill", 9),
    (NoRecovery, "A2", "kill", 1),
    (NormalAtOnce, "A1.1", "kill", 1),
    (BlindCheck, "A2", "kill", 9),
    (AstrayUnseen, "A2", "kill", 9),
    (NoStage1, "A1.1", "kill", 4),
    (Stage1Ignored, "A1.1", "kill", 3),
    (NoFurtherWait, "A2", "kill", 78),
    (UpKept, "A2", "kill", 3),
    (LeadsBeforeStage2, "A1.1", "kill", 1),
    (NobodyEnters, "A2", "kill", 1),
    (NeverUp, "A1.1", "kill", 4),
    (AlwaysNormal, "A2", "kill", 48),
    (NoHalt, "A1.1", "kill", 9),
    (StatusKept, "A2", "kill", 1),
    (HaltedByNobody, "A2", "kill", 1),
    (FollowsAnyone, "A1.1", "kill", 66),
    (FollowsAnyLeader, "A1.1", "kill", 66),
    (AnyState, "M7", "kill", 1),
    (LateAnswersCount, "A2", "kill", 7),
    (LeaderNotMissed, "A2", "kill", 9),
    (StrangersUnseen, "A2", "partition", 1),
    (HaltedAtOnce, "A1.1", "kill", 772),
    (HaltedNotSet, "stages", "kill", 1),
]
HARMLESS: tuple[type[Bully], ...] = (
    NoQuestion,
    SilenceUnseen,
    NoTakeoverTime,
    Stage3Unanswered,
    Stage4Unanswered,
    Stages34Unanswered,
    LeadsOn,
    StateWithoutCoordinator,
    OwnStateOnly,
)

"""Bully with one rule of section 3 removed or inverted: what a campaign has to catch, and what is harmless.

Each can be run like a protocol of a user's own: ``lab check tests/campaign/mutants.py:NoHalt``. What a rule does
to the requests of an election is changed in ``ask_all``, so that each mutant is the few lines that differ.
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
    SetCoordinator,
    SetCoordinatorAnswer,
)

A = TypeVar("A", bound=Payload)

# B1


class NoTimeout(Bully):
    """B1 removed: nobody misses its coordinator."""

    @periodic(lambda self: None)
    async def coordinator_timeout(self) -> None:
        """Never begun."""


class NoQuestion(Bully):
    """B1 shortened: silence is enough, the coordinator is not asked.

    Harmless while the assumptions hold: whoever has not been heard for three times T, and checks every T, is
    dead, or is about to ask for itself.
    """

    @periodic(Bully._silence_ends_us)
    async def coordinator_timeout(self) -> None:
        """Call the election."""
        self.begin(self.election)


# B2


class NoRecovery(Bully):
    """B2 removed: a restarted node stays Down."""

    def recovery(self) -> None:
        """Nothing."""


class NormalAtOnce(Bully):
    """B2 inverted: a restarted node takes itself for the coordinator, and asks nobody."""

    def recovery(self) -> None:
        """Lead."""
        self.coordinator = self.id
        self.status = Status.NORMAL


# B3


class BlindCheck(Bully):
    """B3 removed: Check asks, and finds nothing."""

    @periodic(Bully._check_due_us)
    async def check(self) -> None:
        """Ask, for the members to hear something."""
        await self.ask_all(self.peers, AreYouNormal(), within=self.t_us)


class AstrayUnseen(Bully):
    """B3: a member that is not Normal, restarted before it was missed, is passed over."""

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Whoever is up passes for Normal; strangers that are not are still found."""
        answers = await super().ask_all(peers, request, within, enough)
        if isinstance(request, AreYouNormal):
            return {n: AreYouNormalAnswer(True) for n in answers if n in self.up}  # type: ignore[misc]
        return answers


class StrangersUnseen(Bully):
    """B3: a node outside Up that is Normal is passed over.

    Harmless with crashes alone, after which nobody is Normal elsewhere. Two partitions, one after the other,
    leave a node Normal under a coordinator that has given it up: it asks ``AreYouUp``, hears yes, and stays.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Without the strangers that are Normal."""
        answers = await super().ask_all(peers, request, within, enough)
        if isinstance(request, AreYouNormal):
            return {n: a for n, a in answers.items() if n in self.up or not a.normal}  # type: ignore[attr-defined]
        return answers


class SilenceUnseen(Bully):
    """B3: a member of Up that stays silent is passed over.

    Harmless: a dead one is not Normal when it comes back, which Check sees. One behind a partition has another
    coordinator by then, whose own Check finds this one a stranger.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Silence passes for a yes."""
        answers = await super().ask_all(peers, request, within, enough)
        if isinstance(request, AreYouNormal):
            return {**dict.fromkeys(self.up, AreYouNormalAnswer(True)), **answers}  # type: ignore[arg-type]
        return answers


# B4


class NoStage1(Bully):
    """B4 removed: nobody asks the higher ones."""

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """No stage 1."""
        if isinstance(request, AreYouUp):
            return {}
        return await super().ask_all(peers, request, within, enough)


class Stage1Ignored(Bully):
    """B4 inverted: the higher ones are asked, and their answers ignored."""

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Nobody is higher."""
        answers = await super().ask_all(peers, request, within, enough)
        return {} if isinstance(request, AreYouUp) else answers


class NoFurtherWait(Bully):
    """B4 cut short, and the second hole: whoever finds a higher one up never looks what came of it."""

    def _is_led(self) -> bool:
        return True


class NoTakeoverTime(Bully):
    """B4 cut short: a higher one that is up gets no time to take over.

    Harmless for A1 and A2: stage 1 is asked again and again until the higher one has led. It costs messages.
    """

    @property
    def _takeover_us(self) -> int:
        return 0


# B5


class UpKept(Bully):
    """B5: Up is not emptied before stage 2."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Up only grows in an election."""
        if name == "up" and self.is_running(self.election):
            value |= self.up
        super().__setattr__(name, value)


class HaltedNotSet(Bully):
    """B5: a leader does not note that it is its own leader now, and still goes by who led it last.

    Harmless: ``halted`` says whom a node in Election misses and follows. While its own election runs it misses
    nobody, and whoever led it before is dead, or says EnterElection before anything else, which sets it.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """As before the election."""
        if isinstance(request, EnterElection):
            self.halted = self.coordinator
        return await super().ask_all(peers, request, within, enough)


class LeadsBeforeStage2(Bully):
    """B5 and B6 exchanged: the coordinator is set before the others have been told to stop."""

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Lead first."""
        if isinstance(request, EnterElection):
            self.coordinator = self.id
            self.status = Status.REORGANIZATION
        return await super().ask_all(peers, request, within, enough)


class NobodyEnters(Bully):
    """B5 inverted: who answers EnterElection is left out of Up."""

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Alone."""
        answers = await super().ask_all(peers, request, within, enough)
        return {} if isinstance(request, EnterElection) else answers


# B6, B7


class Stage3Unanswered(Bully):
    """B6: an answer missing in stage 3 is ignored.

    Harmless as long as B7 holds: who has not answered SetCoordinator is not in Reorganization under the sender,
    so it does not answer NewState either, and the election starts anew T later.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Silence passes for a yes."""
        answers = await super().ask_all(peers, request, within, enough)
        if isinstance(request, SetCoordinator):
            return {**dict.fromkeys(peers, SetCoordinatorAnswer()), **answers}  # type: ignore[arg-type]
        return answers


class Stage4Unanswered(Bully):
    """B7: an answer missing in stage 4 is ignored.

    Harmless as long as B3 holds: who has not answered NewState is not Normal, or is dead; Check finds it.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Silence passes for a yes."""
        answers = await super().ask_all(peers, request, within, enough)
        if isinstance(request, NewState):
            return {**dict.fromkeys(peers, NewStateAnswer()), **answers}  # type: ignore[arg-type]
        return answers


class Stages34Unanswered(Bully):
    """B6 and B7: no answer is waited for in earnest. Harmless too, as long as B3 holds."""

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Silence passes for a yes."""
        answers = await super().ask_all(peers, request, within, enough)
        if isinstance(request, SetCoordinator | NewState):
            return {**dict.fromkeys(peers, NewStateAnswer()), **answers}  # type: ignore[arg-type]
        return answers


class NormalTooEarly(Bully):
    """B7: the coordinator is Normal before NewState is answered.

    Harmless for A1 and A2: after stage 3 nobody else that is up is Normal, so no other Definition is in force;
    and it performs no task yet.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Normal first."""
        if isinstance(request, NewState):
            self.status = Status.NORMAL
        return await super().ask_all(peers, request, within, enough)


# B8


class NeverUp(Bully):
    """B8 inverted: AreYouUp gets no answer."""

    @on(AreYouUp)
    def is_up(self, sender: int, message: AreYouUp) -> None:  # type: ignore[override]
        """Silence."""


class AlwaysNormal(Bully):
    """B8 inverted: AreYouNormal is always answered with yes."""

    @on(AreYouNormal)
    def is_normal(self, sender: int, message: AreYouNormal) -> AreYouNormalAnswer:
        """Yes."""
        super().is_normal(sender, message)
        return AreYouNormalAnswer(True)


class NoHalt(Bully):
    """B8: EnterElection does not stop an election that the node itself is holding."""

    def stop(self, *stopped: Callable[..., Any], about: Hashable | None = None) -> None:
        """Anything but the election."""
        super().stop(*(each for each in stopped if each != self.election), about=about)


class StatusKept(Bully):
    """B8: EnterElection leaves Status as it is."""

    @on(EnterElection)
    def enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer:
        """Restore it."""
        status = self.status
        answer = super().enter_election(sender, message)
        self.status = status
        return answer


class HaltedByNobody(Bully):
    """B8: EnterElection does not note who holds the election."""

    @on(EnterElection)
    def enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer:
        """Restore it."""
        halted = self.halted
        answer = super().enter_election(sender, message)
        self.halted = halted
        return answer


class FollowsAnyone(Bully):
    """B8: SetCoordinator is accepted from anyone."""

    @on(SetCoordinator)
    def set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer:
        """Follow."""
        self.coordinator = sender
        self.status = Status.REORGANIZATION
        return SetCoordinatorAnswer()


class FollowsAnyLeader(Bully):
    """B8: SetCoordinator is accepted in an election, but from anyone."""

    @on(SetCoordinator)
    def set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer | None:
        """Whoever leads."""
        self.halted = sender
        return super().set_coordinator(sender, message)


class FollowsAnytime(Bully):
    """B8: SetCoordinator is accepted from the leader, in any Status.

    Harmless while messages come once and in order: the leader's EnterElection comes before it.
    """

    @on(SetCoordinator)
    def set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer | None:
        """In whatever status."""
        if self.halted == sender:
            self.status = Status.ELECTION
        return super().set_coordinator(sender, message)


class AnyState(Bully):
    """B8: NewState is accepted from anyone, at any time."""

    @on(NewState)
    def new_state(self, sender: int, message: NewState) -> NewStateAnswer:
        """Take it."""
        self.definition = message.definition
        self.coordinator = sender
        self.status = Status.NORMAL
        return NewStateAnswer()


class StateWithoutCoordinator(Bully):
    """B8: NewState is accepted from anyone while in Reorganization, without following the sender.

    Harmless: only an earlier leader's can come so. The node is then Normal with a Definition that nobody else
    has yet, and does not answer the NewState of its own leader, who starts anew.
    """

    @on(NewState)
    def new_state(self, sender: int, message: NewState) -> NewStateAnswer | None:
        """Whoever sent it."""
        follows, self.coordinator = self.coordinator, sender
        answer = super().new_state(sender, message)
        self.coordinator = follows
        return answer


# B9


class Enter(Payload, frozen=True):
    """``EnterElection``, as a message that knows nothing of answers."""


class Entered(Payload, frozen=True):
    """The answer, as a message that does not say to what."""

    entered: bool


class LateAnswersCount(Bully):
    """B9: the answers of stage 2 are collected as they come, in a set that is never emptied."""

    answered: frozenset[int] = frozenset()

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Whoever has answered so far, now or at any time."""
        if not isinstance(request, EnterElection):
            return await super().ask_all(peers, request, within, enough)
        asked = frozenset(peers)
        for peer in sorted(asked):
            self.send(peer, Enter())
        await self.until(lambda: asked <= self.answered, "answers", within)
        known = EnterElectionAnswer(self.definition, self.version)
        return dict.fromkeys(sorted(asked & self.answered), known)  # type: ignore[arg-type]

    @on(Enter)
    def enter(self, sender: int, message: Enter) -> None:
        """As EnterElection, but for who answers whom."""
        self.send(sender, Entered(self.enter_election(sender, EnterElection()).entered))

    @on(Entered)
    def entered(self, sender: int, message: Entered) -> None:
        """One more."""
        if message.entered:
            self.answered |= {sender}
        elif self.is_running(self.election):
            self.restart(self.election)


# B10


class OwnStateOnly(Bully):
    """B10 ignored: the new coordinator goes on from what itself knows.

    Harmless as yet: the Definition has no content that could be lost, only who does it and how new that is.
    """

    def _define(self, entered: dict[int, EnterElectionAnswer]) -> None:
        super()._define({})


# the four holes that bully.py closes; the second is NoFurtherWait


class LeaderNotMissed(Bully):
    """The first hole, as in listing 10.18: in status Election nobody is missed."""

    def _silence_ends_us(self) -> int | None:
        return None if self.status is Status.ELECTION else super()._silence_ends_us()

    @periodic(_silence_ends_us)
    async def coordinator_timeout(self) -> None:
        """The same, at other times."""
        await super().coordinator_timeout()


class LeadsOn(Bully):
    """The third hole: a coordinator that leaves an election to a higher node leads on."""

    def leave_office(self) -> None:
        """Not at all."""


class LowerNotRefused(Bully):
    """The fourth hole: whoever a higher leader has halted is halted by a lower one that is heard later."""

    def _is_halted_above(self, sender: int) -> bool:
        return False


class LowerLeftInSilence(Bully):
    """The fourth hole, half closed: the lower leader gets no answer, and goes on without that node."""

    @on(EnterElection)
    def enter_election(self, sender: int, message: EnterElection) -> EnterElectionAnswer | None:  # type: ignore[override]
        """Silence."""
        answer = super().enter_election(sender, message)
        return answer if answer.entered else None


CAUGHT: list[tuple[type[Bully], str, str, int]] = [
    (NoTimeout, "A2", "kill", 1),
    (NoRecovery, "A2", "kill", 1),
    (NormalAtOnce, "A1.1", "kill", 1),
    (BlindCheck, "A2", "kill", 2),
    (AstrayUnseen, "A2", "kill", 9),
    (NoStage1, "A1.1", "kill", 2),
    (Stage1Ignored, "A1.1", "kill", 2),
    (NoFurtherWait, "A2", "kill", 340),
    (UpKept, "A2", "kill", 2),
    (LeadsBeforeStage2, "A1.1", "kill", 6),
    (NobodyEnters, "A2", "kill", 1),
    (NeverUp, "A1.1", "kill", 4),
    (AlwaysNormal, "A2", "kill", 136),
    (NoHalt, "A1.1", "kill", 18),
    (StatusKept, "A2", "kill", 1),
    (HaltedByNobody, "A2", "kill", 1),
    (FollowsAnyone, "A1.1", "kill", 91),
    (FollowsAnyLeader, "A1.1", "kill", 91),
    (AnyState, "A1.1", "kill", 6),
    (LateAnswersCount, "A2", "kill", 4),
    (LeaderNotMissed, "A2", "kill", 1),
    (LowerLeftInSilence, "A1.1", "kill", 992),
    (LeadsOn, "A2", "pause", 7),
    (StrangersUnseen, "A2", "partition", 74),
    (LowerNotRefused, "A1.1", "kill", 915),
]
HARMLESS: tuple[type[Bully], ...] = (
    NoQuestion,
    SilenceUnseen,
    NoTakeoverTime,
    HaltedNotSet,
    Stage3Unanswered,
    Stage4Unanswered,
    Stages34Unanswered,
    NormalTooEarly,
    FollowsAnytime,
    StateWithoutCoordinator,
    OwnStateOnly,
)

"""Invitation with one rule of section 6 removed or inverted: to be caught by a campaign, or harmless.

Each runs like a user's own protocol: ``lab check tests/campaign/invitation_mutants.py:AlwaysThere``.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from lab.kernel import Payload, Request, on, periodic
from lab.protocols import Definition, Group, InvitationElection, Status
from lab.protocols.invitation import (
    Accept,
    AcceptAnswer,
    AreYouCoordinator,
    AreYouCoordinatorAnswer,
    AreYouThere,
    AreYouThereAnswer,
    Invitation,
    Ready,
    ReadyAnswer,
)

A = TypeVar("A", bound=Payload)

# I1


class CounterOfOneLife(InvitationElection):
    """I1: the counter is raised, but not stored."""

    raised: int = 0

    def _form_group(self) -> None:
        super()._form_group()
        self.raised += 1
        self.group = Group(self.id, self.raised)


class CounterRaisedAtRecoveryOnly(InvitationElection):
    """I1: Merge forms its group under the node's present identifier."""

    def _form_group(self) -> None:
        group = self.group
        super()._form_group()
        if self.is_running(self.merge) and group.id == self.id:
            self.group = group


class CounterAlone(InvitationElection):
    """I1: an identifier is a counter, without the node."""

    def _form_group(self) -> None:
        super()._form_group()
        self.group = Group(1, self.counter)


class CounterRaisedAfterwards(InvitationElection):
    """I1: the counter is raised after its use.

    Harmless: both are in one step, whose values are on disk before its messages leave.
    """

    def _form_group(self) -> None:
        used = self.counter + 1
        super()._form_group()
        self.group = Group(self.id, used)
        self.counter = used


# I2


class RecoversInItsGroup(InvitationElection):
    """I2: Recovery forms no new group."""

    def recovery(self) -> None:
        group = self.group
        super().recovery()
        if group.counter:
            self.group = group


class NobodyRecovers(InvitationElection):
    """I2 removed but for a restart."""

    def recovery(self) -> None:
        if not self.group.counter:
            super().recovery()


# I3


class BlindCheck(InvitationElection):
    """I3 removed: Check finds nobody."""

    def coordinators_in(self, replies: dict[int, AreYouCoordinatorAnswer]) -> frozenset[int]:
        return frozenset()


class NoCourtesy(InvitationElection):
    """I3: no node waits before Merge."""

    def wait_us(self) -> int:
        return 0


# I4


class NoTimeout(InvitationElection):
    """I4 removed: no node misses its coordinator."""

    @periodic(lambda self: None)
    async def timeout(self) -> None:
        pass


class AlwaysThere(InvitationElection):
    """I7 inverted: AreYouThere is answered with yes, whatever the group."""

    @on(AreYouThere)
    def on_are_you_there(self, sender: int, message: AreYouThere) -> AreYouThereAnswer:
        super().on_are_you_there(sender, message)
        return AreYouThereAnswer(is_coordinator=True)


# I5


class MergeAtOnce(InvitationElection):
    """I5: Merge does not wait for Accepts."""

    def accept_us(self) -> int:
        return 0


class OldMembersNotInvited(InvitationElection):
    """I5: only coordinators are invited, not the old members."""

    def send(self, peer: int, payload: Payload) -> None:
        known = self.definition.members if self.definition.coordinator == self.id else ()
        if not (isinstance(payload, Invitation) and payload.coordinator == self.id and peer in known):
            super().send(peer, payload)


class ReadyUnanswered(InvitationElection):
    """I5: a missing answer to Ready is ignored.

    Harmless: a node outside the group is soon Normal in a group of its own, and Check finds it.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        replies = await super().ask_all(peers, request, within, enough)
        if isinstance(request, Ready):
            return dict.fromkeys(peers, ReadyAnswer(in_group=True))  # type: ignore[arg-type]
        return replies


class ReadyTwice(InvitationElection):
    """I5: the Definition is changed after Ready is sent."""

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        replies = await super().ask_all(peers, request, within, enough)
        if isinstance(request, Ready):
            self.definition = replace(self.definition, version=self.definition.version + 1)
        return replies


class NormalTooEarly(InvitationElection):
    """I5: the coordinator is Normal before Ready is answered.

    Harmless: it is in its own group with the Definition that it sends, and leaves both if an answer is missing.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        if isinstance(request, Ready):
            self.status = Status.NORMAL
        return await super().ask_all(peers, request, within, enough)


class OldVersionKept(InvitationElection):
    """B10: the version of a Definition is not raised.

    Harmless here: no group has more than one Definition, so no node asks which one is newer.
    """

    def _defined(self, reports: Sequence[Definition]) -> Definition:
        return replace(super()._defined(reports), version=1)


# I6


class InvitedAnytime(InvitationElection):
    """I6: an invitation is accepted in any status."""

    @on(Invitation)
    def on_invitation(self, sender: int, message: Invitation) -> None:
        self.status = Status.NORMAL
        super().on_invitation(sender, message)


class NotPassedOn(InvitationElection):
    """I6: an invited coordinator does not invite its members.

    Harmless: they ask it whether it is there, hear no, and recover; then Check finds them.
    """

    @on(Invitation)
    def on_invitation(self, sender: int, message: Invitation) -> None:
        if self.leads:
            self.up = frozenset()
        super().on_invitation(sender, message)


class UnacceptedJoin(InvitationElection):
    """I6: no answer to Accept, or a no, counts as yes.

    Harmless as long as I4 holds: no Ready arrives, and the coordinator answers AreYouThere with no.
    """

    async def ask(self, peer: int, request: Request[A], within: int) -> A | None:
        answer = await super().ask(peer, request, within)
        return AcceptAnswer(accepted=True) if isinstance(request, Accept) else answer  # type: ignore[return-value]


# I7


class ReadyInAnyStatus(InvitationElection):
    """I7: Ready of its group is accepted in any status.

    Harmless to A3.2: a group has one Definition. But a node in Election becomes Normal and resumes its task before
    it knows that it was accepted; the answer then puts it into Reorganization, and it goes on (M7).
    """

    @on(Ready)
    def on_ready(self, sender: int, message: Ready) -> ReadyAnswer:
        if self.group == message.group:
            self.status = Status.REORGANIZATION
        return super().on_ready(sender, message)


class ReadyOfAnyGroup(InvitationElection):
    """I7: Ready is accepted in Reorganization, of any group."""

    @on(Ready)
    def on_ready(self, sender: int, message: Ready) -> ReadyAnswer:
        return super().on_ready(sender, replace(message, group=self.group))


class AnyReady(InvitationElection):
    """I7: Ready is accepted from any node, at any time."""

    @on(Ready)
    def on_ready(self, sender: int, message: Ready) -> ReadyAnswer:
        self.status = Status.REORGANIZATION
        return super().on_ready(sender, replace(message, group=self.group))


class AlwaysCoordinator(InvitationElection):
    """I7 inverted: AreYouCoordinator is always answered with yes."""

    @on(AreYouCoordinator)
    def on_are_you_coordinator(self, sender: int, message: AreYouCoordinator) -> AreYouCoordinatorAnswer:
        super().on_are_you_coordinator(sender, message)
        return AreYouCoordinatorAnswer(is_coordinator=True)


class LateAccept(InvitationElection):
    """I7: Accept of its group is taken after its time is over.

    Harmless: the late node is in Up and gets no Ready; it recovers, and the coordinator misses an answer.
    """

    @on(Accept)
    def on_accept(self, sender: int, message: Accept) -> AcceptAnswer:
        status, self.status = self.status, Status.ELECTION
        answer = super().on_accept(sender, message)
        self.status = status
        return answer


class AcceptOfAnyGroup(InvitationElection):
    """I7: Accept is taken in Election, for any group.

    Harmless: a node of another group answers Ready with no, and the coordinator recovers.
    """

    @on(Accept)
    def on_accept(self, sender: int, message: Accept) -> AcceptAnswer:
        return super().on_accept(sender, replace(message, group=self.group))


# I8, and what the repairs close


class TimeoutOnlyInNormal(InvitationElection):
    """I8 removed: in Reorganization a node waits for Ready forever."""

    @periodic(lambda self: None if self.status is Status.REORGANIZATION else self._timeout_due_us())
    async def timeout(self) -> None:
        await super().timeout()


class TwoThreads(InvitationElection):
    """A gap: an invitation does not stop the running procedures."""

    def stop(self, *stopped: Callable[..., Any], key: Hashable | None = None) -> None:
        pass


class MembersUnseen(InvitationElection):
    """Beyond the promise: a coordinator does not miss its members.

    Harmless for A4, which is not about dead nodes; but their share of the task is not done.
    """

    def must_merge(self) -> bool:
        return bool(self.others)


EVERYTHING = "kill,pause,partition,delay,loss,duplicate,reorder"

CAUGHT: list[tuple[type[InvitationElection], str, str, int]] = [
    (CounterOfOneLife, "A5", "kill", 1),
    (CounterRaisedAtRecoveryOnly, "A3.2", "kill", 3),
    (CounterAlone, "A3.1", "kill", 1),
    (RecoversInItsGroup, "A3.2", "kill", 1),
    (NobodyRecovers, "A4", "kill", 1),
    (BlindCheck, "A4", "kill", 1),
    (NoCourtesy, "A4", "kill", 1),
    (NoTimeout, "A4", "kill", 1),
    (AlwaysThere, "A4", "kill", 3),
    (MergeAtOnce, "A4", "kill", 1),
    (OldMembersNotInvited, "A4", "kill", 10),
    (ReadyTwice, "A3.2", "kill", 1),
    (NormalTooEarly, "A3.2", EVERYTHING, 114),
    (InvitedAnytime, "A3.2", "kill", 21),
    (ReadyOfAnyGroup, "A3.2", "kill,pause,partition", 39),
    (AnyReady, "A3.2", "kill,pause,partition", 27),
    (AlwaysCoordinator, "A4", "kill", 2),
    (TimeoutOnlyInNormal, "A4", "kill", 18),
    (TwoThreads, "A4", EVERYTHING, 2),
    (ReadyInAnyStatus, "M7", EVERYTHING, 2076),
]
HARMLESS: tuple[type[InvitationElection], ...] = (
    CounterRaisedAfterwards,
    ReadyUnanswered,
    OldVersionKept,
    NotPassedOn,
    UnacceptedJoin,
    LateAccept,
    AcceptOfAnyGroup,
    MembersUnseen,
)

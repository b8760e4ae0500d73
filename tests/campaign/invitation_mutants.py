"""Invitation with one rule of section 6 removed or inverted: what a campaign has to catch, and what is harmless.

Each can be run like a protocol of a user's own: ``lab check tests/campaign/invitation_mutants.py:AlwaysThere``.
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
    """I1: the counter is raised, and not stored."""

    raised: int = 0

    def _form_group(self) -> None:
        super()._form_group()
        self.raised += 1
        self.group = Group(self.id, self.raised)


class CounterRaisedAtRecoveryOnly(InvitationElection):
    """I1: Merge forms its group under the identifier that the node has already."""

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
    """I1: the counter is raised once it is used.

    Harmless, for both are one step: what it stores is on disk before anything that it sends is on its way.
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
        """Lead the old one."""
        group = self.group
        super().recovery()
        if group.counter:
            self.group = group


class NobodyRecovers(InvitationElection):
    """I2 removed but for a restart."""

    def recovery(self) -> None:
        """Nothing, once there is a group."""
        if not self.group.counter:
            super().recovery()


# I3


class BlindCheck(InvitationElection):
    """I3 removed: Check finds nobody."""

    def _coordinators(self, answers: dict[int, AreYouCoordinatorAnswer]) -> frozenset[int]:
        return frozenset()


class NoCourtesy(InvitationElection):
    """I3: nobody waits before Merge."""

    @property
    def _courtesy_us(self) -> int:
        return 0


# I4


class NoTimeout(InvitationElection):
    """I4 removed: nobody misses its coordinator."""

    @periodic(lambda self: None)
    async def timeout(self) -> None:
        """Never begun."""


class AlwaysThere(InvitationElection):
    """I7 inverted: AreYouThere is answered with yes, whatever the group."""

    @on(AreYouThere)
    def is_there(self, sender: int, message: AreYouThere) -> AreYouThereAnswer:
        """Yes."""
        super().is_there(sender, message)
        return AreYouThereAnswer(is_coordinator=True)


# I5


class MergeAtOnce(InvitationElection):
    """I5: Accepts are not waited for."""

    @property
    def _accept_us(self) -> int:
        return 0


class OldMembersNotInvited(InvitationElection):
    """I5: only the coordinators are, and the old members are left to themselves."""

    def send(self, peer: int, payload: Payload) -> None:
        """Anything but an Invitation of its own to a member."""
        known = self.definition.members if self.definition.coordinator == self.id else ()
        if not (isinstance(payload, Invitation) and payload.coordinator == self.id and peer in known):
            super().send(peer, payload)


class ReadyUnanswered(InvitationElection):
    """I5: an answer to Ready that is missing is ignored.

    Harmless: whoever is not in the group is Normal in a group of its own soon, and Check finds it.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Silence and a no pass for a yes."""
        answers = await super().ask_all(peers, request, within, enough)
        if isinstance(request, Ready):
            return dict.fromkeys(peers, ReadyAnswer(in_group=True))  # type: ignore[arg-type]
        return answers


class ReadyTwice(InvitationElection):
    """I5: the Definition is changed after Ready is sent."""

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Think better of it."""
        answers = await super().ask_all(peers, request, within, enough)
        if isinstance(request, Ready):
            self.definition = replace(self.definition, version=self.definition.version + 1)
        return answers


class NormalTooEarly(InvitationElection):
    """I5: the coordinator is Normal before Ready is answered.

    Harmless: it is in its own group with the Definition that it sends, and leaves both if an answer is missing.
    """

    async def ask_all(
        self, peers: Iterable[int], request: Request[A], within: int, enough: int | None = None
    ) -> dict[int, A]:
        """Normal first."""
        if isinstance(request, Ready):
            self.status = Status.NORMAL
        return await super().ask_all(peers, request, within, enough)


class OldVersionKept(InvitationElection):
    """B10: the version of a Definition is not raised.

    Harmless here: in no group is there more than one Definition, so nobody asks which one is newer.
    """

    def _defined(self, reports: Sequence[Definition]) -> Definition:
        return replace(super()._defined(reports), version=1)


# I6


class InvitedAnytime(InvitationElection):
    """I6: an invitation is accepted in any status."""

    @on(Invitation)
    def invited(self, sender: int, message: Invitation) -> None:
        """Whatever is going on."""
        self.status = Status.NORMAL
        super().invited(sender, message)


class NotPassedOn(InvitationElection):
    """I6: a coordinator that is invited leaves its members to themselves.

    Harmless, for they ask it whether it is there, hear no, and recover; then Check finds them.
    """

    @on(Invitation)
    def invited(self, sender: int, message: Invitation) -> None:
        """As if it had none."""
        if self.leads:
            self.up = frozenset()
        super().invited(sender, message)


class UnacceptedJoin(InvitationElection):
    """I6: no answer to Accept, or a no, passes for a yes.

    Harmless as long as I8 holds: no Ready comes in Reorganization, or a no is what the node answers to it.
    """

    async def ask(self, peer: int, request: Request[A], within: int) -> A | None:
        """Always accepted."""
        answer = await super().ask(peer, request, within)
        return AcceptAnswer(accepted=True) if isinstance(request, Accept) else answer  # type: ignore[return-value]


# I7


class ReadyInAnyStatus(InvitationElection):
    """I7: Ready of its group is taken in any status.

    Harmless: there is one Definition for a group. A node in Election has it before it knows that it was accepted.
    """

    @on(Ready)
    def ready(self, sender: int, message: Ready) -> ReadyAnswer:
        """Whatever it is."""
        if self.group == message.group:
            self.status = Status.REORGANIZATION
        return super().ready(sender, message)


class ReadyOfAnyGroup(InvitationElection):
    """I7: Ready is taken in Reorganization, of whatever group."""

    @on(Ready)
    def ready(self, sender: int, message: Ready) -> ReadyAnswer:
        """The first that comes."""
        return super().ready(sender, replace(message, group=self.group))


class AnyReady(InvitationElection):
    """I7: Ready is taken from anybody, at any time."""

    @on(Ready)
    def ready(self, sender: int, message: Ready) -> ReadyAnswer:
        """Take it."""
        self.status = Status.REORGANIZATION
        return super().ready(sender, replace(message, group=self.group))


class AlwaysCoordinator(InvitationElection):
    """I7 inverted: AreYouCoordinator is always answered with yes."""

    @on(AreYouCoordinator)
    def is_coordinator(self, sender: int, message: AreYouCoordinator) -> AreYouCoordinatorAnswer:
        """Yes."""
        super().is_coordinator(sender, message)
        return AreYouCoordinatorAnswer(is_coordinator=True)


class LateAccept(InvitationElection):
    """I7: Accept of its group is taken after the time for it is over.

    Harmless: whoever is late is in Up, and is sent no Ready; it recovers, and the coordinator misses an answer.
    """

    @on(Accept)
    def accept(self, sender: int, message: Accept) -> AcceptAnswer:
        """At any time."""
        status, self.status = self.status, Status.ELECTION
        answer = super().accept(sender, message)
        self.status = status
        return answer


class AcceptOfAnyGroup(InvitationElection):
    """I7: Accept is taken in Election, for whatever group.

    Harmless: whoever is in another group answers no to Ready, and the coordinator recovers.
    """

    @on(Accept)
    def accept(self, sender: int, message: Accept) -> AcceptAnswer:
        """Whoever comes."""
        return super().accept(sender, replace(message, group=self.group))


# I8, and the holes that invitation.py closes


class ReadyWaitedFor(InvitationElection):
    """I8 removed: in Reorganization a node waits for Ready for ever."""

    async def until(self, condition: Callable[[], bool], what: str, within: int | None = None) -> bool:
        """Without a bound."""
        return await super().until(condition, what)


class TwoThreads(InvitationElection):
    """A hole: an invitation does not stop what was going on."""

    def stop(self, *stopped: Callable[..., Any], about: Hashable | None = None) -> None:
        """Nothing."""


class MembersUnseen(InvitationElection):
    """A hole: a coordinator does not miss its members.

    Harmless for A4, which asks nothing of the dead; but their share of the task is left undone.
    """

    def _misses_members(self) -> bool:
        return False


EVERYTHING = "kill,pause,partition,delay,loss,duplicate,reorder"

CAUGHT: list[tuple[type[InvitationElection], str, str, int]] = [
    (CounterOfOneLife, "A5", "kill", 1),
    (CounterRaisedAtRecoveryOnly, "A3.2", "kill", 1),
    (CounterAlone, "A3.1", "kill", 1),
    (RecoversInItsGroup, "A3.2", "kill", 1),
    (NobodyRecovers, "A4", "kill", 1),
    (BlindCheck, "A4", "kill", 1),
    (NoCourtesy, "A4", "kill", 1),
    (NoTimeout, "A4", "kill", 1),
    (AlwaysThere, "A4", "kill", 1),
    (MergeAtOnce, "A4", "kill", 1),
    (OldMembersNotInvited, "A4", "kill", 1),
    (ReadyTwice, "A3.2", "kill", 1),
    (NormalTooEarly, "A3.2", EVERYTHING, 31),
    (InvitedAnytime, "A3.2", "kill", 24),
    (ReadyOfAnyGroup, "A3.2", "kill,pause,partition", 3),
    (AnyReady, "A3.2", "kill,pause,partition", 3),
    (AlwaysCoordinator, "A4", "kill", 2),
    (ReadyWaitedFor, "A4", "kill", 2),
    (TwoThreads, "A4", EVERYTHING, 29),
]
HARMLESS: tuple[type[InvitationElection], ...] = (
    CounterRaisedAfterwards,
    ReadyUnanswered,
    OldVersionKept,
    NotPassedOn,
    UnacceptedJoin,
    ReadyInAnyStatus,
    LateAccept,
    AcceptOfAnyGroup,
    MembersUnseen,
)

"""The invitation algorithm of Garcia-Molina (1982), by the listings of Chow & Johnson (1997): 10.22-10.28.

Silence proves nothing here, so no node leads all others: a coordinator leads its group. A node that comes up, or
loses its coordinator, forms a group of its own. Coordinators look for each other and merge their groups:

    Check     AreYouCoordinator  to all nodes       those that answer yes are the Others
    Merge     Invitation         to the Others      who forward it to their members; and to its own members
              Accept             from new members   the coordinator of the new group collects them
              Ready              to new members     the Definition of the new group; an answer missing: Recovery

A group is identified by the node that forms it and a counter from stable storage (I1). No identifier is used
twice, so two nodes of one group have the same coordinator and Definition, whatever the network and the nodes do:
A3 and A5 need no timing, no order, no delivery; only a loss of stable storage (4: wipe) can break them. For groups
to merge eventually (A4), the network must deliver in time for long enough.

``InvitationListing`` is the text and nothing else: listing 10.22 is ``group`` and ``counter``, 10.23 ``check``,
10.24 ``timeout``, 10.25 ``recovery``, 10.26 ``merge``, 10.27 ``on_invitation`` and ``join``, 10.28 the handlers
after them; ``others`` is the listing's Others. Where the text can be read in several ways, a parameter chooses.
After it come the repairs, a class each, and then the variations that the text leaves to the implementer; these are
off. ``InvitationElection`` is all of them. ``lab list protocols invitation`` says on which words they rest.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from msgspec.structs import replace

from lab.kernel import Payload, Request, Safe, Timing, on, periodic, procedure
from lab.protocols.cost import Cost
from lab.protocols.definition import Definition
from lab.protocols.departures import Reading, repair, variation
from lab.protocols.election import Status
from lab.protocols.history import Group, extend_history
from lab.protocols.invitation_departures import (
    ACCEPT_LONGER,
    IGNORE_OWN_INVITATION,
    MISS_MEMBERS,
    READINGS,
    STOP_THREADS,
)
from lab.protocols.timeout_election import TimeoutElection

__all__ = ["InvitationElection", "InvitationListing"]


class AreYouCoordinatorAnswer(Payload, frozen=True, omit_defaults=True):
    """I lead a group, or I do not; with informed answers also the coordinator of my group."""

    is_coordinator: bool
    coordinator: int | None = None


class AreYouCoordinator(Request[AreYouCoordinatorAnswer], frozen=True):
    """The question of a coordinator's Check."""


class AreYouThereAnswer(Payload, frozen=True):
    """I lead that group and you are in it, or not."""

    is_coordinator: bool


class AreYouThere(Request[AreYouThereAnswer], frozen=True):
    """A participant's question whether the coordinator still leads its group."""

    group: Group


class Invitation(Payload, frozen=True):
    """An invitation to join this group under this coordinator."""

    coordinator: int
    group: Group


class AcceptAnswer(Payload, frozen=True):
    """You are accepted into the group, or not."""

    accepted: bool


class Accept(Request[AcceptAnswer], frozen=True):
    """I join the group, and report my state of the task."""

    group: Group
    report: Definition


class ReadyAnswer(Payload, frozen=True):
    """I am in the group and continue with its Definition, or not."""

    in_group: bool


class Ready(Request[ReadyAnswer], frozen=True):
    """The group is complete, with this Definition."""

    group: Group
    definition: Definition


class InvitationListing(TimeoutElection):
    """Listings 10.22 to 10.28."""

    heartbeats: ClassVar[tuple[type[Payload], ...]] = (
        AreYouCoordinator,
        AreYouCoordinatorAnswer,
        AreYouThere,
        AreYouThereAnswer,
    )

    class Parameters(TimeoutElection.Parameters, frozen=True):
        """A time of 0 is derived from T."""

        wait: Literal["by_rank", "T/priority", "100T/priority"] = "by_rank"
        """The wait between Check and Merge: 2·T for each higher node, or a constant divided by the priority."""
        heard: Literal["group", "any"] = "group"
        """The messages by which a participant hears its coordinator: those of its group, or any."""
        refused: Literal["returns", "goes_on"] = "returns"
        """The end of joining, when the coordinator refused: after Recovery, or in Reorganization."""

        def longest_wait_us(self, timing: Timing, nodes: int) -> int:
            """Return how long the lowest of the nodes waits, if its priority is 1."""
            by_rank_us = 2 * (nodes - 1) * timing.t_us
            return {"by_rank": by_rank_us, "T/priority": timing.t_us}.get(self.wait, 100 * timing.t_us)

    group: Group = Group()
    counter: Safe[int] = 0
    others: frozenset[int] = frozenset()
    reports: tuple[Definition, ...] = ()

    # listing 10.23

    def _check_due_us(self) -> int | None:
        return self.begun_us(self.check) + self.until_check_us() if self.leads else None

    def until_check_us(self) -> int:
        """Return the time from one Check to the next."""
        return self.check_us

    @periodic(_check_due_us)
    async def check(self) -> None:
        """Check for other coordinators, and merge with them (rule I3)."""
        replies = await self.ask_all(self.peers, AreYouCoordinator(), within=self.t_us)
        self.others = self.coordinators_in(replies)
        if not self.must_merge():
            return
        await self.sleep(self.wait_us(), "coordinators of a higher priority")
        self.begin(self.merge)

    def coordinators_in(self, replies: dict[int, AreYouCoordinatorAnswer]) -> frozenset[int]:
        """Return the Others: the nodes that have answered that they lead."""
        return frozenset(node for node, answer in replies.items() if answer.is_coordinator)

    def must_merge(self) -> bool:
        """Return whether Check has found a reason to merge."""
        return bool(self.others)

    def wait_us(self) -> int:
        """Return the time inversely proportional to the priority."""
        if self.parameters.wait == "by_rank":
            return 2 * self.t_us * len(self.higher)
        constant_us = self.t_us if self.parameters.wait == "T/priority" else 100 * self.t_us
        return constant_us // max(1, self.id)

    # listing 10.24

    def _timeout_due_us(self) -> int | None:
        if self.coordinator is None or self.coordinator == self.id:
            return None
        if self.parameters.heard == "any":
            return self.heard_us(self.coordinator) + self.timeout_us
        return max(self.begun_us(self.timeout), self.begun_us(self.join)) + self.timeout_us

    @periodic(_timeout_due_us)
    async def timeout(self) -> None:
        """Timeout (rule I4): ask the coordinator; it may be lost."""
        assert self.coordinator is not None
        answer = await self.ask(self.coordinator, AreYouThere(self.group), within=self.t_us)
        if answer is None or not answer.is_coordinator:
            await self.on_lost_coordinator()

    async def on_lost_coordinator(self) -> None:
        """Recover."""
        self.recovery()

    # listing 10.25

    def started(self) -> None:
        """Recover, as the node starts."""
        self.recovery()

    def recovery(self) -> None:
        """Recovery (rule I2): form a group of one node."""
        self.status = Status.ELECTION
        self.stop_processing()
        self._form_group()
        self.status = Status.REORGANIZATION
        self.definition = self._defined([self.report()])
        self.status = Status.NORMAL
        self.resume_processing()

    def _form_group(self) -> None:
        """Form a group with a new identifier, whose counter is stored before any message contains it (rule I1)."""
        self.counter += 1
        self.group = Group(self.id, self.counter)
        self.coordinator = self.id
        self.up = frozenset()

    def _defined(self, reports: Sequence[Definition]) -> Definition:
        """Return the Definition of this group, continuing from its members' reports (rules I10, B10)."""
        members = tuple(sorted({*self.up, self.id}))
        version = 1 + max(report.version for report in reports)
        history = extend_history(self.group, self.id, members, [report.history for report in reports])
        return replace(self.define(version, members, reports), history=history)

    # listing 10.26

    @procedure
    async def merge(self) -> None:
        """Merge groups (rule I5): invite, collect Accepts, and send Ready."""
        if not self.leads:
            return
        self.status = Status.ELECTION
        self.stop_processing()
        self.reports = (self.report(),)
        invited = sorted(self.others | self.up)
        self.others = frozenset()
        self._form_group()
        for node in invited:
            self.send(node, Invitation(self.id, self.group))
        await self.sleep(self.accept_us(), "Accepts")
        self.status = Status.REORGANIZATION
        self.definition = self._defined(self.reports)
        self.reports = ()
        replies = await self.ask_all(sorted(self.up), Ready(self.group, self.definition), within=self.t_us)
        if sum(answer.in_group for answer in replies.values()) < len(self.up):
            self.recovery()
            return
        self.status = Status.NORMAL
        self.resume_processing()

    def accept_us(self) -> int:
        """Return for how long Accepts are collected."""
        return self.t_us

    # listing 10.27

    @on(Invitation)
    def on_invitation(self, sender: int, message: Invitation) -> None:
        """Accept an invitation (rule I6, up to the wait)."""
        if self.status is not Status.NORMAL:
            return
        self.stop_processing()
        members = self.up if self.coordinator == self.id else frozenset()
        self.status = Status.ELECTION
        self.coordinator, self.group = message.coordinator, message.group
        self.up = self.others = frozenset()
        for member in sorted(members):
            self.send(member, message)
        self.begin(self.join)

    @procedure
    async def join(self) -> None:
        """Join the new group (rule I6, from the wait on)."""
        assert self.coordinator is not None
        accept = Accept(self.group, self.report())
        answer = await self.ask(self.coordinator, accept, within=self.t_us)
        if answer is None or not answer.accepted:
            self.recovery()
            if self.parameters.refused == "returns":
                return
        self.status = Status.REORGANIZATION

    # listing 10.28

    @on(Ready)
    def on_ready(self, sender: int, message: Ready) -> ReadyAnswer:
        """Adopt the Definition and become Normal (rule I7)."""
        if self.group != message.group or self.status is not Status.REORGANIZATION:
            return ReadyAnswer(in_group=False)
        self.definition = message.definition
        self.up = frozenset(message.definition.members) - {self.id}
        self.status = Status.NORMAL
        self.resume_processing()
        return ReadyAnswer(in_group=True)

    @on(AreYouCoordinator)
    def on_are_you_coordinator(self, sender: int, message: AreYouCoordinator) -> AreYouCoordinatorAnswer:
        """Answer AreYouCoordinator (rule I7)."""
        return AreYouCoordinatorAnswer(self.leads)

    @on(AreYouThere)
    def on_are_you_there(self, sender: int, message: AreYouThere) -> AreYouThereAnswer:
        """Answer AreYouThere (rule I7)."""
        there = self.group == message.group and self.coordinator == self.id and sender in self.up
        return AreYouThereAnswer(there)

    @on(Accept)
    def on_accept(self, sender: int, message: Accept) -> AcceptAnswer:
        """Accept a new member while the group forms (rule I7)."""
        forming = self.status is Status.ELECTION and self.coordinator == self.id
        if not forming or self.group != message.group:
            return AcceptAnswer(accepted=False)
        self.up |= {sender}
        self.reports = (*self.reports, message.report)
        return AcceptAnswer(accepted=True)


# repairs


@repair(STOP_THREADS)
class StopThreads(InvitationListing):
    """An invitation stops Check and Timeout, whose results would be outdated."""

    @on(Invitation)
    def on_invitation(self, sender: int, message: Invitation) -> None:
        """Stop them and accept the invitation (rule I6)."""
        if self.status is Status.NORMAL:
            self.stop(self.check, self.timeout)
        super().on_invitation(sender, message)


@repair(ACCEPT_LONGER)
class AcceptLonger(StopThreads):
    """A coordinator collects Accepts until those can have come whose invitation was forwarded."""

    def accept_us(self) -> int:
        """Add the forwarding to T."""
        return self.t_us + self.timing.tm_us + self.timing.tp_us


@repair(MISS_MEMBERS)
class MissMembers(AcceptLonger):
    """A coordinator whose members are silent merges what is left of its group."""

    def must_merge(self) -> bool:
        """Return whether there are Others, or a member is silent for the timeout."""
        silent = [member for member in sorted(self.up) if self.now_us - self.heard_us(member) > self.timeout_us]
        return super().must_merge() or bool(silent)


@repair(IGNORE_OWN_INVITATION)
class IgnoreOwnInvitation(MissMembers):
    """A node ignores its own invitation."""

    @on(Invitation)
    def on_invitation(self, sender: int, message: Invitation) -> None:
        """Accept an invitation (rule I6), unless it is this node's own, forwarded back to it."""
        if message.coordinator != self.id:
            super().on_invitation(sender, message)


# variations (rule I9)


@variation("informed_answers")
class InformedAnswers(IgnoreOwnInvitation):
    """A participant answers a Check with its coordinator."""

    def coordinators_in(self, replies: dict[int, AreYouCoordinatorAnswer]) -> frozenset[int]:
        """Add the coordinators of the participants to the Others."""
        named = {answer.coordinator for answer in replies.values() if answer.coordinator is not None}
        return super().coordinators_in(replies) | named - {self.id}

    @on(AreYouCoordinator)
    def on_are_you_coordinator(self, sender: int, message: AreYouCoordinator) -> AreYouCoordinatorAnswer:
        """Answer with the coordinator, too, in status Normal."""
        answer = super().on_are_you_coordinator(sender, message)
        return replace(answer, coordinator=self.coordinator) if self.status is Status.NORMAL else answer


@variation("priority_invitations")
class PriorityInvitations(InformedAnswers):
    """Of two coordinators, the higher one merges, as soon as the lower has asked it."""

    def until_check_us(self) -> int:
        """Check at once if a lower coordinator has asked."""
        return 0 if self.others else super().until_check_us()

    def coordinators_in(self, replies: dict[int, AreYouCoordinatorAnswer]) -> frozenset[int]:
        """Leave higher coordinators out of the Others."""
        return frozenset(node for node in super().coordinators_in(replies) if node < self.id)

    @on(AreYouCoordinator)
    def on_are_you_coordinator(self, sender: int, message: AreYouCoordinator) -> AreYouCoordinatorAnswer:
        """Note the sender, which is a coordinator, if it is lower."""
        if self.leads and sender < self.id:
            self.others |= {sender}
        return super().on_are_you_coordinator(sender, message)


@variation("quick_regroup")
class QuickRegroup(PriorityInvitations):
    """A participant that has lost its coordinator invites the other members of its group."""

    async def on_lost_coordinator(self) -> None:
        """Recover, wait as before each Merge, and merge with the other members."""
        fellows = self.up - {self.coordinator}
        self.recovery()
        self.others = fellows
        await self.sleep(self.wait_us(), "members of a higher priority")
        self.begin(self.merge)


@variation("ignore_lower")
class IgnoreLower(QuickRegroup):
    """A coordinator does not answer the Check of a lower one, and is not invited by it."""

    @on(AreYouCoordinator)
    def on_are_you_coordinator(self, sender: int, message: AreYouCoordinator) -> AreYouCoordinatorAnswer | None:  # type: ignore[override]
        """Answer unless this node leads, and the sender is lower."""
        return None if self.leads and sender < self.id else super().on_are_you_coordinator(sender, message)


@variation("decline_lower")
class DeclineLower(IgnoreLower):
    """A coordinator declines the invitation of a lower one: it is not interested."""

    @on(Invitation)
    def on_invitation(self, sender: int, message: Invitation) -> None:
        """Accept an invitation unless this node leads, and the inviting one is lower."""
        if not self.leads or message.coordinator > self.id:
            super().on_invitation(sender, message)


class InvitationElection(DeclineLower):
    """Garcia-Molina's invitation: every group has its coordinator; groups that find each other merge."""

    name: ClassVar[str] = "invitation"
    promises: ClassVar[tuple[str, ...]] = ("A3.1", "A3.2", "A4", "A5", "M7", "spreads", "defined")
    relies_on: ClassVar[dict[str, tuple[int, ...]]] = {"A3.1": (4,), "A3.2": (4,), "A5": (4,)}
    readings: ClassVar[tuple[Reading, ...]] = READINGS

    costs: ClassVar[tuple[Cost, ...]] = (
        Cost(
            "one merge of all",
            "5n − 10",
            lambda n: 5 * n - 10,
            "listing 10.26: Invitation, Accept, Ready and the answers to the last two, with n − 2 nodes each",
        ),
        Cost(
            "a merge for each, worst case",
            "5(n² − 3n + 2)/2",
            lambda n: 5 * (n - 1) * (n - 2) / 2,
            "listing 10.26 for groups of 2, 3, … n − 1 nodes: they notice one by one, and each is merged alone",
            detection="in turn",
        ),
    )

    class Parameters(InvitationListing.Parameters, frozen=True):
        """The texts leave five of them to the implementer (rule I9): they are off."""

        priority_invitations: bool = False
        """Of two coordinators, the higher one merges, as soon as the lower has asked it."""
        informed_answers: bool = False
        """A participant answers a Check with its coordinator."""
        quick_regroup: bool = False
        """A participant that has lost its coordinator invites the other members of its group."""
        ignore_lower: bool = False
        """A coordinator does not answer the Check of a lower one."""
        decline_lower: bool = False
        """A coordinator declines the invitation of a lower one."""
        without: tuple[
            Literal[
                "stop_threads",
                "accept_longer",
                "miss_members",
                "ignore_own_invitation",
                "all",
            ],
            ...,
        ] = ()
        """Repairs to leave out; all: the listings alone."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Parameters, nodes: int) -> int:
        """Allow for two timeouts, then four rounds, each of a Check, the longest wait and a Merge."""
        t_us = timing.t_us
        missed_us = parameters.timeout_us(timing) + t_us
        merge_us = 2 * t_us + timing.tm_us + timing.tp_us
        round_us = parameters.check_us(timing) + t_us + parameters.longest_wait_us(timing, nodes) + merge_us
        return 2 * missed_us + 4 * round_us

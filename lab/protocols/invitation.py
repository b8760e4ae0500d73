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

Listing 10.22 is ``group`` and ``counter``, 10.23 ``check``, 10.24 ``timeout``, 10.25 ``recovery``, 10.26
``merge``, 10.27 ``on_invitation`` and ``join``, 10.28 the handlers after them; ``others`` is the listing's Others.

The listings have six gaps, closed here (not with ``as_printed``; recordings/holes show the consequences):

* invitation-left-behind.jsonl: a participant that hears its coordinator does not ask whether it still belongs to
  the group. But coordinators send Checks to all nodes, so a participant that missed the formation of a new group
  still hears its coordinator, and stays forever in a group that no longer exists. Here it asks regardless of what
  it hears.
* invitation-two-threads.jsonl: an invitation does not stop the thread that asks the coordinator. The old
  coordinator's answer *no* then arrives during joining: the node recovers, and a moment later its Accept is
  accepted. It is its own coordinator in Reorganization, where nothing ever happens again. Here an invitation stops
  that thread, and also a Check that sleeps before Merge with outdated Others.
* invitation-starves.jsonl: with a delay inversely proportional to the priority, the 27th and the 26th node begin
  to merge at nearly the same time. Each has left Normal when the other's invitation arrives, and ignores it; this
  repeats forever. Here each node waits 2·T longer than the next higher one.
* invitation-too-late.jsonl: a forwarded invitation may take 2·Tm + Tp, so its Accept may arrive after T + Tm + Tp:
  too late for a coordinator that collects Accepts for T. Here it collects for that long.
* invitation-dead-member.jsonl: a coordinator looks for other coordinators, but never checks its members: a dead
  node stays a member, and its share of the task undone. Here a member that is silent for the timeout triggers a
  new group.
* invitation-own-group.jsonl: a node may forward an invitation to the node that sent it. If that takes long enough,
  the sender enters a group that it had formed and left, which breaks A5. Here a node ignores its own invitations.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from msgspec.structs import replace

from lab.kernel import Payload, Request, Safe, Timing, on, periodic, procedure
from lab.protocols.cost import Cost
from lab.protocols.definition import Definition
from lab.protocols.election import Status
from lab.protocols.history import Group, extend_history
from lab.protocols.timeout_election import TimeoutElection

__all__ = ["InvitationElection"]


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


class InvitationElection(TimeoutElection):
    """Garcia-Molina's invitation: every group has its coordinator; groups that find each other merge."""

    name: ClassVar[str] = "invitation"
    promises: ClassVar[tuple[str, ...]] = ("A3.1", "A3.2", "A4", "A5", "M7")
    relies_on: ClassVar[dict[str, tuple[int, ...]]] = {"A3.1": (4,), "A3.2": (4,), "A5": (4,)}
    heartbeats: ClassVar[tuple[type[Payload], ...]] = (
        AreYouCoordinator,
        AreYouCoordinatorAnswer,
        AreYouThere,
        AreYouThereAnswer,
    )
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

    class Parameters(TimeoutElection.Parameters, frozen=True):
        """Rule I9 leaves the last three to the implementer."""

        as_printed: bool = False
        """Leave the six gaps in the listings open."""
        priority_invitations: bool = False
        """Of two coordinators, the higher one merges, as soon as the lower has asked it."""
        informed_answers: bool = False
        """A participant answers a Check with its coordinator."""
        quick_regroup: bool = False
        """A participant that has lost its coordinator invites the other members of its group."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Parameters, nodes: int) -> int:
        """Allow for two timeouts, then four rounds, each of a Check, the longest delay and a Merge."""
        t_us = timing.t_us
        missed_us = parameters.timeout_us(timing) + t_us
        merge_us = 2 * t_us + timing.tm_us + timing.tp_us
        return 2 * missed_us + 4 * (parameters.check_us(timing) + t_us + 2 * (nodes - 1) * t_us + merge_us)

    group: Group = Group()
    counter: Safe[int] = 0
    others: frozenset[int] = frozenset()
    reports: tuple[Definition, ...] = ()

    @cached_property
    def _accept_us(self) -> int:
        return self.t_us + (0 if self.parameters.as_printed else self.timing.tm_us + self.timing.tp_us)

    @cached_property
    def _merge_delay_us(self) -> int:
        return self.t_us // max(1, self.id) if self.parameters.as_printed else 2 * self.t_us * len(self.higher)

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

    # listing 10.23

    def _check_due_us(self) -> int | None:
        if not self.leads:
            return None
        at_once = self.parameters.priority_invitations and self.others
        return self.begun_us(self.check) + (0 if at_once else self.check_us)

    @periodic(_check_due_us)
    async def check(self) -> None:
        """Check for other coordinators, and merge with them (rule I3)."""
        replies = await self.ask_all(self.peers, AreYouCoordinator(), within=self.t_us)
        self.others = self._coordinators(replies)
        if self.others or self._misses_members():
            await self.sleep(self._merge_delay_us, "coordinators of a higher priority")
            self.begin(self.merge)

    def _coordinators(self, replies: dict[int, AreYouCoordinatorAnswer]) -> frozenset[int]:
        found = {node for node, answer in replies.items() if answer.is_coordinator}
        found |= {answer.coordinator for answer in replies.values() if answer.coordinator is not None}
        if self.parameters.priority_invitations:
            found = {node for node in found if node < self.id}
        return frozenset(found - {self.id})

    def _misses_members(self) -> bool:
        silent = [member for member in sorted(self.up) if self.now_us - self.heard_us(member) > self.timeout_us]
        return bool(silent) and not self.parameters.as_printed

    # listing 10.24

    def _timeout_due_us(self) -> int | None:
        if self.coordinator is None or self.coordinator == self.id:
            return None
        if self.parameters.as_printed:
            return self.heard_us(self.coordinator) + self.timeout_us
        return max(self.begun_us(self.timeout), self.begun_us(self.join)) + self.timeout_us

    @periodic(_timeout_due_us)
    async def timeout(self) -> None:
        """Timeout (rule I4): ask the coordinator, and recover if it is lost."""
        assert self.coordinator is not None
        answer = await self.ask(self.coordinator, AreYouThere(self.group), within=self.t_us)
        if answer is not None and answer.is_coordinator:
            return
        fellows = self.up - {self.coordinator}
        self.recovery()
        if self.parameters.quick_regroup:
            self.others = fellows
            await self.sleep(self._merge_delay_us, "members of a higher priority")
            self.begin(self.merge)

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
        await self.sleep(self._accept_us, "Accepts")
        self.status = Status.REORGANIZATION
        self.definition = self._defined(self.reports)
        self.reports = ()
        replies = await self.ask_all(sorted(self.up), Ready(self.group, self.definition), within=self.t_us)
        if sum(answer.in_group for answer in replies.values()) < len(self.up):
            self.recovery()
            return
        self.status = Status.NORMAL
        self.resume_processing()

    # listing 10.27

    @on(Invitation)
    def on_invitation(self, sender: int, message: Invitation) -> None:
        """Accept an invitation (rule I6, up to the wait)."""
        mine = message.coordinator == self.id and not self.parameters.as_printed
        if self.status is not Status.NORMAL or mine:
            return
        self.stop_processing()
        if not self.parameters.as_printed:
            self.stop(self.check, self.timeout)
        members = self.up if self.coordinator == self.id else frozenset()
        self.status = Status.ELECTION
        self.coordinator, self.group = message.coordinator, message.group
        self.up = self.others = frozenset()
        for member in sorted(members):
            self.send(member, message)
        self.begin(self.join)

    @procedure
    async def join(self) -> None:
        """Join the new group (rule I6, from the wait on; I8)."""
        assert self.coordinator is not None
        accept = Accept(self.group, self.report())
        answer = await self.ask(self.coordinator, accept, within=self.t_us)
        if answer is None or not answer.accepted:
            self.recovery()
            return
        self.status = Status.REORGANIZATION
        if self.parameters.as_printed:
            return
        ready_us = self._accept_us + self.t_us
        came = await self.until(lambda: self.status is Status.NORMAL, "Ready", within=ready_us)
        if not came:
            self.recovery()

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
        """Answer AreYouCoordinator (rule I7); the sender is a coordinator (I9)."""
        if self.parameters.priority_invitations and self.leads and sender < self.id:
            self.others |= {sender}
        informed = self.parameters.informed_answers and self.status is Status.NORMAL
        return AreYouCoordinatorAnswer(self.leads, self.coordinator if informed else None)

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

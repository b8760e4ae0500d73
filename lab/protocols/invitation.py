"""The invitation algorithm, as Garcia-Molina published it in 1982 (listings 10.22-10.28, figure 10.9).

Silence proves nothing here, so nobody leads all: a coordinator leads its group. A node that comes up, or has lost
its coordinator, is a group of its own; coordinators look for each other, and merge their groups:

    Check     AreYouCoordinator  to all             who says yes is of the Others
    Merge     Invitation         to the Others      who pass it on to their members; and to its own members
              Accept             from who joins     the coordinator of the new group collects them
              Ready              to who accepted    the Definition of the new group; an answer missing: Recovery

The identifier of a group is the node that forms it with a counter from safe storage (I1). None is used twice, so
two nodes of one group have one coordinator and one Definition whatever the network and the nodes do: A3 and A5
need no bound on time, no order, no delivery; only safe storage (4: wipe) can break them. That groups merge in the
end (A4) takes a network that delivers in time, for long enough.

Listing 10.22 is ``group`` and ``counter``, 10.23 ``check``, 10.24 ``timeout``, 10.25 ``recovery``, 10.26
``merge``, 10.27 ``invited`` and ``join``, 10.28 the handlers after them; ``others`` is the listing's Others.

Six holes of the listings, and what is done here (not with ``as_printed``; what comes of that: recordings/holes):

* invitation-left-behind.jsonl: a participant that hears its coordinator does not ask whether it is still of its
  group. But a coordinator asks everybody all the time, so one that has formed a new group is heard by a node that
  missed that, which stays behind for ever, in a group that is gone. Here it asks, however much it hears.
* invitation-two-threads.jsonl: the thread that asks is not stopped by an invitation. The answer of the old
  coordinator, *no*, then comes in the midst of joining: the node recovers, and is told a moment later that its
  Accept was accepted. It is its own coordinator in Reorganization, where nothing ever happens again. Here an
  invitation stops what was going on; also a Check asleep before Merge, with the Others of the past.
* invitation-starves.jsonl: with a wait inversely proportional to the priority the 27th and the 26th node begin to
  merge at nearly the same instant. Each has left Normal when the other's invitation comes, and ignores it; again
  and again. Here each node waits 2·T longer than the next higher.
* invitation-too-late.jsonl: an invitation that is passed on may take 2·Tm + Tp, and then the Accept comes after T
  + Tm + Tp: too late for a coordinator that collects for T. Here it collects for as long as that.
* invitation-dead-member.jsonl: a coordinator looks for other coordinators, and never at its members: who is dead
  stays a member, its share of the task undone. Here a member not heard for the timeout has the group formed anew.
* invitation-own-group.jsonl: whoever passes an invitation on may pass it to who sent it. If that takes long
  enough, that one enters a group that it had formed and left, which breaks A5. Here nobody is invited by itself.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from msgspec.structs import replace

from lab.kernel import Payload, Request, Safe, Timing, on, periodic, procedure
from lab.protocols.cost import Cost
from lab.protocols.definition import Definition
from lab.protocols.election import Status
from lab.protocols.history import Group, history_of
from lab.protocols.paced import PacedElection

__all__ = ["InvitationElection"]


class AreYouCoordinatorAnswer(Payload, frozen=True, omit_defaults=True):
    """Whether I lead a group; and, with informed answers, who leads mine."""

    is_coordinator: bool
    coordinator: int | None = None


class AreYouCoordinator(Request[AreYouCoordinatorAnswer], frozen=True):
    """A coordinator's Check."""


class AreYouThereAnswer(Payload, frozen=True):
    """Whether I lead that group, and you are in it."""

    is_coordinator: bool


class AreYouThere(Request[AreYouThereAnswer], frozen=True):
    """Do you still lead my group?"""

    group: Group


class Invitation(Payload, frozen=True):
    """Join this group under this coordinator."""

    coordinator: int
    group: Group


class AcceptAnswer(Payload, frozen=True):
    """Whether you are in."""

    accepted: bool


class Accept(Request[AcceptAnswer], frozen=True):
    """I join the group; this is what I know of the task."""

    group: Group
    report: Definition


class ReadyAnswer(Payload, frozen=True):
    """Whether I am in the group, and go on with that."""

    in_group: bool


class Ready(Request[ReadyAnswer], frozen=True):
    """The group is complete; this is what we do from now on."""

    group: Group
    definition: Definition


class InvitationElection(PacedElection):
    """Garcia-Molina's invitation: every group has its coordinator; groups that find each other merge."""

    name: ClassVar[str] = "invitation"
    promises: ClassVar[tuple[str, ...]] = ("A3.1", "A3.2", "A4", "A5")
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
            noticed="in turn",
        ),
    )

    class Parameters(PacedElection.Parameters, frozen=True):
        """Rule I9 leaves the last three to the implementer."""

        as_printed: bool = False
        """Leave out what is done here beyond the listings."""
        priority_invitations: bool = False
        """The higher of two coordinators merges them, as soon as the lower has asked it."""
        informed_answers: bool = False
        """A participant that is asked whether it is a coordinator tells who leads it."""
        quick_regroup: bool = False
        """A participant that has lost its coordinator invites its fellow members."""

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Parameters, nodes: int) -> int:
        """Whoever is lost is missed, twice; then four rounds, each of a Check, the longest wait and a Merge."""
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
    def _courtesy_us(self) -> int:
        return self.t_us // max(1, self.id) if self.parameters.as_printed else 2 * self.t_us * len(self.higher)

    # listing 10.25

    def started(self) -> None:
        """The node comes up: Recovery."""
        self.recovery()

    def recovery(self) -> None:
        """I2."""
        self.status = Status.ELECTION
        self.stop_processing()
        self._form_group()
        self.status = Status.REORGANIZATION
        self.definition = self._defined([self.report()])
        self.status = Status.NORMAL
        self.resume_processing()

    def _form_group(self) -> None:
        """I1: a new identifier. Safe storage holds the counter before any message tells of it."""
        self.counter += 1
        self.group = Group(self.id, self.counter)
        self.coordinator = self.id
        self.up = frozenset()

    def _defined(self, reports: Sequence[Definition]) -> Definition:
        """I10, B10: the task of this group, with what its members bring along."""
        members = tuple(sorted({*self.up, self.id}))
        version = 1 + max(report.version for report in reports)
        history = history_of(self.group, self.id, members, [report.history for report in reports])
        return replace(self.define(version, members, reports), history=history)

    # listing 10.23

    def _check_due_us(self) -> int | None:
        if not self.leads:
            return None
        at_once = self.parameters.priority_invitations and self.others
        return self.begun_us(self.check) + (0 if at_once else self.check_us)

    @periodic(_check_due_us)
    async def check(self) -> None:
        """I3."""
        answers = await self.ask_all(self.peers, AreYouCoordinator(), within=self.t_us)
        self.others = self._coordinators(answers)
        if self.others or self._misses_members():
            await self.sleep(self._courtesy_us, "coordinators of a higher priority")
            self.begin(self.merge)

    def _coordinators(self, answers: dict[int, AreYouCoordinatorAnswer]) -> frozenset[int]:
        found = {node for node, answer in answers.items() if answer.is_coordinator}
        found |= {answer.coordinator for answer in answers.values() if answer.coordinator is not None}
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
        """I4."""
        assert self.coordinator is not None
        answer = await self.ask(self.coordinator, AreYouThere(self.group), within=self.t_us)
        if answer is not None and answer.is_coordinator:
            return
        fellows = self.up - {self.coordinator}
        self.recovery()
        if self.parameters.quick_regroup:
            self.others = fellows
            await self.sleep(self._courtesy_us, "members of a higher priority")
            self.begin(self.merge)

    # listing 10.26

    @procedure
    async def merge(self) -> None:
        """I5."""
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
        answers = await self.ask_all(sorted(self.up), Ready(self.group, self.definition), within=self.t_us)
        if sum(answer.in_group for answer in answers.values()) < len(self.up):
            self.recovery()
            return
        self.status = Status.NORMAL
        self.resume_processing()

    # listing 10.27

    @on(Invitation)
    def invited(self, sender: int, message: Invitation) -> None:
        """I6, to the wait."""
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
        """I6, from the wait on; I8."""
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
    def ready(self, sender: int, message: Ready) -> ReadyAnswer:
        """I7."""
        if self.group != message.group or self.status is not Status.REORGANIZATION:
            return ReadyAnswer(in_group=False)
        self.definition = message.definition
        self.up = frozenset(message.definition.members) - {self.id}
        self.status = Status.NORMAL
        self.resume_processing()
        return ReadyAnswer(in_group=True)

    @on(AreYouCoordinator)
    def is_coordinator(self, sender: int, message: AreYouCoordinator) -> AreYouCoordinatorAnswer:
        """I7; I9: whoever asks is a coordinator."""
        if self.parameters.priority_invitations and self.leads and sender < self.id:
            self.others |= {sender}
        told = self.parameters.informed_answers and self.status is Status.NORMAL
        return AreYouCoordinatorAnswer(self.leads, self.coordinator if told else None)

    @on(AreYouThere)
    def is_there(self, sender: int, message: AreYouThere) -> AreYouThereAnswer:
        """I7."""
        there = self.group == message.group and self.coordinator == self.id and sender in self.up
        return AreYouThereAnswer(there)

    @on(Accept)
    def accept(self, sender: int, message: Accept) -> AcceptAnswer:
        """I7."""
        forming = self.status is Status.ELECTION and self.coordinator == self.id
        if not forming or self.group != message.group:
            return AcceptAnswer(accepted=False)
        self.up |= {sender}
        self.reports = (*self.reports, message.report)
        return AcceptAnswer(accepted=True)

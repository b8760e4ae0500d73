"""The ring with one rule of section 5 removed or inverted: to be caught by a campaign, or harmless.

Each runs like a user's own protocol: ``lab check tests/campaign/ring_mutants.py:NobodySkipped``.
"""

from msgspec.structs import replace

from lab.kernel import on, periodic, procedure
from lab.protocols import Definition, Ring, Status
from lab.protocols.ring import (
    COORDINATOR,
    ELECTION,
    AreYouThere,
    AreYouThereAnswer,
    Number,
    Outgoing,
    Passed,
)

# R2


class NobodyNotices(Ring):
    """R2 removed: nobody asks the coordinator."""

    @periodic(lambda self: None)
    async def ask_coordinator(self) -> None:
        self.adopt(Definition(1, self.coordinator, ()))


class NobodySkipped(Ring):
    """R2: a silent successor is retried forever."""

    def skip(self, peer: int) -> None:
        pass


class SkippedForGood(Ring):
    """R2: a node that was silent once is always skipped."""

    gone: frozenset[int] = frozenset()

    def skip(self, peer: int) -> None:
        self.gone |= {peer}
        super().skip(peer)

    def successor(self, outgoing: Outgoing) -> int | None:
        return super().successor(replace(outgoing, silent=outgoing.silent | self.gone))


class NotAcknowledged(Ring):
    """R2: a message is passed on, but not acknowledged."""

    @on(ELECTION)
    def on_election(self, sender: int, message: ELECTION) -> None:  # type: ignore[override]
        super().on_election(sender, message)


# R3


class NotAppended(Ring):
    """R3: ELECTION is passed on without the node's own id."""

    def pass_on(self, message: ELECTION | COORDINATOR) -> None:
        if isinstance(message, ELECTION) and message.starter != self.id:
            message = replace(message, members=message.members[:-1])
        super().pass_on(message)


class HalfTheRing(Ring):
    """R3: any node in the list leads, as long as it is not the highest."""

    def follow(self, message: COORDINATOR) -> None:
        half = [node for node in message.members if node % 2 == self.id % 2]
        super().follow(replace(message, members=tuple(half)))


class NeverCoordinator(Ring):
    """R3 removed: back at its starter, ELECTION is discarded."""

    def on_return(self, message: ELECTION) -> None:
        pass


class NotPassedOn(Ring):
    """R3: COORDINATOR goes to the successor of its starter, and no further."""

    @on(COORDINATOR)
    def on_coordinator(self, sender: int, message: COORDINATOR) -> Passed:
        self.follow(message)
        return Passed()


class OldCoordinatorKept(Ring):
    """R3: a node that passes on an ELECTION keeps its coordinator until COORDINATOR arrives."""

    def enter(self, message: ELECTION) -> None:
        status, coordinator = self.status, self.coordinator
        super().enter(message)
        if status in (Status.NORMAL, Status.REORGANIZATION):
            self.status, self.coordinator = status, coordinator

    def follow(self, message: COORDINATOR) -> None:
        if message.number == self.number:
            self.status, self.coordinator = Status.ELECTION, None
        super().follow(message)


class NotNormal(Ring):
    """M2: the Definition is not accepted, so a member stays in Reorganization."""

    def is_news(self, definition: Definition) -> bool:
        return False


# R4


class EveryCoordinatorFollowed(Ring):
    """R4: numbers are ignored."""

    def follow(self, message: COORDINATOR) -> None:
        if self.number != message.number or self.status is Status.ELECTION:
            self.number, self.status = message.number, Status.ELECTION
            super().follow(replace(message, met=message.number))


class MetIgnored(Ring):
    """R4: an election counts even if it passed a node that was in a higher one."""

    @on(ELECTION)
    def on_election(self, sender: int, message: ELECTION) -> Passed:
        return super().on_election(sender, replace(message, met=message.number))

    @on(COORDINATOR)
    def on_coordinator(self, sender: int, message: COORDINATOR) -> Passed:
        return super().on_coordinator(sender, replace(message, met=message.number))


class LowerEntered(Ring):
    """R4: a node enters the election that arrived last, even a lower one."""

    @on(ELECTION)
    def on_election(self, sender: int, message: ELECTION) -> Passed:
        if message.starter != self.id:
            self.number = Number()
        return super().on_election(sender, message)


# R5


class WaitsForEver(Ring):
    """R5: a node waits for a missing COORDINATOR forever."""

    @procedure
    async def await_coordinator(self) -> None:
        await self.sleep(86_400_000_000, "COORDINATOR")


class PastTheStarter(Ring):
    """R5: a message continues past a starter that has died. Harmless: the second time, it is removed as a copy."""

    def route_to(self, starter: int) -> tuple[int, ...]:
        return self.ring_order


class CopiesPassedOn(Ring):
    """R4: a copy of a message that a node has passed on is passed on again."""

    def is_copy(self, message: ELECTION | COORDINATOR) -> bool:
        return False


class LowerRemoved(Ring):
    """R4: a number lower than its starter's last is removed, though the starter may have been wiped."""

    def is_copy(self, message: ELECTION | COORDINATOR) -> bool:
        this = (type(message).__name__, message.starter)
        known = (each[2] for each in self.passed if each[:2] == this)
        return message.number.round < max(known, default=0) or super().is_copy(message)


# R6


class NoRecovery(Ring):
    """R6 removed: a restarted node stays Down."""

    def started(self) -> None:
        pass


class TooLowForGood(Ring):
    """R6: a number that is too low is not raised.

    Harmless: the node waits for COORDINATOR in vain, and starts anew with a number that is higher by one.
    """

    def on_return(self, message: ELECTION) -> None:
        if message.counts or self.number != message.number:
            super().on_return(message)


class NumberForgotten(Ring):
    """R6: the number is not in stable storage, and a restarted node begins below its former elections.

    Harmless: its message goes round, meets the number of the others, and it starts anew above that.
    """

    number: Number = Number()


# the coordinator and its ring


class NobodyMissed(Ring):
    """The coordinator misses and finds no node."""

    @periodic(lambda self: None)
    async def check(self) -> None:
        pass


class AnswersStrangers(Ring):
    """The coordinator answers any node, in its ring or not.

    Harmless: it finds the stranger itself, as a node outside its ring that is up.
    """

    @on(AreYouThere)
    def on_are_you_there(self, sender: int, message: AreYouThere) -> AreYouThereAnswer | None:
        return super().on_are_you_there(sender, message) or AreYouThereAnswer(self.definition)


class SilentInElection(Ring):
    """A member that asks during an election is not told to wait: it starts its own, and disturbs the first."""

    @on(AreYouThere)
    def on_are_you_there(self, sender: int, message: AreYouThere) -> AreYouThereAnswer | None:
        return None if self.status is Status.ELECTION else super().on_are_you_there(sender, message)


class NeverComplete(Ring):
    """A coordinator does not wait for all members to ask: those that have not are then outside its ring."""

    @procedure
    async def lead(self) -> None:
        self.reported = frozenset()
        self.redefine([])


CAUGHT: list[tuple[type[Ring], str, str, int]] = [
    (NobodyNotices, "A2", "kill", 3),
    (NobodySkipped, "A2", "kill", 1),
    (SkippedForGood, "A2", "kill", 2),
    (NotAcknowledged, "A2", "kill", 1),
    (NotAppended, "A2", "kill", 1),
    (HalfTheRing, "A1.1", "kill", 1),
    (NeverCoordinator, "A2", "kill", 1),
    (NotPassedOn, "A2", "kill", 1),
    (OldCoordinatorKept, "A1.1", "kill", 2),
    (NotNormal, "A2", "kill", 1),
    (EveryCoordinatorFollowed, "A1.1", "kill", 12),
    (MetIgnored, "A1.1", "kill", 67),
    (LowerEntered, "A2", "kill", 5),
    (CopiesPassedOn, "A2", "duplicate", 17),
    (LowerRemoved, "A2", "kill,wipe", 869),
    (WaitsForEver, "A2", "kill", 14),
    (NoRecovery, "A2", "kill", 1),
    (NobodyMissed, "A2", "partition", 1),
    (SilentInElection, "A2", "kill", 10),
    (NeverComplete, "A2", "kill", 67),
]
HARMLESS: tuple[type[Ring], ...] = (
    PastTheStarter,
    TooLowForGood,
    NumberForgotten,
    AnswersStrangers,
)

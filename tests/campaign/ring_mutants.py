"""The ring with one rule of section 5 removed or inverted: what a campaign has to catch, and what is harmless.

Each can be run like a protocol of a user's own: ``lab check tests/campaign/ring_mutants.py:NobodySkipped``.
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
        """Never begun but by COORDINATOR, and then it takes the Definition unasked."""
        self._take(Definition(1, self.coordinator, ()))


class NobodySkipped(Ring):
    """R2: a silent successor is tried for ever."""

    def _skip(self, peer: int) -> None:
        """Nobody."""


class SkippedForGood(Ring):
    """R2: a node that was silent once is skipped from then on."""

    gone: frozenset[int] = frozenset()

    def _skip(self, peer: int) -> None:
        """Remember it."""
        self.gone |= {peer}
        super()._skip(peer)

    def _successor(self, outgoing: Outgoing) -> int | None:
        """Without those."""
        return super()._successor(replace(outgoing, silent=outgoing.silent | self.gone))


class NotAcknowledged(Ring):
    """R2: what comes is passed on, but not acknowledged."""

    @on(ELECTION)
    def election_comes(self, sender: int, message: ELECTION) -> None:  # type: ignore[override]
        """In silence."""
        super().election_comes(sender, message)


# R3


class NotAppended(Ring):
    """R3: passed on without the own id."""

    def _pass(self, message: ELECTION | COORDINATOR) -> None:
        """As it came."""
        if isinstance(message, ELECTION) and message.number.starter != self.id:
            message = replace(message, members=message.members[:-1])
        super()._pass(message)


class HalfTheRing(Ring):
    """R3: whoever is in the list leads, as long as it is not the highest."""

    def _follow(self, message: COORDINATOR) -> None:
        """The half that the node belongs to."""
        half = [node for node in message.members if node % 2 == self.id % 2]
        super()._follow(replace(message, members=tuple(half)))


class NeverCoordinator(Ring):
    """R3 removed: back at its starter, ELECTION becomes nothing."""

    def _come_round(self, message: ELECTION | COORDINATOR) -> None:
        """It is removed."""


class NotPassedOn(Ring):
    """R3: COORDINATOR goes to the successor of its starter, and no further."""

    @on(COORDINATOR)
    def coordinator_comes(self, sender: int, message: COORDINATOR) -> Passed:
        """Follow it."""
        self._follow(message)
        return Passed()


class OldCoordinatorKept(Ring):
    """R3: who passes on an ELECTION goes on under its coordinator until COORDINATOR comes."""

    def _enter(self, number: Number) -> None:
        """But for the status."""
        status, coordinator = self.status, self.coordinator
        super()._enter(number)
        if status in (Status.NORMAL, Status.REORGANIZATION):
            self.status, self.coordinator = status, coordinator

    def _follow(self, message: COORDINATOR) -> None:
        """Whatever the status."""
        if message.number == self.number:
            self.status, self.coordinator = Status.ELECTION, None
        super()._follow(message)


class NotNormal(Ring):
    """M2: the Definition is not taken, so a member stays in Reorganization."""

    def _is_news(self, definition: Definition) -> bool:
        """Never."""
        return False


# R4


class EveryCoordinatorFollowed(Ring):
    """R4: numbers are not looked at."""

    def _follow(self, message: COORDINATOR) -> None:
        """Follow it, whatever this node is in."""
        if self.number != message.number or self.status is Status.ELECTION:
            self.number, self.status = message.number, Status.ELECTION
            super()._follow(replace(message, met=message.number))


class MetIgnored(Ring):
    """R4: an election counts even where it came by a node that was in a higher one."""

    @on(ELECTION)
    def election_comes(self, sender: int, message: ELECTION) -> Passed:
        """As if it had met none."""
        return super().election_comes(sender, replace(message, met=message.number))

    @on(COORDINATOR)
    def coordinator_comes(self, sender: int, message: COORDINATOR) -> Passed:
        """As if it had met none."""
        return super().coordinator_comes(sender, replace(message, met=message.number))


class LowerEntered(Ring):
    """R4: a node enters whatever election came last, the lower one too."""

    @on(ELECTION)
    def election_comes(self, sender: int, message: ELECTION) -> Passed:
        """As if it were in none."""
        if message.number.starter != self.id:
            self.number = Number()
        return super().election_comes(sender, message)


# R5


class WaitsForEver(Ring):
    """R5: a COORDINATOR that does not come is waited for, for ever."""

    @procedure
    async def await_coordinator(self) -> None:
        """For a day."""
        await self.sleep(86_400_000_000, "COORDINATOR to come")


class PastTheStarter(Ring):
    """R5: what goes round goes on past a starter that has died.

    Harmless: who has it for the second time removes it as a copy.
    """

    def _way_to(self, starter: int) -> tuple[int, ...]:
        """The whole ring."""
        return self._along


class CopiesPassedOn(Ring):
    """R4: a copy of what a node has passed on before is passed on again."""

    def _comes_again(self, message: ELECTION | COORDINATOR) -> bool:
        """Never."""
        return False


class LowerRemoved(Ring):
    """R4: what is lower than its starter's last one is removed, too, though the starter may have been wiped."""

    def _comes_again(self, message: ELECTION | COORDINATOR) -> bool:
        """Or lower."""
        kind, number = type(message).__name__, message.number
        known = (each[2] for each in self.passed if each[:2] == (kind, number.starter))
        return number.round < max(known, default=0) or super()._comes_again(message)


# R6


class NoRecovery(Ring):
    """R6 removed: a restarted node stays Down."""

    def started(self) -> None:
        """Nothing."""


class TooLowForGood(Ring):
    """R6: a number that is too low is not made up for.

    Harmless: the node waits for COORDINATOR in vain, and starts anew with a number that is higher by one.
    """

    def _come_round(self, message: ELECTION | COORDINATOR) -> None:
        """It is removed where it does not count."""
        if isinstance(message, COORDINATOR) or message.counts or self.number != message.number:
            super()._come_round(message)


class NumberForgotten(Ring):
    """R6: the number is not in safe storage, and a node that comes up again begins below what it was in before.

    Harmless: what it sends goes round, meets the number of the others, and it starts anew above that.
    """

    number: Number = Number()


# the coordinator and its ring


class NobodyMissed(Ring):
    """The coordinator misses nobody, and finds nobody."""

    @periodic(lambda self: None)
    async def check(self) -> None:
        """Never begun."""


class AnswersStrangers(Ring):
    """The coordinator answers whoever asks, in its ring or not.

    Harmless: it finds the stranger by itself, as a node outside its ring that is up.
    """

    @on(AreYouThere)
    def is_there(self, sender: int, message: AreYouThere) -> AreYouThereAnswer | None:
        """With what it has."""
        return super().is_there(sender, message) or AreYouThereAnswer(self.definition)


class SilentInElection(Ring):
    """A member that asks during an election is not told to wait: it holds its own, and disturbs the first."""

    @on(AreYouThere)
    def is_there(self, sender: int, message: AreYouThere) -> AreYouThereAnswer | None:
        """Silence."""
        return None if self.status is Status.ELECTION else super().is_there(sender, message)


class NeverComplete(Ring):
    """A coordinator does not wait for all members to ask it: who has not, when it checks, is not in its ring."""

    @procedure
    async def lead(self) -> None:
        """Take office, and have it."""
        self.reported = frozenset()
        self._define([])


CAUGHT: list[tuple[type[Ring], str, str, int]] = [
    (NobodyNotices, "A2", "kill", 3),
    (NobodySkipped, "A2", "kill", 1),
    (SkippedForGood, "A2", "kill", 1),
    (NotAcknowledged, "A2", "kill", 1),
    (NotAppended, "A2", "kill", 1),
    (HalfTheRing, "A1.1", "kill", 1),
    (NeverCoordinator, "A2", "kill", 1),
    (NotPassedOn, "A2", "kill", 1),
    (OldCoordinatorKept, "A1.1", "kill", 1),
    (NotNormal, "A2", "kill", 1),
    (EveryCoordinatorFollowed, "A1.1", "kill", 9),
    (MetIgnored, "A1.1", "kill", 50),
    (LowerEntered, "A2", "kill", 1),
    (CopiesPassedOn, "A2", "duplicate", 17),
    (LowerRemoved, "A2", "kill,wipe", 869),
    (WaitsForEver, "A2", "kill", 1),
    (NoRecovery, "A2", "kill", 1),
    (NobodyMissed, "A2", "partition", 1),
    (SilentInElection, "A2", "kill", 10),
    (NeverComplete, "A2", "kill", 24),
]
HARMLESS: tuple[type[Ring], ...] = (
    PastTheStarter,
    TooLowForGood,
    NumberForgotten,
    AnswersStrangers,
)

"""Stage 2: the coordinator is asked whether it is there, and a silent successor is skipped."""

from typing import ClassVar

from lab.kernel import Payload, Request, on, periodic, procedure
from lab.protocols import Election, Status


class Passed(Payload, frozen=True):
    """I have it."""


class ELECTION(Request[Passed], frozen=True):
    """The nodes that have passed this on."""

    members: tuple[int, ...]


class COORDINATOR(Request[Passed], frozen=True):
    """The ring: the highest of it leads."""

    members: tuple[int, ...]


class AreYouThere(Request[Passed], frozen=True):
    """A question to the coordinator."""


class MyRing(Election):
    """Each node knows its successor; the highest in the ring leads."""

    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A2", "highest")

    def started(self) -> None:
        """Start an election."""
        self.begin(self.elect)

    @procedure
    async def elect(self) -> None:
        """Send a list around the ring."""
        self.enter()
        self.begin(self.pass_on, key=ELECTION((self.id,)))

    def enter(self) -> None:
        """Follow nobody."""
        self.stop(self.ask_coordinator)
        self.status, self.coordinator = Status.ELECTION, None

    @procedure
    async def pass_on(self, message: ELECTION | COORDINATOR) -> None:
        """Pass a message to the next node that is up."""
        for peer in (*self.higher, *self.lower):
            if await self.ask(peer, message, within=self.timing.t_us) is not None:
                return
        self.follow((self.id,))

    @on(ELECTION)
    def on_election(self, sender: int, message: ELECTION) -> Passed:
        """Add this node, or turn the list into COORDINATOR."""
        if message.members[0] == self.id:
            self.follow(message.members)
            self.begin(self.pass_on, key=COORDINATOR(message.members))
        else:
            self.enter()
            self.begin(self.pass_on, key=ELECTION((*message.members, self.id)))
        return Passed()

    @on(COORDINATOR)
    def on_coordinator(self, sender: int, message: COORDINATOR) -> Passed:
        """Follow, and pass it on until it is back."""
        if message.members[0] != self.id:
            self.follow(message.members)
            self.begin(self.pass_on, key=message)
        return Passed()

    def follow(self, members: tuple[int, ...]) -> None:
        """Follow the highest."""
        self.status, self.coordinator = Status.NORMAL, max(members)

    def question_due_us(self) -> int | None:
        """Return when to ask the coordinator; a coordinator does not ask itself."""
        if self.coordinator in (None, self.id):
            return None
        return self.begun_us(self.ask_coordinator) + self.timing.t_us

    @periodic(question_due_us)
    async def ask_coordinator(self) -> None:
        """Elect if the coordinator is silent."""
        assert self.coordinator is not None
        if await self.ask(self.coordinator, AreYouThere(), within=self.timing.t_us) is None:
            self.begin(self.elect)

    @on(AreYouThere)
    def on_are_you_there(self, sender: int, message: AreYouThere) -> Passed:
        """Answer: I am."""
        return Passed()

"""Stage 4: the coordinator is asked as seldom as the bound of A2 allows."""

from typing import ClassVar

from lab.kernel import Payload, Request, on, periodic, procedure
from lab.protocols import Election, Status


class Passed(Payload, frozen=True):
    """I have it."""


class ELECTION(Request[Passed], frozen=True):
    """The nodes that have passed this on. ``number``: a count, and who started it."""

    number: tuple[int, int]
    members: tuple[int, ...]


class COORDINATOR(Request[Passed], frozen=True):
    """The ring: the highest of it leads."""

    number: tuple[int, int]
    members: tuple[int, ...]


class AreYouThere(Request[Passed], frozen=True):
    """A question to the coordinator."""


class MyRing(Election):
    """Each node knows its successor; the highest in the ring leads."""

    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A2", "highest")

    number: tuple[int, int] = (0, 0)

    def started(self) -> None:
        """Start an election."""
        self.begin(self.elect)

    @procedure
    async def elect(self) -> None:
        """Send a list around the ring, with a higher number than any before."""
        number = (self.number[0] + 1, self.id)
        self.enter(number)
        self.begin(self.pass_on, key=ELECTION(number, (self.id,)))

    def enter(self, number: tuple[int, int]) -> None:
        """Follow nobody, and wait for the result of this election."""
        self.stop(self.ask_coordinator)
        self.status, self.coordinator, self.number = Status.ELECTION, None, number
        self.restart(self.await_coordinator)

    @procedure
    async def await_coordinator(self) -> None:
        """Elect anew if the list is lost with a node."""
        await self.sleep(2 * (len(self.peers) + 1) * self.timing.t_us, "COORDINATOR")
        self.begin(self.elect)

    @procedure
    async def pass_on(self, message: ELECTION | COORDINATOR) -> None:
        """Pass a message to the next node that is up."""
        for peer in (*self.higher, *self.lower):
            if await self.ask(peer, message, within=self.timing.t_us) is not None:
                return
        self.follow((self.id,))

    @on(ELECTION)
    def on_election(self, sender: int, message: ELECTION) -> Passed:
        """Take part in a newer election; turn the own list into COORDINATOR; remove any other."""
        if message.number > self.number:
            self.enter(message.number)
            self.begin(self.pass_on, key=ELECTION(message.number, (*message.members, self.id)))
        elif message.number == self.number and message.members[0] == self.id and self.status is Status.ELECTION:
            self.follow(message.members)
            self.begin(self.pass_on, key=COORDINATOR(message.number, message.members))
        return Passed()

    @on(COORDINATOR)
    def on_coordinator(self, sender: int, message: COORDINATOR) -> Passed:
        """Follow the result of the newest election, and pass it on."""
        if message.number == self.number and self.status is Status.ELECTION:
            self.follow(message.members)
            self.begin(self.pass_on, key=message)
        return Passed()

    def follow(self, members: tuple[int, ...]) -> None:
        """Follow the highest."""
        self.stop(self.await_coordinator)
        self.status, self.coordinator = Status.NORMAL, max(members)

    def question_due_us(self) -> int | None:
        """Return when to ask the coordinator; a coordinator does not ask itself."""
        if self.coordinator in (None, self.id):
            return None
        return self.begun_us(self.ask_coordinator) + 4 * self.timing.t_us

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

"""Protocols that are small enough for all that may happen to them to be listed by hand."""

from typing import ClassVar

from lab.kernel import Payload, Request, Safe, Timing, on, periodic, procedure
from lab.protocols import Election, Group, Status
from lab.recording.records import Header
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.states import Timeouts
from tests.harness import simulated_header

__all__ = [
    "TIMING",
    "Asking",
    "Beating",
    "Cautious",
    "Clinging",
    "Counting",
    "Forgetting",
    "Giving",
    "Joining",
    "Numbering",
    "Raising",
    "Secluding",
    "Stamping",
    "Telling",
    "Trusting",
    "explorer_of",
    "header_of",
]

TIMING = Timing(100_000, 100_000)


class Pong(Payload, frozen=True):
    """An answer, or a message of its own."""


class Ping(Request[Pong], frozen=True):
    """A request."""


class Call(Payload, frozen=True):
    """A message that two Pongs come back for."""


class Telling(Election):
    """Node 1 calls node 2, which sends two messages back; node 1 counts them. There are no timers."""

    name: ClassVar[str] = "telling"
    heard: int = 0

    def started(self) -> None:
        """Call."""
        if self.id == 1:
            self.send(2, Call())

    @on(Call)
    def call(self, sender: int, message: Call) -> None:
        """Two of them, so that a kill can strike between."""
        self.send(sender, Pong())
        self.send(sender, Pong())

    @on(Pong)
    def pong(self, sender: int, message: Pong) -> None:
        """Count."""
        self.heard += 1


class Asking(Election):
    """Node 1 asks node 2 once, and notes whether the answer came within T."""

    name: ClassVar[str] = "asking"
    answered: bool | None = None

    def started(self) -> None:
        """Ask."""
        if self.id == 1:
            self.begin(self.asking)

    @procedure
    async def asking(self) -> None:
        """Once."""
        answer = await self.ask(2, Ping(), within=self.timing.t_us)
        self.answered = answer is not None

    @on(Ping)
    def ping(self, sender: int, message: Ping) -> Pong:
        """Answer."""
        return Pong()


class Counting(Asking):
    """Node 1 asks all others two times over, and counts who answered in time; safe storage counts the lives."""

    name: ClassVar[str] = "counting"
    lives: Safe[int] = 0
    answers: int = 0

    def started(self) -> None:
        """Ask."""
        self.lives += 1
        if self.id == 1:
            self.begin(self.counting)

    @procedure
    async def counting(self) -> None:
        """Two rounds; an answer to the first that comes in the second answers nothing (rule B9)."""
        first = await self.ask_all(self.peers, Ping(), within=self.timing.t_us)
        self.answers = len(first)
        second = await self.ask_all(self.peers, Ping(), within=self.timing.t_us)
        self.answers += len(second)


class Raising(Telling):
    """Telling, but the second Pong is too much for node 1."""

    name: ClassVar[str] = "raising"

    @on(Pong)
    def pong(self, sender: int, message: Pong) -> None:
        """Count to one."""
        super().pong(sender, message)
        if self.heard > 1:
            raise ValueError("too many")


class Giving(Telling):
    """Telling, but it promises an agreement that nobody works for."""

    name: ClassVar[str] = "giving"
    promises: ClassVar[tuple[str, ...]] = ("A2",)


class Stamp(Payload, frozen=True):
    """The time by its sender's clock."""

    at_us: int


class Stamping(Election):
    """It sends what time it is."""

    name: ClassVar[str] = "stamping"

    def started(self) -> None:
        """To all."""
        for peer in self.peers:
            self.send(peer, Stamp(self.now_us))


class Trusting(Election):
    """Node 2 leads; node 1 asks it once, and takes silence for a crash. It says it needs no network for that."""

    name: ClassVar[str] = "trusting"
    promises: ClassVar[tuple[str, ...]] = ("A1.1",)
    relies_on: ClassVar[dict[str, tuple[int, ...]]] = {"A1.1": (3, 4)}

    def started(self) -> None:
        """Lead, or ask."""
        if self.id == 1:
            self.begin(self.asking)
        else:
            self.lead()

    def lead(self) -> None:
        """From now on."""
        self.status, self.coordinator = Status.NORMAL, self.id

    @procedure
    async def asking(self) -> None:
        """Once."""
        answer = await self.ask(2, Ping(), within=self.timing.t_us)
        if answer is None:
            self.silence()

    def silence(self) -> None:
        """It must be dead."""
        self.lead()

    @on(Ping)
    def ping(self, sender: int, message: Ping) -> Pong:
        """It is not."""
        return Pong()


class Cautious(Trusting):
    """Trusting, but silence proves nothing."""

    name: ClassVar[str] = "cautious"

    def silence(self) -> None:
        """Who knows."""


class Secluding(Trusting):
    """Trusting, but what it promises is agreement: once node 1 leads, nobody speaks any more."""

    name: ClassVar[str] = "secluding"
    promises: ClassVar[tuple[str, ...]] = ("A2",)

    @procedure
    async def asking(self) -> None:
        """Follow, or lead."""
        answer = await self.ask(2, Ping(), within=self.timing.t_us)
        if answer is None:
            self.silence()
        else:
            self.status, self.coordinator = Status.NORMAL, 2


class Joining(Election):
    """Node 2 is a group; node 1 asks it every T, and is in it or in one of its own."""

    name: ClassVar[str] = "joining"
    promises: ClassVar[tuple[str, ...]] = ("A4",)
    group: Group = Group()

    def started(self) -> None:
        """Alone."""
        self.join(self.id)

    def join(self, leader: int) -> None:
        """The one group that there is of each."""
        self.status, self.coordinator, self.group = Status.NORMAL, leader, Group(leader, 1)

    @periodic(lambda self: self.begun_us(self.ask_again) + self.timing.t_us if self.id == 1 else None)
    async def ask_again(self) -> None:
        """Is it there?"""
        answer = await self.ask(2, Ping(), within=self.timing.t_us)
        if answer is None:
            self.silence()
        else:
            self.join(2)

    def silence(self) -> None:
        """Alone again."""
        self.join(self.id)

    @on(Ping)
    def ping(self, sender: int, message: Ping) -> Pong:
        """It is."""
        return Pong()


class Clinging(Joining):
    """Joining, but it never leaves."""

    name: ClassVar[str] = "clinging"

    def silence(self) -> None:
        """Never mind."""


class Numbering(Election):
    """Every life of a node is a group with a number of its own."""

    name: ClassVar[str] = "numbering"
    promises: ClassVar[tuple[str, ...]] = ("A5",)
    lives: Safe[int] = 0
    group: Group = Group()

    def started(self) -> None:
        """One more."""
        self.lives += 1
        self.group = Group(self.id, self.lives)


class Forgetting(Numbering):
    """Numbering, but two lives have one number."""

    name: ClassVar[str] = "forgetting"

    def started(self) -> None:
        """One more for every two."""
        self.lives += 1
        self.group = Group(self.id, (1 + self.lives) // 2)


class Beating(Election):
    """Node 1 beats for ever; node 2 thinks it dead when it has not heard it for longer than ``PATIENCE_T`` · T."""

    name: ClassVar[str] = "beating"
    PATIENCE_T: ClassVar[int] = 2
    misses: bool = False

    @periodic(lambda self: self.begun_us(self.beat) + self.timing.t_us if self.id == 1 else None)
    async def beat(self) -> None:
        """One message."""
        self.send(2, Pong())

    @periodic(
        lambda self: None if self.id == 1 or self.misses else self.heard_us(1) + self.PATIENCE_T * self.timing.t_us
    )
    async def miss(self) -> None:
        """It came not."""
        self.misses = True

    @on(Pong)
    def pong(self, sender: int, message: Pong) -> None:
        """It lives."""
        self.misses = False


def header_of(protocol: type[Election], count: int) -> Header:
    """The header of a run with that many nodes."""
    return simulated_header(protocol, tuple(range(1, count + 1)), TIMING)


def explorer_of(
    protocol: type[Election],
    count: int,
    timeouts: Timeouts,
    kills: int = 0,
    restarts: int = 0,
    settled: bool = False,
    cuts: int = 0,
) -> Explorer:
    """An explorer of that many nodes, from their first start."""
    return Explorer(protocol, header_of(protocol, count), timeouts, kills, restarts, settled, cuts)

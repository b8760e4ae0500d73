"""Protocols small enough to list all their executions by hand."""

from typing import ClassVar

from lab.kernel import Payload, Request, Safe, Timing, on, periodic, procedure
from lab.protocols import Algorithm, Election, Group, Status
from lab.recording.records import Header
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.states import Timeouts
from tests.harness import simulated_header

__all__ = [
    "TIMING",
    "Announcing",
    "Asking",
    "Beating",
    "Call",
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
    "Sulking",
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
    """A message that is answered by two Pongs."""


class Announcing(Election):
    """Node 1 calls node 2, which sends two messages back; node 1 counts them. There are no timers."""

    name: ClassVar[str] = "telling"
    heard: int = 0

    def started(self) -> None:
        if self.id == 1:
            self.send(2, Call())

    @on(Call)
    def call(self, sender: int, message: Call) -> None:
        self.send(sender, Pong())
        self.send(sender, Pong())

    @on(Pong)
    def pong(self, sender: int, message: Pong) -> None:
        self.heard += 1


class Asking(Election):
    """Node 1 asks node 2 once, and notes whether the answer came within T."""

    name: ClassVar[str] = "asking"
    answered: bool | None = None

    def started(self) -> None:
        if self.id == 1:
            self.begin(self.asking)

    @procedure
    async def asking(self) -> None:
        answer = await self.ask(2, Ping(), within=self.timing.t_us)
        self.answered = answer is not None

    @on(Ping)
    def ping(self, sender: int, message: Ping) -> Pong:
        return Pong()


class Counting(Asking):
    """Node 1 asks all others twice, and counts the replies in time; stable storage counts the incarnations."""

    name: ClassVar[str] = "counting"
    lives: Safe[int] = 0
    replies: int = 0

    def started(self) -> None:
        self.lives += 1
        if self.id == 1:
            self.begin(self.counting)

    @procedure
    async def counting(self) -> None:
        first = await self.ask_all(self.peers, Ping(), within=self.timing.t_us)
        self.replies = len(first)
        second = await self.ask_all(self.peers, Ping(), within=self.timing.t_us)
        self.replies += len(second)


class Raising(Announcing):
    """Like Announcing, but node 1 raises on the second Pong."""

    name: ClassVar[str] = "raising"

    @on(Pong)
    def pong(self, sender: int, message: Pong) -> None:
        super().pong(sender, message)
        if self.heard > 1:
            raise ValueError("too many")


class Giving(Announcing):
    """Like Announcing, but it promises an agreement that it does not work for."""

    name: ClassVar[str] = "giving"
    promises: ClassVar[tuple[str, ...]] = ("A2",)


class Stamp(Payload, frozen=True):
    """The time on its sender's clock."""

    at_us: int


class Stamping(Election):
    """Its messages contain the time."""

    name: ClassVar[str] = "stamping"

    def started(self) -> None:
        for peer in self.peers:
            self.send(peer, Stamp(self.now_us))


class Trusting(Election):
    """Node 2 leads; node 1 asks it once, and takes silence for a crash, with no assumption on the network."""

    name: ClassVar[str] = "trusting"
    promises: ClassVar[tuple[str, ...]] = ("A1.1",)
    relies_on: ClassVar[dict[str, tuple[int, ...]]] = {"A1.1": (3, 4)}

    def started(self) -> None:
        if self.id == 1:
            self.begin(self.asking)
        else:
            self.lead()

    def lead(self) -> None:
        self.status, self.coordinator = Status.NORMAL, self.id

    @procedure
    async def asking(self) -> None:
        answer = await self.ask(2, Ping(), within=self.timing.t_us)
        if answer is None:
            self.silence()

    def silence(self) -> None:
        self.lead()

    @on(Ping)
    def ping(self, sender: int, message: Ping) -> Pong:
        return Pong()


class Cautious(Trusting):
    """Like Trusting, but silence proves nothing."""

    name: ClassVar[str] = "cautious"

    def silence(self) -> None:
        pass


class Secluding(Trusting):
    """Like Trusting, but it promises agreement, and stops sending once node 1 leads."""

    name: ClassVar[str] = "secluding"
    promises: ClassVar[tuple[str, ...]] = ("A2",)

    @procedure
    async def asking(self) -> None:
        answer = await self.ask(2, Ping(), within=self.timing.t_us)
        if answer is None:
            self.silence()
        else:
            self.status, self.coordinator = Status.NORMAL, 2


class Sulking(Trusting):
    """Node 2 leads; node 1 follows it if it answers in time, else nobody, for ever. It promises agreement."""

    name: ClassVar[str] = "sulking"
    promises: ClassVar[tuple[str, ...]] = ("A2",)

    @procedure
    async def asking(self) -> None:
        answer = await self.ask(2, Ping(), within=self.timing.t_us)
        if answer is not None:
            self.status, self.coordinator = Status.NORMAL, 2


class Joining(Election):
    """Node 2 is a group; node 1 asks it every T, and is in it or in one of its own."""

    name: ClassVar[str] = "joining"
    promises: ClassVar[tuple[str, ...]] = ("A4",)
    group: Group = Group()

    def started(self) -> None:
        self.join(self.id)

    def join(self, leader: int) -> None:
        self.status, self.coordinator, self.group = Status.NORMAL, leader, Group(leader, 1)

    @periodic(lambda self: self.begun_us(self.ask_again) + self.timing.t_us if self.id == 1 else None)
    async def ask_again(self) -> None:
        answer = await self.ask(2, Ping(), within=self.timing.t_us)
        if answer is None:
            self.silence()
        else:
            self.join(2)

    def silence(self) -> None:
        self.join(self.id)

    @on(Ping)
    def ping(self, sender: int, message: Ping) -> Pong:
        return Pong()


class Clinging(Joining):
    """Like Joining, but node 1 never leaves."""

    name: ClassVar[str] = "clinging"

    def silence(self) -> None:
        pass


class Numbering(Election):
    """Every incarnation of a node is a group with a number of its own."""

    name: ClassVar[str] = "numbering"
    promises: ClassVar[tuple[str, ...]] = ("A5",)
    lives: Safe[int] = 0
    group: Group = Group()

    def started(self) -> None:
        self.lives += 1
        self.group = Group(self.id, self.lives)


class Forgetting(Numbering):
    """Like Numbering, but two incarnations share a number."""

    name: ClassVar[str] = "forgetting"

    def started(self) -> None:
        self.lives += 1
        self.group = Group(self.id, (1 + self.lives) // 2)


class Beating(Election):
    """Node 1 sends heartbeats forever; node 2 takes it for dead after ``PATIENCE_T`` · T of silence."""

    name: ClassVar[str] = "beating"
    PATIENCE_T: ClassVar[int] = 2
    misses: bool = False

    @periodic(lambda self: self.begun_us(self.beat) + self.timing.t_us if self.id == 1 else None)
    async def beat(self) -> None:
        self.send(2, Pong())

    @periodic(
        lambda self: None if self.id == 1 or self.misses else self.heard_us(1) + self.PATIENCE_T * self.timing.t_us
    )
    async def miss(self) -> None:
        self.misses = True

    @on(Pong)
    def pong(self, sender: int, message: Pong) -> None:
        self.misses = False


def header_of(protocol: type[Algorithm], count: int) -> Header:
    """Return the header of a run with that many nodes."""
    return simulated_header(protocol, tuple(range(1, count + 1)), TIMING)


def explorer_of(
    protocol: type[Election],
    count: int,
    timeouts: Timeouts,
    kills: int = 0,
    restarts: int = 0,
    settled: bool = False,
    cuts: int = 0,
    pauses: int = 0,
    suspicions: int = 0,
) -> Explorer:
    """Return an explorer of that many nodes, from their first start."""
    header = header_of(protocol, count)
    return Explorer(
        protocol, header, timeouts, kills, restarts, settled, cuts, pauses=pauses, suspicions=suspicions
    )

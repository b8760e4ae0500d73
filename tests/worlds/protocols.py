"""Protocols for tests: some misbehave, some only make traffic."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import ClassVar

import msgspec

from lab.kernel import Payload, Request, Safe, command, on, procedure
from lab.protocols import Bully, Election
from lab.protocols.bully import NewState, NewStateAnswer
from lab.worlds.json_lines import to_line
from lab.worlds.live.wire import Hello, NodeJob

__all__ = ["ALL", "Board", "Brittle", "Flood", "PingPong", "Rude", "Scribe", "Spill", "Twofaced"]


class Pinned(Payload, frozen=True):
    """A note for every board."""

    text: str


class Board(Bully):
    """Bully, and every node has a board with notes, set by commands."""

    name: ClassVar[str] = "board"
    notes: tuple[str, ...] = ()

    @command
    def pin(self, text: str) -> None:
        """Pin a note to all boards."""
        self.notes = (*self.notes, text)
        for peer in self.peers:
            self.send(peer, Pinned(text))

    @command
    def clear(self) -> None:
        """Remove all notes from the board."""
        self.notes = ()

    @on(Pinned)
    def pinned(self, sender: int, message: Pinned) -> None:
        self.notes = (*self.notes, message.text)


class Brittle(Bully):
    """Bully, in which node 2 raises when node 4 becomes its coordinator."""

    name: ClassVar[str] = "brittle"

    def on_new_state(self, sender: int, message: NewState) -> NewStateAnswer | None:
        if (self.id, sender) == (2, 4):
            raise RuntimeError("node 2 does not like node 4")
        return super().on_new_state(sender, message)


def _sockets() -> Iterator[socket.socket]:
    """Return this process's sockets, each with a descriptor of its own."""
    for descriptor in range(3, 100):
        with suppress(OSError):
            yield socket.socket(fileno=os.dup(descriptor))


class Rude(Bully):
    """Bully, in which node 2 sends ``garbage`` to the host when node 4 becomes its coordinator.

    The garbage is Latin-1, so that any byte can be sent, and is sent ``times`` times. With ``die`` the process
    then ends.
    """

    name: ClassVar[str] = "rude"

    class Parameters(Bully.Parameters, frozen=True):
        """As above."""

        garbage: str = ""
        times: int = 1
        die: bool = False

    def on_new_state(self, sender: int, message: NewState) -> NewStateAnswer | None:
        if (self.id, sender) == (2, 4):
            connection = next(each for each in _sockets() if each.family is socket.AF_INET)
            connection.sendall(self.parameters.garbage.encode("latin-1") * self.parameters.times)
            if self.parameters.die:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().on_new_state(sender, message)


class Twofaced(Bully):
    """Bully, in which each process sends Hello again on a second connection, and fails if it gets a reply."""

    name: ClassVar[str] = "twofaced"

    def started(self) -> None:
        frame = sys._getframe().f_back
        while frame is not None and not isinstance(frame.f_locals.get("job"), NodeJob):
            frame = frame.f_back
        if frame is not None:  # a live node
            job: NodeJob = frame.f_locals["job"]
            with socket.create_connection(("127.0.0.1", job.port)) as second:
                second.sendall(to_line(Hello(job.node, job.incarnation, job.token)))
                assert second.recv(10) == b""
        self.note("hung up on")
        super().started()


class Pong(Payload, frozen=True):
    """The ball, on its way back."""


class Ping(Request[Pong], frozen=True):
    """The ball."""


class PingPong(Election):
    """The lowest node asks the highest, one request after another."""

    name: ClassVar[str] = "pingpong"

    def started(self) -> None:
        if not self.lower:
            self.begin(self.play)

    @procedure
    async def play(self) -> None:
        while True:
            await self.ask(self.peers[-1], Ping(), within=1_000_000)

    @on(Ping)
    def ping(self, sender: int, message: Ping) -> Pong:
        return Pong()


class Token(Payload, frozen=True):
    pass


class Flood(Election):
    """Every node keeps ``outstanding`` tokens in flight to and from every other node."""

    name: ClassVar[str] = "flood"

    class Parameters(msgspec.Struct, frozen=True):
        """As above."""

        outstanding: int = 20

    def started(self) -> None:
        for peer in self.peers:
            for _ in range(self.parameters.outstanding):
                self.send(peer, Token())

    @on(Token)
    def token(self, sender: int, message: Token) -> None:
        self.send(sender, Token())


class Load(Payload, frozen=True):
    """A large payload."""

    text: str


class Spill(Election):
    """Node 1 sends megabytes a second to node 2, without waiting for replies."""

    name: ClassVar[str] = "spill"

    def started(self) -> None:
        if self.id == 1:
            self.begin(self.spill)

    @procedure
    async def spill(self) -> None:
        while True:
            for _ in range(10):
                self.send(2, Load("x" * 10_000))
            await self.sleep(2_000)

    @on(Load)
    def load(self, sender: int, message: Load) -> None:
        pass


class Entry(Payload, frozen=True):
    """The number of a write."""

    number: int


class Scribe(Election):
    """Every node counts, each time in stable storage and then to the other nodes."""

    name: ClassVar[str] = "scribe"
    count: Safe[int] = 0
    heard: int = 0

    class Parameters(msgspec.Struct, frozen=True):
        """As above."""

        every_us: int = 1_000

    def started(self) -> None:
        self.begin(self.write)

    @procedure
    async def write(self) -> None:
        while True:
            self.count += 1
            for peer in self.peers:
                self.send(peer, Entry(self.count))
            await self.sleep(self.parameters.every_us)

    @on(Entry)
    def entry(self, sender: int, message: Entry) -> None:
        self.heard += 1


ALL: tuple[type[Election], ...] = (Board, Brittle, Flood, PingPong, Rude, Scribe, Spill, Twofaced)

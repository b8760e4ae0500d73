"""Clients: nodes that call operations of the cluster, one at a time, and wait for each answer.

A client that is not answered in time does not know whether its operation happened. As in Jepsen, it then goes on
under a new name, as another client: the old one's operation may still happen at any time.
"""

import math
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from lab.kernel import Auxiliary, Payload, Protocol, Request, Safe, command, procedure
from lab.kernel.payload import answer_types
from lab.protocols.maelstrom import type_of
from lab.protocols.operations import (
    Add,
    Broadcast,
    Cas,
    CommitOffsets,
    Echo,
    Error,
    Generate,
    ListCommittedOffsets,
    Poll,
    PollOk,
    Read,
    Send,
    Topology,
    Ts,
    Txn,
    Write,
)
from lab.protocols.workloads import WORKLOADS, Draw

__all__ = ["CALLING", "CLIENTS", "IDLE", "REQUESTS", "Call", "Client", "GivenClient"]

_to_json = msgspec.json.Encoder(order="deterministic").encode

IDLE, CALLING = "Idle", "Calling"
"""The statuses of a client that is given its operations."""

_MORE_US = 10_000
"""The time from a last poll that brought something to the next."""

_OPERATIONS = (
    *(Add, Broadcast, Cas, CommitOffsets, Echo, Generate, ListCommittedOffsets, Poll, Read, Send, Topology, Ts),
    *(Txn, Write),
)
REQUESTS: dict[str, type[Request[Any]]] = {each.__name__: each for each in _OPERATIONS}
"""The operations by the kinds of their messages."""


class Call(Struct, frozen=True):
    """An operation that a client is to call: the kind of its message, and its fields by their names there."""

    kind: str
    body: dict[str, Any]

    def request(self) -> Request[Any]:
        """Return the message. Raises msgspec.ValidationError."""
        request: Request[Any] = msgspec.convert(self.body, REQUESTS[self.kind])
        return request

    def __str__(self) -> str:
        return " ".join([type_of(self.kind), *map(_as_word, self.body.values())])


def value_in(word: str) -> Any:
    """Return a value that is written as JSON, or as it stands."""
    try:
        value = msgspec.json.decode(word)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return word
    return word if value in (math.inf, -math.inf) else value


def _as_word(value: Any) -> str:
    """Write a value so that ``value_in`` reads it."""
    return value if isinstance(value, str) and value_in(value) == value else _to_json(value).decode()


class Client(Protocol):
    """A client of one node of the cluster, which the clients share out among them."""

    name: ClassVar[str] = "client"
    asks: ClassVar[tuple[type[Request[Any]], ...]] = _OPERATIONS

    class Parameters(Struct, frozen=True):
        """The workload of the clients, and its pace."""

        workload: str = "echo"
        model: str = ""
        """The consistency model by which transactions are judged; empty: strict serializable."""
        clients: tuple[int, ...] = ()
        """The ids of all clients."""
        from_us: int = 0
        """When they begin."""
        every_us: int = 200_000
        """The mean time from an answer to the next operation of the client."""
        timeout_us: int = 1_000_000
        """The time for which a client waits for an answer."""
        until_us: int | None = None
        """When they end; None: never."""
        final_us: int | None = None
        """When each begins its last operation, if the workload has one; None: never."""
        keys: int = 5

    status: str = "Working"
    number: Safe[int] = 0
    """The number of operations that it has called, in all its incarnations."""
    polled: tuple[tuple[str, int], ...] = ()
    """Of each log, the offset after the last message that it has seen."""
    ok: Auxiliary[int] = 0
    failed: Auxiliary[int] = 0
    unknown: Auxiliary[int] = 0

    @property
    def place(self) -> int:
        """Its place among the clients, from 0."""
        place: int = self.parameters.clients.index(self.id)
        return place

    @property
    def server(self) -> int:
        """The node that it calls."""
        return self.peers[self.place % len(self.peers)]

    def started(self) -> None:
        self.begin(self.operate)

    @procedure
    async def operate(self) -> None:
        """Call operations until the end, and then the last one, until it is answered and no more comes."""
        settings, workload = self.parameters, WORKLOADS[self.parameters.workload]
        if settings.workload == "broadcast" and self.place == 0:
            await self.announce_topology()
        if self.now_us < settings.from_us:
            await self.sleep(settings.from_us - self.now_us, "the nodes to be ready")
        while settings.until_us is None or self.now_us < settings.until_us:
            await self.call(workload.draw(self.draw()))
            await self.sleep(self.random.randint(1, 2 * settings.every_us), "the next operation")
        if workload.final is None or settings.final_us is None:
            return
        if self.now_us < settings.final_us:
            await self.sleep(settings.final_us - self.now_us, "the cluster to come to rest")
        while True:
            polled = self.polled
            is_answered = await self.call(workload.final(self.draw()))
            if is_answered and self.polled == polled:
                return
            await self.sleep(_MORE_US if is_answered else settings.every_us, "the next attempt")

    async def announce_topology(self) -> None:
        """Send all nodes the topology, early: no client may call one that has yet to receive it."""
        if self.now_us < self.parameters.from_us // 2:
            await self.sleep(self.parameters.from_us // 2 - self.now_us, "the nodes to start")
        await self.ask_all(self.peers, Topology(_grid(self.peers)), within=self.parameters.timeout_us)

    def draw(self) -> Draw:
        """Return what the next operation is drawn from."""
        self.number += 1
        clients = self.parameters.clients
        return Draw(self.random, self.number * len(clients) + self.place, self.parameters.keys, dict(self.polled))

    async def attempt(self, request: Request[Any]) -> Payload | None:
        """Call an operation, and count its outcome; return the answer, None if there was none in time."""
        answer = await self.ask(self.server, request, within=self.parameters.timeout_us)
        if isinstance(answer, Error):
            self.failed += 1
        elif not isinstance(answer, answer_types(type(request))):  # none, or one to another request
            self.unknown += 1
        else:
            self.ok += 1
        return answer

    async def call(self, request: Request[Any]) -> bool:
        """Call an operation; return whether it was answered and did not fail."""
        answer = await self.attempt(request)
        if isinstance(answer, PollOk) and isinstance(answer.msgs, dict):
            self.polled = tuple(sorted({**dict(self.polled), **_after(answer.msgs)}.items()))
        return answer is not None and not isinstance(answer, Error)


class GivenClient(Client):
    """A client that calls the operations that it is given, one after the other, each when it is told."""

    name: ClassVar[str] = "given-client"

    class Parameters(Struct, frozen=True):
        """The operations of all clients."""

        workload: str = "echo"
        model: str = ""
        """The consistency model by which transactions are judged; empty: strict serializable."""
        clients: tuple[int, ...] = ()
        """The ids of all clients."""
        calls: tuple[tuple[Call, ...], ...] = ()
        """The operations of each."""
        timeout_us: int = 1_000_000
        """The time for which a client waits for an answer."""

    status: str = IDLE
    outcome: str = ""
    """The answer to the last operation as JSON, its kind and its fields; empty: there was none in time."""

    def started(self) -> None:
        """Wait for the first command."""

    @command(to="named")
    def call_next(self) -> None:
        """Call the next of the operations, if there is one left and none under way."""
        if self.status == IDLE and self.number < len(self.parameters.calls[self.place]):
            self.begin(self.call_given)

    @procedure
    async def call_given(self) -> None:
        """Call an operation, and keep what it was answered."""
        self.status, self.outcome = CALLING, ""
        given = self.parameters.calls[self.place][self.number]
        self.number += 1
        answer = await self.attempt(given.request())
        self.outcome = "" if answer is None else _as_text(answer)
        self.status = IDLE


CLIENTS: dict[str, type[Protocol]] = {each.name: each for each in (Client, GivenClient)}


def _as_text(answer: Payload) -> str:
    return _to_json([type(answer).__name__, answer]).decode()


def _grid(nodes: tuple[int, ...]) -> dict[str, list[str]]:
    """Return the neighbours of each node in a grid, by name."""
    width = max(1, round(len(nodes) ** 0.5))
    found = {}
    for place, node in enumerate(nodes):
        near = [place - width, place + width]
        near += [place - 1] if place % width else []
        near += [place + 1] if (place + 1) % width else []
        found[f"n{node}"] = [f"n{nodes[each]}" for each in sorted(near) if 0 <= each < len(nodes)]
    return found


def _after(messages: dict[str, Any]) -> dict[str, int]:
    """Return the offset after the last of the messages polled, by log."""
    found = {}
    for key, pairs in messages.items():
        last = pairs[-1] if isinstance(pairs, list) and pairs else None
        if isinstance(last, list) and last and isinstance(last[0], int):
            found[key] = last[0] + 1
    return found

"""Protocols of the kernel that serve clients, for tests: a store at one node, at each, or beside the cluster."""

from typing import Any, ClassVar

from lab.kernel import Payload, Request, Safe, on, procedure
from lab.protocols import Bully
from lab.protocols.operations import (
    Cas,
    CasOk,
    CommitOffsets,
    CommitOffsetsOk,
    Error,
    Poll,
    PollOk,
    Read,
    ReadOk,
    Send,
    SendOk,
    Write,
    WriteOk,
)

Pairs = tuple[tuple[int, int], ...]


class Separate(Bully):
    """Each node answers from its own store: no client sees what those of another node have written."""

    name: ClassVar[str] = "separate"

    store: Safe[Pairs] = ()

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk | Error:
        known = dict(self.store)
        return ReadOk(known[message.key]) if message.key in known else Error(20)

    @on(Write)
    def on_write(self, sender: int, message: Write) -> WriteOk | Error:
        self.store = tuple({**dict(self.store), message.key: message.value}.items())
        return WriteOk()

    @on(Cas)
    def on_cas(self, sender: int, message: Cas) -> CasOk | Error:
        known = dict(self.store)
        if message.key not in known:
            return Error(20)
        if known[message.key] != message.expected:
            return Error(22)
        self.store = tuple({**known, message.key: message.to}.items())
        return CasOk()


class AtTheLowest(Separate):
    """Only the lowest node serves: the others say that they are no store, and nothing happens."""

    name: ClassVar[str] = "at-the-lowest"

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk | Error:
        return Error(11) if self.id != 1 else super().on_read(sender, message)

    @on(Write)
    def on_write(self, sender: int, message: Write) -> WriteOk | Error:
        return Error(11) if self.id != 1 else super().on_write(sender, message)

    @on(Cas)
    def on_cas(self, sender: int, message: Cas) -> CasOk | Error:
        return Error(11) if self.id != 1 else super().on_cas(sender, message)


class Logs(Bully):
    """One node that keeps logs, and returns two messages of each at a time."""

    name: ClassVar[str] = "logs"

    logs: Safe[tuple[tuple[str, int], ...]] = ()

    @on(Send)
    def on_send(self, sender: int, message: Send) -> SendOk | Error:
        self.logs = (*self.logs, (message.key, message.msg))
        return SendOk(sum(key == message.key for key, _ in self.logs) - 1)

    @on(CommitOffsets)
    def on_commit_offsets(self, sender: int, message: CommitOffsets) -> CommitOffsetsOk | Error:
        return CommitOffsetsOk()

    @on(Poll)
    def on_poll(self, sender: int, message: Poll) -> PollOk | Error:
        found = {key: self.messages_for(sender, key, offset) for key, offset in message.offsets.items()}
        return PollOk({key: pairs[:2] for key, pairs in found.items() if pairs})

    def messages_for(self, client: int, log: str, first: int) -> list[list[int]]:
        """Return the offsets and messages of a log, from an offset on."""
        messages = [message for key, message in self.logs if key == log]
        return [[offset, message] for offset, message in enumerate(messages) if offset >= first]


class LogsInPieces(Logs):
    """A single message at a time."""

    name: ClassVar[str] = "logs-in-pieces"

    @on(Poll)
    def on_poll(self, sender: int, message: Poll) -> PollOk | Error:
        for key, offset in message.offsets.items():
            if pairs := self.messages_for(sender, key, offset):
                return PollOk({key: pairs[:1]})
        return PollOk({})


class LogsWithoutEnds(Logs):
    """The message that came last to a log is not returned."""

    name: ClassVar[str] = "logs-without-ends"

    def messages_for(self, client: int, log: str, first: int) -> list[list[int]]:
        last = sum(key == log for key, _ in self.logs) - 1
        return [pair for pair in super().messages_for(client, log, first) if pair[0] != last]


class LogsWithoutBeginnings(Logs):
    """The first three messages of each log are not returned to every second client."""

    name: ClassVar[str] = "logs-without-beginnings"

    def messages_for(self, client: int, log: str, first: int) -> list[list[int]]:
        return super().messages_for(client, log, first if client % 2 else max(first, 3))


class Pending(Payload, frozen=True):
    """A request that waits for the answer of the service: who sent it, and its number."""

    client: int
    handled: int
    request: Request[Any]


class Backed(Bully):
    """Every node passes what it is asked on to the service lin-kv, or to the program my-store."""

    name: ClassVar[str] = "backed"

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk | Error | None:
        self.begin(self.ask_store, Pending(sender, self.handled, message))
        return None

    @on(Write)
    def on_write(self, sender: int, message: Write) -> WriteOk | Error | None:
        self.begin(self.ask_store, Pending(sender, self.handled, message))
        return None

    @on(Cas)
    def on_cas(self, sender: int, message: Cas) -> CasOk | Error | None:
        self.begin(self.ask_store, Pending(sender, self.handled, message))
        return None

    @procedure
    async def ask_store(self, pending: Pending) -> None:
        store = next(node for node, name in self.outside.items() if name in ("lin-kv", "my-store"))
        answer = await self.ask(store, pending.request, within=self.timing.t_us)
        self.reply(pending.client, pending.handled, answer or Error(0))


class Cached(Backed):
    """Answers a read from what it last read or wrote itself if the service does not answer."""

    name: ClassVar[str] = "cached"

    cache: Safe[Pairs] = ()

    @procedure
    async def ask_store(self, pending: Pending) -> None:
        request = pending.request
        store = next(node for node, name in self.outside.items() if name == "lin-kv")
        answer = await self.ask(store, request, within=self.timing.t_us)
        if isinstance(request, Read) and isinstance(answer, ReadOk):
            self.cache = tuple({**dict(self.cache), request.key: answer.value}.items())
        elif isinstance(request, Write) and isinstance(answer, WriteOk):
            self.cache = tuple({**dict(self.cache), request.key: request.value}.items())
        elif answer is None and isinstance(request, Read) and request.key in dict(self.cache):
            answer = ReadOk(dict(self.cache)[request.key])
        self.reply(pending.client, pending.handled, answer or Error(0))

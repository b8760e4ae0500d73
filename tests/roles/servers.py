"""Protocols of the kernel that serve clients, for tests: a store at one node, at each, or beside the cluster."""

from typing import Any, ClassVar

from lab.kernel import Payload, Request, Safe, on, procedure
from lab.protocols import Bully
from lab.protocols.operations import Cas, CasOk, Error, Read, ReadOk, Write, WriteOk

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

"""A register kept by the coordinator: what an election is for.

Clients may ask any node. A node that does not lead asks its coordinator, and passes the answer on. Nothing is
replicated: the coordinator alone decides, so a client relies on there being one of it.
"""

from typing import Any, ClassVar

from lab.kernel import Payload, Request, on, procedure
from lab.protocols import Bully, Status
from lab.protocols.operations import Cas, CasOk, Error, Read, ReadOk, Write, WriteOk

UNKNOWN, UNAVAILABLE, NO_KEY, OTHER_VALUE = 0, 11, 20, 22


class Pending(Payload, frozen=True):
    """A request that waits for the coordinator's answer: who sent it, and its number."""

    client: int
    handled: int
    request: Request[Any]

    def __str__(self) -> str:
        return f"for {self.client}"


class Register(Bully):
    """Bully, with a store at the coordinator."""

    name: ClassVar[str] = "register"

    store: tuple[tuple[int, int], ...] = ()

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk | Error | None:
        if not self.leads:
            return self.pass_on(sender, message)
        known = dict(self.store)
        return ReadOk(known[message.key]) if message.key in known else Error(NO_KEY)

    @on(Write)
    def on_write(self, sender: int, message: Write) -> WriteOk | Error | None:
        if not self.leads:
            return self.pass_on(sender, message)
        self.write(message.key, message.value)
        return WriteOk()

    @on(Cas)
    def on_cas(self, sender: int, message: Cas) -> CasOk | Error | None:
        if not self.leads:
            return self.pass_on(sender, message)
        known = dict(self.store)
        if message.key not in known:
            return Error(NO_KEY)
        if known[message.key] != message.expected:
            return Error(OTHER_VALUE)
        self.write(message.key, message.to)
        return CasOk()

    def write(self, key: int, value: int) -> None:
        self.store = tuple(sorted({**dict(self.store), key: value}.items()))

    def pass_on(self, sender: int, message: Request[Any]) -> Error | None:
        """Ask the coordinator. A node that took this one for it, or an election, is told that nothing happened."""
        if self.status is not Status.NORMAL or sender in self.peers:
            return Error(UNAVAILABLE)
        self.begin(self.ask_coordinator, Pending(sender, self.handled, message))
        return None

    @procedure
    async def ask_coordinator(self, pending: Pending) -> None:
        answer = None
        if self.coordinator not in (None, self.id):
            answer = await self.ask(self.coordinator, pending.request, within=self.timing.t_us)
        self.reply(pending.client, pending.handled, answer or Error(UNKNOWN))

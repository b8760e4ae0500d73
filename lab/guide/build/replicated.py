"""A register kept by a majority: whoever leads, or believes to lead, decides nothing alone.

D. Rystsov, CASPaxos: Replicated State Machines without logs, 2018. Each operation takes two rounds: a majority
promises to accept no older ballot, and shows what it has; a majority accepts the new state. Two majorities share a
node, so a coordinator learns what another one has decided, or is refused.
"""

from typing import Any, ClassVar

from lab.kernel import Payload, Request, Safe, on, procedure
from lab.protocols import Election, Status, Task
from lab.protocols.operations import Cas, CasOk, Error, Read, ReadOk, Write, WriteOk

UNKNOWN, UNAVAILABLE, NO_KEY, OTHER_VALUE = 0, 11, 20, 22

Ballot = tuple[int, int]
"""A number, and the node that chose it: no two nodes have the same."""
Store = tuple[tuple[int, int], ...]


class Promise(Payload, frozen=True):
    """The newest ballot that the node promised; what it accepted last, and in which ballot."""

    promised: Ballot
    accepted: Ballot
    store: Store


class Prepare(Request[Promise], frozen=True):
    """Promise to accept no older ballot."""

    ballot: Ballot


class Accepted(Payload, frozen=True):
    """The newest ballot that the node promised: that of the request, if it accepted."""

    promised: Ballot


class Accept(Request[Accepted], frozen=True):
    """Accept this state."""

    ballot: Ballot
    store: Store


class Pending(Payload, frozen=True):
    """An operation that waits: who asked for it, and the number of that message."""

    client: int
    handled: int
    operation: Request[Any]

    def __str__(self) -> str:
        return f"for {self.client}"


def apply(store: Store, operation: Request[Any]) -> tuple[Store, Payload]:
    """Return the state after the operation, and the operation's answer."""
    known = dict(store)
    match operation:
        case Write(key=key, value=value):
            return tuple(sorted({**known, key: value}.items())), WriteOk()
        case Read(key=key) | Cas(key=key) if key not in known:
            return store, Error(NO_KEY)
        case Read(key=key):
            return store, ReadOk(known[key])
        case Cas(key=key, expected=expected) if known[key] != expected:
            return store, Error(OTHER_VALUE)
        case Cas(key=key, to=value):
            return tuple(sorted({**known, key: value}.items())), CasOk()
    return store, Error(UNAVAILABLE)


class Replicated(Task):
    """A store that a majority keeps in stable storage, above bully."""

    name: ClassVar[str] = "replicated"
    usual_election: ClassVar[str] = "bully"

    promised: Safe[Ballot] = (0, 0)
    accepted: Safe[Ballot] = (0, 0)
    store: Safe[Store] = ()
    newest: Safe[tuple[tuple[int, int], ...]] = ()
    """Of each sender, the number of the newest operation: an older one is a copy, or was overtaken."""
    waiting: tuple[Pending, ...] = ()

    @property
    def majority(self) -> int:
        return (len(self.peers) + 1) // 2 + 1

    @property
    def election(self) -> Election:
        assert isinstance(self.lower_layer, Election)
        return self.lower_layer

    # every node: operations of clients, and of nodes that pass them on

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk | Error | None:
        return self.serve(sender, message)

    @on(Write)
    def on_write(self, sender: int, message: Write) -> WriteOk | Error | None:
        return self.serve(sender, message)

    @on(Cas)
    def on_cas(self, sender: int, message: Cas) -> CasOk | Error | None:
        return self.serve(sender, message)

    def serve(self, sender: int, operation: Request[Any]) -> Error | None:
        newest = dict(self.newest)
        if self.handled <= newest.get(sender, -1):
            return None
        self.newest = tuple(sorted({**newest, sender: self.handled}.items()))
        pending = Pending(sender, self.handled, operation)
        if self.election.leads:
            self.waiting = (*self.waiting, pending)
            self.begin(self.decide_all)
        elif self.election.status is Status.NORMAL and sender not in self.peers:
            self.begin(self.ask_coordinator, pending)
        else:
            return Error(UNAVAILABLE)
        return None

    @procedure
    async def ask_coordinator(self, pending: Pending) -> None:
        answer, coordinator = None, self.election.coordinator
        if coordinator is not None:
            answer = await self.ask(coordinator, pending.operation, within=3 * self.timing.t_us)
        self.reply(pending.client, pending.handled, answer or Error(UNKNOWN))

    # the coordinator: one operation after the other

    @procedure
    async def decide_all(self) -> None:
        while self.waiting:
            first = self.waiting[0]
            self.reply(first.client, first.handled, await self.decide(first.operation))
            self.waiting = self.waiting[1:]

    async def decide(self, operation: Request[Any]) -> Payload:
        ballot = self.promised = (self.promised[0] + 1, self.id)
        asked = await self.ask_all(self.peers, Prepare(ballot), within=self.timing.t_us, enough=self.majority - 1)
        promises = [*asked.values(), Promise(self.promised, self.accepted, self.store)]
        self.promised = max(promise.promised for promise in promises)
        granted = [promise for promise in promises if promise.promised == ballot]
        if len(granted) < self.majority:
            return Error(UNAVAILABLE)
        newest = max(granted, key=lambda promise: promise.accepted)
        store, answer = apply(newest.store, operation)
        self.accepted, self.store = ballot, store
        accepts = await self.ask_all(
            self.peers, Accept(ballot, store), within=self.timing.t_us, enough=self.majority - 1
        )
        accepted = [each for each in accepts.values() if each.promised == ballot]
        return answer if 1 + len(accepted) >= self.majority else Error(UNKNOWN)

    # every node: the two rounds

    @on(Prepare)
    def on_prepare(self, sender: int, message: Prepare) -> Promise:
        self.promised = max(self.promised, message.ballot)
        return Promise(self.promised, self.accepted, self.store)

    @on(Accept)
    def on_accept(self, sender: int, message: Accept) -> Accepted:
        if message.ballot >= self.promised:
            self.promised = self.accepted = message.ballot
            self.store = message.store
        return Accepted(self.promised)

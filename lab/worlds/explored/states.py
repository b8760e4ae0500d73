"""Global states, and the moves between them; each part of a state is a number.

A global state is a tuple of numbers: the local state of each node, the queue of each link (by its source, then by
its target), the numbers of commands, kills, restarts and cuts left, the cut in force, and the set of claims made.
Local states are numbered by ``LocalStates``; queues, cuts and sets of claims here.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import combinations
from typing import Literal, NamedTuple

from msgspec.structs import replace

from lab.kernel import Message
from lab.network import Links
from lab.properties.assertions import UniquenessAssertion
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.script.commands import LinkFault, Partition
from lab.script.parse import parse

# the state as a whole

State = tuple[int, ...]
COMMANDS, KILLS, RESTARTS, CUTS, CUT, CLAIM_SET = -6, -5, -4, -3, -2, -1

Timeouts = Literal["synchronous", "prompt", "ordered", "any"]
"""The model of time; see ``lab.worlds.explored.moves``."""

BREAKS: dict[Timeouts, tuple[int, ...]] = {"synchronous": (), "prompt": (), "ordered": (8,), "any": (8, 9)}
"""The assumptions that each model breaks."""


class Move(NamedTuple):
    """A move. ``node`` is the node that it happens to, ``source`` the sender, ``us`` the time that passes.

    ``commands`` are executed right before it; ``during`` are those executed within the step, each after this many
    of its messages were sent.
    """

    what: Literal["fire", "deliver", "restart", "wait", "strike"]
    node: int = 0
    source: int = 0
    us: int = 0
    commands: tuple[str, ...] = ()
    during: tuple[tuple[int, str], ...] = ()

    def with_fault(self, sent: int, *commands: str) -> "Move":
        """Return the move with these commands added after ``sent`` of its messages."""
        what, node, source, us, before, during = self
        return Move(what, node, source, us, before, (*during, *((sent, command) for command in commands)))


def links_of(state: State, count: int) -> State:
    """Return the queues of the links among ``count`` nodes."""
    return state[count : count + count * count]


def with_budget(state: State, kills: int, restarts: int, cuts: int, commands: int = 0) -> State:
    """Return the state with these numbers of kills, restarts, cuts and commands left."""
    return (*state[:COMMANDS], commands, kills, restarts, cuts, *state[CUT:])


# messages in flight: one queue for each link, and queues of the same content have one number

EMPTY = 0
STALE = -1
NEVER_US = 1 << 60


class Queues:
    """The messages and the queues met so far, by number; queue ``EMPTY`` is empty.

    A message is canonical: a request's serial is a name that does not depend on the past (``open_requests``), or
    STALE if nobody waits for its reply any more, and every reply has serial 0. So messages in flight look the same
    if they mean the same. Links are FIFO (rule M6), so only the first message of a queue may arrive.

    A message must arrive within ``within_us`` of its sending. For each queue: ``first`` is its first message,
    ``rest`` the queue without it, ``left_us`` the time until the first is overdue.
    """

    def __init__(self, within_us: int) -> None:
        self.messages: list[Message] = []
        self.first: list[int] = [-1]
        self.rest: list[int] = [EMPTY]
        self.left_us: list[int] = [NEVER_US]
        self._within_us = within_us
        self._contents: list[tuple[tuple[int, int], ...]] = [()]
        self._numbers: dict[tuple[tuple[int, int], ...], int] = {(): EMPTY}
        self._message_numbers: dict[tuple[int, int, int, str, bytes, int], int] = {}
        self._pushed: list[dict[int, int]] = [{}]
        self._later: list[dict[int, int]] = [{}]
        self._released: list[dict[tuple[int, frozenset[int] | None], int]] = [{}]

    def number(self, message: Message) -> int:
        """Return the number of a canonical message."""
        m = message
        key = (m.source, m.target, m.serial, m.kind, bytes(m.body), m.reply_to)
        known = self._message_numbers.setdefault(key, len(self.messages))
        if known == len(self.messages):
            self.messages.append(message)
        return known

    def push(self, queue: int, message: int) -> int:
        """Return the queue with one more message, sent now."""
        known = self._pushed[queue].get(message)
        if known is None:
            known = self._number((*self._contents[queue], (message, self._within_us)))
            self._pushed[queue][message] = known
        return known

    def later(self, queue: int, us: int) -> int:
        """Return the queue after this much time."""
        if self._within_us == NEVER_US:
            return queue
        known = self._later[queue].get(us)
        if known is None:
            known = self._number(tuple((message, left_us - us) for message, left_us in self._contents[queue]))
            self._later[queue][us] = known
        return known

    def release(self, queue: int, node: int, names: frozenset[int] | None) -> int:
        """Return the queue after ``node`` stopped waiting for replies to these requests (None: to any)."""
        known = self._released[queue].get((node, names))
        if known is None:
            known = self._number(
                tuple((self._stale(number, node, names), left_us) for number, left_us in self._contents[queue])
            )
            self._released[queue][node, names] = known
        return known

    def _stale(self, number: int, node: int, names: frozenset[int] | None) -> int:
        message = self.messages[number]
        if message.source == node and message.serial > 0 and (names is None or message.serial in names):
            return self.number(replace(message, serial=STALE))
        if message.target == node and message.reply_to > 0 and (names is None or message.reply_to in names):
            return self.number(replace(message, reply_to=STALE))
        return number

    def _number(self, content: tuple[tuple[int, int], ...]) -> int:
        known = self._numbers.get(content)
        if known is None:
            rest = self._number(content[1:])  # before this one has its number
            known = self._numbers[content] = len(self._contents)
            self._contents.append(content)
            self.first.append(content[0][0])
            self.left_us.append(content[0][1])
            self.rest.append(rest)
            self._pushed.append({})
            self._later.append({})
            self._released.append({})
        return known


# network cuts

WHOLE = 0


class Cuts:
    """The cuts among these nodes, by number: the commands that make them, and the links that each stops.

    A cut separates the nodes into two sides, or two nodes from each other. Only links that may still carry
    something count: cuts that differ only in other links are the same cut, and a cut that stops no link that
    counts is no cut.

    ``stops`` has, for each cut, the places of the links that it stops, as ``slot_of`` gives them; ``WHOLE`` stops
    none.
    """

    def __init__(self, ids: tuple[int, ...], slot_of: Callable[[int, int], int]) -> None:
        self.stops: list[frozenset[int]] = [frozenset()]
        self._numbers: dict[frozenset[int], int] = {frozenset(): WHOLE}
        self._link_of = {slot_of(source, target): (source, target) for source in ids for target in ids}
        self._commands = [
            (command, frozenset(slot_of(*link) for link in _links(command, ids))) for command in _commands(ids)
        ]
        self._without: dict[frozenset[int], tuple[tuple[str, int], ...]] = {}

    def links_of(self, cut: int) -> Links:
        """Return the links that the cut stops."""
        return frozenset(self._link_of[place] for place in self.stops[cut])

    def without(self, idle: frozenset[int]) -> tuple[tuple[str, int], ...]:
        """Return the distinct cuts, as (command, number), if ``idle`` links do not count."""
        known = self._without.get(idle)
        if known is None:
            first: dict[int, str] = {}
            for command, stopped in self._commands:
                first.setdefault(self._number(stopped - idle), command)
            first.pop(WHOLE, None)
            known = self._without[idle] = tuple((command, number) for number, command in first.items())
        return known

    def narrowed(self, cut: int, idle: frozenset[int]) -> int:
        """Return the number of the cut if ``idle`` links do not count."""
        return self._number(self.stops[cut] - idle)

    def _number(self, stopped: frozenset[int]) -> int:
        known = self._numbers.setdefault(stopped, len(self.stops))
        if known == len(self.stops):
            self.stops.append(stopped)
        return known


def _commands(ids: tuple[int, ...]) -> Iterator[str]:
    for size in range(1, len(ids) // 2 + 1):
        for side in combinations(ids, size):
            rest = tuple(node for node in ids if node not in side)
            if size < len(rest) or side < rest:
                yield f"partition {' '.join(map(str, side))} | {' '.join(map(str, rest))}"
    for one, other in combinations(ids, 2):
        yield f"cut {one}<->{other}"


def _links(text: str, ids: tuple[int, ...]) -> Links:
    command = parse(text).command
    assert isinstance(command, LinkFault | Partition)
    return command.rule(ClusterState(ids)).links


# claims, for uniqueness assertions, such as A5

NOTHING = 0


class UniqueClaim(NamedTuple):
    """A claim, made for the assertion of this name."""

    assertion: str
    what: Hashable
    claimant: Hashable | None


class ClaimSets:
    """The sets of claims, by number. ``repeated`` has, for each set, the assertions with a claim made twice.

    Most claims contain a number that their claimant counts up in its state. So states that are otherwise equal
    have usually seen the same claims, and telling states apart by claims too costs next to nothing.
    """

    def __init__(self, claims: Iterable[UniquenessAssertion]) -> None:
        self.repeated: list[tuple[str, ...]] = []
        self._claims = tuple(claims)
        self._contents: list[tuple[frozenset[UniqueClaim], tuple[str, ...]]] = []
        self._numbers: dict[tuple[frozenset[UniqueClaim], tuple[str, ...]], int] = {}
        self._number(frozenset(), ())

    @property
    def with_claims(self) -> set[str]:
        """The assertions of which something was claimed in any state so far."""
        return {claim.assertion for known, _ in self._contents for claim in known}

    def made(self, before: NodeState, after: NodeState) -> tuple[UniqueClaim, ...]:
        """Return the claims of a node that goes from one local state to the next."""
        found = ((claim.id, claim.claims(before, after)) for claim in self._claims)
        return tuple(UniqueClaim(name, *claim) for name, claim in found if claim is not None)

    def add(self, number: int, made: Iterable[UniqueClaim]) -> int:
        """Return the number of this set with these claims added."""
        known, repeated = self._contents[number]
        for new in made:
            again = [old for old in known if old[:2] == new[:2]]
            if again and (new.claimant is None or new not in again):
                repeated = tuple(sorted({*repeated, new.assertion}))
            known |= {new} if not again else frozenset()
        return self._number(known, repeated)

    def _number(self, known: frozenset[UniqueClaim], repeated: tuple[str, ...]) -> int:
        number = self._numbers.setdefault((known, repeated), len(self.repeated))
        if number == len(self.repeated):
            self._contents.append((known, repeated))
            self.repeated.append(repeated)
        return number

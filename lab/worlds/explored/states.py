"""Global states, and the moves between them; each part of a state is a number.

A global state is a tuple of numbers: the local state of each node, the queue of each link (by its source, then by
its target), the numbers of commands, kills, restarts, cuts, pauses and wrong suspicions left, the paused nodes,
the cut in force, and the memories of properties of the history. Local states are numbered by ``LocalStates``; all
else here.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from copy import deepcopy
from itertools import combinations
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from lab.kernel import CommandInput, Message
from lab.network import Links
from lab.properties.declarations import Counterexample, Memory, OverHistory, PropertyError, evaluate
from lab.properties.states import FieldTypes, LocalState
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.script.commands import LinkFault, Partition
from lab.script.parse import parse

# the state as a whole

State = tuple[int, ...]
COMMANDS, KILLS, RESTARTS, CUTS, PAUSES, SUSPICIONS, PAUSED, CUT, MEMORIES = range(-9, 0)

Timeouts = Literal["synchronous", "prompt", "ordered", "budget", "any"]
"""The model of time; see ``lab.worlds.explored.moves``."""

BREAKS: dict[Timeouts, tuple[int, ...]] = {
    "synchronous": (),
    "prompt": (),
    "ordered": (8,),
    "budget": (8, 9),
    "any": (8, 9),
}
"""The assumptions that each model breaks."""

WITH_OWN_CLOCKS: tuple[Timeouts, ...] = ("budget", "any")
"""The models in which each node has a clock of its own, so that a pause is no move."""


NEXT_CALL = CommandInput("call_next", ())
"""The input at which a client calls its next operation."""


class Move(NamedTuple):
    """A move. ``node`` is the node that it happens to, ``source`` the sender, ``us`` the time that passes.

    At a ``call`` a client calls its next operation.

    ``commands`` are executed right before it; ``during`` are those executed within the step, each after this many
    of its messages were sent. ``draws`` are the random numbers that the node draws.
    """

    what: Literal["fire", "deliver", "restart", "wait", "strike", "call"]
    node: int = 0
    source: int = 0
    us: int = 0
    commands: tuple[str, ...] = ()
    during: tuple[tuple[int, str], ...] = ()
    draws: tuple[float, ...] = ()

    def with_fault(self, sent: int, *commands: str) -> "Move":
        """Return the move with these commands added after ``sent`` of its messages."""
        return self._replace(during=(*self.during, *((sent, command) for command in commands)))


def links_of(state: State, count: int) -> State:
    """Return the queues of the links among ``count`` nodes."""
    return state[count : count + count * count]


def with_budget(
    state: State, kills: int, restarts: int, cuts: int, commands: int = 0, pauses: int = 0, suspicions: int = 0
) -> State:
    """Return the state with these numbers of kills, restarts, cuts, commands, pauses and suspicions left."""
    return (*state[:COMMANDS], commands, kills, restarts, cuts, pauses, suspicions, *state[PAUSED:])


# messages in flight: one queue for each link, and queues of the same content have one number

EMPTY = 0
STALE = -1
NEVER_US = 1 << 60
_OVERDUE_US = -1
"""The time left of any message that waits for a paused node and should have arrived before now."""


class Queues:
    """The messages and the queues met so far, by number; queue ``EMPTY`` is empty.

    A message is canonical: a request's serial is a name that does not depend on the past (``request_names``), or
    STALE if nobody waits for its reply any more, and every reply has serial 0. So messages in flight look the same
    if they mean the same. Links are FIFO (rule M6), so only the first message of a queue may arrive.

    A message must arrive within ``within_us`` of its sending. For each queue: ``first`` is its first message,
    ``rest`` the queue without it, ``left_us`` the time until the first is overdue, negative if it is.
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
        self._belongs: list[dict[tuple[int, int], bool]] = [{}]

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
            left = ((message, max(_OVERDUE_US, left_us - us)) for message, left_us in self._contents[queue])
            known = self._number(tuple(left))
            self._later[queue][us] = known
        return known

    def release(self, queue: int, node: int, names: frozenset[int] | None) -> int:
        """Return the queue after ``node`` stopped waiting for replies to these requests (None: to any)."""
        known = self._released[queue].get((node, names))
        if known is None:
            known = self._number(
                tuple((self.stale(number, node, names), left_us) for number, left_us in self._contents[queue])
            )
            self._released[queue][node, names] = known
        return known

    def has(self, queue: int, node: int, request: int) -> bool:
        """Return whether the queue has this request of ``node``, or a reply to it."""
        known = self._belongs[queue].get((node, request))
        if known is None:
            messages = (self.messages[number] for number, _ in self._contents[queue])
            known = self._belongs[queue][node, request] = any(
                (message.source == node and message.serial == request)
                or (message.target == node and message.reply_to == request)
                for message in messages
            )
        return known

    def stale(self, number: int, node: int, names: frozenset[int] | None) -> int:
        """Return the message after ``node`` stopped waiting for replies to these requests (None: to any)."""
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
            self._belongs.append({})
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


# paused nodes

NOBODY = 0
Unsent = tuple[tuple[int, int], ...]
"""(link, message) for each message of a step that has not left."""


class Pause(NamedTuple):
    """A pause of a node: the time until it must resume, and what the node has still to send."""

    left_us: int
    unsent: Unsent


class Pauses:
    """The paused nodes, by number; nobody is paused in ``NOBODY``.

    ``of`` has, for each number, the places of the paused nodes, each with its pause; ``left_us`` is the time until
    one of them must resume. A pause lasts ``longest_us`` at most: the messages that wait would grow without bound.
    """

    def __init__(self, longest_us: int) -> None:
        self.of: list[dict[int, Pause]] = [{}]
        self.left_us: list[int] = [NEVER_US]
        self._longest_us = longest_us
        self._numbers: dict[tuple[tuple[int, Pause], ...], int] = {(): NOBODY}
        self._later: list[dict[int, int]] = [{}]

    def begin(self, number: int, place: int, unsent: Unsent) -> int:
        """Return the number with one more paused node."""
        return self._number({**self.of[number], place: Pause(self._longest_us, unsent)})

    def end(self, number: int, place: int) -> int:
        """Return the number without this node, which is not paused any more, or never was."""
        return self._number({each: pause for each, pause in self.of[number].items() if each != place})

    def later(self, number: int, us: int) -> int:
        """Return the number after this much time."""
        known = self._later[number].get(us)
        if known is None:
            later = {place: Pause(left_us - us, unsent) for place, (left_us, unsent) in self.of[number].items()}
            known = self._later[number][us] = self._number(later)
        return known

    def renamed(self, number: int, rename: Callable[[int], int]) -> int:
        """Return the number after the messages that have not left got other numbers."""
        return self._number(
            {
                place: Pause(left_us, tuple((link, rename(message)) for link, message in unsent))
                for place, (left_us, unsent) in self.of[number].items()
            }
        )

    def _number(self, paused: dict[int, Pause]) -> int:
        known = self._numbers.setdefault(tuple(sorted(paused.items())), len(self.of))
        if known == len(self.of):
            self.of.append(paused)
            self.left_us.append(min(pause.left_us for pause in paused.values()))
            self._later.append({})
        return known


# memories of properties of the history, such as A5

NOTHING = 0
Change = tuple[int, int]
"""The numbers of the states of a node before and after a step."""


class Memories:
    """The memories of the properties of the history, by number; ``NOTHING`` is the start of a run.

    Those properties are about nodes of the cluster, but for ``of_clients``, which is about the ``clients``.

    ``violated`` has, for each number, the properties violated on the way there. ``judged`` are the properties that
    had something to say of any change, ``errors`` those whose code raised an error.

    What is remembered mostly follows from the states of the nodes, such as counters. So telling states apart by
    memories too costs next to nothing.
    """

    def __init__(
        self,
        properties: Iterable[OverHistory],
        types: FieldTypes | None,
        clients: frozenset[int] = frozenset(),
        of_clients: str = "",
    ) -> None:
        self.properties = tuple(properties)
        self._types = types
        self._clients, self._of_clients = clients, of_clients
        self.violated: list[tuple[str, ...]] = []
        self.judged: set[str] = set()
        self.errors: dict[str, str] = {}
        self._contents: list[tuple[Memory, ...]] = []
        self._numbers: dict[Hashable, int] = {}
        self._after: dict[tuple[int, Change], int] = {}
        self._states: list[LocalState] = []
        self._state_numbers: dict[Hashable, int] = {}
        self._number(tuple(Memory() for _ in self.properties), ())

    def change(self, before: NodeState, stored: dict[str, Any], after: NodeState) -> Change | None:
        """Return what identifies this change of a node's state; None if there is nothing to judge.

        ``stored`` are the contents of its stable storage, with which the node starts if it was down before.
        """
        if not self.properties or after.process != "running" or before.state == after.state:
            return None
        if before.process != "running":
            before = NodeState(before.id, "running", state=stored)
        return self._state_number(before), self._state_number(after)

    def _state_number(self, view: NodeState) -> int:
        key = (view.id, msgspec.json.encode(view.state, order="deterministic"))
        number = self._state_numbers.setdefault(key, len(self._states))
        if number == len(self._states):
            plain = LocalState(view.id, view.process, state=view.state)
            self._states.append(plain if self._types is None else self._types.local_state(view))
        return number

    def after(self, number: int, change: Change) -> int:
        """Return the number of the memories after a change of a node's state."""
        known = self._after.get((number, change))
        if known is None:
            before, after = (self._states[each] for each in change)
            memories, violated = deepcopy(self._contents[number]), {*self.violated[number]}
            for declared, memory in zip(self.properties, memories, strict=True):
                if (declared.id == self._of_clients) != (after.id in self._clients):
                    continue
                found = self._evaluate(declared, memory, before, after)
                if found is not None:
                    self.judged.add(declared.id)
                if isinstance(found, Counterexample):
                    violated.add(declared.id)
            known = self._after[number, change] = self._number(memories, tuple(sorted(violated)))
        return known

    def _evaluate(
        self, declared: OverHistory, memory: Memory, before: LocalState, after: LocalState
    ) -> bool | Counterexample | None:
        if declared.id in self.errors:
            return None
        try:
            return evaluate(declared, memory, before, after)
        except PropertyError as error:
            self.errors[declared.id] = str(error)
            return None

    def _number(self, memories: tuple[Memory, ...], violated: tuple[str, ...]) -> int:
        key = (tuple(map(_frozen, memories)), violated)
        number = self._numbers.setdefault(key, len(self._contents))
        if number == len(self._contents):
            self._contents.append(memories)
            self.violated.append(violated)
        return number


def _frozen(value: Any) -> Hashable:
    """Return a hashable form of a plain value; equal for equal values."""
    if isinstance(value, dict):
        return ("dict", frozenset((key, _frozen(each)) for key, each in value.items()))
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, set | frozenset):
        return frozenset(map(_frozen, value))
    found: Hashable = value
    return found

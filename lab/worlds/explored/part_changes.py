"""Changes of the queues and the memories of a state by moves, or of those of any state.

Moves change a queue by four operations, and the memories by one. On the ``Parts`` of a state, an operation returns
the number of the queue, or of the memories, after it. On ``PartChanges`` it returns the number of a *change*: the
operations so far. So moves need to be computed only once, on a row that has UNCHANGED in place of every queue and
of the memories, to be known whatever these are.
"""

from collections.abc import Callable

from lab.worlds.explored.states import EMPTY, Change, Memories, Queues

UNCHANGED, CLEARED = 0, 1


class Parts:
    """The operations on the queues and the memories of a state."""

    def __init__(self, queues: Queues, memories: Memories) -> None:
        self._queues = queues
        self._memories = memories

    def pop(self, queue: int) -> int:
        """Take the first message from the queue."""
        return self._queues.rest[queue]

    def push(self, queue: int, message: int) -> int:
        """Add a message to the queue, sent now."""
        return self._queues.push(queue, message)

    def release(self, queue: int, node: int, names: frozenset[int] | None) -> int:
        """Note that ``node`` stopped waiting for replies to these requests (None: to any)."""
        return self._queues.release(queue, node, names)

    def clear(self, queue: int) -> int:
        """Lose the messages of the queue."""
        return EMPTY

    def remember(self, memories: int, change: Change) -> int:
        """Judge a change of a node's state by the properties of the history."""
        return self._memories.after(memories, change)


class PartChanges(Parts):
    """Note the same operations, to apply them to the ``parts`` of states later.

    The change CLEARED ends with a queue that is EMPTY, whatever it was.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._numbers: dict[object, int] = {}
        self._operations: list[tuple[int, Callable[[int], int]]] = [
            (UNCHANGED, lambda part: part),
            (UNCHANGED, lambda part: EMPTY),
        ]

    def pop(self, queue: int) -> int:
        return self._then(queue, ("pop",), self._parts.pop)

    def push(self, queue: int, message: int) -> int:
        return self._then(queue, ("push", message), lambda part: self._parts.push(part, message))

    def release(self, queue: int, node: int, names: frozenset[int] | None) -> int:
        return self._then(queue, ("release", node, names), lambda part: self._parts.release(part, node, names))

    def clear(self, queue: int) -> int:
        return CLEARED

    def remember(self, memories: int, change: Change) -> int:
        return self._then(memories, ("remember", change), lambda part: self._parts.remember(part, change))

    def apply(self, change: int, part: int) -> int:
        """Return the number of the queue or of the memories after the change."""
        if change == UNCHANGED:
            return part
        before, operation = self._operations[change]
        return operation(self.apply(before, part))

    def _then(self, before: int, what: tuple[object, ...], operation: Callable[[int], int]) -> int:
        known = self._numbers.setdefault((before, what), len(self._operations))
        if known == len(self._operations):
            self._operations.append((before, operation))
        return known

"""Linearizability: an order of the operations in which one copy of the object could have executed them.

The order must keep each operation before those that it precedes (Herlihy & Wing 1990). The search is that of Wing
& Gong (1993): events stand in a linked list; any operation called before the first return in the list may come
next. One that the model accepts is *lifted* out of the list; where none is left to try, the last is put back. Lowe
(2017) adds a memory of configurations: a set of linearized operations with a state needs to be searched once. As
in Porcupine, each key is searched by itself, since linearizability is local.

Four more things keep the search small:

- a read that the model accepts needs no alternative: whatever order exists with it later, exists with it now;
- an operation without a known outcome that would change nothing need not happen now;
- of several such operations with the same effect, the one called first stands for the others;
- the set is a window: the number of operations up to the first that is not linearized, and bits from there on.

*A counterexample* is exact: the search tries every order, so the last return that it came to belongs to the first
operation without which the history would be linearizable up to there, and with which it is not. Every
configuration in which the search was stuck there has a state that refuses this operation.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from msgspec import Struct

from lab.histories.models import Model, State
from lab.histories.operations import History, Operation
from lab.histories.results import CheckResult, Finding, Word
from lab.histories.values import format_value
from lab.units import format_count

MAX_STATES = 1_000_000
"""The default bound on the configurations that are remembered; a million need about 200 MB, and 10 to 20 s."""
_MOST_STATES_SHOWN = 8


class KeyLinearization(Struct, frozen=True):
    """The search for an order of the operations on one key, ``operations``.

    ``order``: all that happened, in an order that fits; or, if none does, a longest order of operations with which
    the search came to the return of ``misfit``. ``possible`` are then the states in which the object could be, as
    text, none of which fits. ``points_us``: an instant for each operation of the order at which it may have
    happened. ``explored``: the number of configurations.
    """

    key: Hashable
    word: Word
    order: tuple[Operation, ...]
    points_us: tuple[int, ...]
    misfit: Operation | None
    possible: tuple[str, ...]
    explored: int
    operations: tuple[Operation, ...]


class LinearizabilityResult(CheckResult, frozen=True):
    """The verdict, the search on each key, and an order of all operations if there is one (``witness``)."""

    keys: tuple[KeyLinearization, ...] = ()
    witness: tuple[Operation, ...] = ()


def check_linearizability(history: History, model: Model, max_states: int = MAX_STATES) -> LinearizabilityResult:
    """Return whether the history is linearizable, with a witness or a counterexample for each key that is not.

    ``max_states`` bounds the configurations of each key: beyond it, the key is *undecided*. Raises HistoryError
    for an operation that the model does not know.
    """
    parts: dict[Hashable, list[Operation]] = {}
    for operation in history.operations:
        if operation.outcome != "fail" or model.is_observation(operation):
            parts.setdefault(model.key(operation), []).append(operation)
    keys = [_search(key, tuple(operations), model, max_states) for key, operations in parts.items()]
    every = [each for operations in parts.values() for each in operations]
    judged = len(every)
    definite = sum(each.outcome != "info" for each in every)
    word = _verdict(keys, any(each.outcome != "info" and model.is_observation(each) for each in every))
    where = f" on {format_count(len(keys), 'key')}" if len(keys) > 1 else ""
    evidence = f"{format_count(judged, 'operation')} of {format_count(len(history.processes), 'client')}{where}"
    if word == "not judged":
        evidence = "no operation has a known outcome that reports anything of the state"
    elif word == "undecided":
        undecided = [format_value(each.key) for each in keys if each.word == "undecided"]
        of_keys = f" on {', '.join(undecided)}" if len(keys) > 1 else ""
        evidence += f"; not decided within {format_count(max_states, 'state')}{of_keys}"
    return LinearizabilityResult(
        checker="linearizability",
        word=word,
        evidence=evidence,
        findings=tuple(_finding(each, len(keys) > 1) for each in keys if each.misfit is not None),
        statistics={
            "operations": len(history.operations),
            "judged": judged,
            "without a known outcome": judged - definite,
            "keys": len(keys),
            "states": sum(each.explored for each in keys),
        },
        keys=tuple(keys),
        witness=_merged(keys) if word == "holds" else (),
    )


def _verdict(keys: Sequence[KeyLinearization], has_observations: bool) -> Word:
    words = {each.word for each in keys}
    if "fails" in words:
        return "fails"
    if "undecided" in words:
        return "undecided"
    return "holds" if has_observations else "not judged"


def _finding(part: KeyLinearization, names_key: bool) -> Finding:
    misfit = part.misfit
    assert misfit is not None
    of_key = f" of {format_value(part.key)}" if names_key else ""
    states = " or ".join(part.possible) if part.possible else "nothing"
    text = (
        f"{misfit} ({misfit.interval}) fits in no order: however the operations called before its return are "
        f"ordered, the state{of_key} is {states} then"
    )
    return Finding("not linearizable", text, (*part.order, misfit))


def _merged(keys: Sequence[KeyLinearization]) -> tuple[Operation, ...]:
    """Merge the orders of all keys: each operation at the earliest event at which its key's order has it."""
    placed = []
    for rank, part in enumerate(keys):
        point = -1
        for place, operation in enumerate(part.order):
            point = max(point, operation.index)
            placed.append((point, rank, place, operation))
    return tuple(operation for *_, operation in sorted(placed, key=lambda each: each[:3]))


def _points_us(order: Sequence[Operation]) -> tuple[int, ...]:
    points = []
    point_us = 0
    for operation in order:
        point_us = max(point_us, operation.invoked_at_us)
        points.append(point_us)
    return tuple(points)


class _Events:
    """The events of one key as a doubly linked list: entry 0 is its head, then come calls and returns in order.

    ``operation_at`` is the number of an operation at its call, -1 at a return and at the end of the list;
    ``return_of`` is the entry of an operation's return, 0 if it may still happen. ``bit_of`` is its place in the
    set of linearized operations, counted apart for those that must happen and those that need not; ``remaining``
    counts the former.
    """

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._operations = operations
        events = [(each.index, number) for number, each in enumerate(operations)]
        events += [
            (each.returned_index, number)
            for number, each in enumerate(operations)
            if each.returned_index is not None
        ]
        events.sort()
        size = len(events) + 2
        self.next = list(range(1, size + 1))
        self.previous = list(range(-1, size - 1))
        self.operation_at = [-1] * size
        self.returning_at = [-1] * size
        self.return_of = [0] * len(operations)
        called = set()
        for entry, (_, number) in enumerate(events, 1):
            if number in called:
                self.returning_at[entry] = number
                self.return_of[number] = entry
            else:
                called.add(number)
                self.operation_at[entry] = number
        self.remaining = sum(map(bool, self.return_of))
        self.bit_of = []
        must = may = 0
        for entry_of_return in self.return_of:
            self.bit_of.append(must if entry_of_return else may)
            must, may = (must + 1, may) if entry_of_return else (must, may + 1)

    def operations_of(self, last: "_Frame | None") -> tuple[Operation, ...]:
        """Return the linearized operations, the first first."""
        operations = []
        while last is not None:
            operations.append(self._operations[self.operation_at[last.entry]])
            last = last.before
        return tuple(operations[::-1])

    def lift(self, entry: int, returns: int) -> None:
        """Unlink the call of an operation, and its return if it has one."""
        self._unlink(entry)
        if returns:
            self._unlink(returns)
            self.remaining -= 1

    def put_back(self, entry: int, returns: int) -> None:
        """Link the call and the return of the operation that was lifted last."""
        if returns:
            self._link(returns)
            self.remaining += 1
        self._link(entry)

    def _unlink(self, entry: int) -> None:
        before, after = self.previous[entry], self.next[entry]
        self.next[before] = after
        self.previous[after] = before

    def _link(self, entry: int) -> None:
        self.next[self.previous[entry]] = entry
        self.previous[self.next[entry]] = entry


class _Frame(NamedTuple):
    """A linearized operation, with the configuration before it, and those before: shared, so never copied."""

    entry: int
    state: State
    base: int
    window: int
    optional: int
    before: "_Frame | None"
    depth: int


def _search(key: Hashable, operations: tuple[Operation, ...], model: Model, max_states: int) -> KeyLinearization:
    events = _Events(operations)
    step, operation_at, return_of, bit_of = model.step, events.operation_at, events.return_of, events.bit_of
    twins = _twins(operations, model, bit_of)
    is_read = [model.is_read(operation) for operation in operations]
    following = events.next
    state = model.initial
    base = window = optional = 0  # the set of linearized operations
    seen: set[tuple[int, int, int, State]] = set()
    last: _Frame | None = None
    blocked = _Blocked()
    entry = following[0]
    while events.remaining:
        number = operation_at[entry]
        if number >= 0:
            after = step(state, operations[number])
            returns = return_of[number]
            is_needless = not returns and (after == state or optional & twins[number] != twins[number])
            if after is None or is_needless:
                entry = following[entry]
                continue
            if returns:
                configuration = (*_with_bit(base, window, bit_of[number] - base), optional, after)
            else:
                configuration = (base, window, optional | 1 << bit_of[number], after)
            if configuration in seen:
                entry = following[entry]
                continue
            if len(seen) >= max_states:
                return KeyLinearization(key, "undecided", (), (), None, (), len(seen), operations)
            seen.add(configuration)
            last = _Frame(entry, state, base, window, optional, last, last.depth + 1 if last else 1)
            base, window, optional, state = configuration
            events.lift(entry, returns)
            entry = following[0]
            continue
        blocked.add(entry, state, last)
        has_alternative = False
        while not has_alternative:
            if last is None:
                possible = tuple(model.format_state(each) for each in list(blocked.states)[:_MOST_STATES_SHOWN])
                order = events.operations_of(blocked.longest)
                misfit = operations[events.returning_at[blocked.entry]]
                return KeyLinearization(
                    key, "fails", order, _points_us(order), misfit, possible, len(seen), operations
                )
            entry, state, base, window, optional, last, _ = last
            number = operation_at[entry]
            has_alternative = not is_read[number]
            events.put_back(entry, return_of[number])
        entry = following[entry]
    order = events.operations_of(last)
    return KeyLinearization(key, "holds", order, _points_us(order), None, (), len(seen), operations)


def _twins(operations: Sequence[Operation], model: Model, bit_of: Sequence[int]) -> list[int]:
    """Return, for each operation that need not happen, the bit of the last before it with the same effect."""
    twins = [0] * len(operations)
    last: dict[Hashable, int] = {}
    for number, operation in enumerate(operations):
        effect = model.effect(operation) if operation.outcome == "info" else None
        if effect is not None:
            twins[number] = last.get(effect, 0)
            last[effect] = 1 << bit_of[number]
    return twins


class _Blocked:
    """The farthest return at which the search was stuck: the states there, and the longest order."""

    def __init__(self) -> None:
        self.entry = -1
        self.longest: _Frame | None = None
        self.states: dict[State, None] = {}

    def add(self, entry: int, state: State, last: _Frame | None) -> None:
        """Note that no operation called before this return may come next in this state."""
        if entry < self.entry:
            return
        if entry > self.entry:
            self.entry, self.longest, self.states = entry, last, {}
        self.states[state] = None
        if last is not None and (self.longest is None or last.depth > self.longest.depth):
            self.longest = last


def _with_bit(base: int, window: int, place: int) -> tuple[int, int]:
    """Add a bit to a window, and move its base past the bits that are all set from there on."""
    window |= 1 << place
    if window & 1:
        ones = (~window & (window + 1)).bit_length() - 1
        return base + ones, window >> ones
    return base, window

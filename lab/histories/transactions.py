"""Transactions in a history: lists of micro-operations on keys, as in Maelstrom's workloads ``txn-…``.

The value of an operation is ``[["r", "x", nil], ["append", "y", 3]]``, its result the same with the values read. A
list is appended to (``append``), a register is written (``w``). Every write of a key has a value of its own: so a
value that is read names the transaction that wrote it, and this is all from which dependencies are inferred.

A transaction that failed did not happen. One without a known outcome is *committed* if somebody saw a write of it;
until then, nothing follows from it.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from lab.histories.operations import History, HistoryError, Operation
from lab.histories.values import format_value, freeze


class MicroOperation(NamedTuple):
    """A read or a write of a key. ``value`` is None at a read whose result is not known."""

    is_read: bool
    key: Hashable
    value: Any


class ClientTransaction(Struct, frozen=True):
    """An operation and its micro-operations; ``committed``: it certainly happened."""

    operation: Operation
    steps: tuple[MicroOperation, ...]
    committed: bool

    @property
    def name(self) -> str:
        """Its name in texts: T and the number of its invocation."""
        return f"T{self.operation.index}"

    def writes(self) -> Iterator[tuple[Hashable, Any]]:
        """Yield (key, value) of its writes, in their order."""
        return ((step.key, step.value) for step in self.steps if not step.is_read)

    def reads(self) -> Iterator[tuple[Hashable, Any]]:
        """Yield (key, value) of its reads, in their order; none if its outcome is not ok."""
        if self.operation.outcome == "ok":
            yield from ((step.key, step.value) for step in self.steps if step.is_read)


def read_transactions(history: History, write: str) -> list[ClientTransaction]:
    """Return all transactions of a history whose writes are called ``append`` or ``w``.

    Raises HistoryError if an operation is no such transaction, or if a value was written twice.
    """
    found = [(operation, _steps(operation, write)) for operation in history.operations]
    writers: dict[tuple[Hashable, Any], Operation] = {}
    seen: set[tuple[Hashable, Any]] = set()
    for operation, steps in found:
        for is_read, key, value in steps:
            if not is_read:
                if first := writers.get((key, value)):
                    raise HistoryError(
                        f"T{first.index} and T{operation.index} both write {format_value(value)} to "
                        f"{format_value(key)}: expected a value of its own for every write of a key"
                    )
                writers[key, value] = operation
            elif operation.outcome == "ok":
                seen.update((key, each) for each in (value if write == "append" else (value,)))
    transactions = []
    for operation, steps in found:
        is_seen = any((each.key, each.value) in seen for each in steps if not each.is_read)
        committed = operation.outcome == "ok" or (operation.outcome == "info" and is_seen)
        transactions.append(ClientTransaction(operation, steps, committed))
    return transactions


def _steps(operation: Operation, write: str) -> tuple[MicroOperation, ...]:
    called = _micro_operations(operation, operation.value, write)
    if operation.outcome != "ok" or (operation.result is None and not any(step.is_read for step in called)):
        return called
    done = _micro_operations(operation, operation.result, write)
    if [(each.is_read, each.key) for each in called] != [(each.is_read, each.key) for each in done] or any(
        one.value != other.value for one, other in zip(called, done, strict=True) if not one.is_read
    ):
        raise HistoryError(
            f"event {operation.completed_index}: the result {format_value(operation.result)} is of another "
            f"transaction than {format_value(operation.value)}: expected the same with the values read"
        )
    return done


def _micro_operations(operation: Operation, value: Any, write: str) -> tuple[MicroOperation, ...]:
    if not isinstance(value, list | tuple):
        raise _not_a_transaction(operation, value, write)
    steps = []
    for each in value:
        if not isinstance(each, list | tuple) or len(each) != 3 or each[0] not in ("r", write):
            raise _not_a_transaction(operation, each, write)
        f, key, argument = each
        if write == "append" and f == "r":
            if argument is not None and not isinstance(argument, list | tuple):
                raise _not_a_transaction(operation, each, write)
            argument = argument or ()
        if write == "w" and f == "w" and argument is None:
            raise HistoryError(
                f"event {operation.index}: a transaction writes nil to {format_value(key)}: expected another "
                f"value, since nil is what a register has before all writes"
            )
        steps.append(MicroOperation(f == "r", freeze(key), freeze(argument)))
    return tuple(steps)


def _not_a_transaction(operation: Operation, got: Any, write: str) -> HistoryError:
    read = '["r" key [values]]' if write == "append" else '["r" key value]'
    return HistoryError(
        f"event {operation.index}: {operation.f} of client {operation.process} has {format_value(got)}: expected "
        f'a transaction, a list of {read} and ["{write}" key value]'
    )


def session_pairs(transactions: Sequence[ClientTransaction]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of each two committed transactions that follow each other at one client."""
    last: dict[str, int] = {}
    for number, each in enumerate(transactions):
        if each.committed:
            process = each.operation.process
            if process in last:
                yield last[process], number
            last[process] = number


def real_time_pairs(transactions: Sequence[ClientTransaction]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of each two committed transactions of which one was over before the other was called.

    Pairs that follow from others are left out: what is over and precedes another that is over, too.
    """
    events = []
    for number, each in enumerate(transactions):
        if each.committed:
            events.append((each.operation.index, number, True))
            returned = each.operation.returned_index
            if returned is not None:
                events.append((returned, number, False))
    over: dict[int, None] = {}
    before: dict[int, tuple[int, ...]] = {}
    for _, number, is_call in sorted(events):
        if is_call:
            before[number] = tuple(over)
            for earlier in before[number]:
                yield earlier, number
        else:
            for earlier in before[number]:
                over.pop(earlier, None)
            over[number] = None

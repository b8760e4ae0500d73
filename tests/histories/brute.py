"""The definitions, tried out: every order of the operations. Slow, and plain enough to be believed."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from lab.histories.models import Model, State
from lab.histories.operations import History, Operation
from lab.histories.transactions import ClientTransaction


def is_linearizable(history: History, model: Model, upto: int | None = None) -> bool:
    """Return whether some order of the operations keeps their precedence, and the model accepts it.

    ``upto``: only what was over by the event with that number must be in the order; what was called by then may
    be.
    """
    certain: list[Operation] = []
    perhaps: list[Operation] = []
    for each in history.operations:
        if (each.outcome == "fail" and not model.is_observation(each)) or (upto is not None and each.index > upto):
            continue
        over = each.returned_index
        (certain if over is not None and (upto is None or over <= upto) else perhaps).append(each)
    return _has_order(frozenset(), certain, perhaps, {}, model)


def _has_order(
    done: frozenset[int],
    certain: Sequence[Operation],
    perhaps: Sequence[Operation],
    states: Mapping[Hashable, State],
    model: Model,
) -> bool:
    """Try each operation as the next."""
    left = [each for each in [*certain, *perhaps] if each.index not in done]
    if done.issuperset(each.index for each in certain):
        return True
    for operation in left:
        if not any(other.precedes(operation) for other in left):
            key = model.key(operation)
            after = model.step(states.get(key, model.initial), operation)
            if after is not None and _has_order(
                done | {operation.index}, certain, perhaps, {**states, key: after}, model
            ):
                return True
    return False


def is_serializable(transactions: Sequence[ClientTransaction], lists: bool, in_real_time: bool = False) -> bool:
    """Return whether some order of the committed transactions, one after the other, gives what they read."""
    certain = [each for each in transactions if each.operation.outcome == "ok"]
    perhaps = [each for each in transactions if each.operation.outcome == "info"]
    return _has_serial_order(frozenset(), certain, perhaps, {}, () if lists else None, in_real_time)


def _has_serial_order(
    done: frozenset[int],
    certain: Sequence[ClientTransaction],
    perhaps: Sequence[ClientTransaction],
    state: Mapping[Any, Any],
    nothing: Any,
    in_real_time: bool,
) -> bool:
    """Try each transaction as the next; ``nothing`` is what a key has at first, () if keys are lists."""
    left = [each for each in [*certain, *perhaps] if each.operation.index not in done]
    if done.issuperset(each.operation.index for each in certain):
        return True
    for transaction in left:
        operation = transaction.operation
        if not in_real_time or not any(other.operation.precedes(operation) for other in left):
            after = _executed(transaction, state, nothing)
            if after is not None and _has_serial_order(
                done | {operation.index}, certain, perhaps, after, nothing, in_real_time
            ):
                return True
    return False


def _executed(transaction: ClientTransaction, state: Mapping[Any, Any], nothing: Any) -> dict[Any, Any] | None:
    """Return the state after the transaction, or None if it read something else than what was there."""
    after = dict(state)
    for is_read, key, value in transaction.steps:
        if not is_read:
            after[key] = value if nothing is None else (*after.get(key, ()), value)
        elif transaction.operation.outcome == "ok" and after.get(key, nothing) != value:
            return None
    return after

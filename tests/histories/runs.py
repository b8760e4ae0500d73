"""Runs of a store by clients that overlap, as large as wanted, right or wrong; also for the benchmarks."""

import random
from typing import Any, NamedTuple

from lab.histories.operations import (
    KEY_DOES_NOT_EXIST,
    PRECONDITION_FAILED,
    ErrorReply,
    History,
    HistoryBuilder,
    Outcome,
)


class _Call(NamedTuple):
    f: str
    key: str
    argument: Any


class _Answer(NamedTuple):
    outcome: Outcome
    result: Any
    error: ErrorReply | None


def run_of_a_store(
    rng: random.Random,
    operations: int,
    clients: int,
    keys: int,
    lost_answers: float = 0,
    wrong: bool = False,
) -> History:
    """Return the history of a linearizable store; if ``wrong``, one answer in the middle is that of another store.

    Each operation happens at a moment of its own between call and return. ``lost_answers``: the share of
    operations of which the client never learns the outcome.
    """
    builder = HistoryBuilder()
    store: dict[str, int] = {}
    called: dict[str, _Call] = {}
    answered: dict[str, _Answer] = {}
    names = [f"c{number}" for number in range(clients)]
    completed = now_us = 0
    while completed < operations:
        now_us += rng.randrange(1, 1000)
        place = rng.randrange(clients)
        name = names[place]
        if name not in called:
            called[name] = _drawn(rng, keys)
            f, key, argument = called[name]
            builder.invoke(name, f, [key, argument], now_us)
        elif name not in answered:
            answered[name] = _execute(store, called[name])
        else:
            completed += 1
            call, answer = called.pop(name), answered.pop(name)
            if wrong and completed > operations // 2 and call.f == "read" and answer.outcome == "ok":
                answer, wrong = _Answer("ok", [call.key, 99], None), False
            elif rng.random() < lost_answers:
                answer = _Answer("info", None, ErrorReply(0))
                names[place] = f"c{clients + completed}"
            builder.complete(name, answer.outcome, answer.result, now_us, answer.error)
    return builder.history()


def _drawn(rng: random.Random, keys: int) -> _Call:
    key = f"k{rng.randrange(keys)}"
    argument: Any = rng.choice([None, None, rng.randrange(5), [rng.randrange(5), rng.randrange(5)]])
    return _Call("read" if argument is None else "cas" if isinstance(argument, list) else "write", key, argument)


def _execute(store: dict[str, int], call: _Call) -> _Answer:
    f, key, argument = call
    if f == "write":
        store[key] = argument
        return _Answer("ok", None, None)
    if key not in store:
        return _Answer("fail", None, ErrorReply(KEY_DOES_NOT_EXIST))
    if f == "read":
        return _Answer("ok", [key, store[key]], None)
    if store[key] != argument[0]:
        return _Answer("fail", None, ErrorReply(PRECONDITION_FAILED))
    store[key] = argument[1]
    return _Answer("ok", None, None)


def run_of_transactions(rng: random.Random, transactions: int, clients: int) -> History:
    """Return the history of a strictly serializable database of lists, of which new ones are used in turn."""
    builder = HistoryBuilder()
    lists: dict[int, list[int]] = {}
    called: dict[str, list[list[Any]]] = {}
    executed: dict[str, list[list[Any]]] = {}
    completed = element = oldest = 0
    while completed < transactions:
        name = f"c{rng.randrange(clients)}"
        if name not in called:
            called[name] = []
            for _ in range(rng.randint(1, 4)):
                key = oldest + rng.randrange(5)
                element += 1
                called[name].append(["append", key, element] if rng.random() < 0.5 else ["r", key, None])
            oldest = element // 64
            builder.invoke(name, "txn", called[name], completed)
        elif name not in executed:
            executed[name] = []
            for f, key, value in called[name]:
                if f == "append":
                    lists[key] = [*lists.get(key, []), value]
                executed[name].append([f, key, value if f == "append" else lists.get(key, [])])
        else:
            completed += 1
            del called[name]
            builder.complete(name, "ok", executed.pop(name), completed)
    return builder.history()

"""The checkers of histories: operations a second, and over a plain replay of the same operations on a dict.

The replay executes each operation once, in the order of completions, and compares nothing: no checker can do less.
"""

import gc
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.histories.linearizability import check_linearizability
from lab.histories.list_append import check_list_append
from lab.histories.models import KeyValue
from lab.histories.operations import History
from tests.benchmarks.figures import Figure, median
from tests.histories.runs import run_of_a_store, run_of_transactions

__all__ = ["measure"]

CLIENTS = 10
KEYS = 5


def measure(folder: Path, quick: bool) -> list[Figure]:
    count = 200 if quick else 10_000
    store = run_of_a_store(random.Random(1), count, CLIENTS, KEYS)
    one_key = run_of_a_store(random.Random(2), count, CLIENTS, keys=1, lost_answers=0.005)
    transactions = run_of_transactions(random.Random(3), count, CLIENTS)
    times = 1 if quick else 5
    replay_s = _seconds(lambda: _replay(store), times)
    check_s = _seconds(lambda: _judge(store), times)
    one_key_s = _seconds(lambda: _judge(one_key), times)
    cycles_s = _seconds(lambda: check_list_append(transactions, "strict serializable"), times)
    what = f"{count:,} operations of {CLIENTS} clients on {KEYS} keys"
    return [
        Figure(
            "linearizability: time over that of a replay in a dict", check_s / replay_s, "×", 150, "less", what
        ),
        Figure("linearizability: operations a second", count / check_s, "op/s", 5_000, "more", what),
        Figure("the same on one key, 0.5 % without an outcome", count / one_key_s, "op/s", 1_000, "more"),
        Figure(
            "strict serializability of lists", count / cycles_s, "txn/s", 1_000, "more", f"{count:,} transactions"
        ),
    ]


def _seconds(what: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        gc.collect()
        began = time.perf_counter()
        what()
        taken.append(time.perf_counter() - began)
    return median(taken)


def _judge(history: History) -> None:
    assert check_linearizability(history, KeyValue()).word == "holds"


def _replay(history: History) -> dict[str, Any]:
    store: dict[str, Any] = {}
    for operation in sorted(history.operations, key=lambda each: each.completed_index or 0):
        key, argument = operation.value
        if operation.f == "read":
            store.get(key)
        elif operation.f == "write":
            store[key] = argument
        elif store.get(key) == argument[0]:
            store[key] = argument[1]
    return store

"""Short ways to make histories for tests."""

from collections.abc import Sequence
from typing import Any

from lab.histories.operations import ErrorReply, Event, History, HistoryBuilder, Outcome

Call = tuple[str, int, int | None, str, Any, Any]
"""A client, the times of call and return, the operation, its argument, its result; see ``history_of``."""


def history_of(*calls: Call) -> History:
    """Return the history of these operations; of the events at one time, calls come first.

    No return: nobody knows. A result that is an error: it failed.
    """
    events = []
    for client, called_us, returned_us, f, value, result in calls:
        events.append((called_us, 0, Event("invoke", client, f, value, called_us)))
        if returned_us is not None:
            error = result if isinstance(result, ErrorReply) else None
            outcome: Outcome = "ok" if error is None else "fail"
            event = Event(outcome, client, f, None if error else result, returned_us, error)
            events.append((returned_us, 1, event))
    return History.of_events(event for *_, event in sorted(events, key=lambda each: each[:2]))


def transactions_of(*transactions: str | tuple[str, Outcome], write: str = "append") -> History:
    """Return a history of transactions, one after the other, each by a client of its own.

    ``"ax1 rx12 ry"``: append 1 to x, read x as [1, 2], y as []. ``"wx1 rx1 ry_"`` for registers.
    """
    builder = HistoryBuilder()
    outcome: Outcome
    for number, each in enumerate(transactions):
        text, outcome = (each, "ok") if isinstance(each, str) else each
        called, done = micro_operations(text.split(), write)
        builder.invoke(f"c{number}", "txn", called, number * 10)
        builder.complete(f"c{number}", outcome, done if outcome == "ok" else None, number * 10 + 5)
    return builder.history()


def concurrent_transactions(*transactions: str, write: str = "append") -> History:
    """Return a history of such transactions, all of which are called before any is over."""
    builder = HistoryBuilder()
    for number, text in enumerate(transactions):
        builder.invoke(f"c{number}", "txn", micro_operations(text.split(), write)[0], number)
    for number, text in enumerate(transactions):
        builder.complete(f"c{number}", "ok", micro_operations(text.split(), write)[1], 100 + number)
    return builder.history()


def micro_operations(words: Sequence[str], write: str) -> tuple[list[Any], list[Any]]:
    """Return the micro-operations as called, and as done."""
    called: list[Any] = []
    done: list[Any] = []
    for word in words:
        kind, key, values = word[0], word[1], word[2:]
        if kind == "r":
            if write == "w":
                read: Any = int(values) if values != "_" else None
            else:
                read = [int(each) for each in values]
            called.append(["r", key, None])
            done.append(["r", key, read])
        else:
            called.append([write, key, int(values)])
            done.append([write, key, int(values)])
    return called, done

"""Transactions that read and write registers (txn-rw-register): what their reads reveal, and what is wrong.

A read shows one value, not the order of all: so less can be inferred than of lists. *Holds* means that no
anomaly can be inferred, which is no proof of an order: to find one is NP-complete (Papadimitriou 1979). For each
key, whose writes all have values of their own:

- **wr** leads from the writer of a value to its readers;
- a transaction that read a value and then wrote another put the second after the first, or there is a cycle of ww
  and wr edges between it and the writer of the first, which is as bad: so **rw** leads from the other readers of
  the first to it;
- nil is what a register has before all writes: **rw** leads from its readers to the writers, save those that read
  what another wrote, which come after that writer anyway.

Edges ww are not inferred from reads: the only certain ones stand beside an edge wr. So G0 is never found here.

A model that keeps the order of each client, or of real time, shows more: if a transaction that left one value in a
register precedes one that found, or wrote, another, then the first value was written before the second. So **ww**
leads from writer to writer, and **rw** from the readers of the first. A cycle with such an edge rules out no
weaker model.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from lab.histories.anomalies import Anomaly, ConsistencyModel
from lab.histories.dependency_graph import DependencyGraph, Edge, EdgeKind
from lab.histories.list_append import lost_updates
from lab.histories.operations import History
from lab.histories.transaction_result import MAX_STEPS, TransactionResult, judge_transactions
from lab.histories.transactions import ClientTransaction, read_transactions, real_time_pairs, session_pairs
from lab.histories.values import format_value


def check_rw_register(
    history: History, model: ConsistencyModel = "serializable", max_steps: int = MAX_STEPS
) -> TransactionResult:
    """Return whether the model allows these transactions, as far as can be inferred, with the anomalies found.

    The models ``strong session serializable`` and ``strict serializable`` also keep the order of each client, or
    of real time. ``max_steps`` bounds the search for cycles. Raises HistoryError if an operation is no transaction
    of reads and writes, or a value was written twice.
    """
    transactions = read_transactions(history, "w")
    writer_of: dict[tuple[Hashable, Any], int] = {}
    final: dict[tuple[int, Hashable], Any] = {}
    for number, transaction in enumerate(transactions):
        for key, value in transaction.writes():
            writer_of[key, value] = number
            final[number, key] = value
    graph = DependencyGraph()
    _add_edges(graph, transactions, writer_of)
    anomalies = [each for transaction in transactions for each in _internal(transaction)]
    wrong: dict[tuple[Hashable, Any, str], Anomaly] = {}
    for number, transaction in enumerate(transactions):
        for key, value in _first_reads(transaction).items():
            for anomaly in _wrong_value(transactions, number, key, value, writer_of, final):
                wrong.setdefault((key, value, anomaly.kind), anomaly)
    anomalies += wrong.values()
    anomalies += lost_updates(transactions, _named)
    statistics = {
        "keys": len({step.key for transaction in transactions for step in transaction.steps}),
        "reads": sum(1 for transaction in transactions for _ in transaction.reads()),
        "writes": len(writer_of),
    }
    result = judge_transactions(
        "txn-rw-register",
        transactions,
        graph,
        anomalies,
        model,
        statistics,
        max_steps,
        lambda order: _edges_of_order(order, transactions, writer_of, final),
    )
    if result.word != "holds":
        return result
    return replace(result, evidence=f"{result.evidence}; no anomaly follows, as far as reads show the order")


def _named(key: Hashable, value: Any) -> str:
    return f"{format_value(key)} = {format_value(value)}"


def _first_reads(transaction: ClientTransaction) -> dict[Hashable, Any]:
    """Return the value of each key that the transaction read before it wrote it."""
    found: dict[Hashable, Any] = {}
    if transaction.operation.outcome == "ok":
        written = set()
        for is_read, key, value in transaction.steps:
            if not is_read:
                written.add(key)
            elif key not in written:
                found.setdefault(key, value)
    return found


def _add_edges(
    graph: DependencyGraph, transactions: Sequence[ClientTransaction], writer_of: dict[tuple[Hashable, Any], int]
) -> None:
    readers: dict[tuple[Hashable, Any], list[int]] = {}
    next_writers: dict[tuple[Hashable, Any], list[tuple[int, Any]]] = {}
    for number, transaction in enumerate(transactions):
        if not transaction.committed:
            continue
        reads = _first_reads(transaction)
        for key, value in reads.items():
            readers.setdefault((key, value), []).append(number)
        for key, value in dict(transaction.writes()).items():
            seen = reads.get(key)
            writer = writer_of.get((key, seen))
            is_known = writer is not None and transactions[writer].committed
            next_writers.setdefault((key, seen if is_known else None), []).append((number, value))
    for (key, value), numbers in readers.items():
        writer = writer_of.get((key, value))
        for number in numbers:
            name = transactions[number].name
            if writer is not None and transactions[writer].committed:
                text = f"{name} read {_named(key, value)}, which {transactions[writer].name} wrote"
                graph.add(Edge(writer, number, "wr", text))
            for other, written in next_writers.get((key, value), ()):
                overwritten = f"before {transactions[other].name} wrote {format_value(written)}"
                text = f"{name} read {_named(key, value)} {overwritten}"
                graph.add(Edge(number, other, "rw", text))


class _Access(NamedTuple):
    """A committed transaction at one register: the value that it read there first, or else wrote, and its last."""

    number: int
    reads: bool
    first: Any
    last: Any


def _edges_of_order(
    order: EdgeKind,
    transactions: Sequence[ClientTransaction],
    writer_of: dict[tuple[Hashable, Any], int],
    final: dict[tuple[int, Hashable], Any],
) -> Iterator[Edge]:
    """Yield the dependencies that follow from the order of clients, or of real time, for each key."""
    accesses: dict[Hashable, list[_Access]] = {}
    readers: dict[tuple[Hashable, Any], list[int]] = {}
    for number, transaction in enumerate(transactions):
        if transaction.committed:
            reads, writes = _first_reads(transaction), dict(transaction.writes())
            for key in {**reads, **writes}:
                first = reads[key] if key in reads else writes[key]
                accesses.setdefault(key, []).append(_Access(number, key in reads, first, writes.get(key, first)))
                if key in reads:
                    readers.setdefault((key, first), []).append(number)

    def writer(key: Hashable, value: Any) -> int | None:
        """Return the committed transaction that left this value in the register."""
        number = writer_of.get((key, value))
        is_version = number is not None and transactions[number].committed and final[number, key] == value
        return number if is_version else None

    pairs_of = session_pairs if order == "process" else real_time_pairs
    for key, several in accesses.items():
        for numbers in pairs_of([transactions[each.number] for each in several]):
            one, other = (several[number] for number in numbers)
            before, after = writer(key, one.last), writer(key, other.first)
            if before is None or after is None or before == after:
                continue
            then = f"before {transactions[after].name} wrote {format_value(other.first)}"
            why = (
                f"{transactions[one.number].name} left {format_value(one.last)} there and came before "
                f"{transactions[other.number].name}, which {'read' if other.reads else 'wrote'} the other"
            )
            text = f"{transactions[before].name} wrote {_named(key, one.last)} {then}: {why}"
            yield Edge(before, after, "version", text, order)
            for reader in readers.get((key, one.last), ()):
                text = f"{transactions[reader].name} read {_named(key, one.last)} {then}: {why}"
                yield Edge(reader, after, "rw", text, order)


def _wrong_value(
    transactions: Sequence[ClientTransaction],
    number: int,
    key: Hashable,
    value: Any,
    writer_of: dict[tuple[Hashable, Any], int],
    final: dict[tuple[int, Hashable], Any],
) -> Iterator[Anomaly]:
    if value is None:
        return
    reader = transactions[number]
    read = f"{reader.name} read {_named(key, value)}"
    writer = writer_of.get((key, value))
    if writer is None:
        yield Anomaly("garbage read", f"{read}, which nobody wrote", (reader.operation,))
        return
    by = transactions[writer]
    operations = (reader.operation, by.operation)
    if writer == number:
        yield Anomaly("future read", f"{read} before it wrote that itself", (reader.operation,))
    elif by.operation.outcome == "fail":
        yield Anomaly("G1a", f"{read}, and {by.name}, which wrote that, failed", operations)
    elif final[writer, key] != value:
        text = f"{read}, over which {by.name} itself wrote {format_value(final[writer, key])}"
        yield Anomaly("G1b", text, operations)


def _internal(transaction: ClientTransaction) -> Iterator[Anomaly]:
    """Yield what a transaction cannot have read after its own reads and writes."""
    if transaction.operation.outcome != "ok":
        return
    expected: dict[Hashable, Any] = {}
    for is_read, key, value in transaction.steps:
        if is_read and key in expected and expected[key] != value:
            text = (
                f"{transaction.name} read {_named(key, value)}, and had left {format_value(expected[key])} there"
            )
            yield Anomaly("internal", text, (transaction.operation,))
        expected[key] = value

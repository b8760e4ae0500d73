"""Transactions that append to lists and read them (txn-list-append): what their reads reveal, and what is wrong.

A read of a list shows the order in which all its elements were appended: the version order that Adya's definitions
need, and a client cannot otherwise see (Elle: *traceable* and *recoverable*). For each key:

- the *order* is the longest list read. If a read is not its beginning, no order explains both: *incompatible
  order*; then only what all reads begin with is the order, and a key in which a read repeats an element has none;
- an element that a committed transaction appended, and that is not in the order, comes after all that are: every
  read began without it;
- **ww** leads from the writer of an element to that of the next in the order; **wr** from the writer of the last
  element read to the reader; **rw** from a reader to the writer of the next element that it did not see.

Elements of transactions that failed are passed over in the order; each was an aborted read already.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from lab.histories.anomalies import Anomaly, ConsistencyModel
from lab.histories.dependency_graph import DependencyGraph, Edge
from lab.histories.operations import History, Operation
from lab.histories.transaction_result import MAX_STEPS, TransactionResult, judge_transactions
from lab.histories.transactions import ClientTransaction, read_transactions
from lab.histories.values import format_value

Elements = tuple[Any, ...]


def check_list_append(
    history: History, model: ConsistencyModel = "serializable", max_steps: int = MAX_STEPS
) -> TransactionResult:
    """Return whether the model allows these transactions, with the anomalies found.

    The models ``strong session serializable`` and ``strict serializable`` also keep the order of each client, or
    of real time. ``max_steps`` bounds the search for cycles. Raises HistoryError if an operation is no transaction
    of reads and appends, or an element was appended twice.
    """
    transactions = read_transactions(history, "append")
    keys: dict[Hashable, _Key] = {}
    for number, transaction in enumerate(transactions):
        for key, element in transaction.writes():
            keys.setdefault(key, _Key(key, transactions)).add_append(number, element)
        for key, elements in transaction.reads():
            keys.setdefault(key, _Key(key, transactions)).reads.append((number, elements))
    graph = DependencyGraph()
    anomalies = [each for transaction in transactions for each in _internal(transaction)]
    for key in keys.values():
        key.infer_order()
        key.add_edges(graph)
        anomalies += key.anomalies()
        if model == "strict serializable":
            anomalies += key.lost_appends()
    anomalies += _lost_updates(transactions)
    statistics = {
        "keys": len(keys),
        "reads": sum(len(key.reads) for key in keys.values()),
        "appends": sum(len(key.writer_of) for key in keys.values()),
        "appends never read": sum(len(key.unread()) for key in keys.values()),
    }
    return judge_transactions("txn-list-append", transactions, graph, anomalies, model, statistics, max_steps)


class _Key:
    """The appends to a key and its reads, as (number of the transaction, elements), with the order inferred."""

    def __init__(self, key: Hashable, transactions: Sequence[ClientTransaction]) -> None:
        self.reads: list[tuple[int, Elements]] = []
        self.writer_of: dict[Any, int] = {}
        self._key = key
        self._transactions = transactions
        self._last_of: dict[int, Any] = {}
        self._order: Elements = ()
        self._incompatible: tuple[tuple[int, Elements], tuple[int, Elements]] | None = None

    def add_append(self, number: int, element: Any) -> None:
        """Note an append; the last of a transaction to the key is its final one."""
        self.writer_of[element] = number
        self._last_of[number] = element

    def infer_order(self) -> None:
        """Infer the order of the elements from all reads."""
        longest = max(self.reads, key=lambda read: len(read[1]), default=(0, ()))
        length = len(longest[1])
        for read in self.reads:
            same = _common(read[1], longest[1])
            if same < len(read[1]):
                self._incompatible = self._incompatible or (read, longest)
                length = min(length, same)
        order = longest[1][:length]
        self._order = order if len(set(order)) == len(order) else ()

    def unread(self) -> list[Any]:
        """Return the elements that committed transactions appended and that are in no read."""
        seen = {element for _, elements in self.reads for element in elements}
        return [element for element, number in self._committed_appends() if element not in seen]

    def _committed_appends(self) -> Iterator[tuple[Any, int]]:
        return (
            (element, number) for element, number in self.writer_of.items() if self._transactions[number].committed
        )

    def _committed_writer(self, element: Any) -> int | None:
        number = self.writer_of.get(element)
        return number if number is not None and self._transactions[number].committed else None

    def add_edges(self, graph: DependencyGraph) -> None:
        """Add the dependencies that this key shows."""
        places = {element: place for place, element in enumerate(self._order)}
        ordered = [element for element in self._order if self._committed_writer(element) is not None]
        after_all = [element for element, _ in self._committed_appends() if element not in places]
        for element, following in pairwise(ordered):
            self._add_overwrite(graph, element, following)
        for element in after_all if ordered else ():
            self._add_overwrite(graph, ordered[-1], element)
        following_from: list[list[Any]] = [after_all]  # by the length of what was read, from the longest
        for element in reversed(self._order):
            known = self._committed_writer(element) is not None
            following_from.append([element] if known else following_from[-1])
        for number, elements in self.reads:
            writer = self._committed_writer(elements[-1]) if elements else None
            if writer is not None:
                text = self._text("{} read {} with {}'s append of {}", number, writer, elements[-1])
                graph.add(Edge(writer, number, "wr", text))
            if elements == self._order[: len(elements)]:
                for element in following_from[len(self._order) - len(elements)]:
                    writer = self.writer_of[element]
                    text = self._text("{} read {} before {}'s append of {}", number, writer, element)
                    graph.add(Edge(number, writer, "rw", text))

    def _add_overwrite(self, graph: DependencyGraph, element: Any, following: Any) -> None:
        one, other = self.writer_of[element], self.writer_of[following]
        text = (
            f"{self._transactions[one].name} appended {format_value(element)} to {format_value(self._key)} before "
            f"{self._transactions[other].name} appended {format_value(following)}"
        )
        graph.add(Edge(one, other, "ww", text))

    def _text(self, form: str, reader: int, writer: int, element: Any) -> str:
        names = self._transactions[reader].name, self._transactions[writer].name
        return form.format(names[0], format_value(self._key), names[1], format_value(element))

    def anomalies(self) -> Iterator[Anomaly]:
        """Yield what is wrong with single reads of this key, once for each element, and with its order."""
        shown = set()
        for number, elements in self.reads:
            for element, anomaly in self._wrong_elements(number, elements):
                if (element, anomaly.kind) not in shown:
                    shown.add((element, anomaly.kind))
                    yield anomaly
        if self._incompatible is not None:
            (one, short), (other, long) = self._incompatible
            names = self._transactions[one].name, self._transactions[other].name
            text = (
                f"{names[0]} read {format_value(self._key)} as {format_value(short)}, and {names[1]} as "
                f"{format_value(long)}: neither is the beginning of the other"
            )
            yield Anomaly("incompatible order", text, self._operations(one, other))
        yield from self._turned_around()
        yield from self._dirty_update()

    def _describe_read(self, number: int, elements: Elements) -> str:
        return f"{self._transactions[number].name} read {format_value(self._key)} as {format_value(elements)}"

    def _wrong_elements(self, number: int, elements: Elements) -> Iterator[tuple[Any, Anomaly]]:
        writer_of, transactions = self.writer_of, self._transactions
        if len(set(elements)) < len(elements):
            element, times = Counter(elements).most_common(1)[0]
            repeated = f"with {format_value(element)} {times} times, which was appended once"
            text = f"{self._describe_read(number, elements)}, {repeated}"
            yield element, Anomaly("duplicate element", text, self._operations(number))
        for element in elements:
            writer = writer_of.get(element)
            if writer is None:
                text = f"{self._describe_read(number, elements)}, and nobody appended {format_value(element)}"
                yield element, Anomaly("garbage read", text, self._operations(number))
            elif transactions[writer].operation.outcome == "fail":
                failed = f"{transactions[writer].name}, which appended {format_value(element)}, failed"
                text = f"{self._describe_read(number, elements)}, and {failed}"
                yield element, Anomaly("G1a", text, self._operations(number, writer))
        last = writer_of.get(elements[-1]) if elements else None
        if last is not None and last != number and self._last_of[last] != elements[-1]:
            final = format_value(self._last_of[last])
            text = f"{self._describe_read(number, elements)}, and {transactions[last].name} appended {final} too"
            yield elements[-1], Anomaly("G1b", text, self._operations(number, last))

    def _turned_around(self) -> Iterator[Anomaly]:
        """Yield the transactions whose appends are not in the order in which they made them."""
        places = {element: place for place, element in enumerate(self._order)}
        appends: dict[int, list[Any]] = {}
        for element, number in self._committed_appends():
            appends.setdefault(number, []).append(element)
        for number, elements in appends.items():
            for one, other in pairwise(elements):
                if places.get(other, len(places)) < places.get(one, len(places)):
                    appended = f"{format_value(one)} to {format_value(self._key)} before {format_value(other)}"
                    name = self._transactions[number].name
                    text = f"{name} appended {appended}, and the list is {format_value(self._order)}"
                    yield Anomaly("incompatible order", text, self._operations(number))

    def _dirty_update(self) -> Iterator[Anomaly]:
        """Yield the first element of a failed transaction that one of a committed transaction follows."""
        failed: Any = None
        for element in self._order:
            writer = self.writer_of.get(element)
            if writer is None:
                continue
            outcome = self._transactions[writer].operation.outcome
            if outcome == "fail":
                failed = element
            elif outcome == "ok" and failed is not None:
                other = self.writer_of[failed]
                names = self._transactions[writer].name, self._transactions[other].name
                text = (
                    f"{names[0]} appended {format_value(element)} to {format_value(self._key)} after "
                    f"{format_value(failed)}, which {names[1]} appended, which failed"
                )
                yield Anomaly("dirty update", text, self._operations(other, writer))
                return

    def lost_appends(self) -> Iterator[Anomaly]:
        """Yield the appends that no read has, though some were called after the append was acknowledged."""
        for element in self.unread():
            writer = self.writer_of[element]
            later = [
                number
                for number, _ in self.reads
                if self._transactions[writer].operation.precedes(self._transactions[number].operation)
            ]
            if later:
                who = f"{self._transactions[later[0]].name}" + (f" and {len(later) - 1} more" if later[1:] else "")
                text = (
                    f"{self._transactions[writer].name} appended {format_value(element)} to "
                    f"{format_value(self._key)}, and was over before {who} read it without that element"
                )
                yield Anomaly("lost append", text, self._operations(writer, later[0]))

    def _operations(self, *numbers: int) -> tuple[Operation, ...]:
        return tuple(self._transactions[number].operation for number in dict.fromkeys(numbers))


def _common(one: Elements, other: Elements) -> int:
    """Return how many elements two lists have in common at their beginning."""
    if one == other[: len(one)]:
        return len(one)
    return next(place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])


def _internal(transaction: ClientTransaction) -> Iterator[Anomaly]:
    """Yield what a transaction cannot have read after its own reads and appends, or before them."""
    if transaction.operation.outcome != "ok":
        return
    whole: dict[Hashable, Elements] = {}
    ending: dict[Hashable, Elements] = {}
    read: dict[Hashable, set[Any]] = {}
    for is_read, key, value in transaction.steps:
        if not is_read:
            if value in read.get(key, ()):
                text = (
                    f"{transaction.name} read {format_value(value)} in {format_value(key)} and appended it later"
                )
                yield Anomaly("future read", text, (transaction.operation,))
            if key in whole:
                whole[key] += (value,)
            else:
                ending[key] = (*ending.get(key, ()), value)
            continue
        expected = whole.get(key)
        end = ending.get(key, ())
        if (
            (expected is not None and value != expected)
            or value[len(value) - len(end) :] != end
            or len(end) > len(value)
        ):
            what = format_value(expected) if expected is not None else f"a list that ends in {format_value(end)}"
            text = f"{transaction.name} read {format_value(key)} as {format_value(value)}, and left {what} there"
            yield Anomaly("internal", text, (transaction.operation,))
        whole[key] = value
        ending.pop(key, None)
        read.setdefault(key, set()).update(value)


def _lost_updates(transactions: Sequence[ClientTransaction]) -> Iterator[Anomaly]:
    return lost_updates(transactions, lambda key, value: f"{format_value(key)} as {format_value(value)}")


def lost_updates(
    transactions: Sequence[ClientTransaction], name: Callable[[Hashable, Any], str]
) -> Iterator[Anomaly]:
    """Yield each version of a key that several committed transactions read, before each of them wrote the key."""
    updates: dict[tuple[Hashable, Any], list[ClientTransaction]] = {}
    for transaction in transactions:
        if transaction.operation.outcome != "ok":
            continue
        first_read: dict[Hashable, Any] = {}
        written = set()
        for is_read, key, value in transaction.steps:
            if is_read:
                if key not in written:
                    first_read.setdefault(key, value)
            elif key not in written:
                written.add(key)
                if key in first_read:
                    updates.setdefault((key, first_read[key]), []).append(transaction)
    for (key, value), several in updates.items():
        if len(several) > 1:
            names = " and ".join(each.name for each in several)
            text = f"{names} all read {name(key, value)}, and wrote it: one of them did not see the other's write"
            yield Anomaly("lost update", text, tuple(each.operation for each in several))

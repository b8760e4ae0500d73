"""The verdict on a history of transactions: the cycles of their dependencies, and which models these rule out.

The cycles come the worst first, each as short as possible, with the name of its anomaly. A cycle is named by its
edges: only ww is G0; ww and wr, G1c; one rw, G-single; several, of which no two stand together, G-nonadjacent; any
others, G2-item. Within a strongly connected component one cycle is reported, and another only for a component that
has none of those reported already: so each part of the history that cannot be ordered is shown once, by the worst
that happened in it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from lab.histories.anomalies import MODELS, Anomaly, ConsistencyModel
from lab.histories.dependency_graph import DependencyGraph, Edge, EdgeKind, SearchBudget
from lab.histories.results import CheckResult, Word
from lab.histories.transactions import ClientTransaction, real_time_pairs, session_pairs
from lab.units import format_count

MAX_STEPS = 1_000_000
"""The default bound on the steps that the searches for cycles take together."""


class _Search(NamedTuple):
    first: tuple[EdgeKind, ...]
    rest: tuple[EdgeKind, ...]
    apart: bool = False


_SEARCHES = (
    _Search(("ww",), ("ww",)),
    _Search(("wr",), ("ww", "wr")),
    _Search(("rw",), ("ww", "wr", "version")),
    _Search(("rw",), ("ww", "wr", "version", "rw"), True),
    _Search(("rw", "version"), ("ww", "wr", "version", "rw")),
)


_ORDERS: tuple[EdgeKind, ...] = ("process", "real-time")
"""The orders that a model may keep besides dependencies; the last one is kept by the strongest alone."""


def add_session_order(graph: DependencyGraph, transactions: Sequence[ClientTransaction]) -> None:
    """Add an edge from each transaction of a client to its next."""
    for source, target in session_pairs(transactions):
        graph.add(_order_edge(source, target, "process", transactions))


def add_real_time_order(graph: DependencyGraph, transactions: Sequence[ClientTransaction]) -> None:
    """Add edges from each transaction to those that were called after it was over."""
    for source, target in real_time_pairs(transactions):
        graph.add(_order_edge(source, target, "real-time", transactions))


def _order_edge(source: int, target: int, kind: EdgeKind, transactions: Sequence[ClientTransaction]) -> Edge:
    one, other = transactions[source], transactions[target]
    if kind == "process":
        return Edge(source, target, kind, f"{one.operation.process} called {other.name} after {one.name}")
    return Edge(source, target, kind, f"{one.name} was over before {other.name} was called")


def find_cycles(
    graph: DependencyGraph,
    transactions: Sequence[ClientTransaction],
    extra: Mapping[EdgeKind, Sequence[Edge]] = MappingProxyType({}),
    known: Sequence[Anomaly] = (),
    max_steps: int = MAX_STEPS,
) -> tuple[list[Anomaly], bool]:
    """Return the cycles as anomalies, and whether the search for worse or shorter ones came to its end.

    ``extra``: also these orders, of sessions or of real time, each with the dependencies that follow from it, once
    cycles without it are found. ``known``: a component that holds all transactions of one of these anomalies is
    not shown again by a cycle with an rw edge, if the anomaly rules out as much.
    """
    budget = SearchBudget(max_steps)
    number_of = {each.operation.index: number for number, each in enumerate(transactions)}
    reported: list[set[int]] = []
    found = []
    for orders in (tuple(extra)[:count] for count in range(len(extra) + 1)):
        for edge in extra[orders[-1]] if orders else ():
            graph.add(edge)
        everything: tuple[EdgeKind, ...] = ("ww", "wr", "version", "rw", *orders)
        cyclic = set[int]().union(*graph.components(everything))
        for search in _SEARCHES if cyclic else ():
            first = orders if orders and search.first in (("ww",), ("wr",)) else search.first
            rest = (*search.rest, *orders)
            shown = list(reported)
            if "rw" in first:
                shown += [
                    {number_of[each.index] for each in anomaly.operations}
                    for anomaly in known
                    if orders or anomaly.violates("snapshot isolation")
                ]
            by_least: dict[int, list[set[int]]] = {}
            for each in shown:
                by_least.setdefault(min(each, default=-1), []).append(each)
            for component in graph.components(tuple(dict.fromkeys((*first, *rest))), cyclic):
                if not any(each <= component for least in component for each in by_least.get(least, ())):
                    own = SearchBudget(max_steps) if search is _SEARCHES[-1] else budget  # some cycle is there
                    cycle = graph.shortest_cycle(first, rest, component, own, search.apart)
                    if cycle:
                        cycle = _shortened(cycle, transactions)
                        reported.append({edge.source for edge in cycle})
                        found.append(_anomaly(cycle, transactions))
    return found, not budget.is_spent


def name_of_cycle(cycle: Sequence[Edge]) -> str:
    """Return the name of the anomaly that a cycle of these edges is."""
    kinds = [edge.kind for edge in cycle]
    reads = kinds.count("rw")
    if reads == 0:
        name = "G1c" if "wr" in kinds else "G0"
    elif reads == 1:
        name = "G-single"
    else:
        adjacent = any(one == other == "rw" for one, other in pairwise([*kinds, kinds[0]]))
        name = "G2-item" if adjacent else "G-nonadjacent"
    kept = {*kinds, *(edge.rests_on for edge in cycle)}
    order = next((kind for kind in reversed(_ORDERS) if kind in kept), None)
    return f"{name}-{order}" if order else name


def _shortened(cycle: Sequence[Edge], transactions: Sequence[ClientTransaction]) -> list[Edge]:
    """Return the cycle with one edge wherever the order of clients or of real time leads as far as several do.

    The graph has not all edges of these orders, only those from which the others follow.
    """
    start = next((place for place, edge in enumerate(cycle) if edge.kind == "rw"), 0)
    edges = [*cycle[start:], *cycle[:start]]
    shortened: list[Edge] = []
    while edges:
        length = next(
            (length for length in range(len(edges), 1, -1) if _order_in(edges[:length], transactions)), 1
        )
        kind = _order_in(edges[:length], transactions)
        source, target = edges[0].source, edges[length - 1].target
        shortened.append(edges[0] if kind is None else _order_edge(source, target, kind, transactions))
        del edges[:length]
    return shortened


def _order_in(edges: Sequence[Edge], transactions: Sequence[ClientTransaction]) -> EdgeKind | None:
    """Return the order in this part of a cycle, without rw, that has its ends in their order."""
    kinds = {edge.kind for edge in edges}
    one, other = transactions[edges[0].source].operation, transactions[edges[-1].target].operation
    if "rw" not in kinds and "real-time" in kinds and one.precedes(other):
        return "real-time"
    if "rw" not in kinds and "process" in kinds and one.process == other.process and one.index < other.index:
        return "process"
    return None


def _anomaly(cycle: Sequence[Edge], transactions: Sequence[ClientTransaction]) -> Anomaly:
    steps = [f"{edge.text} ({'ww' if edge.kind == 'version' else edge.kind})" for edge in cycle]
    text = f"{'; '.join(steps)}; so {transactions[cycle[0].source].name} would come before itself"
    return Anomaly(name_of_cycle(cycle), text, tuple(transactions[edge.source].operation for edge in cycle))


class TransactionResult(CheckResult, frozen=True):
    """The verdict of a consistency model.

    ``findings`` are the anomalies that the model does not allow, ``allowed`` those that only a stronger one
    forbids; ``ruled_out`` are all models that some anomaly rules out, the weakest first.
    """

    allowed: tuple[Anomaly, ...] = ()
    ruled_out: tuple[ConsistencyModel, ...] = ()


def judge_transactions(
    checker: str,
    transactions: Sequence[ClientTransaction],
    graph: DependencyGraph,
    anomalies: Sequence[Anomaly],
    model: ConsistencyModel,
    statistics: dict[str, int],
    max_steps: int,
    infer: Callable[[EdgeKind], Iterable[Edge]] = lambda _: (),
) -> TransactionResult:
    """Search the graph for cycles, with the orders that the model keeps, and return the verdict.

    ``anomalies``: those that are no cycles. ``infer``: the dependencies that follow from an order.
    """
    extra: dict[EdgeKind, list[Edge]] = {}
    if MODELS.index(model) >= MODELS.index("strong session serializable"):
        extra["process"] = list(infer("process"))
        add_session_order(graph, transactions)
    if model == "strict serializable":
        extra["real-time"] = list(infer("real-time"))
        add_real_time_order(graph, transactions)
    counts = {kind: graph.count(kind) for kind in ("ww", "wr", "rw")}
    lost = [each for each in anomalies if each.kind.startswith("lost")]
    cycles, is_complete = find_cycles(graph, transactions, extra, lost, max_steps)
    every = sorted([*anomalies, *cycles], key=lambda each: MODELS.index(each.rules_out))
    committed = sum(each.committed for each in transactions)
    violations = tuple(each for each in every if each.violates(model))
    word: Word = "holds"
    dependencies = sum(counts.values())
    evidence = f"{model}: {format_count(committed, 'committed transaction')}, {format_dependencies(dependencies)}"
    if not is_complete:
        evidence += f"; the search for the worst and shortest cycles ended after {format_count(max_steps, 'step')}"
    if violations:
        word = "fails"
    elif not dependencies:
        word = "not judged"
        evidence = f"{model}: no transaction is seen to depend on another"
    elif not is_complete:
        word = "undecided"
    return TransactionResult(
        checker=checker,
        word=word,
        evidence=evidence,
        findings=violations,
        statistics={"transactions": len(transactions), "committed": committed, **statistics, **counts},
        allowed=tuple(each for each in every if not each.violates(model)),
        ruled_out=tuple(name for name in MODELS if any(each.violates(name) for each in every)),
    )


def format_dependencies(count: int) -> str:
    """Return the number of dependencies as text."""
    return f"{count:,} {'dependency' if count == 1 else 'dependencies'}"

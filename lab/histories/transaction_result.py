"""The verdict on a history of transactions: whether a consistency model allows it, and what is ruled out."""

from collections.abc import Sequence

from lab.histories.anomalies import MODELS, Anomaly, ConsistencyModel
from lab.histories.cycles import add_real_time_order, add_session_order, find_cycles
from lab.histories.dependency_graph import DependencyGraph, EdgeKind
from lab.histories.results import CheckResult, Word
from lab.histories.transactions import Transaction
from lab.units import format_count


class TransactionResult(CheckResult, frozen=True):
    """The verdict of a consistency model.

    ``findings`` are the anomalies that the model does not allow, ``allowed`` those that only a stronger one
    forbids; ``ruled_out`` are all models that some anomaly rules out, the weakest first.
    """

    allowed: tuple[Anomaly, ...] = ()
    ruled_out: tuple[ConsistencyModel, ...] = ()


def judge_transactions(
    checker: str,
    transactions: Sequence[Transaction],
    graph: DependencyGraph,
    anomalies: Sequence[Anomaly],
    model: ConsistencyModel,
    statistics: dict[str, int],
    max_steps: int,
) -> TransactionResult:
    """Search the graph for cycles, with the orders that the model keeps, and return the verdict.

    ``anomalies``: those that are no cycles.
    """
    extra: list[EdgeKind] = []
    if MODELS.index(model) >= MODELS.index("strong session serializable"):
        extra.append("process")
        add_session_order(graph, transactions)
    if model == "strict serializable":
        extra.append("real-time")
        add_real_time_order(graph, transactions)
    lost = [each for each in anomalies if each.kind.startswith("lost")]
    cycles, is_complete = find_cycles(graph, transactions, extra, lost, max_steps)
    every = sorted([*anomalies, *cycles], key=lambda each: MODELS.index(each.rules_out))
    committed = sum(each.committed for each in transactions)
    counts = {kind: graph.count(kind) for kind in ("ww", "wr", "rw")}
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

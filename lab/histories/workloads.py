"""The workloads whose histories can be checked: Maelstrom's by their names, and a register as in Knossos.

In two of them each reply is judged by itself, or against all others: echo and unique-ids. Their checkers are here.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from msgspec import Struct

from lab.histories.anomalies import ConsistencyModel
from lab.histories.counters import check_g_counter, check_pn_counter
from lab.histories.kafka import check_kafka
from lab.histories.linearizability import MAX_STATES, check_linearizability
from lab.histories.list_append import check_list_append
from lab.histories.models import Counter, InitializedRegister, KeyValue, Model, TimestampOracle
from lab.histories.operations import History, Operation
from lab.histories.results import CheckResult, Finding, verdict_of
from lab.histories.rw_register import check_rw_register
from lab.histories.sets import check_broadcast, check_g_set
from lab.histories.values import format_value, freeze
from lab.units import format_count


def check_echo(history: History) -> CheckResult:
    """Return whether each reply to ``echo`` is what was sent: the value, or an object with it in ``echo``."""
    findings = []
    answered = [each for each in history.operations if each.f == "echo" and each.outcome == "ok"]
    for each in answered:
        result: Any = each.result
        if isinstance(result, Mapping) and "echo" in result:
            result = result["echo"]
        if freeze(result) != freeze(each.value):
            text = f"{each.process} sent {format_value(each.value)}, and got {format_value(result)}"
            findings.append(Finding("wrong echo", text, (each,)))
    called = sum(each.f == "echo" for each in history.operations)
    evidence = format_count(len(answered), "answer") if answered else "nothing was answered"
    statistics = {"called": called, "answered": len(answered), "wrong": len(findings)}
    return CheckResult("echo", verdict_of(findings, len(answered)), evidence, tuple(findings), statistics)


def check_unique_ids(history: History) -> CheckResult:
    """Return whether no two ``generate`` returned the same id."""
    holders: dict[Hashable, list[Operation]] = {}
    called = answered = 0
    for each in history.operations:
        if each.f == "generate":
            called += 1
            if each.outcome == "ok":
                answered += 1
                holders.setdefault(freeze(each.result), []).append(each)
    findings = []
    for same in holders.values():
        if len(same) > 1:
            clients = " and ".join(f"{each.process} ({each.interval})" for each in same[:4])
            more = f" and {len(same) - 4} more" if len(same) > 4 else ""
            text = f"{format_value(same[0].result)} was given {len(same)} times: to {clients}{more}"
            findings.append(Finding("duplicate id", text, tuple(same)))
    statistics = {"called": called, "answered": answered, "ids": len(holders), "duplicated": len(findings)}
    evidence = format_count(answered, "id") if answered else "no id was given"
    return CheckResult("unique-ids", verdict_of(findings, answered), evidence, tuple(findings), statistics)


DEFAULT_MODEL: ConsistencyModel = "strict serializable"
"""The consistency model that Maelstrom checks transactions against, without being asked for another."""


class Workload(Struct, frozen=True):
    """What clients do (``does``), and how their history is checked.

    ``model`` is the sequential model of what has to be linearizable, ``transactions`` the checker of transactions,
    ``simple`` that of anything else: one of the three.
    """

    does: str
    model: Callable[[], Model] | None = None
    transactions: Callable[[History, ConsistencyModel], CheckResult] | None = None
    simple: Callable[[History], CheckResult] | None = None

    def check(
        self, history: History, model: ConsistencyModel = DEFAULT_MODEL, max_states: int = MAX_STATES
    ) -> CheckResult:
        """Return the verdict. Raises HistoryError for operations that are none of this workload.

        ``model``: of transactions; ``max_states`` bounds the search for a linearization, for each key.
        """
        if self.model is not None:
            return check_linearizability(history, self.model(), max_states)
        if self.transactions is not None:
            return self.transactions(history, model)
        assert self.simple is not None
        return self.simple(history)


WORKLOADS: dict[str, Workload] = {
    "echo": Workload("each answer is what was sent", simple=check_echo),
    "unique-ids": Workload("no id is given twice", simple=check_unique_ids),
    "broadcast": Workload("every message gets to every node", simple=check_broadcast),
    "g-set": Workload("a set that only grows", simple=check_g_set),
    "g-counter": Workload("a counter that only grows", simple=check_g_counter),
    "pn-counter": Workload("a counter", simple=check_pn_counter),
    "kafka": Workload("logs: send, poll, commit_offsets", simple=check_kafka),
    "lin-kv": Workload("a store: read, write, cas, linearizable for each key", KeyValue),
    "lin-tso": Workload("timestamps: each once, in order", TimestampOracle),
    "register": Workload("one register, nil at first: read, write, cas; linearizable", InitializedRegister),
    "counter": Workload("one counter: add, read; linearizable", Counter),
    "txn-list-append": Workload("transactions that append to lists and read them", transactions=check_list_append),
    "txn-rw-register": Workload("transactions that write and read registers", transactions=check_rw_register),
}
"""The workloads by name."""

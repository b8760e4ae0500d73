"""The workloads whose histories can be checked: Maelstrom's by their names, and a register as in Knossos."""

from collections.abc import Callable

from msgspec import Struct

from lab.histories.anomalies import ConsistencyModel
from lab.histories.counters import check_g_counter, check_pn_counter
from lab.histories.kafka import check_kafka
from lab.histories.linearizability import MAX_STATES, check_linearizability
from lab.histories.list_append import check_list_append
from lab.histories.models import Counter, InitializedRegister, KeyValue, Model, TimestampOracle
from lab.histories.operations import History
from lab.histories.replies import check_echo, check_unique_ids
from lab.histories.results import CheckResult
from lab.histories.rw_register import check_rw_register
from lab.histories.sets import check_broadcast, check_g_set

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

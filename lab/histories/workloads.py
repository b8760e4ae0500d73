"""The workloads of Maelstrom by name, and the checker of each."""

from collections.abc import Callable

from lab.histories.counters import check_g_counter, check_pn_counter
from lab.histories.kafka import check_kafka
from lab.histories.linearizability import check_linearizability
from lab.histories.list_append import check_list_append
from lab.histories.models import KeyValue, TimestampOracle
from lab.histories.operations import History
from lab.histories.replies import check_echo, check_unique_ids
from lab.histories.results import CheckResult
from lab.histories.rw_register import check_rw_register
from lab.histories.sets import check_broadcast, check_g_set

CHECKERS: dict[str, Callable[[History], CheckResult]] = {
    "echo": check_echo,
    "unique-ids": check_unique_ids,
    "broadcast": check_broadcast,
    "g-set": check_g_set,
    "g-counter": check_g_counter,
    "pn-counter": check_pn_counter,
    "kafka": check_kafka,
    "lin-kv": lambda history: check_linearizability(history, KeyValue()),
    "lin-tso": lambda history: check_linearizability(history, TimestampOracle()),
    "txn-list-append": lambda history: check_list_append(history, "strict serializable"),
    "txn-rw-register": lambda history: check_rw_register(history, "strict serializable"),
}
"""The checker of each workload, at the level that Maelstrom checks without being asked for another."""

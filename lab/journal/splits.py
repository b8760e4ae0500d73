"""The transactions that some nodes have committed and others aborted: what atomic commit is to prevent."""

from typing import Any

from msgspec import Struct

from lab.journal.cluster import Cluster
from lab.journal.foreign import converted
from lab.protocols.transaction import Transaction

__all__ = ["Split", "splits_in"]

_OUTCOMES = ("committed", "aborted")


class Split(Struct, frozen=True, order=True):
    """A transaction, and where it is what; by the nodes' logs."""

    transaction: Transaction
    committed: tuple[int, ...]
    aborted: tuple[int, ...]


def splits_in(cluster: Cluster) -> tuple[Split, ...]:
    """All that there are at that record, by their names. Logs are long, so whole entries are not decoded."""
    found: dict[tuple[Any, ...], dict[str, list[int]]] = {}
    for node, view in sorted(cluster.nodes.items()):
        log = view.state.get("log")
        try:
            ends = {
                (*entry["transaction"], entry["what"]): None for entry in log or () if entry["what"] in _OUTCOMES
            }
        except (TypeError, KeyError):  # a recording from anybody
            continue
        for *name, what in ends:
            found.setdefault(tuple(name), {}).setdefault(what, []).append(node)
    names = {name: converted(name, Transaction) for name, nodes in found.items() if len(nodes) > 1}
    splits = [
        Split(transaction, tuple(found[name]["committed"]), tuple(found[name]["aborted"]))
        for name, transaction in names.items()
        if transaction is not None
    ]
    return tuple(sorted(splits))

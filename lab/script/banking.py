"""What a script may ask of a bank: its money, its locks, and what became of its transactions.

Nodes have cents in their state, and a line has dollars: ``money == 3000``, ``balance(savings) == 87.50``.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from lab.analysis.bank_state import Share, entries_of, open_at, share_of
from lab.analysis.blocked_transactions import blocked_since_us
from lab.kernel import Protocol
from lab.protocols.accounts import account_names
from lab.protocols.ledger import LEADS_TO
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.script.commands import CommandError
from lab.text import did_you_mean

__all__ = [
    "ATTRIBUTES_OF_BANK",
    "COUNTS_OF_BANK",
    "balance_of",
    "check_account",
    "check_bank",
    "counted_in_bank",
    "is_bank",
]

COUNTS_OF_BANK = ("money", "committed", "aborted", "locks", "blocked")


def _is_to(view: NodeState) -> str | None:
    """What its newest transaction is to the node; of what it has not voted for, its log knows nothing."""
    states = {entry.transaction: LEADS_TO[entry.what] for entry in entries_of(view) if entry.what in LEADS_TO}
    states |= {each.transaction: each.state for each in open_at(view)}
    return next((state.value for state in reversed(states.values())), None)


def _dispensed(view: NodeState) -> Decimal | None:
    share = share_of(view)
    return None if share is None else _dollars(share.dispensed)


ATTRIBUTES_OF_BANK: dict[str, Callable[[NodeState], Any]] = {
    "state": _is_to,
    "blocked": lambda view: blocked_since_us(view) is not None,
    "dispensed": _dispensed,
}
"""What every node of a bank has, beside what its protocol declares."""


def is_bank(declared: Collection[str]) -> bool:
    """Whether nodes with this state keep accounts."""
    return "balances" in declared


def check_bank(what: str, protocol: type[Protocol]) -> None:
    """CommandError where the protocol keeps no accounts."""
    if not is_bank([field.name for field in protocol.fields]):
        raise CommandError(f"{protocol.name} keeps no accounts, so there is no {what}; 2pc does: lab run 2pc")


def check_account(
    account: str, protocol: type[Protocol], nodes: Sequence[int], parameters: Mapping[str, Any]
) -> None:
    """CommandError where there is no such account."""
    check_bank("balance", protocol)
    given: Any = msgspec.convert(parameters, protocol.Parameters)
    names = list(account_names(nodes, given.accounts))
    if account not in names:
        raise CommandError(
            f"there is no account {account}; there are {', '.join(names)}{did_you_mean(account, names)}"
        )


def balance_of(account: str, views: Iterable[NodeState]) -> Decimal | None:
    """What is on the account, by those of the nodes that are up; None where its node is not among them."""
    found = (_dollars(cents) for share in _shares(views) for name, cents in share.balances if name == account)
    return next(found, None)


def counted_in_bank(what: str, cluster: ClusterState) -> Decimal | int | None:
    """One of ``COUNTS_OF_BANK``; money is known where all nodes are up."""
    if what in ("committed", "aborted"):
        return cluster.outcomes.count(what)
    shares = _shares(cluster.nodes.values())
    if what == "locks":
        return sum(len(share.locks) for share in shares)
    if what == "blocked":
        return sum(any(each.blocked_us is not None for each in share.open) for share in shares)
    cents = sum(share.dispensed + sum(cents for _, cents in share.balances) for share in shares)
    return _dollars(cents) if len(shares) == len(cluster.nodes) else None


def _shares(views: Iterable[NodeState]) -> list[Share]:
    """What those of them say that are up."""
    return [share for share in map(share_of, views) if share is not None]


def _dollars(cents: int) -> Decimal:
    return Decimal(cents) / 100

"""Terms of predicates about a bank: its money, its locks and its transactions.

A node's state is in cents, a script is in dollars: ``money == 3000``, ``balance(savings) == 87.50``.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from lab.analysis.bank_state import NodeBankState, entries_of, node_bank_state, open_at
from lab.analysis.blocking import blocked_since_us
from lab.kernel import Protocol
from lab.protocols.accounts import account_names
from lab.protocols.ledger import STATE_AFTER
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.script.scope import CommandError
from lab.text import did_you_mean

COUNTS_OF_BANK = ("money", "committed", "aborted", "locks", "blocked")


def _transaction_state(view: NodeState) -> str | None:
    """Return the state of the node's newest transaction, or None; its log has only those it has voted on."""
    states = {
        entry.transaction: STATE_AFTER[entry.what] for entry in entries_of(view) if entry.what in STATE_AFTER
    }
    states |= {each.transaction: each.state for each in open_at(view)}
    return next((state.value for state in reversed(states.values())), None)


def _cashed_out(view: NodeState) -> Decimal | None:
    share = node_bank_state(view)
    return None if share is None else _dollars(share.cash_out)


ATTRIBUTES_OF_BANK: dict[str, Callable[[NodeState], Any]] = {
    "state": _transaction_state,
    "blocked": lambda view: blocked_since_us(view) is not None,
    "cash_out": _cashed_out,
}
"""Attributes of every node of a bank, in addition to the fields that its protocol declares."""


def keeps_accounts(declared: Collection[str]) -> bool:
    """Return whether nodes with these fields keep accounts."""
    return "balances" in declared


def check_bank(what: str, protocol: type[Protocol]) -> None:
    """Raise CommandError if the protocol keeps no accounts."""
    if not keeps_accounts([field.name for field in protocol.fields]):
        raise CommandError(f"{protocol.name} keeps no accounts, so it has no {what}; try 2pc: lab run 2pc")


def check_account(
    account: str, protocol: type[Protocol], nodes: Sequence[int], parameters: Mapping[str, Any]
) -> None:
    """Raise CommandError if there is no such account."""
    check_bank("balance", protocol)
    given: Any = msgspec.convert(parameters, protocol.Parameters)
    names = list(account_names(nodes, given.accounts))
    if account not in names:
        raise CommandError(
            f"unknown account {account}; the accounts are {', '.join(names)}{did_you_mean(account, names)}"
        )


def balance_of(account: str, views: Iterable[NodeState]) -> Decimal | None:
    """Return the balance of the account in dollars; None if the node that keeps it is not up."""
    found = (_dollars(cents) for share in _shares(views) for name, cents in share.balances if name == account)
    return next(found, None)


def evaluate_bank_count(what: str, cluster: ClusterState) -> Decimal | int | None:
    """Return the value of one of ``COUNTS_OF_BANK``; None for the money while a node is down."""
    if what in ("committed", "aborted"):
        return cluster.outcomes.count(what)
    shares = _shares(cluster.nodes.values())
    if what == "locks":
        return sum(len(share.locks) for share in shares)
    if what == "blocked":
        return sum(any(each.blocked_us is not None for each in share.open) for share in shares)
    cents = sum(share.cash_out + sum(cents for _, cents in share.balances) for share in shares)
    return _dollars(cents) if len(shares) == len(cluster.nodes) else None


def _shares(views: Iterable[NodeState]) -> list[NodeBankState]:
    return [share for share in map(node_bank_state, views) if share is not None]


def _dollars(cents: int) -> Decimal:
    return Decimal(cents) / 100

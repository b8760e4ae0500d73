"""The terms of the bank in predicates: its money, its locks and its transactions.

A node's state is in cents, a script is in dollars: ``money == 3000``, ``balance(savings) == 87.50``.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from lab.protocols.accounts import account_names
from lab.protocols.committing import Committing
from lab.protocols.ledger import STATE_AFTER
from lab.protocols.transaction import State
from lab.recording.cluster_state import ClusterState
from lab.recording.records import convert_or_none
from lab.recording.snapshot import NodeState
from lab.tasks.bank.bank_state import NodeBankState, entries_of, node_bank_state, open_at
from lab.tasks.bank.blocking import blocked_since_us
from lab.tasks.bank.commit_history import decided_in
from lab.tasks.terms import ClusterTerm, NodeTerm
from lab.text import did_you_mean


def _transaction_state(node: NodeState) -> str | None:
    """Return the state of the node's newest transaction, or None; its log has only those it has voted on."""
    states = {
        entry.transaction: STATE_AFTER[entry.what] for entry in entries_of(node) if entry.what in STATE_AFTER
    }
    states |= {each.transaction: each.state for each in open_at(node)}
    return next((state.value for state in reversed(states.values())), None)


def _is_blocked(node: NodeState) -> bool:
    return blocked_since_us(node) is not None


def _cashed_out(node: NodeState) -> Decimal | None:
    share = node_bank_state(node)
    return None if share is None else _dollars(share.cash_out)


def _money(cluster: ClusterState) -> Decimal | None:
    shares = _shares(cluster)
    cents = sum(share.cash_out + sum(cents for _, cents in share.balances) for share in shares)
    return _dollars(cents) if len(shares) == len(cluster.nodes) else None


def _balance(cluster: ClusterState, account: str) -> Decimal | None:
    found = (_dollars(cents) for share in _shares(cluster) for name, cents in share.balances if name == account)
    return next(found, None)


def _no_such_account(account: str, nodes: Sequence[int], parameters: Mapping[str, Any]) -> str:
    given = convert_or_none(parameters, Committing.Parameters) or Committing.Parameters()
    names = list(account_names(nodes, given.accounts))
    if account in names:
        return ""
    return f"unknown account {account}; the accounts are {', '.join(names)}{did_you_mean(account, names)}"


def _shares(cluster: ClusterState) -> list[NodeBankState]:
    return [share for share in map(node_bank_state, cluster.nodes.values()) if share is not None]


def _dollars(cents: int) -> Decimal:
    return Decimal(cents) / 100


NODE_TERMS = (
    NodeTerm("state", "bank: the state of the node's newest transaction", _transaction_state, State | None),
    NodeTerm(
        "blocked",
        "bank: a transaction is blocked: the node has asked all others, and must wait",
        _is_blocked,
        bool,
    ),
    NodeTerm("cash_out", "bank: the cash that the node has paid out, in dollars", _cashed_out, Decimal | None),
)

CLUSTER_TERMS = (
    ClusterTerm(
        "money",
        "bank: the balances of all accounts plus the cash paid out, in dollars; none while a node is down",
        _money,
        Decimal | None,
    ),
    ClusterTerm(
        "committed",
        "bank: transactions that are committed in some node's log",
        lambda cluster: decided_in(cluster).count("committed"),
    ),
    ClusterTerm(
        "aborted",
        "bank: transactions that are aborted in some node's log",
        lambda cluster: decided_in(cluster).count("aborted"),
    ),
    ClusterTerm(
        "locks",
        "bank: locked accounts, on nodes that are up",
        lambda cluster: sum(len(share.locks) for share in _shares(cluster)),
    ),
    ClusterTerm(
        "blocked",
        "bank: nodes that are blocked",
        lambda cluster: sum(
            any(each.blocked_since_us is not None for each in share.open) for share in _shares(cluster)
        ),
    ),
    ClusterTerm(
        "balance",
        "bank: the balance of an account, in dollars",
        _balance,
        Decimal | None,
        argument="an account (savings)",
        objection=_no_such_account,
    ),
)

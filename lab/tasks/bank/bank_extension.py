"""The extension of the bank: its words in predicates, its lines in the panes of the nodes, and its view.

A node's state is in cents, a script is in dollars: ``money == 3000``, ``balance(savings) == 87.50``.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from rich.style import Style

from lab.protocols.accounts import account_names, format_cents
from lab.protocols.committing import Committing
from lab.protocols.ledger import STATE_AFTER
from lab.protocols.transaction import OpenTransaction, State
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, convert_or_none
from lab.recording.snapshot import NodeState
from lab.styles import DIM, Line, ThemeStyles
from lab.tasks.bank.bank_state import NodeBankState, entries_of, node_bank_state, open_at
from lab.tasks.bank.bank_view import draw_bank, state_pieces
from lab.tasks.bank.blocking import blocked_since_us
from lab.tasks.bank.commit_history import decided_in
from lab.tasks.extension import Extension, NodeText, View
from lab.tasks.terms import ClusterTerm, NodeTerm
from lab.text import did_you_mean, sanitize


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


_MOST_ENTRIES = 7
_LONGEST_NAME = 20


class BankExtension(Extension):
    """The bank below two-phase and three-phase commit."""

    views: ClassVar[tuple[View, ...]] = (
        View(
            "bank",
            "the bank: accounts, locks, open transactions and why they are open",
            draw_bank,
            help="the bank: accounts, open transactions and why they are open",
            key="t",
            without="has no bank; try lab run 2pc or lab run 3pc",
        ),
    )
    analysis: ClassVar[str | type] = "lab.tasks.bank.bank_analysis:BankAnalysis"
    comparison: ClassVar[str | type] = "lab.tasks.bank.bank_comparison:BankComparison"
    node_terms = NODE_TERMS
    errands: ClassVar[tuple[str, ...]] = ("transfer 10 savings checking", "transfer 10 checking moneymarket")
    cluster_terms = CLUSTER_TERMS
    without_terms: ClassVar[str] = "keeps no accounts, so it has no {what}; try 2pc: lab run 2pc"

    @classmethod
    def recognizes(cls, header: Header) -> bool:
        return "A8" in header.protocol.promises

    def describe_node(self, node: NodeState, now_us: int, styles: ThemeStyles) -> NodeText | None:
        """Return its accounts, its open transactions and the end of its log; of a dead node, only the log."""
        log = tuple(f"{entry.what} {entry.transaction}" for entry in entries_of(node, last=_MOST_ENTRIES))
        share = node_bank_state(node)
        if share is None:
            return NodeText([], _work(()), log) if log else None
        opened = (
            piece
            for each in sorted(share.open, key=lambda each: each.blocked_since_us is None)
            for piece in _transaction(each, now_us, styles)
        )
        return NodeText(_balances(share, styles), _work(opened), log)


def _balances(share: NodeBankState, styles: ThemeStyles) -> Line:
    locks = {name: f" {styles.glyphs.lock}{holder}" for name, holder in share.locks}
    pieces: Line = []
    for name, cents in share.balances:
        pieces += [
            (f"{sanitize(name, _LONGEST_NAME)} ", Style()),
            (format_cents(cents), styles.warning if name in locks else Style(bold=True)),
            (locks.get(name, ""), styles.warning),
            ("  ", Style()),
        ]
    return [*pieces, ("votes NO next", styles.warning)] if share.refuses else pieces


def _transaction(each: OpenTransaction, now_us: int, styles: ThemeStyles) -> Line:
    blocked = ", blocked" if each.blocked_since_us is not None else ""
    return [
        (f"{each.transaction} ", Style(bold=True)),
        *state_pieces(each.state.value, styles),
        (f" {max(0, now_us - each.since_us) / 1e6:.1f} s", Style()),
        (blocked, styles.warning),
        ("  ", Style()),
    ]


def _work(opened: Iterable[tuple[str, Style]]) -> Line:
    return list(opened) or [("nothing is open", DIM)]

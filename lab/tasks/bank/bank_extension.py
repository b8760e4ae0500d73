"""The extension of the bank: accounts and transactions in the panes of the nodes, and the bank view."""

from collections.abc import Iterable
from typing import ClassVar

from rich.style import Style

from lab.protocols.accounts import format_cents
from lab.protocols.transaction import OpenTransaction
from lab.recording.records import Header
from lab.recording.snapshot import NodeState
from lab.styles import DIM, Line, ThemeStyles
from lab.tasks.bank.bank_state import NodeBankState, entries_of, node_bank_state
from lab.tasks.bank.bank_terms import CLUSTER_TERMS, NODE_TERMS
from lab.tasks.bank.bank_view import draw_bank, state_pieces
from lab.tasks.extension import Extension, NodeText, View
from lab.text import sanitize

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

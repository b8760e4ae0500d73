"""The bank as of a record: what is on each account, and what each open transaction is to each of its participants.

A node that is up says so in its state. Of one that is down its log is known, as safe storage keeps it, and what a
log says can be read off it as the node itself will do when it comes back.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from lab.kernel import Log, Wait
from lab.protocols.accounts import account_names
from lab.protocols.committing import Committing
from lab.protocols.ledger import Ledger, Part
from lab.protocols.transaction import Entry, Open, Transaction
from lab.recording.cluster_state import ClusterState
from lab.recording.conversion import converted
from lab.recording.records import Header
from lab.recording.snapshot import NodeState

__all__ = [
    "Account",
    "Bank",
    "Case",
    "Share",
    "Standing",
    "bank_in",
    "entries_of",
    "has_bank",
    "open_at",
    "share_of",
]


class Share(Struct, frozen=True):
    """What a node that is up says of the bank. ``refuses``: it votes NO next."""

    balances: tuple[tuple[str, int], ...]
    locks: tuple[tuple[str, Transaction], ...]
    open: tuple[Open, ...]
    dispensed: int = 0
    crashed_in: tuple[Transaction, ...] = ()
    refuses: bool = False


class Account(Struct, frozen=True):
    """An account on a node, which is up or not; ``lock`` is the transaction that holds it."""

    name: str
    node: int
    cents: int
    lock: Transaction | None
    is_up: bool


class Standing(Struct, frozen=True):
    """What a transaction is to the participant ``view``: by its log its ``part``; ``told`` is what it says of it.

    ``crashed``: since its vote.
    """

    view: NodeState
    part: Part
    told: Open | None
    wait: Wait | None
    locks: tuple[str, ...]
    crashed: bool

    @property
    def node(self) -> int:
        """Which node it is."""
        return self.view.id

    @property
    def is_up(self) -> bool:
        """Whether its process exists."""
        return _is_up(self.view)


class Case(Struct, frozen=True):
    """A transaction that somebody is not done with, and its participants, as far as they are known."""

    transaction: Transaction
    standings: tuple[Standing, ...]


class Bank(Struct, frozen=True):
    """All accounts and open transactions. ``opening`` is what all accounts together held at first."""

    accounts: tuple[Account, ...]
    cases: tuple[Case, ...]
    dispensed: int
    opening: int

    @property
    def total(self) -> int:
        """What is on all accounts together."""
        return sum(account.cents for account in self.accounts)

    @property
    def missing(self) -> int:
        """How much less there is than at the opening, on the accounts and handed out in cash."""
        return self.opening - self.total - self.dispensed


def has_bank(header: Header) -> bool:
    """Whether the run's task is the bank."""
    return "A8" in header.protocol.promises


def open_at(view: NodeState) -> tuple[Open, ...]:
    """The transactions that this node is not done with, as it says."""
    return converted(view.state.get("open"), tuple[Open, ...]) or ()


def share_of(view: NodeState) -> Share | None:
    """What it says of the bank; None where it is down, or there is none."""
    return converted(view.state, Share) if _is_up(view) else None


def entries_of(view: NodeState, last: int | None = None) -> tuple[Entry, ...]:
    """Its log; or its end, the ``last`` so many entries."""
    log = _log(view)
    return _entries(log if last is None else log[-last:])


def bank_in(cluster: ClusterState, header: Header) -> Bank:
    """The bank, as far as it is known at that record."""
    books = {node: _book(view, header) for node, view in cluster.nodes.items()}
    wanted = sorted({transaction for book in books.values() for transaction in book.open})
    parts = {node: _parts_in(book, wanted) for node, book in books.items()} if wanted else {}
    given = _parameters(header)
    accounts = tuple(
        Account(
            name, node, books[node].balances.get(name, 0), books[node].locks.get(name), _is_up(books[node].view)
        )
        for name, node in account_names(header.nodes, given.accounts).items()
        if node in books
    )
    return Bank(
        accounts,
        tuple(Case(each, tuple(_standings(each, books, parts))) for each in wanted),
        sum(book.dispensed for book in books.values()),
        100 * given.opening * len(accounts),
    )


class _Book(Struct, frozen=True):
    """What one node has of the bank; ``open`` has what it says of a transaction, if it can say anything."""

    view: NodeState
    balances: Mapping[str, int]
    locks: Mapping[str, Transaction]
    open: Mapping[Transaction, Open | None]
    dispensed: int
    crashed_in: tuple[Transaction, ...] = ()


def _book(view: NodeState, header: Header) -> _Book:
    told = share_of(view)
    if told is not None:
        opened = {each.transaction: each for each in told.open}
        return _Book(view, dict(told.balances), dict(told.locks), opened, told.dispensed, told.crashed_in)
    given = _parameters(header)
    names = account_names(header.nodes, given.accounts)
    ledger = _ledger_of(_log(view), {name: 100 * given.opening for name, node in names.items() if node == view.id})
    return _Book(view, ledger.balances, ledger.locks, dict.fromkeys(ledger.open), ledger.dispensed)


def _parts_in(book: _Book, wanted: Iterable[Transaction]) -> dict[Transaction, Part]:
    """The node's parts in these transactions, by its log."""
    names = {(each.node, each.number) for each in wanted}
    try:
        own = [entry for entry in _log(book.view) if tuple(entry["transaction"]) in names]
    except (TypeError, KeyError):  # a recording from anybody
        return {}
    return _ledger_of(own, book.balances).parts


def _standings(
    transaction: Transaction, books: Mapping[int, _Book], known: Mapping[int, Mapping[Transaction, Part]]
) -> Iterable[Standing]:
    """One for each participant; whoever says that it has a part in it is one, though nobody else may know."""
    parts = {node: found.get(transaction, Part(transaction)) for node, found in known.items()}
    participants = {node for part in parts.values() for node in part.participants}
    participants |= {node for node, book in books.items() if transaction in book.open}
    for node in sorted(participants & books.keys()):
        book = books[node]
        yield Standing(
            book.view,
            parts[node],
            book.open.get(transaction),
            next((wait for wait in book.view.waits if wait.procedure.endswith(f" {transaction}")), None),
            tuple(name for name, holder in book.locks.items() if holder == transaction),
            transaction in book.crashed_in,
        )


def _ledger_of(log: list[Any], opening: Mapping[str, int]) -> Ledger:
    ledger = Ledger(opening)
    try:
        ledger.follow(Log(_entries(log)))
    except KeyError:  # it may release what was never locked
        return Ledger(opening)
    return ledger


def _is_up(view: NodeState) -> bool:
    return view.process in ("running", "paused")


def _log(view: NodeState) -> list[Any]:
    log = view.state.get("log")
    return log if isinstance(log, list) else []


def _entries(log: list[Any]) -> tuple[Entry, ...]:
    return converted(log, tuple[Entry, ...]) or ()


def _parameters(header: Header) -> Committing.Parameters:
    return converted(header.protocol.parameters, Committing.Parameters) or Committing.Parameters()

"""The bank as of a record: the accounts, and the state of each participant in each open transaction.

A live node has all of it in its state. For a node that is down, the state is computed from its log in stable
storage, as the node itself will do when it recovers.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from lab.kernel import Log, Wait
from lab.protocols.accounts import account_names
from lab.protocols.committing import Committing
from lab.protocols.ledger import Ledger, Part
from lab.protocols.transaction import Entry, OpenTransaction, Transaction
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, convert_or_none
from lab.recording.snapshot import NodeState


class NodeBankState(Struct, frozen=True):
    """The variables of the bank in the state of a live node. ``refuses``: it votes NO next."""

    balances: tuple[tuple[str, int], ...]
    locks: tuple[tuple[str, Transaction], ...]
    open: tuple[OpenTransaction, ...]
    cash_out: int = 0
    crashed_in: tuple[Transaction, ...] = ()
    refuses: bool = False


class Account(Struct, frozen=True):
    """An account and its node; ``lock`` is the transaction that locks it."""

    name: str
    node: int
    cents: int
    lock: Transaction | None
    is_alive: bool


class ParticipantState(Struct, frozen=True):
    """The state of a participant in a transaction.

    ``part`` is computed from its log, ``reported`` is in its state. ``crashed``: it has crashed since its vote.
    """

    view: NodeState
    part: Part
    reported: OpenTransaction | None
    wait: Wait | None
    locks: tuple[str, ...]
    crashed: bool

    @property
    def node(self) -> int:
        return self.view.id

    @property
    def is_alive(self) -> bool:
        return _is_alive(self.view)


class TransactionOverview(Struct, frozen=True):
    """A transaction that is open at some node, and its known participants."""

    transaction: Transaction
    participant_states: tuple[ParticipantState, ...]


class BankState(Struct, frozen=True):
    """All accounts and open transactions. ``opening`` is the initial total of all accounts."""

    accounts: tuple[Account, ...]
    open_transactions: tuple[TransactionOverview, ...]
    cash_out: int
    opening: int

    @property
    def total(self) -> int:
        """Total of all accounts."""
        return sum(account.cents for account in self.accounts)

    @property
    def missing(self) -> int:
        """Difference between the opening total and the accounts plus the cash paid out."""
        return self.opening - self.total - self.cash_out


def has_bank(header: Header) -> bool:
    """Return whether the task of the run is the bank."""
    return "A8" in header.protocol.promises


def open_at(view: NodeState) -> tuple[OpenTransaction, ...]:
    """Return the transactions that are open at this node, by its state."""
    return convert_or_none(view.state.get("open"), tuple[OpenTransaction, ...]) or ()


def node_bank_state(view: NodeState) -> NodeBankState | None:
    """Return the bank variables of a node; None if it is down or has none."""
    return convert_or_none(view.state, NodeBankState) if _is_alive(view) else None


def entries_of(view: NodeState, last: int | None = None) -> tuple[Entry, ...]:
    """Return its log, or the ``last`` entries of it."""
    log = _log(view)
    return _entries(log if last is None else log[-last:])


def bank_in(cluster: ClusterState, header: Header) -> BankState:
    """Return the bank as far as it is known at that record."""
    banks = {node: _node_bank(view, header) for node, view in cluster.nodes.items()}
    open_names = sorted({transaction for bank in banks.values() for transaction in bank.open})
    parts = {node: _parts_in(bank, open_names) for node, bank in banks.items()} if open_names else {}
    parameters = _parameters(header)
    accounts = tuple(
        Account(
            name, node, banks[node].balances.get(name, 0), banks[node].locks.get(name), _is_alive(banks[node].view)
        )
        for name, node in account_names(header.nodes, parameters.accounts).items()
        if node in banks
    )
    return BankState(
        accounts,
        tuple(TransactionOverview(each, tuple(_participant_states(each, banks, parts))) for each in open_names),
        sum(bank.cash_out for bank in banks.values()),
        100 * parameters.opening * len(accounts),
    )


class _NodeBank(Struct, frozen=True):
    """One node's part of the bank; the values of ``open`` are None if the node is down."""

    view: NodeState
    balances: Mapping[str, int]
    locks: Mapping[str, Transaction]
    open: Mapping[Transaction, OpenTransaction | None]
    cash_out: int
    crashed_in: tuple[Transaction, ...] = ()


def _node_bank(view: NodeState, header: Header) -> _NodeBank:
    reported = node_bank_state(view)
    if reported is not None:
        opened = {each.transaction: each for each in reported.open}
        return _NodeBank(
            view, dict(reported.balances), dict(reported.locks), opened, reported.cash_out, reported.crashed_in
        )
    parameters = _parameters(header)
    names = account_names(header.nodes, parameters.accounts)
    ledger = _ledger_of(
        _log(view), {name: 100 * parameters.opening for name, node in names.items() if node == view.id}
    )
    return _NodeBank(view, ledger.balances, ledger.locks, dict.fromkeys(ledger.open), ledger.cash_out)


def _parts_in(bank: _NodeBank, open_names: Iterable[Transaction]) -> dict[Transaction, Part]:
    """Return the node's parts in these transactions, computed from its log."""
    names = {(each.node, each.number) for each in open_names}
    try:
        own = [entry for entry in _log(bank.view) if tuple(entry["transaction"]) in names]
    except (TypeError, KeyError):  # a recording may hold anything
        return {}
    return _ledger_of(own, bank.balances).parts


def _participant_states(
    transaction: Transaction, banks: Mapping[int, _NodeBank], known: Mapping[int, Mapping[Transaction, Part]]
) -> Iterable[ParticipantState]:
    """Yield the state of each participant, including nodes that only their own state names as participants."""
    parts = {node: found.get(transaction, Part(transaction)) for node, found in known.items()}
    participants = {node for part in parts.values() for node in part.participants}
    participants |= {node for node, bank in banks.items() if transaction in bank.open}
    for node in sorted(participants & banks.keys()):
        bank = banks[node]
        yield ParticipantState(
            bank.view,
            parts[node],
            bank.open.get(transaction),
            next((wait for wait in bank.view.waits if wait.procedure.endswith(f" {transaction}")), None),
            tuple(name for name, holder in bank.locks.items() if holder == transaction),
            transaction in bank.crashed_in,
        )


def _ledger_of(log: list[Any], opening: Mapping[str, int]) -> Ledger:
    ledger = Ledger(opening)
    try:
        ledger.follow(Log(_entries(log)))
    except KeyError:  # the log may release an account that was never locked
        return Ledger(opening)
    return ledger


def _is_alive(view: NodeState) -> bool:
    return view.process in ("running", "paused")


def _log(view: NodeState) -> list[Any]:
    log = view.state.get("log")
    return log if isinstance(log, list) else []


def _entries(log: list[Any]) -> tuple[Entry, ...]:
    return convert_or_none(log, tuple[Entry, ...]) or ()


def _parameters(header: Header) -> Committing.Parameters:
    return convert_or_none(header.protocol.parameters, Committing.Parameters) or Committing.Parameters()

"""The storage of one participant: its accounts, its log, uncommitted work in place, and locks.

An operation updates the balance in place, under a lock on the account. The change is only in memory until the
transaction is *prepared*: then the undo and redo information is in the log. So a crash loses the work of
transactions that were not prepared, and nothing of those that were.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from lab.kernel import Auxiliary, Log
from lab.protocols.accounts import account_names, format_cents
from lab.protocols.algorithm import Algorithm
from lab.protocols.ledger import Ledger, Part
from lab.protocols.transaction import DECIDED, Change, Entry, OpenTransaction, Operation, Transaction, Work

__all__ = ["ParticipantStorage"]

_MOST_TURNED_AWAY = 20
"""The number of refused transactions shown per lock holder; the last ones are kept."""


class ParticipantStorage(Algorithm):
    """A node that holds accounts."""

    class Parameters(Struct, frozen=True):
        """The accounts of every node."""

        accounts: Annotated[int, Meta(ge=1, le=100)] = 1
        """Number of accounts per node."""
        opening: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 1000
        """Opening balance of each account."""

    log: Log[Entry] = Log()
    work: tuple[Work, ...] = ()
    balances: tuple[tuple[str, int], ...] = ()
    locks: tuple[tuple[str, Transaction], ...] = ()
    open: Auxiliary[tuple[OpenTransaction, ...]] = ()
    cash_out: int = 0

    # the accounts

    @cached_property
    def _accounts(self) -> Mapping[str, int]:
        return account_names((self.id, *self.peers), self.parameters.accounts)

    @cached_property
    def _opening(self) -> Mapping[str, int]:
        return {name: 100 * self.parameters.opening for name, node in self._accounts.items() if node == self.id}

    @cached_property
    def _read(self) -> list[Ledger]:
        return [Ledger(self._opening)]

    @property
    def _ledger(self) -> Ledger:
        if not self._read[0].follow(self.log):  # this node was restored from a snapshot with another log
            self._read[0] = Ledger(self._opening)
            self._read[0].follow(self.log)
        return self._read[0]

    def _part(self, transaction: Transaction) -> Part:
        """Return this node's part in the transaction according to its log; an initial one if it has none."""
        return self._ledger.parts.get(transaction) or Part(transaction)

    def _is_decided(self, transaction: Transaction) -> bool:
        return self._part(transaction).state in DECIDED

    # the log

    def _write(self, entry: Entry) -> None:
        """Append to the log in stable storage, before any message of this step leaves."""
        self.log += (entry,)
        self._update_display(entry.transaction)

    def _decide(self, transaction: Transaction, commit: bool) -> None:
        """Commit or abort the transaction at this node, finally; discard its unprepared work."""
        if not self._is_decided(transaction):
            self._drop_work(transaction)
            self._write(Entry("committed" if commit else "aborted", transaction))
            cash = self._part(transaction).dispense
            if commit and cash:
                self.note(f"{transaction} hands out {format_cents(cash)}")

    def _prepare_part(self, transaction: Transaction, participants: tuple[int, ...], dispense: int = 0) -> None:
        """Log the vote YES with undo and redo information (rule C2)."""
        changes = self._work_of(transaction).changes
        self._drop_work(transaction)
        self._write(Entry("prepared", transaction, participants, changes, dispense))

    # the work

    def _work_of(self, transaction: Transaction) -> Work:
        """Return the unprepared work of the transaction, empty if there is none."""
        return next((each for each in self.work if each.transaction == transaction), Work(transaction))

    def _drop_work(self, transaction: Transaction) -> None:
        self.work = tuple(each for each in self.work if each.transaction != transaction)

    def _perform(self, transaction: Transaction, place: int, operation: Operation) -> str:
        """Perform the operation in place; return the reason if it is refused, otherwise ""."""
        holder = self._holder(operation.account)
        if holder is not None and holder != transaction:
            self._add_turned_away(transaction, holder)
            return f"{operation.account} is locked by {holder}"
        before = self._balance(operation.account)
        wanted = max(operation.at_least, -operation.amount)
        if before < wanted:
            return f"{operation.account} has {format_cents(before)}, less than {format_cents(wanted)}"
        work = self._work_of(transaction)
        changes = {change.account: change for change in work.changes}
        known = changes.get(operation.account, Change(operation.account, before, before))
        changes[operation.account] = replace(known, after=known.after + operation.amount)
        self._drop_work(transaction)
        self.work += (Work(transaction, (*work.done, place), tuple(changes.values())),)
        self._update_display(transaction)
        return ""

    def _holder(self, account: str) -> Transaction | None:
        working = (each.transaction for each in self.work if any(c.account == account for c in each.changes))
        return next(working, None) or self._ledger.locks.get(account)

    def _balance(self, account: str) -> int:
        changed = (c.after for each in self.work for c in each.changes if c.account == account)
        return next(changed, self._ledger.balances[account])

    def _add_turned_away(self, transaction: Transaction, holder: Transaction) -> None:
        self.open = tuple(
            replace(each, turned_away=(*each.turned_away, transaction)[-_MOST_TURNED_AWAY:])
            if each.transaction == holder
            else each
            for each in self.open
        )

    # display

    def _update_display(self, changed: Transaction | None = None) -> None:
        """Update the displayed balances (with unprepared work), locks and open transactions.

        Of the latter only the one that ``changed``; all if it is None.
        """
        ledger = self._ledger
        working = {
            change.account: (each.transaction, change.after) for each in self.work for change in each.changes
        }
        self.balances = tuple({**ledger.balances, **{name: after for name, (_, after) in working.items()}}.items())
        self.locks = tuple(
            sorted({**ledger.locks, **{name: holder for name, (holder, _) in working.items()}}.items())
        )
        self.cash_out = ledger.cash_out
        self.open = self._all_open() if changed is None else self._open_with(changed)

    def _all_open(self) -> tuple[OpenTransaction, ...]:
        """Return the open transactions: those of the log, and then those with unprepared work alone."""
        ledger, shown = self._ledger, {each.transaction: each for each in self.open}
        parts = [*ledger.open.values()]
        parts += [Part(each.transaction) for each in self.work if each.transaction not in ledger.open]
        return tuple(self._shown(part, shown.get(part.transaction)) for part in parts)

    def _open_with(self, changed: Transaction) -> tuple[OpenTransaction, ...]:
        """Return the open transactions in the same order, where only this one has changed."""
        ledger, shown = self._ledger, self.open
        place = next((place for place, each in enumerate(shown) if each.transaction == changed), len(shown))
        known = shown[place] if place < len(shown) else None
        others = (*shown[:place], *shown[place + 1 :])
        part = ledger.open.get(changed)
        if part is not None:
            place = min(place, len(ledger.open) - 1)
        elif any(each.transaction == changed for each in self.work):
            part, place = Part(changed), len(others)
        else:
            return others
        return (*others[:place], self._shown(part, known), *others[place:])

    def _shown(self, part: Part, known: OpenTransaction | None) -> OpenTransaction:
        """Return an open transaction as it is shown: as before, or with the time at which its state changed."""
        if known is not None and known.state is part.state and known.participants == part.participants:
            return known
        turned_away = () if known is None else known.turned_away
        return OpenTransaction(part.transaction, part.state, self.now_us, part.participants, None, turned_away)

    def _mark_blocked(self, transaction: Transaction) -> None:
        """Mark the transaction as blocked: everybody was asked, and nobody knows the decision."""
        self.open = tuple(
            replace(each, blocked_since_us=self.now_us)
            if each.transaction == transaction and each.blocked_since_us is None
            else each
            for each in self.open
        )

"""The bank: what users have done with the accounts (section 10), by whatever commit protocol.

The lecture's plan is ``withdraw``: 100 from savings to checking, 300 from the money market to checking, verify
that checking covers the amount, take it off, and, after the commit point alone, hand it out. The accounts are on
different nodes, so at every moment in between the money is nowhere, or twice; and yet no cent may be lost.
"""

from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar

from msgspec.structs import replace

from lab.kernel import command, procedure
from lab.protocols.accounts import account_names
from lab.protocols.bank_words import (
    Load,
    objection_to,
    read_collection,
    read_load,
    read_transfer,
    read_withdrawal,
    transfer_of,
)
from lab.protocols.committing import Committing
from lab.protocols.transaction import Operation, Plan, State, Transaction

__all__ = ["Bank"]


class Bank(Committing):
    """The commands of the bank."""

    kept_busy_by: ClassVar[tuple[str, ...]] = (
        "withdraw 350",
        "transfer 200 savings checking",
        "transfer 150.50 checking moneymarket",
        "transfer 2000 moneymarket savings",
        "transactions 30 at 10/s",
        "transactions 12 at 40/s",
        "refuse",
    )

    load: Load = Load()

    @classmethod
    def objection(cls, command: str, words: tuple[str, ...], nodes: Sequence[int], parameters: Any) -> str:
        """That there is no such account, or amount, or load of transactions."""
        return objection_to(command, words, account_names(nodes, parameters.accounts))

    @command(to="one", example="transfer 100 savings checking")
    def transfer(self, amount: str, source: str, target: str) -> None:
        """Move an amount from one account to another."""
        self._transact(read_transfer(self._accounts, amount, source, target))

    @command(to="one", example="collect 10 checking")
    def collect(self, amount: str, target: str) -> None:
        """Move so much from every other account to this one: every node has a part in it."""
        self._transact(read_collection(self._accounts, amount, target))

    @command(to="one", example="withdraw 350")
    def withdraw(self, amount: str) -> None:
        """The lecture's plan: 100 and 300 to checking from savings and moneymarket; then so much in cash."""
        self._transact(*read_withdrawal(amount))

    @command(to="one", words="COUNT [at RATE]", example="transactions 50 at 20/s")
    def transactions(self, count: str, at: str = "", rate: str = "") -> None:
        """So many random transfers, ten a second or as many as is said."""
        if self.load.left:
            self.note(f"another load in its place: {self.load.left} transfers never begun")
        self.load = read_load(count, at, rate)
        self.restart(self.run_load)

    @command(to="named", example="refuse 2")
    def refuse(self) -> None:
        """Vote NO next, whatever the transaction."""
        self.refuses = True

    @procedure
    async def run_load(self) -> None:
        """One transfer after the other is begun when it is due, whether those before it are done or not."""
        first, began_us, wanted = self._next(), self.now_us, self.load.left
        while self.load.left and self._transact(self._drawn()):
            self.load = replace(self.load, left=self.load.left - 1)
            # counted from the first, so that one that is late makes no other late
            due_us = began_us + (wanted - self.load.left) * 1_000_000 // self.load.per_second
            await self.sleep(max(0, due_us - self.now_us), "the next transfer")
        last, missing = self._next(), self.load.left
        self.load = Load()
        if first < last:
            await self.until(lambda: not self._is_deciding(first, last), "the end of the last transfers")
            self.note(self._load_ended(first, last, wanted, missing))

    def _is_deciding(self, first: Transaction, last: Transaction) -> bool:
        """Whether any of its transactions from the first to the last, without that, is not decided."""
        return any(first <= each < last and not self._is_decided(each) for each in self._ledger.open)

    def _load_ended(self, first: Transaction, last: Transaction, wanted: int, missing: int) -> str:
        states = [self._part(Transaction(self.id, k)).state for k in range(first.number, last.number)]
        said = f"{states.count(State.COMMITTED)} committed, {states.count(State.ABORTED)} aborted"
        return f"the load of {wanted} has ended: {said}" + (f", {missing} never begun" if missing else "")

    def _drawn(self) -> tuple[Operation, ...]:
        chance = Random(f"transfer {self._next()}")
        source, target = chance.sample(list(self._accounts), 2)
        return transfer_of(chance.randint(1, 5000), source, target)

    def _next(self) -> Transaction:
        return Transaction(self.id, self._ledger.begun + 1)

    def _transact(self, operations: tuple[Operation, ...], dispense: int = 0) -> bool:
        """Begin a transaction; whether this node may."""
        against = self._may_coordinate()
        if against:
            self.note(f"refused: {against}")
            return False
        self.begin(self.coordinate, about=Plan(self._next(), operations, dispense))
        return True

    def _may_coordinate(self) -> str:
        """What keeps this node from coordinating a transaction now; nothing, if it may."""
        return ""

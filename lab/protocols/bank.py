"""The bank: commands for transactions on the accounts (section 10), independent of the commit protocol.

``withdraw`` is the example of the lecture notes: move 100 from savings and 300 from the money market to checking,
verify that checking covers the amount, debit it, and cash it out only after the commit point. The accounts are on
different nodes, so in between some money is missing or counted twice; in the end no cent may be lost.
"""

from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar

from msgspec.structs import replace

from lab.kernel import command, procedure
from lab.protocols.accounts import account_names
from lab.protocols.bank_commands import (
    Load,
    command_error,
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

    workload: ClassVar[tuple[str, ...]] = (
        "withdraw 350",
        "transfer 200 savings checking",
        "transfer 150.50 checking moneymarket",
        "transfer 2000 moneymarket savings",
        "collect 10 checking",
        "transactions 30 at 10/s",
        "transactions 12 at 40/s",
        "refuse",
    )
    environment: ClassVar[tuple[str, ...]] = ("load", "run_load", "_random_transfer", "_describe_load")

    load: Load = Load()

    @classmethod
    def objection(cls, command: str, words: tuple[str, ...], nodes: Sequence[int], parameters: Any) -> str:
        """Return what is wrong with the account, amount or load that the words name."""
        return command_error(command, words, account_names(nodes, parameters.accounts))

    @command(to="one", example="transfer 100 savings checking")
    def transfer(self, amount: str, source: str, target: str) -> None:
        """Move an amount from one account to another."""
        self._begin_transaction(read_transfer(self._accounts, amount, source, target))

    @command(to="one", example="collect 10 checking")
    def collect(self, amount: str, target: str) -> None:
        """Move an amount from every other account to this one, so that every node participates."""
        self._begin_transaction(read_collection(self._accounts, amount, target))

    @command(to="one", example="withdraw 350")
    def withdraw(self, amount: str) -> None:
        """Move 100 from savings and 300 from moneymarket to checking, then pay out AMOUNT from it in cash."""
        self._begin_transaction(*read_withdrawal(amount))

    @command(to="one", words="COUNT [at RATE]", example="transactions 50 at 20/s")
    def transactions(self, count: str, at: str = "", rate: str = "") -> None:
        """Begin COUNT random transfers, at 10/s or the given rate."""
        if self.load.left:
            self.note(f"load replaced: {self.load.left} transfers not begun")
        self.load = read_load(count, at, rate)
        self.restart(self.run_load)

    @command(to="named", example="refuse 2")
    def refuse(self) -> None:
        """Vote NO on the next transaction."""
        self.refuses = True

    @procedure
    async def run_load(self) -> None:
        """Begin each transfer at its due time, whether or not earlier ones have ended."""
        first, began_us, wanted = self._next(), self.now_us, self.load.left
        while self.load.left and self._begin_transaction(self._random_transfer()):
            self.load = replace(self.load, left=self.load.left - 1)
            # due times count from the start of the load, so one delay does not shift the others
            due_us = began_us + (wanted - self.load.left) * 1_000_000 // self.load.per_second
            await self.sleep(max(0, due_us - self.now_us), "the next transfer")
        last, missing = self._next(), self.load.left
        self.load = Load()
        if first < last:
            await self.until(lambda: not self._is_deciding(first, last), "the end of the last transfers")
            self.note(self._describe_load(first, last, wanted, missing))

    def _is_deciding(self, first: Transaction, last: Transaction) -> bool:
        """Return whether a transaction of this node from ``first`` up to but without ``last`` is undecided."""
        return any(first <= each < last and not self._is_decided(each) for each in self._ledger.open)

    def _describe_load(self, first: Transaction, last: Transaction, wanted: int, missing: int) -> str:
        states = [self._part(Transaction(self.id, k)).state for k in range(first.number, last.number)]
        text = f"{states.count(State.COMMITTED)} committed, {states.count(State.ABORTED)} aborted"
        return f"the load of {wanted} has ended: {text}" + (f", {missing} not begun" if missing else "")

    def _random_transfer(self) -> tuple[Operation, ...]:
        chance = Random(f"transfer {self._next()}")
        source, target = chance.sample(list(self._accounts), 2)
        return transfer_of(chance.randint(1, 5000), source, target)

    def _next(self) -> Transaction:
        return Transaction(self.id, self._ledger.begun + 1)

    def _begin_transaction(self, operations: tuple[Operation, ...], dispense: int = 0) -> bool:
        """Begin a transaction; return False if this node may not."""
        refusal = self._coordination_refusal()
        if refusal:
            self.note(f"refused: {refusal}")
            return False
        self.begin(self.coordinate, key=Plan(self._next(), operations, dispense))
        return True

    def _coordination_refusal(self) -> str:
        """Return why this node may not coordinate a transaction now, or ""."""
        return ""

"""The bank: what users have done with the accounts (section 10), by whatever commit protocol.

The lecture's plan is ``withdraw``: 100 from savings to checking, 300 from the money market to checking, verify
that checking covers the amount, take it off, and, after the commit point alone, hand it out. The accounts are on
different nodes, so at every moment in between the money is nowhere, or twice; and yet no cent may be lost.
"""

from random import Random

from lab.kernel import command, procedure
from lab.protocols.accounts import CHECKING, MONEYMARKET, SAVINGS, parse_cents
from lab.protocols.committing import Committing
from lab.protocols.transaction import Operation, Plan, Transaction

__all__ = ["Bank"]


class Bank(Committing):
    """The commands of the bank."""

    load: tuple[int, int] = (0, 0)

    @command
    def transfer(self, amount: str, source: str, target: str) -> None:
        """Move an amount from one account to another: transfer 100 savings checking."""
        self._transact(_transfer(parse_cents(amount), source, target))

    @command
    def withdraw(self, amount: str) -> None:
        """The lecture's plan: 100 and 300 to checking from savings and moneymarket; then so much in cash."""
        cents = parse_cents(amount)
        operations = (
            *_transfer(100_00, SAVINGS, CHECKING),
            *_transfer(300_00, MONEYMARKET, CHECKING),
            Operation(CHECKING, 0, at_least=cents),
            Operation(CHECKING, -cents),
        )
        self._transact(operations, cents)

    @command
    def transactions(self, count: str, *rate: str) -> None:
        """So many random transfers: transactions 50 at 20/s."""
        per_second = int(rate[-1].removesuffix("/s")) if rate else 10
        self.load = (int(count), 1_000_000 // per_second)
        self.begin(self.run_load)

    @command
    def refuse(self) -> None:
        """Vote NO next: refuse 2."""
        self.refuses = True

    @procedure
    async def run_load(self) -> None:
        """One transfer after the other is begun, whether those before it are done or not."""
        while self.load[0]:
            self._transact(self._drawn())
            self.load = (self.load[0] - 1, self.load[1])
            await self.sleep(self.load[1], "the next transfer")

    def _drawn(self) -> tuple[Operation, ...]:
        chance = Random(f"transfer {self._next()}")
        source, target = chance.sample(list(self._accounts), 2)
        return _transfer(chance.randint(1, 5000), source, target)

    def _next(self) -> Transaction:
        return Transaction(self.id, self._ledger.begun + 1)

    def _transact(self, operations: tuple[Operation, ...], dispense: int = 0) -> None:
        self.begin(self.coordinate, about=Plan(self._next(), operations, dispense))


def _transfer(cents: int, source: str, target: str) -> tuple[Operation, Operation]:
    return Operation(source, -cents), Operation(target, cents)

"""A bank with two-phase commit, with its own ledger."""

from functools import cached_property

from lab.protocols import TwoPhaseCommit
from lab.protocols.ledger import Ledger, Part
from lab.protocols.transaction import Entry


class TheirLedger(Ledger):
    """The contents of the log: balances, locks, and the cash that was dispensed."""

    def _apply_prepared(self, part: Part, entry: Entry) -> None:
        super()._apply_prepared(part, entry)
        self.cash_out += part.dispense
        part.dispense = 0


class TheirBank(TwoPhaseCommit):
    """Work, votes, decision, and its announcement."""

    @cached_property
    def _read(self) -> list[Ledger]:
        return [TheirLedger(self._opening)]

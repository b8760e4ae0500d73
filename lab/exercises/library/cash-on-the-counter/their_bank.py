"""A bank by two-phase commit, as somebody handed it in: the books of a node are kept here."""

from functools import cached_property

from lab.protocols import TwoPhaseCommit
from lab.protocols.ledger import Ledger, Part
from lab.protocols.transaction import Entry


class TheirLedger(Ledger):
    """What the log says: balances, locks, and the cash that was handed out."""

    def _do(self, part: Part, entry: Entry) -> None:
        super()._do(part, entry)
        self.dispensed += part.dispense
        part.dispense = 0


class TheirBank(TwoPhaseCommit):
    """Work, votes, decision, and the word to all."""

    @cached_property
    def _read(self) -> list[Ledger]:
        return [TheirLedger(self._opening)]

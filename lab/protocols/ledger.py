"""The state that a node's log implies: balances, locks, and the state of every transaction.

A ledger is a fold over the log alone, so it survives a crash: recovery repeats history from the first entry on,
redoing changes of prepared transactions and undoing those of aborted ones. It reads new entries as the log grows.
"""

from collections.abc import Mapping

from msgspec import Struct

from lab.kernel import Log
from lab.protocols.transaction import DECIDED, Change, Entry, Round, State, Transaction

__all__ = ["STATE_AFTER", "Ledger", "Part"]

STATE_AFTER = {
    "begin": State.INITIAL,
    "prepared": State.UNCERTAIN,
    "precommit": State.COMMITABLE,
    "preabort": State.ABORTABLE,
    "committed": State.COMMITTED,
    "aborted": State.ABORTED,
}
"""The state of a transaction at a node after each kind of log entry."""


class Part(Struct, gc=False):
    """A node's part in a transaction, according to its log.

    ``begun``: the node coordinates it; ``ended``: all participants know the decision. ``round``: the round in
    which it entered its state; ``promised``: the node takes no part in rounds before this one.
    """

    transaction: Transaction
    state: State = State.INITIAL
    participants: tuple[int, ...] = ()
    changes: tuple[Change, ...] = ()
    dispense: int = 0
    voted_yes: bool = False
    begun: bool = False
    ended: bool = False
    round: Round = Round()
    promised: Round = Round()

    @property
    def is_open(self) -> bool:
        """True until the transaction is decided here, and ended if this node coordinates it."""
        return self.state not in DECIDED or (self.begun and not self.ended)


class Ledger:
    """The accounts of one node, with balances of ``opening`` before the first log entry.

    ``open`` holds the open transactions; ``begun`` counts those that the node coordinated.
    """

    def __init__(self, opening: Mapping[str, int]) -> None:
        self.balances = dict(opening)
        self.locks: dict[str, Transaction] = {}
        self.parts: dict[Transaction, Part] = {}
        self.open: dict[Transaction, Part] = {}
        self.cash_out = 0
        self.begun = 0
        self._read: Log[Entry] = Log()

    def follow(self, log: Log[Entry]) -> bool:
        """Apply the new entries of the log; return False if it is not an extension of the log read so far."""
        if log is self._read:
            return True
        new = log.after(self._read)
        if new is None:
            return False
        for entry in new:
            self._apply(entry)
        self._read = log
        return True

    def _apply(self, entry: Entry) -> None:
        part = self.parts.get(entry.transaction)
        if part is None:
            part = self.parts[entry.transaction] = Part(entry.transaction)
        if entry.what == "ended":
            part.ended = True
        elif entry.what == "joined":
            part.promised = entry.round
        else:
            part.state = STATE_AFTER[entry.what]
            part.round = entry.round
            part.promised = max(part.promised, entry.round)
        if entry.what == "begin":
            self.begun += 1
            part.begun = True
            part.participants = entry.participants
        elif entry.what == "prepared":
            self._apply_prepared(part, entry)
        elif entry.what == "aborted":
            self._apply_aborted(part)
        elif entry.what == "committed":
            self.cash_out += part.dispense
            self._unlock(part)
        if part.is_open:
            self.open[part.transaction] = part
        else:
            self.open.pop(part.transaction, None)

    def _apply_prepared(self, part: Part, entry: Entry) -> None:
        part.voted_yes = True
        part.participants, part.changes, part.dispense = entry.participants, entry.changes, entry.dispense
        for change in part.changes:
            self.balances[change.account] = change.after
            self.locks[change.account] = part.transaction

    def _apply_aborted(self, part: Part) -> None:
        for change in part.changes:
            self.balances[change.account] = change.before
        self._unlock(part)

    def _unlock(self, part: Part) -> None:
        for change in part.changes:
            del self.locks[change.account]

"""What a log says: balances, locks, and the state of every transaction.

A ledger is read off a log and nothing else, so a crash costs it nothing: it repeats history from the first entry
on, doing again what was done (redo) and taking back what was aborted (undo). It follows a log as that grows.
"""

from collections.abc import Mapping

from msgspec import Struct

from lab.kernel import Log
from lab.protocols.transaction import DECIDED, Change, Entry, Round, State, Transaction

__all__ = ["LEADS_TO", "Ledger", "Part"]

LEADS_TO = {
    "begin": State.INITIAL,
    "prepared": State.UNCERTAIN,
    "precommit": State.COMMITABLE,
    "preabort": State.ABORTABLE,
    "committed": State.COMMITTED,
    "aborted": State.ABORTED,
}
"""What a transaction is to the node that wrote this of it."""


class Part(Struct, gc=False):
    """A node's part in a transaction, as its log has it. ``begun``: it coordinates it; ``ended``: and is done.

    It has its state since ``round``, and takes no part in rounds before the one ``promised``.
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
        """Whether the node is not done with it."""
        return self.state not in DECIDED or (self.begun and not self.ended)


class Ledger:
    """The accounts of one node, which held ``opening`` before its log began.

    ``open`` are the parts that it is not done with; ``begun`` is how many transactions it coordinated.
    """

    def __init__(self, opening: Mapping[str, int]) -> None:
        self.balances = dict(opening)
        self.locks: dict[str, Transaction] = {}
        self.parts: dict[Transaction, Part] = {}
        self.open: dict[Transaction, Part] = {}
        self.dispensed = 0
        self.begun = 0
        self._read: Log[Entry] = Log()

    def follow(self, log: Log[Entry]) -> bool:
        """Read on; False where this is not the log that was read so far."""
        new = log.after(self._read)
        if new is None:
            return False
        for entry in new:
            self._take(entry)
        self._read = log
        return True

    def _take(self, entry: Entry) -> None:
        part = self.parts.get(entry.transaction)
        if part is None:
            part = self.parts[entry.transaction] = Part(entry.transaction)
        if entry.what == "ended":
            part.ended = True
        elif entry.what == "joined":
            part.promised = entry.round
        else:
            part.state = LEADS_TO[entry.what]
            part.round = entry.round
            part.promised = max(part.promised, entry.round)
        if entry.what == "begin":
            self.begun += 1
            part.begun = True
            part.participants = entry.participants
        elif entry.what == "prepared":
            self._do(part, entry)
        elif entry.what == "aborted":
            self._undo(part)
        elif entry.what == "committed":
            self.dispensed += part.dispense
            self._unlock(part)
        if part.is_open:
            self.open[part.transaction] = part
        else:
            self.open.pop(part.transaction, None)

    def _do(self, part: Part, entry: Entry) -> None:
        part.voted_yes = True
        part.participants, part.changes, part.dispense = entry.participants, entry.changes, entry.dispense
        for change in part.changes:
            self.balances[change.account] = change.after
            self.locks[change.account] = part.transaction

    def _undo(self, part: Part) -> None:
        for change in part.changes:
            self.balances[change.account] = change.before
        self._unlock(part)

    def _unlock(self, part: Part) -> None:
        for change in part.changes:
            del self.locks[change.account]

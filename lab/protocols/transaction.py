"""The types of atomic commit: transactions, operations on accounts, and log entries.

Amounts are cents.
"""

from enum import Enum
from typing import Literal

from msgspec import Struct, field

from lab.protocols.accounts import format_cents

__all__ = [
    "DECIDED",
    "Change",
    "Entry",
    "OpenTransaction",
    "Operation",
    "Plan",
    "Round",
    "State",
    "Transaction",
    "Work",
]


class State(Enum):
    """The state of a transaction at one participant, as in the lecture notes; the last two are final."""

    INITIAL = "initial"
    UNCERTAIN = "uncertain"
    COMMITABLE = "commitable"
    ABORTABLE = "abortable"
    COMMITTED = "committed"
    ABORTED = "aborted"


DECIDED = (State.COMMITTED, State.ABORTED)


class Transaction(Struct, frozen=True, array_like=True, order=True, gc=False):
    """The identifier of a transaction: its coordinator and that node's counter."""

    node: int
    number: int

    def __str__(self) -> str:
        return f"{self.node}.{self.number}"


class Round(Struct, frozen=True, array_like=True, order=True, gc=False):
    """A round of deciding a transaction: a number and a leader. The coordinator itself leads round 0."""

    number: int = 0
    node: int = 0

    def __str__(self) -> str:
        return f"{self.number} of {self.node}"


class Operation(Struct, frozen=True, array_like=True):
    """Add ``amount`` to an account. It must hold ``at_least`` that much before, and not be negative after."""

    account: str
    amount: int
    at_least: int = 0

    def __str__(self) -> str:
        text = f"{self.account} {'+' * (self.amount >= 0)}{format_cents(self.amount)}"
        return f"{text} of at least {format_cents(self.at_least)}" if self.at_least else text


class Plan(Struct, frozen=True):
    """The plan of a transaction: operations in order, and the cash to dispense after the commit."""

    transaction: Transaction
    operations: tuple[Operation, ...]
    dispense: int = 0

    def __str__(self) -> str:
        return str(self.transaction)


class Change(Struct, frozen=True, array_like=True, gc=False):
    """The change of one account by a transaction: ``before`` is for undo, ``after`` for redo."""

    account: str
    before: int
    after: int

    def __str__(self) -> str:
        return f"{self.account} {format_cents(self.before)} → {format_cents(self.after)}"


class Work(Struct, frozen=True, array_like=True):
    """Unprepared work of a node: the places of the operations performed, and their changes."""

    transaction: Transaction
    done: tuple[int, ...] = ()
    changes: tuple[Change, ...] = ()


class Entry(Struct, frozen=True, omit_defaults=True, gc=False):
    """An entry of a node's log.

    *begin* and *prepared* have ``participants``, the coordinator included. *prepared* is the vote YES, with
    ``changes`` (undo and redo) and the cash to ``dispense``; *aborted* without it is the vote NO. At the
    coordinator, *committed* and *aborted* are the decision, and *ended* means that all participants know it.
    *joined*, *precommit* and *preabort* have a ``round``.
    """

    what: Literal["begin", "prepared", "joined", "precommit", "preabort", "committed", "aborted", "ended"]
    transaction: Transaction
    participants: tuple[int, ...] = ()
    changes: tuple[Change, ...] = ()
    dispense: int = 0
    round: Round = Round()

    def __str__(self) -> str:
        text = f"{self.what} {self.transaction}"
        if self.what == "begin":
            text += f" of {', '.join(map(str, self.participants))}"
        if self.changes:
            text += f" ({', '.join(map(str, self.changes))})"
        return f"{text} in round {self.round}" if self.round.number else text


class OpenTransaction(Struct, frozen=True, omit_defaults=True):
    """An open transaction of a node, for display.

    It has been in ``state`` since ``since_us``, and blocked since ``blocked_since_us``: the node asked everybody,
    and nobody knew the decision. ``turned_away``: the last transactions that were refused because of its locks.
    """

    transaction: Transaction
    state: State
    since_us: int
    participants: tuple[int, ...] = ()
    blocked_since_us: int | None = field(default=None, name="blocked_us")
    turned_away: tuple[Transaction, ...] = ()

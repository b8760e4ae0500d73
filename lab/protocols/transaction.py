"""The words of atomic commit: a transaction, what it does to accounts, and what a log says of it.

Amounts are cents.
"""

from enum import Enum
from typing import Literal

from msgspec import Struct

from lab.protocols.accounts import format_cents

__all__ = [
    "DECIDED",
    "Change",
    "Entry",
    "Open",
    "Operation",
    "Plan",
    "Round",
    "State",
    "Transaction",
    "Work",
]


class State(Enum):
    """What a transaction is to one participant: the lecture's states, the last two for good."""

    INITIAL = "initial"
    UNCERTAIN = "uncertain"
    COMMITABLE = "commitable"
    ABORTABLE = "abortable"
    COMMITTED = "committed"
    ABORTED = "aborted"


DECIDED = (State.COMMITTED, State.ABORTED)


class Transaction(Struct, frozen=True, array_like=True, order=True, gc=False):
    """The name of a transaction: the node that coordinates it, and that node's count of them."""

    node: int
    number: int

    def __str__(self) -> str:
        return f"{self.node}.{self.number}"


class Round(Struct, frozen=True, array_like=True, order=True, gc=False):
    """An attempt to end a transaction: the first is its coordinator's own, and each has a number and a leader."""

    number: int = 0
    node: int = 0

    def __str__(self) -> str:
        return f"{self.number} of {self.node}"


class Operation(Struct, frozen=True, array_like=True):
    """Add ``amount`` to an account, which must hold ``at_least`` so much before, and nothing below zero after."""

    account: str
    amount: int
    at_least: int = 0

    def __str__(self) -> str:
        said = f"{self.account} {'+' * (self.amount >= 0)}{format_cents(self.amount)}"
        return f"{said} of at least {format_cents(self.at_least)}" if self.at_least else said


class Plan(Struct, frozen=True):
    """What the coordinator of a transaction is to bring about: operations in order, and cash to hand out last."""

    transaction: Transaction
    operations: tuple[Operation, ...]
    dispense: int = 0

    def __str__(self) -> str:
        return str(self.transaction)


class Change(Struct, frozen=True, array_like=True, gc=False):
    """What a transaction makes of one account: ``before`` undoes it, ``after`` does it again."""

    account: str
    before: int
    after: int

    def __str__(self) -> str:
        return f"{self.account} {format_cents(self.before)} → {format_cents(self.after)}"


class Work(Struct, frozen=True, array_like=True):
    """What a node did of a transaction and has not voted for: the places of the operations, and their changes."""

    transaction: Transaction
    done: tuple[int, ...] = ()
    changes: tuple[Change, ...] = ()


class Entry(Struct, frozen=True, omit_defaults=True, gc=False):
    """A line of a node's log.

    ``participants`` are the nodes that have a part in the transaction, its coordinator among them: of *begin* and
    *prepared*. *prepared* is the vote YES, with ``changes`` (undo and redo) and the cash to ``dispense``;
    *aborted* without it is the vote NO. At the coordinator, *committed* and *aborted* are the decision, and
    *ended* says that all participants know it. ``round`` is of *joined*, *precommit* and *preabort*.
    """

    what: Literal["begin", "prepared", "joined", "precommit", "preabort", "committed", "aborted", "ended"]
    transaction: Transaction
    participants: tuple[int, ...] = ()
    changes: tuple[Change, ...] = ()
    dispense: int = 0
    round: Round = Round()

    def __str__(self) -> str:
        said = f"{self.what} {self.transaction}"
        if self.what == "begin":
            said += f" of {', '.join(map(str, self.participants))}"
        if self.changes:
            said += f" ({', '.join(map(str, self.changes))})"
        return f"{said} in round {self.round}" if self.round.number else said


class Open(Struct, frozen=True, omit_defaults=True):
    """A transaction that this node is not done with, for display.

    ``state`` since ``since_us``. ``blocked_us``: since when the node knows that it has to wait, though it asked
    everybody. ``turned_away``: the last transactions that found a lock of this one, and were refused.
    """

    transaction: Transaction
    state: State
    since_us: int
    participants: tuple[int, ...] = ()
    blocked_us: int | None = None
    turned_away: tuple[Transaction, ...] = ()

"""What a script may ask of a bank: its money, its locks, and what became of its transactions.

Nodes have cents in their state, and a line has dollars: ``money == 3000``, ``balance(savings) == 87.50``.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from lab.journal import NodeView, blocked_since_us
from lab.kernel import Protocol
from lab.protocols.accounts import account_names
from lab.protocols.ledger import LEADS_TO
from lab.script.commands import CommandError
from lab.text import did_you_mean

__all__ = [
    "ATTRIBUTES_OF_BANK",
    "COUNTS_OF_BANK",
    "balance_of",
    "check_account",
    "check_bank",
    "counted_in_bank",
    "is_bank",
]

COUNTS_OF_BANK = ("money", "committed", "aborted", "locks", "blocked")


def _is_to(view: NodeView) -> str | None:
    """What its newest transaction is to the node; of what it has not voted for, its log knows nothing."""
    states = {transaction: LEADS_TO[what].value for transaction, what in _logged(view) if what in LEADS_TO}
    for each in _listed(view, "open"):
        match each:
            case {"transaction": [int(node), int(number)], "state": str(state)}:
                states[node, number] = state
    return next(reversed(states.values()), None)


ATTRIBUTES_OF_BANK: dict[str, Callable[[NodeView], Any]] = {
    "state": _is_to,
    "blocked": lambda view: blocked_since_us(view) is not None,
    "dispensed": lambda view: _dollars(_dispensed(view)),
}
"""What every node of a bank has, beside what its protocol declares."""


def is_bank(declared: Collection[str]) -> bool:
    """Whether nodes with this state keep accounts."""
    return "balances" in declared


def check_bank(what: str, protocol: type[Protocol]) -> None:
    """CommandError where the protocol keeps no accounts."""
    if not is_bank([field.name for field in protocol.fields]):
        raise CommandError(f"{protocol.name} keeps no accounts, so there is no {what}; 2pc does: lab run 2pc")


def check_account(
    account: str, protocol: type[Protocol], nodes: Sequence[int], parameters: Mapping[str, Any]
) -> None:
    """CommandError where there is no such account."""
    check_bank("balance", protocol)
    given: Any = msgspec.convert(parameters, protocol.Parameters)
    names = list(account_names(nodes, given.accounts))
    if account not in names:
        raise CommandError(
            f"there is no account {account}; there are {', '.join(names)}{did_you_mean(account, names)}"
        )


def balance_of(account: str, views: Iterable[NodeView]) -> Decimal | None:
    """What is on the account, by those of the nodes that are up; None where its node is not among them."""
    found = (cents for name, cents in _balances(views) if name == account)
    return _dollars(next(found, None))


def counted_in_bank(what: str, nodes: Collection[NodeView], live: Collection[NodeView]) -> Decimal | int | None:
    """One of ``COUNTS_OF_BANK``; ``live`` are those of the nodes that are up. Money is known where all are."""
    if what == "money":
        cents = sum(map(_dispensed, live)) + sum(cents for _, cents in _balances(live))
        return _dollars(cents) if len(live) == len(nodes) else None
    if what == "locks":
        return sum(len(_listed(view, "locks")) for view in live)
    if what == "blocked":
        return sum(blocked_since_us(view) is not None for view in live)
    return len({transaction for view in nodes for transaction, written in _logged(view) if written == what})


def _balances(views: Iterable[NodeView]) -> Iterator[tuple[str, int]]:
    for view in views:
        for each in _listed(view, "balances"):
            match each:
                case [str(name), int(cents)]:
                    yield name, cents


def _logged(view: NodeView) -> Iterator[tuple[tuple[int, int], str]]:
    """Of each entry of its log the transaction, and what it says of that."""
    for each in _listed(view, "log"):
        match each:
            case {"transaction": [int(node), int(number)], "what": str(what)}:
                yield (node, number), what


def _listed(view: NodeView, name: str) -> list[Any]:
    """What is in the list that the state has under this name; a recording may be from anybody."""
    found = view.state.get(name)
    return found if isinstance(found, list) else []


def _dispensed(view: NodeView) -> int:
    found = view.state.get("dispensed")
    return found if isinstance(found, int) else 0


def _dollars(cents: int | None) -> Decimal | None:
    return None if cents is None else Decimal(cents) / 100

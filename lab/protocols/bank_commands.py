"""Parse the commands of the bank. Raises ValueError with a message for the user."""

from collections.abc import Collection

from msgspec import Struct

from lab.protocols.accounts import CHECKING, MONEYMARKET, SAVINGS, parse_cents
from lab.protocols.transaction import Operation
from lab.text import did_you_mean, sanitize

__all__ = [
    "Load",
    "command_error",
    "read_collection",
    "read_load",
    "read_transfer",
    "read_withdrawal",
    "transfer_of",
]

_MOST_CENTS = 100_000_000_000
_MOST_TRANSACTIONS, _MOST_PER_SECOND = 100_000, 1000
_SHOWN, _LONGEST = 12, 30


class Load(Struct, frozen=True, array_like=True):
    """A load of transfers: the number not yet begun, and the rate per second."""

    left: int = 0
    per_second: int = 10


def command_error(command: str, words: tuple[str, ...], accounts: Collection[str]) -> str:
    """Return what is wrong with the words of a command, or "" if nothing is."""
    try:
        match command:
            case "transfer":
                read_transfer(accounts, *words)
            case "collect":
                read_collection(accounts, *words)
            case "withdraw":
                read_withdrawal(*words)
            case "transactions":
                read_load(*words)
    except ValueError as error:
        return str(error)
    return ""


def read_transfer(accounts: Collection[str], amount: str, source: str, target: str) -> tuple[Operation, ...]:
    """Parse ``100 savings checking``."""
    _refuse_swapped_amount(accounts, amount, f"transfer 100 {amount} {source}")
    cents = _amount(amount)
    for account in (source, target):
        _check_account(accounts, account)
    if source == target:
        raise ValueError(f"source and target are both {source}: name two different accounts")
    return transfer_of(cents, source, target)


def read_collection(accounts: Collection[str], amount: str, target: str) -> tuple[Operation, ...]:
    """Parse ``100 checking`` into transfers of that amount from every other account."""
    _refuse_swapped_amount(accounts, amount, f"collect 10 {amount}")
    cents = _amount(amount)
    _check_account(accounts, target)
    others = [account for account in accounts if account != target]
    return tuple(operation for account in others for operation in transfer_of(cents, account, target))


def transfer_of(cents: int, source: str, target: str) -> tuple[Operation, ...]:
    """Return the two operations of a transfer: debit the source, credit the target."""
    return Operation(source, -cents), Operation(target, cents)


def read_withdrawal(amount: str) -> tuple[tuple[Operation, ...], int]:
    """Parse ``350``; return the operations and the cents to cash out."""
    cents = _amount(amount)
    operations = (
        *transfer_of(100_00, SAVINGS, CHECKING),
        *transfer_of(300_00, MONEYMARKET, CHECKING),
        Operation(CHECKING, 0, at_least=cents),
        Operation(CHECKING, -cents),
    )
    return operations, cents


def read_load(count: str, at: str = "", rate: str = "") -> Load:
    """Parse ``50`` or ``50 at 20/s``."""
    many = _number(count)
    if not 1 <= many <= _MOST_TRANSACTIONS:
        text = sanitize(count, _LONGEST)
        raise ValueError(f"{text} is not a number of transactions: expected 1 to {_MOST_TRANSACTIONS:,}")
    if not at:
        return Load(many)
    if not rate and at.endswith("/s"):
        raise ValueError(f"the word 'at' is missing: transactions {count} at {sanitize(at, _LONGEST)}")
    per_second = _number(rate.removesuffix("/s"))
    if at != "at" or not rate.endswith("/s") or not 1 <= per_second <= _MOST_PER_SECOND:
        text = sanitize(f"{at} {rate}".rstrip(), _LONGEST)
        raise ValueError(f"{text} is not a rate: expected at 1/s to at {_MOST_PER_SECOND}/s, such as at 20/s")
    return Load(many, per_second)


def _amount(text: str) -> int:
    cents = parse_cents(sanitize(text, _LONGEST))
    if not cents:
        raise ValueError(f"the amount {text} is zero: write 350 or 12.50")
    if cents > _MOST_CENTS:
        raise ValueError(f"the amount {text} is too large: the maximum is {_MOST_CENTS // 100:,}")
    return cents


def _number(text: str) -> int:
    """Parse a number of at most nine digits; return 0 for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0


def _refuse_swapped_amount(accounts: Collection[str], amount: str, instead: str) -> None:
    if amount in accounts:
        raise ValueError(f"the amount comes before the accounts: {sanitize(instead, 3 * _LONGEST)}")


def _check_account(accounts: Collection[str], account: str) -> None:
    if account not in accounts:
        raise ValueError(f"unknown account {sanitize(account, _LONGEST)}; {_known(accounts, account)}")


def _known(accounts: Collection[str], got: str) -> str:
    names = list(accounts)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"the accounts are {', '.join(names[:_SHOWN])}{more}{did_you_mean(got, names)}"

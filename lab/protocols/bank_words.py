"""What users ask of the bank, read from their words. ValueError, with the text for them, where that is nothing."""

from collections.abc import Collection

from msgspec import Struct

from lab.protocols.accounts import CHECKING, MONEYMARKET, SAVINGS, parse_cents
from lab.protocols.transaction import Operation
from lab.text import did_you_mean, sanitize

__all__ = [
    "Load",
    "objection_to",
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
    """So many transfers that are still to be begun, and how many a second."""

    left: int = 0
    per_second: int = 10


def objection_to(command: str, words: tuple[str, ...], accounts: Collection[str]) -> str:
    """What is wrong with the words of a command of the bank; nothing, if they will do."""
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
    """``100 savings checking``."""
    _look_for_amount(accounts, amount, f"transfer 100 {amount} {source}")
    cents = _amount(amount)
    for account in (source, target):
        _look_up(accounts, account)
    if source == target:
        raise ValueError(f"{source} is named twice: name two accounts, from which and to which")
    return transfer_of(cents, source, target)


def read_collection(accounts: Collection[str], amount: str, target: str) -> tuple[Operation, ...]:
    """``100 checking``: so much off every other account."""
    _look_for_amount(accounts, amount, f"collect 10 {amount}")
    cents = _amount(amount)
    _look_up(accounts, target)
    others = [account for account in accounts if account != target]
    return tuple(operation for account in others for operation in transfer_of(cents, account, target))


def transfer_of(cents: int, source: str, target: str) -> tuple[Operation, ...]:
    """Off one account, and on to another."""
    return Operation(source, -cents), Operation(target, cents)


def read_withdrawal(amount: str) -> tuple[tuple[Operation, ...], int]:
    """``350``: the operations, and the cents to hand out."""
    cents = _amount(amount)
    operations = (
        *transfer_of(100_00, SAVINGS, CHECKING),
        *transfer_of(300_00, MONEYMARKET, CHECKING),
        Operation(CHECKING, 0, at_least=cents),
        Operation(CHECKING, -cents),
    )
    return operations, cents


def read_load(count: str, at: str = "", rate: str = "") -> Load:
    """``50``, ``50 at 20/s``."""
    many = _number(count)
    if not 1 <= many <= _MOST_TRANSACTIONS:
        said = sanitize(count, _LONGEST)
        raise ValueError(f"{said} is no number of transactions: from 1 to {_MOST_TRANSACTIONS:,} at once")
    if not at:
        return Load(many)
    if not rate and at.endswith("/s"):
        raise ValueError(f"the word at is missing: transactions {count} at {sanitize(at, _LONGEST)}")
    per_second = _number(rate.removesuffix("/s"))
    if at != "at" or not rate.endswith("/s") or not 1 <= per_second <= _MOST_PER_SECOND:
        said = sanitize(f"{at} {rate}".rstrip(), _LONGEST)
        raise ValueError(f"{said} is no rate: write at 20/s, from 1/s to {_MOST_PER_SECOND}/s")
    return Load(many, per_second)


def _amount(text: str) -> int:
    cents = parse_cents(sanitize(text, _LONGEST))
    if not cents:
        raise ValueError(f"an amount of {text} moves nothing: write 350, or 12.50")
    if cents > _MOST_CENTS:
        raise ValueError(f"{text} is too large an amount: {_MOST_CENTS // 100:,} is the most")
    return cents


def _number(text: str) -> int:
    """0 where it is none, or has too many digits to be of any use."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0


def _look_for_amount(accounts: Collection[str], amount: str, instead: str) -> None:
    if amount in accounts:
        raise ValueError(f"the amount comes before the accounts: {sanitize(instead, 3 * _LONGEST)}")


def _look_up(accounts: Collection[str], account: str) -> None:
    if account not in accounts:
        raise ValueError(f"there is no account {sanitize(account, _LONGEST)}; {_known(accounts, account)}")


def _known(accounts: Collection[str], got: str) -> str:
    names = list(accounts)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"there are {', '.join(names[:_SHOWN])}{more}{did_you_mean(got, names)}"

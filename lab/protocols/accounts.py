"""Which accounts there are, and which node keeps each: the lecture's three on three nodes, one on each other."""

import re
from collections.abc import Sequence

__all__ = ["CHECKING", "MONEYMARKET", "SAVINGS", "account_names", "format_cents", "parse_cents"]

SAVINGS, CHECKING, MONEYMARKET = "savings", "checking", "moneymarket"
_NAMED = (SAVINGS, CHECKING, MONEYMARKET)
_AMOUNT = re.compile(r"\$?(?P<whole>[0-9]{1,3}(,[0-9]{3})+|[0-9]+)(\.(?P<cents>[0-9]{1,2}))?")


def account_names(nodes: Sequence[int], each: int) -> dict[str, int]:
    """Every account with the node that keeps it; ``each`` node has so many, with fewer than three nodes some more.

    The lowest node keeps the savings, the next one checking, the next the money market; then ``account4`` and so
    on, by the nodes. What a node has beside its first is numbered: ``savings-2``.
    """
    ids = sorted(nodes)
    first = {name: ids[place % len(ids)] for place, name in enumerate(_NAMED)}
    first |= {f"account{node}": node for node in ids[len(_NAMED) :]}
    more = {f"{name}-{k}": node for k in range(2, each + 1) for name, node in first.items()}
    return first | more


def parse_cents(text: str) -> int:
    """``350``, ``12.50``, ``12.5``, ``1,000`` or ``$10`` as cents. ValueError."""
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no amount: write 350, or 12.50")
    return int(found["whole"].replace(",", "")) * 100 + int((found["cents"] or "").ljust(2, "0"))


def format_cents(cents: int) -> str:
    """``35000`` as ``350``, ``1250`` as ``12.50``."""
    whole, rest = divmod(abs(cents), 100)
    return f"{'-' * (cents < 0)}{whole:,}" + (f".{rest:02}" if rest else "")

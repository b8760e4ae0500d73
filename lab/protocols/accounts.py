"""The accounts and the nodes that hold them: the three of the example on three nodes, one on each further node."""

import re
from collections.abc import Sequence

__all__ = ["CHECKING", "MONEYMARKET", "SAVINGS", "account_names", "format_cents", "parse_cents"]

SAVINGS, CHECKING, MONEYMARKET = "savings", "checking", "moneymarket"
_NAMED = (SAVINGS, CHECKING, MONEYMARKET)
_AMOUNT = re.compile(r"\$?(?P<whole>[0-9]{1,3}(,[0-9]{3})+|[0-9]+)(\.(?P<cents>[0-9]{1,2}))?")


def account_names(nodes: Sequence[int], each: int) -> dict[str, int]:
    """Return every account with the node that holds it: ``each`` per node, or more for fewer than three nodes.

    The lowest node holds savings, the next one checking, the next the money market, the others ``account4`` and so
    on, numbered by node. Further accounts of a node have numbered names: ``savings-2``.
    """
    ids = sorted(nodes)
    first = {name: ids[place % len(ids)] for place, name in enumerate(_NAMED)}
    first |= {f"account{node}": node for node in ids[len(_NAMED) :]}
    more = {f"{name}-{k}": node for k in range(2, each + 1) for name, node in first.items()}
    return first | more


def parse_cents(text: str) -> int:
    """Parse ``350``, ``12.50``, ``12.5``, ``1,000`` or ``$10`` into cents. Raises ValueError."""
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not an amount: write 350 or 12.50")
    return int(found["whole"].replace(",", "")) * 100 + int((found["cents"] or "").ljust(2, "0"))


def format_cents(cents: int) -> str:
    """Format 35000 cents as ``350``, 1250 as ``12.50``."""
    whole, rest = divmod(abs(cents), 100)
    return f"{'-' * (cents < 0)}{whole:,}" + (f".{rest:02}" if rest else "")

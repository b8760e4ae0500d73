"""What an election or a commit costs by the formula, to be shown beside what was measured."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

__all__ = ["CommitCost", "Cost", "Linear", "Noticed"]

Noticed = Literal["by each", "in turn", "at once"]
"""How the crash of the coordinator is noticed:

by each   everybody is left to notice by itself, unless it hears of the election before
in turn   one after the other, the highest first: each when those before it agree, unless it hears of it before
at once   nobody hears of the election before all have begun one
"""


class Cost(Struct, frozen=True):
    """How many messages the crash of the coordinator, the highest of ``n`` nodes, takes until all is in order.

    Heartbeats are not counted. ``case`` says in words which election is meant, ``source`` where the count is from.
    ``n`` need not be whole: a curve is drawn through the values between. ``noticed`` is how ``lab scale`` brings
    the case about, to measure it. None: it does not, and shows the formula alone, beside the case before.
    """

    case: str
    formula: str
    messages: Callable[[float], float]
    source: str
    noticed: Noticed | None = "by each"


class Linear(Struct, frozen=True):
    """So many for each of ``n``, and some more; ``counted`` says what."""

    each: int
    more: int
    counted: str

    def __call__(self, n: int) -> int:
        """How many that is."""
        return self.each * n + self.more

    def __str__(self) -> str:
        return f"{self.each}n" + (f" + {self.more}" if self.more else "")


class CommitCost(Struct, frozen=True):
    """What a commit costs with ``n`` participants besides its coordinator, at least one, where nothing fails.

    ``messages`` are those up to and with the word, ``writes`` the steps that force something to the log.
    """

    messages: Linear
    writes: Linear

"""The cost of elections and commits by formula, for comparison with measurements."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

__all__ = ["CommitCost", "Cost", "Detection", "Formula", "Linear"]

Detection = Literal["by each", "in turn", "at once"]
"""How the nodes detect the crash of the coordinator:

by each   each node by its own timeout, unless it hears of the election first
in turn   one after the other, the highest first: each once those before it agree, unless it hears of it first
at once   all nodes begin an election before they hear of another one
"""


class Cost(Struct, frozen=True):
    """The number of messages from a crash of the coordinator, the highest of ``n`` nodes, until all have settled.

    Heartbeats are not counted. ``case`` describes the election, ``source`` cites the origin of the formula. ``n``
    may be a fraction, for drawing a curve. ``detection`` is the setting in which ``lab scale`` measures the case;
    None: the case is not measured, and its formula is shown with the case before it.
    """

    case: str
    formula: str
    messages: Callable[[float], float]
    source: str
    detection: Detection | None = "by each"


class Formula(Struct, frozen=True):
    """A cost as it is listed: its formula, what it counts in which case, and where it comes from."""

    formula: str
    case: str
    source: str


class Linear(Struct, frozen=True):
    """A linear formula, ``each``·n + ``more``; ``counted`` describes its terms."""

    each: int
    more: int
    counted: str

    def __call__(self, n: int) -> int:
        return self.each * n + self.more

    def __str__(self) -> str:
        return f"{self.each}n" + (f" + {self.more}" if self.more else "")


class CommitCost(Struct, frozen=True):
    """The cost of a failure-free commit with ``n`` ≥ 1 participants besides its coordinator.

    ``messages`` counts those up to and including the decision, ``writes`` the steps that force a log entry.
    """

    messages: Linear
    writes: Linear

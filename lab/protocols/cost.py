"""What an election costs by the formula, to be drawn beside what was measured."""

from collections.abc import Callable

from msgspec import Struct

__all__ = ["Cost"]


class Cost(Struct, frozen=True):
    """How many messages it takes from the crash of the coordinator, the highest of ``n`` nodes, to all Normal.

    Heartbeats are not counted. ``case`` says in words which election is meant, ``source`` where the count is from.
    ``n`` need not be whole: a curve is drawn through the values between.
    """

    case: str
    formula: str
    messages: Callable[[float], float]
    source: str

"""Who hears whom: sides of nodes that are connected, and what still passes from one side to another.

Two nodes *hear each other* where neither of the links between them is closed. Nodes are on one side where a chain
of such pairs leads from each to every other; on a side some links may be closed all the same.
"""

from collections.abc import Collection, Iterable

from msgspec import Struct

__all__ = ["Connections", "Pair", "connected"]

Pair = tuple[int, int]
"""A directed link: (source, target)."""


class Connections(Struct, frozen=True):
    """``sides`` by their least nodes, each in ascending order; ``closed`` are the links that nothing passes."""

    sides: tuple[tuple[int, ...], ...]
    closed: frozenset[Pair]

    def closed_within(self, side: tuple[int, ...]) -> tuple[Pair, ...]:
        """The links that are closed though both ends are on that side."""
        return tuple((a, b) for a in side for b in side if (a, b) in self.closed)

    def passing(self, one: tuple[int, ...], other: tuple[int, ...]) -> tuple[Pair, ...]:
        """The links between two sides that are open, each one way only: first those from the one to the other."""
        links = [*((a, b) for a in one for b in other), *((b, a) for b in other for a in one)]
        return tuple(link for link in links if link not in self.closed)


def connected(nodes: Iterable[int], closed: Collection[Pair]) -> Connections:
    """How these nodes are connected, these links being closed."""
    shut = frozenset(closed)
    left = sorted(set(nodes))
    sides = []
    while left:
        side, grown = [left[0]], 0
        left = left[1:]
        while grown < len(side):
            one = side[grown]
            near = [other for other in left if (one, other) not in shut and (other, one) not in shut]
            side += near
            left = [other for other in left if other not in near]
            grown += 1
        sides.append(tuple(sorted(side)))
    return Connections(tuple(sides), shut)

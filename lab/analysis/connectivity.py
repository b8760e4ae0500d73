"""Find the connected components of a cluster, and the links that are open between them.

Two nodes are connected directly if neither of the links between them is closed. A component consists of the nodes
that are connected through chains of such pairs; inside a component, some links may still be closed.
"""

from collections.abc import Collection, Iterable

from msgspec import Struct

Pair = tuple[int, int]
"""A directed link: (source, target)."""


class Connections(Struct, frozen=True):
    """Components, each in ascending order, sorted by their lowest nodes, and the ``closed`` links."""

    components: tuple[tuple[int, ...], ...]
    closed: frozenset[Pair]

    def closed_within(self, component: tuple[int, ...]) -> tuple[Pair, ...]:
        """Return the closed links inside a component."""
        return tuple((a, b) for a in component for b in component if (a, b) in self.closed)

    def open_links(self, one: tuple[int, ...], other: tuple[int, ...]) -> tuple[Pair, ...]:
        """Return the open links between two components, first those from ``one`` to ``other``."""
        links = [*((a, b) for a in one for b in other), *((b, a) for b in other for a in one)]
        return tuple(link for link in links if link not in self.closed)


def connected(nodes: Iterable[int], closed: Collection[Pair]) -> Connections:
    """Return the components of these nodes, given the closed links."""
    shut = frozenset(closed)
    left = sorted(set(nodes))
    components = []
    while left:
        component, grown = [left[0]], 0
        left = left[1:]
        while grown < len(component):
            one = component[grown]
            near = [other for other in left if (one, other) not in shut and (other, one) not in shut]
            component += near
            left = [other for other in left if other not in near]
            grown += 1
        components.append(tuple(sorted(component)))
    return Connections(tuple(components), shut)

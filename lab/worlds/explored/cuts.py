"""The possible network cuts: the commands that make them and the links that each stops, as numbers.

A cut separates the nodes into two sides, or two nodes from each other. Only links that may still carry something
count: cuts that differ only in other links are the same cut, and a cut that stops no link that counts is no cut.
"""

from collections.abc import Callable, Iterator
from itertools import combinations

from lab.network import Links
from lab.recording.cluster_state import ClusterState
from lab.script import LinkFault, Partition, link_rule, parse, partition_rule

__all__ = ["WHOLE", "Cuts"]

WHOLE = 0


class Cuts:
    """The cuts among these nodes, by number.

    ``stops`` has, for each cut, the places of the links that it stops, as ``slot_of`` gives them; ``WHOLE`` stops
    none.
    """

    def __init__(self, ids: tuple[int, ...], slot_of: Callable[[int, int], int]) -> None:
        self.stops: list[frozenset[int]] = [frozenset()]
        self._numbers: dict[frozenset[int], int] = {frozenset(): WHOLE}
        self._link_of = {slot_of(source, target): (source, target) for source in ids for target in ids}
        self._commands = [
            (command, frozenset(slot_of(*link) for link in _links(command, ids))) for command in _commands(ids)
        ]
        self._without: dict[frozenset[int], tuple[tuple[str, int], ...]] = {}

    def links_of(self, cut: int) -> Links:
        """Return the links that the cut stops."""
        return frozenset(self._link_of[place] for place in self.stops[cut])

    def without(self, idle: frozenset[int]) -> tuple[tuple[str, int], ...]:
        """Return the distinct cuts, as (command, number), if ``idle`` links do not count."""
        known = self._without.get(idle)
        if known is None:
            first: dict[int, str] = {}
            for command, stopped in self._commands:
                first.setdefault(self._number(stopped - idle), command)
            first.pop(WHOLE, None)
            known = self._without[idle] = tuple((command, number) for number, command in first.items())
        return known

    def narrowed(self, cut: int, idle: frozenset[int]) -> int:
        """Return the number of the cut if ``idle`` links do not count."""
        return self._number(self.stops[cut] - idle)

    def _number(self, stopped: frozenset[int]) -> int:
        known = self._numbers.setdefault(stopped, len(self.stops))
        if known == len(self.stops):
            self.stops.append(stopped)
        return known


def _commands(ids: tuple[int, ...]) -> Iterator[str]:
    for size in range(1, len(ids) // 2 + 1):
        for side in combinations(ids, size):
            rest = tuple(node for node in ids if node not in side)
            if size < len(rest) or side < rest:
                yield f"partition {' '.join(map(str, side))} | {' '.join(map(str, rest))}"
    for one, other in combinations(ids, 2):
        yield f"cut {one}<->{other}"


def _links(text: str, ids: tuple[int, ...]) -> Links:
    command = parse(text).command
    if isinstance(command, Partition):
        return partition_rule(command, ClusterState(ids)).links
    assert isinstance(command, LinkFault)
    return link_rule(command, ClusterState(ids)).links

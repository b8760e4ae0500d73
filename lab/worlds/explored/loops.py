"""Going round for ever: a cycle in the graph of global states, none of which will do.

In a model of time in which time must pass and every message must arrive, a cluster that can go round such a cycle
can do so for ever; and where all states are known, one that never agrees must come to such a cycle, or to a
state in which nothing can happen any more.
"""

from array import array

__all__ = ["Graph"]


class Graph:
    """States by number, in the order in which they were gone on from, and where one comes from each."""

    def __init__(self) -> None:
        self._ways = array("q")
        self._ends = array("q")

    def add(self, ways: list[int]) -> None:
        """The next state, and the states that can follow it."""
        self._ways.extend(ways)
        self._ends.append(len(self._ways))

    def cycle(self, wanted: bytearray) -> list[int]:
        """States on a cycle, in its order, each of which is ``wanted`` by a 1; none, if there is no such cycle."""
        ways, ends = self._ways, self._ends
        unseen = bytearray(wanted)
        on_path = bytearray(len(wanted))
        for root in range(len(ends)):
            if not unseen[root]:
                continue
            path, tried = [root], [ends[root - 1] if root else 0]
            unseen[root], on_path[root] = 0, 1
            while path:
                state, way = path[-1], tried[-1]
                if way == ends[state]:
                    on_path[state] = 0
                    path.pop()
                    tried.pop()
                    continue
                tried[-1] += 1
                after = ways[way]
                if on_path[after]:
                    return path[path.index(after) :]
                if unseen[after]:
                    unseen[after], on_path[after] = 0, 1
                    path.append(after)
                    tried.append(ends[after - 1])
        return []

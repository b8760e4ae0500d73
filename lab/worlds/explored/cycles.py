"""Find an endless execution: a cycle of unwanted global states during which time passes.

In a model where time must pass and every message must arrive, a cluster that can take such a cycle once can take
it forever. Once all states are known, a cluster that never agrees must reach such a cycle, or a state in which
nothing can happen any more. (Or it takes endlessly many events in no time, which no real cluster does.)
"""

from array import array
from collections import deque
from collections.abc import Sequence

__all__ = ["StateGraph"]


class StateGraph:
    """States by number, in the order of their expansion, and the successors of each."""

    def __init__(self) -> None:
        self._ways = array("q")
        self._ends = array("q")
        self._waits = array("q")

    def add(self, ways: list[int], wait: int | None) -> None:
        """Add the next state: its successors, and the one of them that is reached by letting time pass."""
        self._ways.extend(ways)
        self._ends.append(len(self._ways))
        self._waits.append(-1 if wait is None else wait)

    def cycle(self, wanted: bytearray) -> list[int]:
        """Return the states on a cycle through ``wanted`` states only, in order; empty if there is none.

        ``wanted`` holds 1 for the states to search. The second state of the cycle follows the first by letting
        time pass.
        """
        component = self._components(wanted)
        for state, later in enumerate(self._waits):
            if later >= 0 and wanted[state] and component[state] == component[later]:
                return [state, *self._way_back(later, state, component)]
        return []

    def _after(self, state: int) -> Sequence[int]:
        return self._ways[self._ends[state - 1] if state else 0 : self._ends[state]]

    def _way_back(self, begin: int, end: int, component: Sequence[int]) -> list[int]:
        """Return the shortest path within a component, without its end."""
        before = {begin: -1}
        left = deque([begin])
        while end not in before:
            state = left.popleft()
            for after in self._after(state):
                if component[after] == component[begin] and after not in before:
                    before[after] = state
                    left.append(after)
        way = []
        state = before[end]
        while state >= 0:
            way.append(state)
            state = before[state]
        return way[::-1]

    def _components(self, wanted: bytearray) -> Sequence[int]:
        """Return a number for each state: equal for wanted states that can reach each other (Tarjan); else -1."""
        count = len(self._ends)
        order, lowest, component = (array("q", [-1]) * count for _ in range(3))
        seen = 0
        pending: list[int] = []
        for root in range(count):
            path: list[tuple[int, deque[int]]] = []
            enter = root if wanted[root] and order[root] < 0 else -1
            while path or enter >= 0:
                if enter >= 0:
                    order[enter] = lowest[enter] = seen
                    seen += 1
                    pending.append(enter)
                    path.append((enter, deque(after for after in self._after(enter) if wanted[after])))
                    enter = -1
                state, ways = path[-1]
                if ways:
                    after = ways.popleft()
                    if order[after] < 0:
                        enter = after
                    elif component[after] < 0:
                        lowest[state] = min(lowest[state], order[after])
                    continue
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[state])
                if lowest[state] == order[state]:
                    while component[state] < 0:
                        component[pending.pop()] = state
        return component

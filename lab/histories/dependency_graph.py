"""The graph of dependencies between transactions: strongly connected components, and shortest cycles.

Vertices are numbers. Between two there may be edges of several kinds, each with the reason for it, as text. A
search names the kinds that it follows, in the order in which it prefers them.
"""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, get_args

from msgspec import Struct

EdgeKind = Literal["ww", "wr", "rw", "version", "process", "real-time"]
"""``version`` is a ww that only follows from the order of clients, or of real time."""


_Place = tuple[int, bool]
"""A vertex, and whether it was reached by an edge of kind rw that no other may follow."""


class Edge(Struct, frozen=True):
    """The transaction ``source`` comes before ``target``; ``text`` is why.

    ``rests_on``: the order, of sessions or of real time, from which the dependency was inferred.
    """

    source: int
    target: int
    kind: EdgeKind
    text: str
    rests_on: EdgeKind | None = None


class SearchBudget:
    """The number of steps that searches may still take; ``is_spent`` once one would have needed more."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    @property
    def is_spent(self) -> bool:
        return self._left < 0

    def spend(self) -> bool:
        """Spend a step, and return whether it was there."""
        self._left -= 1
        return self._left >= 0


class DependencyGraph:
    """A graph of edges by kind."""

    def __init__(self) -> None:
        self._edges: dict[EdgeKind, dict[int, dict[int, Edge]]] = {kind: {} for kind in get_args(EdgeKind)}

    def add(self, edge: Edge) -> None:
        """Add an edge, if it leads to another vertex; the first reason for it stays."""
        if edge.source != edge.target:
            self._edges[edge.kind].setdefault(edge.source, {}).setdefault(edge.target, edge)

    def count(self, kind: EdgeKind) -> int:
        """Return the number of edges of this kind."""
        return sum(map(len, self._edges[kind].values()))

    def edges_from(self, source: int, kinds: Sequence[EdgeKind]) -> Iterator[Edge]:
        """Yield the edges of these kinds that begin here."""
        for kind in kinds:
            yield from self._edges[kind].get(source, {}).values()

    def targets(self, source: int, kinds: Sequence[EdgeKind]) -> list[int]:
        """Return where the edges of these kinds lead that begin here."""
        return [target for kind in kinds for target in self._edges[kind].get(source, ())]

    def components(self, kinds: Sequence[EdgeKind], within: Collection[int] | None = None) -> list[set[int]]:
        """Return the strongly connected components of more than one vertex, over edges of these kinds.

        ``within`` bounds the vertices. The algorithm is Tarjan's (1972), with a stack of its own.
        """
        allowed = None if within is None else set(within)
        starts = sorted(allowed if allowed is not None else {each for kind in kinds for each in self._edges[kind]})
        order: dict[int, int] = {}
        low: dict[int, int] = {}
        path: list[int] = []
        on_path: set[int] = set()
        found: list[set[int]] = []
        for start in starts:
            if start in order:
                continue
            order[start] = low[start] = len(order)
            path.append(start)
            on_path.add(start)
            calls = [(start, iter(self.targets(start, kinds)))]
            while calls:
                vertex, targets = calls[-1]
                for target in targets:
                    if allowed is not None and target not in allowed:
                        continue
                    if target not in order:
                        order[target] = low[target] = len(order)
                        path.append(target)
                        on_path.add(target)
                        calls.append((target, iter(self.targets(target, kinds))))
                        break
                    if target in on_path:
                        low[vertex] = min(low[vertex], order[target])
                else:
                    calls.pop()
                    if calls:
                        low[calls[-1][0]] = min(low[calls[-1][0]], low[vertex])
                    if low[vertex] == order[vertex]:
                        component = set[int]()
                        while vertex not in component:
                            component.add(path.pop())
                        on_path -= component
                        if len(component) > 1:
                            found.append(component)
        return found

    def shortest_cycle(
        self,
        first: Sequence[EdgeKind],
        rest: Sequence[EdgeKind],
        within: Collection[int],
        budget: SearchBudget,
        apart: bool = False,
    ) -> list[Edge]:
        """Return the edges of a shortest cycle with an edge of ``first`` and then edges of ``rest``; or none.

        ``apart``: no two edges of kind rw follow each other, all around; it may then pass a vertex twice.
        """
        best: list[Edge] = []
        for vertex in sorted(within):
            for edge in self.edges_from(vertex, first):
                if edge.target in within:
                    path = self._path_back(edge, rest, within, budget, apart, len(best) - 1 if best else None)
                    if path:
                        best = [edge, *path]
                    if budget.is_spent or len(best) == 2:
                        return best
        return best

    def _path_back(
        self,
        edge: Edge,
        kinds: Sequence[EdgeKind],
        within: Collection[int],
        budget: SearchBudget,
        apart: bool,
        shorter_than: int | None,
    ) -> list[Edge]:
        """Return the edges of a shortest path from the end of an edge to its beginning: breadth-first search."""
        start = (edge.target, apart and edge.kind == "rw")
        came_from: dict[_Place, tuple[Edge, _Place] | None] = {start: None}
        waiting = deque([(start, 0)])
        while waiting:
            at, length = waiting.popleft()
            if shorter_than is not None and length + 1 >= shorter_than:
                return []
            for step in self.edges_from(at[0], [kind for kind in kinds if not (at[1] and kind == "rw")]):
                if not budget.spend():
                    return []
                after = (step.target, apart and step.kind == "rw")
                if step.target not in within or after in came_from:
                    continue
                came_from[after] = step, at
                if step.target == edge.source and not (after[1] and edge.kind == "rw"):
                    return _path_to(after, came_from)
                waiting.append((after, length + 1))
        return []


def _path_to(place: _Place, came_from: dict[_Place, tuple[Edge, _Place] | None]) -> list[Edge]:
    path = []
    while (came := came_from[place]) is not None:
        edge, place = came
        path.append(edge)
    return path[::-1]

"""Cycles in graphs, compared with a slow definition."""

from hypothesis import given
from hypothesis import strategies as st

from lab.worlds.explored.explorer import StateGraph

Nodes = list[tuple[bool, list[int], bool]]
"""Of each: whether it is wanted, what can follow it, and whether the first of that is by a wait."""

GRAPHS = st.integers(1, 7).flatmap(
    lambda size: st.lists(
        st.tuples(st.booleans(), st.lists(st.integers(0, size - 1), max_size=3), st.booleans()),
        min_size=size,
        max_size=size,
    )
)


def reached(nodes: Nodes, begin: int) -> set[int]:
    """Return the states reachable through wanted states alone."""
    found = {begin}
    for _ in nodes:
        found |= {after for at in found for after in nodes[at][1] if nodes[after][0]}
    return found


@given(GRAPHS)
def test_a_cycle_is_found_exactly_where_there_is_one(nodes: Nodes) -> None:
    """Each state on it is wanted, and leads to the next, the first by a wait."""
    waits = [ways[0] if ways and waits else None for _, ways, waits in nodes]
    graph = StateGraph()
    for (_, ways, _), wait in zip(nodes, waits, strict=True):
        graph.add(ways, wait)
    cycle = graph.cycle(bytearray(wanted for wanted, _, _ in nodes))
    assert bool(cycle) == any(
        wait is not None and nodes[at][0] and nodes[wait][0] and at in reached(nodes, wait)
        for at, wait in enumerate(waits)
    )
    for at, after in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
        assert nodes[at][0]
        assert after in nodes[at][1]
    if cycle:
        assert waits[cycle[0]] == [*cycle, cycle[0]][1]

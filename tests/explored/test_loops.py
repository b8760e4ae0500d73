"""Cycles in graphs, beside a definition of them that is too slow to use."""

from hypothesis import given
from hypothesis import strategies as st

from lab.worlds.explored.loops import Graph

GRAPHS = st.integers(1, 7).flatmap(
    lambda size: st.lists(
        st.tuples(st.booleans(), st.lists(st.integers(0, size - 1), max_size=3)), min_size=size, max_size=size
    )
)


def can_come_back(nodes: list[tuple[bool, list[int]]]) -> bool:
    """Whether from some wanted state, by wanted ones alone, one comes back to it."""
    for root, (wanted, _) in enumerate(nodes):
        reached = {root} if wanted else set()
        for _ in nodes:
            reached = {after for at in reached for after in nodes[at][1] if nodes[after][0]} | reached - {root}
            if root in reached:
                return True
    return False


@given(GRAPHS)
def test_a_cycle_is_found_exactly_where_there_is_one(nodes: list[tuple[bool, list[int]]]) -> None:
    """And it is one: each state is wanted, and leads to the next."""
    graph = Graph()
    for _, ways in nodes:
        graph.add(ways)
    cycle = graph.cycle(bytearray(wanted for wanted, _ in nodes))
    assert bool(cycle) == can_come_back(nodes)
    for at, after in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
        assert nodes[at][0]
        assert after in nodes[at][1]

"""Graphs of dependencies: components and cycles, against what reachability says of small drawn graphs."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from lab.histories.dependency_graph import DependencyGraph, Edge, EdgeKind, SearchBudget
from lab.histories.transaction_result import name_of_cycle

VERTICES = range(6)
EDGES = st.lists(
    st.builds(
        Edge,
        st.sampled_from(VERTICES),
        st.sampled_from(VERTICES),
        st.sampled_from(("ww", "wr", "rw")),
        st.just(""),
    ),
    max_size=14,
)
Pairs = set[tuple[int, int]]


def graph_of(edges: Sequence[Edge]) -> DependencyGraph:
    graph = DependencyGraph()
    for edge in edges:
        graph.add(edge)
    return graph


def pairs(edges: Sequence[Edge], *kinds: EdgeKind) -> Pairs:
    return {(each.source, each.target) for each in edges if each.kind in kinds and each.source != each.target}


def closure(relation: Pairs) -> Pairs:
    """Return the transitive closure."""
    found = set(relation)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


@given(EDGES)
def test_components_are_those_of_reachability(edges: list[Edge]) -> None:
    reaches = closure(pairs(edges, "ww", "rw"))
    expected = {
        frozenset(other for other in VERTICES if (each, other) in reaches and (other, each) in reaches)
        for each in VERTICES
        if (each, each) in reaches
    }
    assert set(map(frozenset, graph_of(edges).components(("ww", "rw")))) == expected


@given(EDGES)
def test_a_cycle_with_one_anti_dependency_is_found_if_there_is_one(edges: list[Edge]) -> None:
    """And it is a cycle, of these edges, and none is shorter."""
    cycle = graph_of(edges).shortest_cycle(("rw",), ("ww", "wr"), set(VERTICES), SearchBudget(10_000))
    others = pairs(edges, "ww", "wr")
    lengths = dict.fromkeys(others, 1)
    for length in range(2, 7):
        for a, b in list(lengths):
            for c, d in others:
                if b == c:
                    lengths.setdefault((a, d), length)
    found = [lengths[target, source] + 1 for source, target in pairs(edges, "rw") if (target, source) in lengths]
    assert len(cycle) == min(found, default=0)
    _check_is_a_cycle(cycle, edges)
    if cycle:
        assert name_of_cycle(cycle) == "G-single"


@given(EDGES)
def test_a_cycle_of_anti_dependencies_apart_is_found_if_there_is_one(edges: list[Edge]) -> None:
    """As the theorem of snapshot isolation has it: each anti-dependency follows an edge of another kind."""
    cycle = graph_of(edges).shortest_cycle(
        ("rw",), ("ww", "wr", "rw"), set(VERTICES), SearchBudget(10_000), apart=True
    )
    others, reads = pairs(edges, "ww", "wr"), pairs(edges, "rw")
    composed = {(a, c) for a, b in others for source, c in reads if source == b}
    steps = closure(others | composed)
    exists = any((a, c) in composed and ((c, a) in steps or a == c) for a in VERTICES for c in VERTICES)
    assert bool(cycle) == exists
    _check_is_a_cycle(cycle, edges)
    if cycle:
        assert name_of_cycle(cycle) in ("G-single", "G-nonadjacent")


def _check_is_a_cycle(cycle: Sequence[Edge], edges: Sequence[Edge]) -> None:
    for place, edge in enumerate(cycle):
        assert edge in edges
        assert edge.target == cycle[(place + 1) % len(cycle)].source


def test_a_budget_bounds_the_search() -> None:
    """Nothing is found then, and the budget is known to be spent."""
    edges = [Edge(each, (each + 1) % 6, "rw" if each == 0 else "ww", "") for each in VERTICES]
    budget = SearchBudget(3)
    assert graph_of(edges).shortest_cycle(("rw",), ("ww",), set(VERTICES), budget) == []
    assert budget.is_spent
    assert len(graph_of(edges).shortest_cycle(("rw",), ("ww",), set(VERTICES), SearchBudget(100))) == 6

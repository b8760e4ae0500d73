"""A4 on records by hand: which nodes must agree while the network is partitioned, and when none need to."""

from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.properties.states import closed_groups
from lab.recording.records import End, Fault, Routed
from tests.properties.recorded import WITHIN_US, Records, judged, summaries

Cut = tuple[tuple[int, int], ...]
BETWEEN: Cut = tuple((a, b) for a, b in product((1, 2, 3, 4, 5), repeat=2) if (a < 3) != (b < 3))
"""Partition 1 2 | 3 4 5."""


def records(*nodes: int) -> Records:
    """Return records of nodes that promise A4 alone."""
    return Records(nodes or (1, 2, 3, 4, 5), promises=("A4",))


def late(run: Records) -> list[tuple[str, tuple[int, ...], list[int | str]]]:
    """Return the violations found after more than the bound."""
    return summaries(run.after(2 * WITHIN_US).fires(1).violations)


# parties


@given(st.sets(st.integers(1, 6)), st.sets(st.tuples(st.integers(1, 6), st.integers(1, 6))))
def test_closed_groups(there: set[int], cuts: set[tuple[int, int]]) -> None:
    """They are disjoint; all nodes in one can talk to each other, and to no others.

    None is missing, and a single node that can talk to no other is one.
    """
    nodes, cut = tuple(sorted(there)), frozenset(pair for pair in cuts if pair[0] != pair[1])

    def talk(one: int, other: int) -> bool:
        return (one, other) not in cut and (other, one) not in cut

    found = closed_groups(nodes, cut)
    assert sorted(sum(found, ())) == sorted(set(sum(found, ())))
    for party in found:
        assert all(talk(one, other) for one, other in combinations(party, 2))
        assert not any(talk(one, other) for one in party for other in nodes if other not in party)
    really = []
    for size in range(1, len(nodes) + 1):
        for some in combinations(nodes, size):
            rest = [node for node in nodes if node not in some]
            if all(talk(*pair) for pair in combinations(some, 2)) and not any(
                talk(one, other) for one, other in product(some, rest)
            ):
                really.append(some)
    assert sorted(found) == sorted(really)


# who has to agree


def test_all_must_be_in_one_group() -> None:
    """A4: all Normal under one of them, in the same group; a group or a coordinator alone is not enough."""
    assert not late(records().grouped([5, 2], 5, 1, 2, 3, 4, 5))
    assert late(records().grouped([5, 2], 5, 1, 2, 3, 4).grouped([5, 3], 5, 5)) == [("A4", (1, 2, 3, 4, 5), [])]
    assert late(records().grouped([5, 2], 5, 1, 2, 3, 5).grouped([5, 2], 5, 4, status="Reorganization"))
    assert late(records().grouped([5, 2], 5, 1, 2).grouped([4, 1], 4, 3, 4, 5))
    assert late(records(1, 2).grouped([5, 2], 5, 1, 2)), "5 is no node"


def test_a_change_of_group_in_one_step() -> None:
    """A4: Normal before and after, under the same coordinator; only the group is another one."""
    run = records(1, 2).grouped([2, 1], 2, 1, 2)
    assert not late(run)
    assert late(run.grouped([2, 2], 2, 1)) == [("A4", (1, 2), [])]


def test_dead_and_paused_nodes_need_not_agree() -> None:
    """A4: nothing is required of dead nodes; while one is paused, nothing of any node."""
    assert not late(records().grouped([5, 2], 5, 1, 2, 3, 5).process(4, "killed"))
    paused = records().grouped([5, 2], 5, 1, 2).process(4, "paused")
    assert not late(paused)
    assert judged(paused.records).decided_us == 0
    assert late(paused.process(4, "resumed")) == [("A4", (1, 2, 3, 4, 5), [])]


def test_both_parts_of_a_partition_are_judged() -> None:
    """A4: each part must agree by itself; only the one that does not is named."""
    one, other = ([2, 1], 2, 1, 2), ([5, 1], 5, 3, 4, 5)

    def parted(*groups: tuple[Any, ...]) -> Records:
        run = records()
        run.fault("partition", 8, links=BETWEEN)
        for group in groups:
            run.grouped(*group)
        return run

    assert not late(parted(one, other))
    assert late(parted(other)) == [("A4", (1, 2), [])]
    assert late(parted(one)) == [("A4", (3, 4, 5), [])]
    assert late(parted(([5, 1], 5, 1, 2, 3, 4, 5))) == [("A4", (1, 2), [])], "5 is not among them"
    assert judged(parted().records).decided_us == WITHIN_US + 1


def test_the_bound_starts_with_the_partition() -> None:
    """A4: a bounded response to the partition, and again to its end."""
    run = records().grouped([5, 1], 5, 1, 2, 3, 4, 5).after(5 * WITHIN_US).fires(1)
    number = run.fault("partition", 8, links=BETWEEN)
    assert not run.after(WITHIN_US).fires(1).violations
    run.grouped([2, 1], 2, 1, 2)
    assert not run.after(WITHIN_US).fires(1).violations
    run.lift(number).after(WITHIN_US).fires(1)
    assert not run.violations
    assert summaries(run.after(1).fires(1).violations) == [("A4", (1, 2, 3, 4, 5), [])]


def test_a_partition_that_is_narrowed() -> None:
    """A4: healed links count: 2 hears 3, 4 and 5 again, but 1 does not."""
    run = records().grouped([2, 1], 2, 1, 2).grouped([5, 1], 5, 3, 4, 5)
    number = run.fault("partition", 8, links=BETWEEN)
    assert not late(run)
    run.add(Fault(run.at_us, number, "partition", links=((1, 3), (1, 4), (1, 5))))
    assert not late(run), "whoever hears some does not hear all of them"
    run.add(Fault(run.at_us, number, "partition", links=((1, 2), (1, 3), (1, 4), (1, 5))))
    assert late(run) == [("A4", (1, 2, 3, 4, 5), [])], "and 1 is alone, under one it cannot hear"


def test_messages_dropped_by_a_partition_are_no_disturbance() -> None:
    """A4: coordinators look for each other all the time, and their messages are lost; that is no new failure."""
    run = records().grouped([2, 1], 2, 1, 2)
    number = run.fault("partition", 8, links=BETWEEN)
    for _ in range(5):
        serial = run.after(WITHIN_US // 4).sends(2, 5)
        run.add(Routed(run.at_us, 2, serial, "dropped", "cut", by=(number,)))
    assert summaries(run.violations) == [("A4", (3, 4, 5), [])]


@pytest.mark.parametrize(("kind", "assumption"), [("lose", 8), ("delay", 8), ("hold", 8), ("duplicate", 3)])
def test_no_agreement_is_required_while_messages_are_lost_or_late(kind: str, assumption: int) -> None:
    """A4: nor during an additional partition; from the end of the fault on it is."""
    run = records().grouped([2, 1], 2, 1, 2)
    run.fault("partition", 8, links=BETWEEN)
    number = run.fault(kind, assumption, links=((1, 2),))
    assert not late(run)
    assert judged(run.records).decided_us == 0
    assert late(run.lift(number)) == [("A4", (3, 4, 5), [])]


def test_a_cut_in_one_direction() -> None:
    """A4: two nodes that cannot talk both ways are in two groups.

    Nothing is required of nodes that could talk only through a third.
    """

    def cut(*nodes: int) -> Records:
        run = records(*nodes)
        run.fault("cut", 8, links=((1, 2),))
        return run

    assert late(cut(1, 2)) == [("A4", (1, 2), [])]
    assert not late(cut(1, 2).grouped([1, 1], 1, 1).grouped([2, 1], 2, 2))
    assert not late(cut(1, 2, 3))


def test_a_part_whose_last_node_crashes() -> None:
    """A4: no node is left to agree in that part."""
    run = records().grouped([5, 1], 5, 3, 4, 5)
    run.fault("partition", 8, links=BETWEEN)
    run.process(1, "killed").process(2, "killed").after(2 * WITHIN_US)
    assert not run.add(End(run.at_us, "its time limit was reached")).violations

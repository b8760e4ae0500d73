"""A4 on records by hand: who has to agree with whom while the network is parted, and when nobody has to."""

from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.properties.liveness import parties
from lab.recording.records import End, Fault, Routed
from tests.properties.recorded import WITHIN_US, Records, judged, said

Cut = tuple[tuple[int, int], ...]
BETWEEN: Cut = tuple((a, b) for a, b in product((1, 2, 3, 4, 5), repeat=2) if (a < 3) != (b < 3))
"""Partition 1 2 | 3 4 5."""


def records(*nodes: int) -> Records:
    """Of nodes that promise A4 alone."""
    return Records(nodes or (1, 2, 3, 4, 5), promises=("A4",))


def late(told: Records) -> list[tuple[str, tuple[int, ...], list[int]]]:
    """What is found when more than enough time has passed."""
    return said(told.after(2 * WITHIN_US).fires(1).violations)


# parties


@given(st.sets(st.integers(1, 6)), st.sets(st.tuples(st.integers(1, 6), st.integers(1, 6))))
def test_parties(there: set[int], cuts: set[tuple[int, int]]) -> None:
    """They are disjoint, all in one can talk to each other, and none of them to anybody else; no such set is left
    out, and a single node that can talk to nobody is one."""
    nodes, cut = tuple(sorted(there)), frozenset(pair for pair in cuts if pair[0] != pair[1])

    def talk(one: int, other: int) -> bool:
        return (one, other) not in cut and (other, one) not in cut

    found = parties(nodes, cut)
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


def test_all_have_to_be_in_one_group() -> None:
    """A4: all Normal under one of them, in the same group; a group or a coordinator alone will not do."""
    assert not late(records().grouped([5, 2], 5, 1, 2, 3, 4, 5))
    assert late(records().grouped([5, 2], 5, 1, 2, 3, 4).grouped([5, 3], 5, 5)) == [("A4", (1, 2, 3, 4, 5), [])]
    assert late(records().grouped([5, 2], 5, 1, 2, 3, 5).grouped([5, 2], 5, 4, status="Reorganization"))
    assert late(records().grouped([5, 2], 5, 1, 2).grouped([4, 1], 4, 3, 4, 5))
    assert late(records(1, 2).grouped([5, 2], 5, 1, 2)), "5 is no node"


def test_one_that_goes_to_another_group_in_one_step() -> None:
    """A4: Normal before and after, under the same coordinator; the group alone is another one."""
    told = records(1, 2).grouped([2, 1], 2, 1, 2)
    assert not late(told)
    assert late(told.grouped([2, 2], 2, 1)) == [("A4", (1, 2), [])]


def test_the_dead_and_the_paused_need_not_agree() -> None:
    """A4: whoever is dead is asked for nothing; while one stands still nobody is."""
    assert not late(records().grouped([5, 2], 5, 1, 2, 3, 5).process(4, "killed"))
    paused = records().grouped([5, 2], 5, 1, 2).process(4, "paused")
    assert not late(paused)
    assert judged(paused.records).decided_us == 0
    assert late(paused.process(4, "resumed")) == [("A4", (1, 2, 3, 4, 5), [])]


def test_both_sides_of_a_partition_are_judged_while_it_is_in_force() -> None:
    """A4: each side agrees by itself; which does not is named, and the other is not."""
    one, other = ([2, 1], 2, 1, 2), ([5, 1], 5, 3, 4, 5)

    def parted(*groups: tuple[Any, ...]) -> Records:
        told = records()
        told.fault("partition", 8, links=BETWEEN)
        for group in groups:
            told.grouped(*group)
        return told

    assert not late(parted(one, other))
    assert late(parted(other)) == [("A4", (1, 2), [])]
    assert late(parted(one)) == [("A4", (3, 4, 5), [])]
    assert late(parted(([5, 1], 5, 1, 2, 3, 4, 5))) == [("A4", (1, 2), [])], "5 is not among them"
    assert judged(parted().records).decided_us == WITHIN_US + 1


def test_a_side_has_its_time_from_when_it_is_parted() -> None:
    """A4: a bounded response to the partition, and again to its end."""
    told = records().grouped([5, 1], 5, 1, 2, 3, 4, 5).after(5 * WITHIN_US).fires(1)
    number = told.fault("partition", 8, links=BETWEEN)
    assert not told.after(WITHIN_US).fires(1).violations
    told.grouped([2, 1], 2, 1, 2)
    assert not told.after(WITHIN_US).fires(1).violations
    told.lift(number).after(WITHIN_US).fires(1)
    assert not told.violations
    assert said(told.after(1).fires(1).violations) == [("A4", (1, 2, 3, 4, 5), [])]


def test_a_partition_that_is_narrowed() -> None:
    """A4: what is healed of it counts: 2 hears 3, 4 and 5 again, but 1 does not."""
    told = records().grouped([2, 1], 2, 1, 2).grouped([5, 1], 5, 3, 4, 5)
    number = told.fault("partition", 8, links=BETWEEN)
    assert not late(told)
    told.add(Fault(told.at_us, number, "partition", links=((1, 3), (1, 4), (1, 5))))
    assert not late(told), "whoever hears some does not hear all of them"
    told.add(Fault(told.at_us, number, "partition", links=((1, 2), (1, 3), (1, 4), (1, 5))))
    assert late(told) == [("A4", (1, 2, 3, 4, 5), [])], "and 1 is alone, under one it cannot hear"


def test_what_a_partition_drops_puts_nothing_off() -> None:
    """A4: coordinators look for each other all the time, and what they send is lost; that is no new failure."""
    told = records().grouped([2, 1], 2, 1, 2)
    number = told.fault("partition", 8, links=BETWEEN)
    for _ in range(5):
        serial = told.after(WITHIN_US // 4).sends(2, 5)
        told.add(Routed(told.at_us, 2, serial, "dropped", "cut", by=(number,)))
    assert said(told.violations) == [("A4", (3, 4, 5), [])]


@pytest.mark.parametrize(("kind", "assumption"), [("lose", 8), ("delay", 8), ("hold", 8), ("duplicate", 3)])
def test_nobody_need_agree_while_messages_are_lost_or_late(kind: str, assumption: int) -> None:
    """A4: nor where the network is parted besides; from the end of that fault on they need."""
    told = records().grouped([2, 1], 2, 1, 2)
    told.fault("partition", 8, links=BETWEEN)
    number = told.fault(kind, assumption, links=((1, 2),))
    assert not late(told)
    assert judged(told.records).decided_us == 0
    assert late(told.lift(number)) == [("A4", (3, 4, 5), [])]


def test_a_cut_in_one_direction() -> None:
    """A4: two that cannot talk both ways are two parties; of whoever could talk through a third, nothing is
    asked."""

    def cut(*nodes: int) -> Records:
        told = records(*nodes)
        told.fault("cut", 8, links=((1, 2),))
        return told

    assert late(cut(1, 2)) == [("A4", (1, 2), [])]
    assert not late(cut(1, 2).grouped([1, 1], 1, 1).grouped([2, 1], 2, 2))
    assert not late(cut(1, 2, 3))


def test_a_party_whose_last_node_dies() -> None:
    """A4: nobody is left to agree on that side."""
    told = records().grouped([5, 1], 5, 3, 4, 5)
    told.fault("partition", 8, links=BETWEEN)
    told.process(1, "killed").process(2, "killed").after(2 * WITHIN_US)
    assert not told.add(End(told.at_us, "its time was up")).violations

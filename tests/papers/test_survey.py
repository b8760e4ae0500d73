"""Rules F2 and F3 for surveys alone: knowledge is joined, and readings are counted.

A model keeps the set of readings that each node knows. Whatever the nodes survey, send each other and forget, a
``Survey`` gives exactly the number of results in that set, and the number of duplicates.
"""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from lab.kernel import Node
from lab.protocols import Bully, Definition, Field, stacked
from lab.protocols.survey import NOBODY, ReadingCount, Survey, join
from tests.harness import TIMING

REGIONS = 5
NODES = 4
STACK = stacked(Field, Bully)
NODE = Node(STACK, 1, (1, 2, 3), TIMING, STACK.Parameters(regions=REGIONS))

regions = st.integers(0, REGIONS - 1)
nodes = st.integers(0, NODES - 1)
Reading = tuple[int, int, int, int, int]
"""The node, its life, the how many-th of that life; the survey and the region."""


class Known(Struct):
    """One incarnation of a node: its knowledge as a ``Survey``, and as a set of readings."""

    id: int
    incarnation: int = 1
    survey: Survey = Survey()
    known: frozenset[Reading] = frozenset()
    made: int = 0

    def read(self, region: int) -> None:
        """Survey one region, unless it is done."""
        if region not in self.survey.pending(REGIONS):
            return
        self.made += 1
        self.known |= {(self.id, self.incarnation, self.made, self.survey.number, region)}
        done = tuple(self.id if each == region else NOBODY for each in range(REGIONS))
        made = (ReadingCount(self.id, self.incarnation, self.made),)
        self.survey = join((self.survey, Survey(self.survey.number, done, made)))

    def learn(self, other: "Known") -> None:
        """Join all knowledge of the other node."""
        self.survey = join((self.survey, other.survey))
        self.known |= other.known

    def crash(self) -> None:
        """Forget everything."""
        self.incarnation += 1
        self.survey, self.known, self.made = Survey(), frozenset(), 0


steps = st.one_of(
    st.tuples(st.just("read"), nodes, regions),
    st.tuples(st.just("read"), nodes, regions),
    st.tuples(st.just("learn"), nodes, nodes),
    st.tuples(st.just("crash"), nodes, regions),
)


def after(course: Iterable[tuple[str, int, int]]) -> list[Known]:
    """Return the nodes after all of these events."""
    there = [Known(number) for number in range(NODES)]
    for verb, node, detail in course:
        if verb == "learn":
            there[node].learn(there[detail])
        elif verb == "read":
            there[node].read(detail)
        else:
            there[node].crash()
    return there


def results(known: Iterable[Reading]) -> set[tuple[int, int]]:
    """Return the distinct results of these readings."""
    return {(number, region) for _, _, _, number, region in known}


@given(st.lists(steps, max_size=120))
def test_F3_total_is_distinct_and_duplicates(course: list[tuple[str, int, int]]) -> None:
    """Readings are results plus duplicates, exactly as in the set of readings that a node knows."""
    for node in after(course):
        assert node.survey.readings() == len(node.known)
        assert node.survey.results(REGIONS) == len(results(node.known))
        assert node.survey.duplicates(REGIONS) == len(node.known) - len(results(node.known)) >= 0


@given(st.lists(steps, max_size=120))
def test_F3_no_result_is_lost(course: list[tuple[str, int, int]]) -> None:
    """After a join, all nodes know what any node knew."""
    there = after(course)
    together = join(node.survey for node in there)
    for number, region in results(reading for node in there for reading in node.known):
        assert number < together.number or together.done[region] != NOBODY


@given(st.lists(steps, max_size=80), st.permutations(range(NODES)))
def test_F3_the_order_of_the_reports_does_not_matter(course: list[tuple[str, int, int]], order: list[int]) -> None:
    """Joined in any order, in any grouping, and with a duplicated report."""
    known = [node.survey for node in after(course)]
    together = join(known)
    assert join(known[place] for place in order) == together
    assert join((join(known[:2]), join(known[2:]))) == together
    assert join((*known, *known)) == together
    assert join((together, known[0])) == together


@given(st.lists(steps, max_size=80))
def test_F3_a_join_is_monotonic(course: list[tuple[str, int, int]]) -> None:
    """A join never reduces results, readings or duplicates."""
    known = [node.survey for node in after(course)]
    for one in known:
        for other in known:
            both = join((one, other))
            assert both.results(REGIONS) >= one.results(REGIONS)
            assert both.readings() >= one.readings()


@given(st.lists(steps, max_size=60), st.permutations(range(NODES)), st.integers(1, NODES))
def test_F2_a_division_covers_the_field(course: list[tuple[str, int, int]], order: list[int], count: int) -> None:
    """For any reports in any order, every region has a member, and no knowledge is lost."""
    reports = [Definition(survey=node.survey) for node in after(course)]
    members = tuple(range(count))
    field = NODE.protocol.upper_layer
    assert isinstance(field, Field)
    new = field.divide(Definition(version=9, members=members), reports)
    assert new == field.divide(Definition(version=9, members=members), [reports[place] for place in order])
    assert new.survey == join(report.survey for report in reports)
    assert len(new.regions) == REGIONS
    pending = new.survey.pending(REGIONS)
    for shared in (pending, [region for region in range(REGIONS) if region not in pending]):
        counts = [sum(new.regions[region] == member for region in shared) for member in members]
        assert sum(counts) == len(shared)
        assert max(counts) - min(counts) <= 1


def test_F3_two_groups_that_surveyed_the_whole_field() -> None:
    """Each made all five readings; of ten, five are duplicates."""
    one = Survey(2, (), (ReadingCount(1, 0, 5),))
    other = Survey(2, (), (ReadingCount(2, 0, 3), ReadingCount(3, 0, 2)))
    both = join((one, other))
    assert (both.results(REGIONS), both.readings(), both.duplicates(REGIONS)) == (5, 10, 5)


def test_F2_a_complete_survey_is_the_next_one_with_nothing_done() -> None:
    """When the last region is done, all are pending again."""
    half, rest = Survey(7, (1, 1, NOBODY, NOBODY, NOBODY)), Survey(7, (NOBODY, NOBODY, 2, 2, 3))
    assert join((half, rest)) == Survey(8)
    assert Survey(8).pending(REGIONS) == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("surveys", [[], [Survey()], [Survey(), Survey()]])
def test_F2_no_reports_join_to_an_empty_survey(surveys: list[Survey]) -> None:
    """No reports, or empty ones."""
    assert join(surveys) == Survey()
    assert join(surveys).duplicates(REGIONS) == 0

"""Coverage of a protocol's file: its lines, both outcomes of each condition, and the rules that it cites."""

from typing import ClassVar

import pytest

from lab.kernel import Node, Safe, Started, procedure
from lab.protocols import Algorithm
from lab.recording.records import Fault, Process, Record
from lab.worlds.campaign.coverage import WayTrace, coverage_of
from lab.worlds.campaign.schedule import draw
from lab.worlds.campaign.situations import MAJORITIES, Majority, SituationReader, majorities_in
from lab.worlds.campaign.trial import run_trial
from tests.campaign.trials import TIMING, base_of, plan
from tests.harness import simulated_header


class Counts(Algorithm):
    """A node that counts its starts."""

    name: ClassVar[str] = "counts"
    starts: Safe[int] = 0

    def started(self) -> None:
        """Count (rule B2)."""
        self.starts += 1
        if self.starts > 1_000:
            self.give_up()
        if self.starts > 0:
            self.begin(self.work)

    @procedure
    async def work(self) -> None:
        """Work for a while (rule M7)."""
        await self.sleep(1_000, "the end of its work")

    def give_up(self) -> None:
        """Give up (rule B9)."""
        self.starts = 0


def test_what_was_reached() -> None:
    """One call is never made; one condition is never true, another never false."""
    ways: set[tuple[int, int]] = set()
    run_trial(Counts, base_of(Counts), draw(plan(Counts, nodes=(2, 2)), 1), ways=ways)
    found = coverage_of(Counts, ways)
    assert found.rules == ["B2", "B9", "M7"]
    assert found.missed_rules == ["B9"]
    first = Counts.started.__code__.co_firstlineno
    assert found.missed_lines == [first + 4, Counts.give_up.__code__.co_firstlineno + 2]
    mine = [(line - first, outcome) for line, outcome in found.missed_branches if first < line < first + 10]
    assert mine == [(3, True), (5, False)]


def test_closed_coroutine_reaches_nothing() -> None:
    """A procedure that never ran is closed when its node is collected, in whatever run that is: it adds no way."""
    node = Node(Counts, 1, (1, 2), TIMING)
    ways: set[tuple[int, int]] = set()
    with WayTrace(Counts, ways):
        node.step(Started({}, 1, 1), 0)
    executed = set(ways)
    assert executed
    entered = node.protocol.work()  # type: ignore[attr-defined]
    entered.send(None)
    with WayTrace(Counts, ways):
        entered.close()
    assert ways == executed


def test_situations_have_no_numbers() -> None:
    """Clusters of two and of seven meet the same situations where nothing but ids and counters differs."""
    reached = []
    for nodes in (2, 7):
        schedule = draw(plan(Counts, nodes=(nodes, nodes)), 1)
        trial = run_trial(Counts, base_of(Counts), schedule, extend=False, with_situations=True)
        reader = SituationReader(Counts, with_points=False)
        for record in trial.records:
            reader.observe(record)
        assert reader.situations([]) == trial.situations
        reached.append(trial.situations.all)
    assert reached[0] & reached[1]
    assert len(reached[0] | reached[1]) < 20


@pytest.mark.parametrize(
    ("away", "far", "reached"),
    [
        ((), (), "all"),
        ((1,), (), "some majority"),
        ((1, 2), (), "smallest majority"),
        ((1, 2, 3), (), "no majority"),
        ((), (1, 2), "smallest majority"),
        ((3,), (1, 2), "no majority"),
        ((5,), (5,), "some majority"),
    ],
)
def test_connected_nodes(away: tuple[int, ...], far: tuple[int, ...], reached: Majority) -> None:
    """Of five nodes, those count that run and that no cut separates; before all have started, nothing counts.

    What happens to a service, which is no node of the cluster, does not matter.
    """
    nodes = range(1, 6)
    links = tuple((a, b) for a in nodes for b in nodes if (a in far) != (b in far))
    records: list[Record] = [
        simulated_header(Counts, tuple(nodes), TIMING),
        *(Process(1, node, "started", 1) for node in nodes),
        Process(1, 9, "started", 1),
        Process(1, 9, "killed", 1),
        Fault(2, 1, "partition", links=links),
        *(Process(3, node, "paused" if node == 1 else "killed") for node in away),
    ]
    assert majorities_in(records[:5]) == frozenset()
    assert max(majorities_in(records), key=MAJORITIES.index) == reached

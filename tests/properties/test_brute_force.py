"""The judge against brute force: all consistent cuts of small runs, one by one."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.properties.assertions import BUILT_IN
from lab.properties.declarations import Agreement
from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.protocols import Bully
from lab.recording.records import Record, encode
from tests.harness import T_US, Rig
from tests.profile import amount
from tests.properties.brute import Run, disagree
from tests.properties.synthetic import Act, acts, run_of

THOROUGH = settings(max_examples=amount(quick=40, soak=1_000))
SEEDS = range(amount(quick=16, soak=200))


def judged(records: list[Record]) -> list[Violation]:
    """Return the violations that the judge finds."""
    header = records[0]
    judge = Judge(header)  # type: ignore[arg-type]
    for record in records:
        judge.observe(record)
    return judge.violations


def agree(records: list[Record]) -> int:
    """Compare the judge with brute force; return the number of offending pairs of nodes."""
    run, found = Run(records), judged(records)
    listing = "\n".join(encode(record).decode()[:300] for record in records)
    pairs = 0
    for agreement in (each for each in BUILT_IN if isinstance(each, Agreement)):
        name = agreement.id
        mine = [violation for violation in found if violation.assertion == name]
        really = run.offending(agreement)
        pairs += len(really)
        low_first = {(min(violation.nodes), max(violation.nodes)) for violation in mine}
        assert low_first == really, f"{name}: the judge has {low_first}, brute force {really}\n{listing}"
        for violation in mine:
            cut = run.cut_at(violation.cut)
            assert run.is_consistent(cut), f"{violation.cut} of {violation} is no consistent cut\n{listing}"
            counts = dict(zip(run.nodes, cut, strict=True))
            one, other = (run.state(state.node, counts[state.node]) for state in violation.states)
            assert one is not None
            assert other is not None
            assert disagree(agreement, one, other), f"in {violation.cut} nobody offends: {violation}\n{listing}"
            for state, view in zip(violation.states, (one, other), strict=True):
                (begun,) = (event for event in run.events[state.node] if event.record == state.record)
                assert agreement.value_of(begun.view) == agreement.value_of(view), (
                    f"{state} is not the state of the cut"
                )
    return pairs


NORMAL_1 = ("Normal", 1, 1)
NORMAL_2 = ("Normal", 2, 1)
DOWN = ("Down", 1, 1)
IN_A_GROUP = 3
"""What ``Act.pick`` has to be for it."""


@THOROUGH
@given(acts(3, 18))
def test_three_nodes_in_any_states(happened: list[Act]) -> None:
    """Violated exactly if a cut shows it, for each pair of nodes; the cut of the witness is one of these."""
    agree(run_of(3, happened))


@THOROUGH
@given(acts(4, 16))
def test_four_nodes_in_any_states(happened: list[Act]) -> None:
    """A third and a fourth node through which the others may learn."""
    agree(run_of(4, happened))


def enters(node: int, state: tuple[str, int, int] | None, *targets: int) -> Act:
    """Let a timer of the node fire; the node enters the state, and sends to the targets."""
    return Act("fire", node, 0, state, targets)


def hears(node: int, state: tuple[str, int, int] | None) -> Act:
    """Let the node receive a message and enter the state."""
    return Act("receive", node, 0, state, ())


def does(what: str, node: int = 1) -> Act:
    """Return any other act."""
    return Act(what, node, 0, None, ())


@pytest.mark.parametrize("end", ["kill", "fail"])
def test_a_crash_is_known_to_timers_and_not_to_messages(end: str) -> None:
    """In this, happens-before differs from plain message order."""
    prefix = [enters(1, NORMAL_1, 2), does(end)]
    assert agree(run_of(3, [*prefix, enters(2, NORMAL_2)])) == 0
    assert agree(run_of(3, [*prefix, hears(2, NORMAL_2)])) == 1


def test_a_group_is_agreed_upon_in_concurrent_states_alone() -> None:
    """A3.1 next to A1.1: in a group, without a message that informs 2 that 1 has left it."""

    def grouped(what: str, node: int, state: tuple[str, int, int], *targets: int) -> Act:
        return Act(what, node, IN_A_GROUP, state, targets)

    left = [grouped("fire", 1, NORMAL_1), enters(1, DOWN, 2)]
    assert agree(run_of(3, [*left, grouped("fire", 2, NORMAL_2)])) == 2
    assert agree(run_of(3, [*left, hears(2, DOWN), grouped("fire", 2, NORMAL_2)])) == 0


def test_a_repeated_value_is_the_newest() -> None:
    """1 has a value, another, and the first again: a node that knows only of the end of the second conflicts."""
    again = [enters(1, NORMAL_1), enters(1, NORMAL_2), enters(1, NORMAL_1, 2), hears(2, NORMAL_2)]
    assert agree(run_of(3, again)) == 1


def test_every_copy_of_a_message_has_the_same_stamp() -> None:
    """The third copy, too, carries the news that 1 no longer leads."""
    sent = [enters(1, NORMAL_1), enters(1, DOWN, 2), does("duplicate"), does("duplicate")]
    for copies in (1, 2, 3):
        assert agree(run_of(3, [*sent, *[hears(2, None)] * (copies - 1), hears(2, NORMAL_2)])) == 0
    assert agree(run_of(3, [*sent, does("drop"), does("drop"), hears(2, NORMAL_2)])) == 0
    assert agree(run_of(3, [*sent, *[does("drop")] * 3, hears(2, None), enters(2, NORMAL_2)])) == 1


FAULTS = (
    "kill 3",
    "kill 2",
    "restart 3",
    "restart 2",
    "pause 3",
    "resume 3",
    "pause 2",
    "resume 2",
    "partition 1 2 | 3",
    "partition 1 | 2 3",
    "heal",
    "duplicate all 60%",
    "lose all 20%",
    "delay 3->1 90ms",
)
MOST_EVENTS = 28


@settings(max_examples=amount(quick=10, soak=300))
@given(st.lists(st.tuples(st.integers(0, 8), st.sampled_from(FAULTS)), max_size=6), st.integers(1, 5))
def test_bully_with_faults(strikes: list[tuple[int, str]], seed: int) -> None:
    """Real traffic, as far as its cuts can be enumerated."""
    rig = Rig([1, 2, 3], seed=seed, jitter_us=5_000)
    for when, command in strikes:
        rig.do(f"at {when * 100 + 1}ms {command}")
    rig.started()
    while rig.now_us < 8 * T_US and _busiest(rig) < MOST_EVENTS and rig.step():
        pass
    agree(rig.records)


@pytest.mark.parametrize("seed", SEEDS)
def test_bully_in_any_order(seed: int) -> None:
    """Messages and timers in an order that no clock gives: timeouts without a crash."""
    chance = Random(f"order {seed}")
    rig = Rig([1, 2, 3], parameters=Bully.Parameters(halting="at_once")).started()
    while _busiest(rig) < MOST_EVENTS // 2 and (events := rig.enabled_events()):
        rig.schedule(chance.choice(events))
    agree(rig.records)


def test_some_of_these_orders_offend() -> None:
    """Otherwise the test above would show nothing."""
    offending = 0
    for seed in SEEDS:
        chance = Random(f"order {seed}")
        rig = Rig([1, 2, 3], parameters=Bully.Parameters(halting="at_once")).started()
        while _busiest(rig) < MOST_EVENTS // 2 and (events := rig.enabled_events()):
            rig.schedule(chance.choice(events))
        offending += bool(judged(rig.records))
    assert len(SEEDS) / 8 < offending < len(SEEDS)


def _busiest(rig: Rig) -> int:
    counts = dict.fromkeys(rig.ids, 0)
    for record in rig.records:
        node = getattr(record, "node", None)
        if node is not None:
            counts[node] += 1
    return max(counts.values())

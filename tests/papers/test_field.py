"""Section 7, rules F1 to F3 and M7: the field of sensors above every election, in simulated runs."""

import pytest

from lab.kernel import Started, Step
from lab.protocols import PROTOCOLS, Definition, Election, Field, Survey, stacked
from lab.protocols.survey import NOBODY, ReadingCount, join
from lab.recording.records import Process, Record
from tests.campaign.publishing import FAULTS, plain_trial
from tests.harness import T_US, Rig, Solo
from tests.profile import amount

REGIONS = 64
ELECTIONS = [each for each in PROTOCOLS.values() if issubclass(each, Election)]
above_each = pytest.mark.parametrize("election", ELECTIONS, ids=lambda each: each.name)


def rig(election: type[Election], ids: tuple[int, ...] = (1, 2, 3, 4, 5)) -> Rig:
    """Return a cluster that surveys the field, all nodes Normal under one coordinator."""
    started = Rig(ids, protocol=stacked(Field, election)).started()
    started.run_until_agreed()
    return started.run(20 * T_US)


def leader(rig: Rig) -> int:
    """Return the coordinator of all nodes."""
    agreed = rig.agreed()
    assert agreed is not None
    return agreed


def survey(rig: Rig, node: int) -> Survey:
    """Return a node's knowledge of the field."""
    known: Survey = rig.protocol(node).upper_layer.survey
    return known


def surveyed(rig: Rig, node: int, more: int) -> None:
    """Advance time until the node knows of that many more complete surveys."""
    number = survey(rig, node).number + more
    rig.run_until(lambda: survey(rig, node).number >= number, 100 * T_US, f"{more} more whole surveys")


def states(records: list[Record]) -> list[tuple[Step, dict[str, object]]]:
    """Yield every step with the node's state after it."""
    found: list[tuple[Step, dict[str, object]]] = []
    now: dict[int, dict[str, object]] = {}
    for record in records:
        if isinstance(record, Process) and record.event == "started":
            now[record.node] = {}
        elif isinstance(record, Step):
            now[record.node] = {**now[record.node], **record.changed, **record.stored}
            found.append((record, now[record.node]))
    return found


# F1


@above_each
def test_F1_each_region_is_assigned_to_one_member(election: type[Election]) -> None:
    """The Definition assigns each of the 64 regions to one member, in nearly equal numbers."""
    run = rig(election)
    definition: Definition = run.protocol(leader(run)).definition
    assert len(definition.regions) == REGIONS
    counts = [definition.regions.count(member) for member in definition.members]
    assert sum(counts) == REGIONS
    assert max(counts) - min(counts) <= 2  # what is left of a survey, and what is done, are each shared out


def test_F1_a_field_of_another_size() -> None:
    """``regions`` is a parameter."""
    protocol = stacked(Field, ELECTIONS[0])
    run = Rig((1, 2, 3), protocol=protocol, parameters=protocol.Parameters(regions=7)).started()
    run.run_until_agreed()
    assert len(run.protocol(3).definition.regions) == 7
    run.run(20 * T_US)
    assert survey(run, leader(run)).number > 2
    assert run.protocol(leader(run)).upper_layer.duplicates == 0


@above_each
def test_F1_every_normal_member_surveys_its_own_regions_in_turn(election: type[Election]) -> None:
    """In their order, and no regions of other members."""
    run = rig(election)
    since = len(run.records)
    surveyed(run, leader(run), 2)
    given = run.protocol(leader(run)).definition.regions
    for node in run.ids:
        own = [region for region, member in enumerate(given) if member == node]
        turns = [
            record.changed["surveying"]
            for record in run.records[since:]
            if isinstance(record, Step) and record.node == node
            if record.changed.get("surveying") is not None
        ]
        begin = own.index(turns[0])
        expected = (own * 4)[begin : begin + len(turns)]
        assert turns == expected, node


@above_each
def test_F1_readings_are_reported_to_the_coordinator(election: type[Election]) -> None:
    """To no other node; the coordinator joins them: all members contributed to a complete survey."""
    run = rig(election)
    since, coordinator = len(run.records), leader(run)
    duplicates = run.protocol(coordinator).upper_layer.duplicates  # where each node began by itself
    surveyed(run, coordinator, 3)
    assert {target for _, _, target in run.sent("Reading", since=since)} == {coordinator}
    made = {each.node for each in survey(run, coordinator).made}
    assert made == set(run.ids)
    assert run.protocol(coordinator).upper_layer.duplicates == duplicates


@above_each
def test_F1_a_reading_that_is_lost_is_reported_again(election: type[Election]) -> None:
    """A survey completes without double counts, though reports of a node and answers to it were lost."""
    run = rig(election)
    coordinator = leader(run)
    duplicates = run.protocol(coordinator).upper_layer.duplicates
    rule = run.lose(frozenset({(1, coordinator)}), "Reading")
    whole = survey(run, coordinator).number
    run.run(20 * T_US)
    assert survey(run, coordinator).number == whole, "the regions of 1 are missing"
    run.release(rule)
    rule = run.lose(frozenset({(coordinator, 1)}), "ReadingAnswer")
    surveyed(run, coordinator, 1)
    run.release(rule)
    surveyed(run, coordinator, 2)
    assert run.protocol(coordinator).upper_layer.duplicates == duplicates


def test_F1_the_same_report_twice_counts_once() -> None:
    """Reports contain all work so far: a repeated one changes nothing."""
    run = rig(ELECTIONS[0])
    run.do("duplicate all 100%")
    surveyed(run, leader(run), 4)
    assert run.protocol(leader(run)).upper_layer.duplicates == 0


# F2


@above_each
@pytest.mark.parametrize("victim", [1, 5])
def test_F2_a_new_definition_assigns_all_regions_to_the_remaining_members(
    election: type[Election], victim: int
) -> None:
    """After the crash of a member or the coordinator, the others get its regions."""
    run = rig(election)
    run.run(8 * T_US)
    run.do(f"kill {victim}")
    run.run_until(
        lambda: run.agreed() is not None and victim not in run.protocol(leader(run)).definition.members,
        200 * T_US,
        "a group without it",
    )
    definition: Definition = run.protocol(leader(run)).definition
    assert len(definition.regions) == REGIONS
    assert set(definition.regions) == {1, 2, 3, 4, 5} - {victim}
    surveyed(run, leader(run), 1)


@above_each
def test_F2_finished_work_is_not_lost(election: type[Election]) -> None:
    """B10: the new coordinator continues from all that the remaining members know."""
    run = rig(election)
    coordinator = leader(run)
    surveyed(run, coordinator, 2)
    run.run(T_US)
    run.do(f"kill {coordinator}")
    left = join(survey(run, node) for node in run.ids if node != coordinator)
    run.run_until(
        lambda: run.agreed() is not None and len(run.protocol(leader(run)).definition.members) == 4,
        200 * T_US,
        "a group of four",
    )
    now = survey(run, leader(run))
    assert join((left, now)) == now
    assert now.results(REGIONS) >= left.results(REGIONS) > 2 * REGIONS


def test_F2_only_pending_regions_are_surveyed() -> None:
    """After a crash of a member, no region is surveyed a second time in the current survey."""
    run = rig(ELECTIONS[0])
    surveyed(run, 5, 2)
    run.run(T_US)
    run.do("kill 1")
    surveyed(run, 5, 3)
    assert run.protocol(5).upper_layer.duplicates == 0


def test_F2_pending_regions_are_shared_out_separately() -> None:
    """Otherwise the last regions of a survey could all be assigned to one member."""
    solo = Solo(stacked(Field, ELECTIONS[0]))
    done = tuple(9 if region < 56 else NOBODY for region in range(REGIONS))
    reports = [Definition(survey=Survey(3, done, (ReadingCount(9, 0, 56 + 2 * REGIONS),)))]
    divided = solo.protocol.upper_layer.divide(Definition(members=(1, 2, 3, 4)), reports)
    assert divided.regions[56:] == (1, 1, 2, 2, 3, 3, 4, 4)
    assert [divided.regions.count(member) for member in (1, 2, 3, 4)] == [16] * 4


# F3


@above_each
def test_F3_two_groups_each_cover_the_whole_field(election: type[Election]) -> None:
    """While the network is cut, both sides survey all of it."""
    run = rig(election)
    run.run(10 * T_US)
    run.do("partition 1 2 | 3 4 5")
    run.run(60 * T_US)
    before = {node: survey(run, node).number for node in (2, 5)}
    run.run(30 * T_US)
    for side in ((1, 2), (3, 4, 5)):
        coordinator = run.protocol(side[0]).coordinator
        assert coordinator in side
        assert set(run.protocol(coordinator).definition.regions) == set(side)
        assert survey(run, coordinator).number > before[2 if 2 in side else 5]


@above_each
def test_F3_at_a_merge_duplicates_are_counted_and_dropped_and_nothing_is_lost(election: type[Election]) -> None:
    """The results are those of both sides, and duplicates are counted to the last reading."""
    run = rig(election)
    run.run(10 * T_US)
    run.do("partition 1 2 | 3 4 5")
    run.run(60 * T_US)
    run.do("heal")
    run.run_until(
        lambda: run.agreed() is not None and len(run.protocol(leader(run)).definition.members) == 5,
        300 * T_US,
        "one group again",
    )
    apart = join(survey(run, node) for node in run.ids)
    surveyed(run, leader(run), 2)
    now = survey(run, leader(run))
    assert join((apart, now)) == now
    made = {
        (step.node, each[1]): each[2]
        for step, state in states(run.records)
        if isinstance(known := state.get("survey"), dict)
        for each in known.get("made", ())
        if each[0] == step.node
    }
    assert sum(made.values()) == join(survey(run, node) for node in run.ids).readings()
    assert run.protocol(leader(run)).upper_layer.duplicates == now.readings() - now.results(REGIONS) >= REGIONS


# M7


@above_each
def test_M7_a_node_that_is_not_normal_surveys_nothing(election: type[Election]) -> None:
    """Under all faults: no region under survey, no reading finished, none reported."""
    seen, seeds = 0, range(1, amount(quick=4, soak=9))
    for seed in seeds:
        stopped: dict[int, int] = {}
        for step, state in states(plain_trial(election, seed, FAULTS).records):
            readings = _readings_of_this_life(step.node, state)
            if isinstance(step.input, Started):
                stopped.pop(step.node, None)
            assert readings == stopped.pop(step.node, readings), f"seed {seed}: {step}"
            if state["status"] != "Normal":
                seen += 1
                stopped[step.node] = readings
                assert state["surveying"] is None, f"seed {seed}: {step}"
                assert not [message for message in step.sent if message.kind == "Reading"], f"seed {seed}: {step}"
    assert seen > 12 * len(seeds)


def _readings_of_this_life(node: int, state: dict[str, object]) -> int:
    known, first_us = state["survey"], state["first_reading_us"]
    assert isinstance(known, dict)
    return sum(count for who, since_us, count in known.get("made", ()) if (who, since_us) == (node, first_us))


def test_M7_it_stops_at_once() -> None:
    """In the same step in which it leaves Normal."""
    run = rig(ELECTIONS[0])
    run.run(5 * T_US)
    run.do("kill 5")
    run.run_until_agreed()
    stopped = [step for step, state in states(run.records) if step.changed.get("status") == "Election"]
    started = [step for step in stopped if step.at_us > 10 * T_US]
    assert started
    for step, state in states(run.records):
        if step.changed.get("status") == "Election":
            assert state["surveying"] is None


def test_M7_a_crash_loses_unreported_readings() -> None:
    """Reported readings are known; unreported ones are lost with the state of the node."""
    run = rig(ELECTIONS[0], (1, 2, 3))
    surveyed(run, 3, 1)
    known = next(each for each in survey(run, 3).made if each.node == 1)
    rule = run.lose(frozenset({(1, 3)}), "Reading")
    run.run(2 * T_US)
    made = next(each for each in survey(run, 1).made if each.node == 1)
    run.do("kill 1")
    run.release(rule)
    run.run(T_US)
    run.do("restart 1")
    run.run(30 * T_US)
    lives = [each for each in survey(run, 3).made if each.node == 1]
    assert made.readings > known.readings
    assert lives[0].readings < made.readings, "the readings of its first life that 3 had not been told are lost"
    assert len(lives) == 2
    assert run.protocol(3).upper_layer.duplicates == 0

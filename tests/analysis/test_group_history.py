"""The groups of a run, found in its records (rule I10): made by hand, simulated, and malformed."""

from typing import Any

import pytest

from lab.analysis.group_history import HUES, GroupLog, RecordedMoment
from lab.kernel import Fired, Started, Step
from lab.protocols.invitation import InvitationElection
from lab.recording.cluster_state import ClusterState
from lab.recording.log_lines import count_lines, lines_of
from lab.recording.records import Fault, Process, Record
from tests.harness import T_US, Rig
from tests.properties.synthetic import header


def _formed(group: list[int], members: list[int], *of: list[int]) -> dict[str, Any]:
    history = {"group": group, "coordinator": group[0], "members": members, "of": of}
    return {"version": group[1], "history": [{"group": [9, 9], "coordinator": 9, "members": [9]}, history]}


def _step(at_us: int, node: int, **changed: Any) -> Step:
    return Step(at_us, node, 1, Fired("p"), changed=changed)


def _up(at_us: int, node: int, counter: int = 1) -> Step:
    own = {"group": [node, counter], "coordinator": node, "definition": _formed([node, counter], [node])}
    return Step(at_us, node, 1, Started({}, 1, 1), changed={"status": "Normal", **own})


def _log(*records: Record | None) -> GroupLog:
    return GroupLog.of([header(), *records])


def _merged() -> list[Record | None]:
    """1 and 2 start, and 2 forms 2.2 of both."""
    definition = _formed([2, 2], [1, 2], [1, 1], [2, 1])
    return [
        _up(0, 1),
        _up(5, 2),
        _step(100, 2, status="Election", group=[2, 2]),
        _step(120, 1, status="Election", group=[2, 2], coordinator=2),
        _step(200, 2, status="Reorganization", definition=definition),
        _step(230, 1, status="Normal", definition=definition),
        _step(250, 2, status="Normal"),
    ]


def test_I10_a_group_has_leader_members_origin_and_times() -> None:
    """The history in the Definition gives the first three, the states of nodes the last."""
    log = _log(*_merged())
    group = log.groups[2]
    assert [each.name for each in log.groups] == ["1.1", "2.1", "2.2"]
    assert (group.coordinator, group.members) == (2, (1, 2))
    assert [log.groups[number].name for number in group.of] == ["1.1", "2.1"]
    assert (group.formed, group.defined) == (RecordedMoment(3, 100), RecordedMoment(5, 200))
    assert (group.normal, group.all_normal, group.ended) == (RecordedMoment(6, 230), RecordedMoment(7, 250), None)
    assert [(stay.node, stay.since.at_us, stay.until) for stay in group.memberships] == [
        (2, 100, None),
        (1, 120, None),
    ]


def test_a_node_can_be_normal_in_its_group_several_times() -> None:
    """Each interval is kept; a query for a record is answered as of just before it."""
    log = _log(
        *_merged(), _step(300, 1, status="Election"), _step(400, 1, status="Normal"), Process(500, 1, "killed")
    )
    (stay,) = (stay for stay in log.groups[2].memberships if stay.node == 1)
    assert [(spell.since.at_us, spell.until and spell.until.at_us) for spell in stay.normal_intervals] == [
        (230, 300),
        (400, 500),
    ]
    assert stay.normal == stay.normal_intervals[0].since == RecordedMoment(6, 230)
    assert [record for record in range(14) if stay.is_normal_before(record)] == [7, 8, 10]


def test_a_group_ends_when_its_last_node_leaves_it() -> None:
    """For another group, or by a crash; a node that starts again is in the group that it takes then."""
    log = _log(*_merged(), _step(300, 1, group=[1, 2]), Process(400, 2, "killed"))
    assert [log.groups[number].ended for number in (0, 1, 2)] == [
        RecordedMoment(4, 120),
        RecordedMoment(3, 100),
        RecordedMoment(9, 400),
    ]
    assert log.groups[3].ended is None


def test_a_query_ignores_later_records() -> None:
    """So a view can follow a cursor in time."""
    records = [header(), *_merged(), _step(300, 1, status="Election"), Process(400, 2, "killed")]
    whole = GroupLog.of(records)
    for number in range(len(records)):
        groups, cluster_events = whole.at(number)
        then = GroupLog.of(records[: number + 1])
        assert list(groups) == then.groups
        assert list(cluster_events) == then.cluster_events
        if whole.changes_by(number) == whole.changes_by(number - 1):
            assert whole.at(number) == whole.at(number - 1)


def test_a_node_in_the_past_is_in_its_group_at_that_time() -> None:
    """After a wipe an identifier is used twice; a query in the past finds the earlier group."""
    rig = Rig([1, 2, 3], protocol=InvitationElection)
    rig.do("at 3s kill 3", "at 3100ms wipe 3", "at 3200ms restart 3")
    rig.started().run(6_000_000)
    log, cluster = GroupLog.of(rig.records), ClusterState(rig.header.nodes)
    assert max(group.use for group in log.groups) == 2
    for number, record in enumerate(rig.records):
        cluster.apply(record)
        then = {
            stay.node: group.name
            for group in log.at(number)[0]
            for stay in group.memberships
            if stay.until is None
        }
        groups = {node: log.group_of(view, number) for node, view in cluster.nodes.items()}
        assert {node: group.name for node, group in groups.items() if group is not None} == then


def test_a_change_of_the_coordinator_alone_is_noted() -> None:
    """The next group has it."""
    log = _log(_up(0, 1), _step(10, 1, coordinator=2), _step(20, 1, group=[2, 1]))
    assert [(group.name, group.coordinator) for group in log.groups] == [("1.1", 1), ("2.1", 2)]


def test_a_group_in_stable_storage_is_a_group() -> None:
    """A node that starts with it is in the same group again."""
    taken = Step(10, 1, 1, Fired("p"), {"status": "Normal", "coordinator": 1}, {"group": [1, 2]})
    defined = Step(15, 1, 1, Fired("p"), stored={"definition": _formed([1, 2], [1], [1, 1])})
    again = Step(30, 1, 2, Started({"group": [1, 2]}, 2, 1), {"status": "Normal", "coordinator": 1})
    log = _log(_up(0, 1), taken, defined, Process(20, 1, "killed"), again)
    assert [group.name for group in log.groups] == ["1.1", "1.2"]
    assert (log.groups[1].members, log.groups[1].of) == ((1,), (0,))
    assert [(stay.since.at_us, stay.until and stay.until.at_us) for stay in log.groups[1].memberships] == [
        (10, 20),
        (30, None),
    ]


def test_an_identifier_that_is_used_again_is_another_group() -> None:
    """A violation of A5 must be visible; and the graph has no cycle, whatever the histories contain."""
    log = _log(
        *_merged(),
        Process(300, 2, "killed"),
        _up(400, 2),
        _step(500, 2, group=[2, 2], definition=_formed([2, 2], [1, 2], [2, 2], [2, 1])),
    )
    assert [each.name for each in log.groups] == ["1.1", "2.1", "2.2", "2.1#2", "2.2#2"]
    assert log.groups[4].of == (2, 3)


def test_colours_differ_among_existing_groups() -> None:
    """The least recently used comes first, so that a new group differs from the one just left."""
    records = [_up(node, node) for node in range(1, 6)]
    records += [_step(100 + counter, 5, group=[5, counter]) for counter in range(2, 40)]
    log = _log(*records)
    assert len({group.hue for group in log.groups[:5]}) == 5
    for before, after in zip(log.groups[4:], log.groups[5:], strict=False):
        assert after.hue not in {before.hue, *(group.hue for group in log.groups[:4])}
    assert {group.hue for group in log.groups} == set(range(HUES))


def test_cluster_events() -> None:
    """Faults of links and events of nodes; simultaneous ones are one."""
    log = _log(
        Fault(10, 1, "partition", "partition 1 | 2", links=((1, 2), (2, 1))),
        Fault(15, 1, "partition", links=((1, 2),)),
        Fault(20, 2, "kill", "kill 1 2", nodes=(1, 2)),
        Process(20, 1, "killed"),
        Process(20, 2, "killed"),
        Process(25, 1, "started", incarnation=2),
        Fault(30, 1, "partition", lifted=True),
    )
    assert [(each.at.at_us, each.text, each.nodes) for each in log.cluster_events] == [
        (10, "partition 1 | 2", ()),
        (20, "killed", (1, 2)),
        (30, "heal: partition 1 | 2", ()),
    ]


GROUPS: tuple[Any, ...] = (None, 7, "2.2", [], [1], [1, 2, 3], ["a", 1], [1, 0], {"id": 1}, [[], {}])
LAST: tuple[Any, ...] = (None, 3, {}, {"group": 1}, {"group": [7, 7], "coordinator": 7, "members": []})
DEFINITIONS: tuple[Any, ...] = (None, [], {"history": 5}, {"history": []}, *({"history": [last]} for last in LAST))
RUBBISH: list[dict[str, Any]] = [
    *({"group": group} for group in GROUPS),
    *({"definition": definition} for definition in DEFINITIONS),
    {"status": [1], "coordinator": {}},
]


@pytest.mark.parametrize("rubbish", RUBBISH, ids=str)
def test_malformed_values_are_ignored(rubbish: dict[str, Any]) -> None:
    log = _log(None, Step(1, 3, 1, Fired("p"), changed=rubbish), *_merged())
    assert [each.name for each in log.groups] == ["1.1", "2.1", "2.2"]
    assert log.groups[2].all_normal is not None


def test_a_change_of_group_is_a_line_of_the_log() -> None:
    """Together with changes of the status and the coordinator; without a group there is no line."""
    texts = [
        [line.text for line in lines_of(1, _step(1, 5, **changed))]
        for changed in (
            {"status": "Normal", "coordinator": 5, "group": [5, 3]},
            {"group": [5, 3]},
            {"group": [0, 0]},
            {"group": None, "coordinator": None},
        )
    ]
    assert texts == [["Normal, coordinator 5, group 5.3"], ["group 5.3"], [], ["no coordinator"]]
    for changed in ({"group": [5, 3]}, {"group": [0, 0]}, {"group": "5"}):
        step = _step(1, 5, **changed)
        assert count_lines(step) == len(lines_of(1, step))


def test_I10_the_history_of_a_run_with_a_partition() -> None:
    """Every group that a node took is present, with the groups that its members came from."""
    rig = Rig([1, 2, 3, 4, 5], protocol=InvitationElection).started()
    rig.run_until_agreed()
    rig.do("partition 1 2 | 3 4 5")
    rig.run(30 * T_US)
    rig.do("heal")
    rig.run_until_agreed()
    log = GroupLog.of(rig.records)
    last = log.groups[-1]
    assert last.group == rig.cluster.nodes[1].group
    assert (last.members, last.ended) == ((1, 2, 3, 4, 5), None)
    assert {log.groups[number].members for number in last.of} == {(1, 2), (3, 4, 5)}
    assert {each.group for each in log.groups} == _taken(rig)
    history, named = rig.protocol(1).definition.history, {each.group: each for each in log.groups}
    assert {(each.group.id, each.group.counter) for each in history} <= _taken(rig)
    for formed in history:
        group = named[formed.group.id, formed.group.counter]
        assert (group.coordinator, group.members) == (formed.coordinator, formed.members)
        assert {log.groups[number].name for number in group.of} == {str(of) for of in formed.of}
    assert all(of < group.number for group in log.groups for of in group.of)


def _taken(rig: Rig) -> set[tuple[int, int]]:
    groups = (step.changed.get("group") for step in rig.steps)
    return {(group[0], group[1]) for group in groups if group}

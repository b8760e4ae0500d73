"""Times without a coordinator, times with several leaders, and messages per election, on records made by hand."""

from typing import Any

import pytest
from msgspec import Raw

from lab.analysis.elections import ElectionLog, Leadership, Span
from lab.kernel import Fired, Message, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Process, Record
from lab.tasks.field_map import ReadingCounts, WorkLog

Fold = tuple[Leadership, WorkLog, ClusterState]


def _folded(*records: Record) -> Fold:
    cluster, work = ClusterState((1, 2, 3)), WorkLog()
    leadership = Leadership(cluster, ("Beat",))
    for record in records:
        cluster.apply(record)
        leadership.observe(record)
        work.observe(record)
    return leadership, work, cluster


def _up(*nodes: int) -> list[Record]:
    return [Process(0, node, "started", 1) for node in nodes]


def _step(at_us: int, node: int, changed: dict[str, Any] | None = None, *kinds: str) -> Step:
    sent = tuple(Message(node, node % 3 + 1, at_us + n, kind, Raw(b"{}")) for n, kind in enumerate(kinds))
    return Step(at_us, node, 1, Fired("x"), changed or {}, sent=sent)


def _normal(at_us: int, node: int, coordinator: int, *kinds: str) -> Step:
    return _step(at_us, node, {"status": "Normal", "coordinator": coordinator}, *kinds)


def _election(at_us: int, node: int, *kinds: str) -> Step:
    return _step(at_us, node, {"status": "Election", "coordinator": None}, *kinds)


def _all_under(at_us: int, leader: int) -> list[Record]:
    return [_normal(at_us, node, leader) for node in (leader, *(n for n in (1, 2, 3) if n != leader))]


def test_an_outage_lasts_from_the_crash_to_the_next_coordinator() -> None:
    """It does not begin with the run, and lasts until the last node has left the dead coordinator."""
    leadership, _, _ = _folded(
        *_up(1, 2, 3),
        *_all_under(10, 3),
        Process(100, 3, "killed", 1),
        _election(140, 2),
        _normal(150, 2, 2),
        _normal(170, 1, 2),
    )
    assert leadership.outages == [Span(100, 170)]
    assert leadership.multiple_leaders == []


def test_a_paused_coordinator_does_not_lead() -> None:
    """It leads again when it resumes."""
    leadership, _, _ = _folded(
        *_up(1, 2, 3), *_all_under(10, 3), Process(50, 3, "paused", 1), Process(80, 3, "resumed", 1)
    )
    assert leadership.outages == [Span(50, 80)]


def test_a_group_that_has_lost_its_own_coordinator_has_none() -> None:
    """Though another one leads elsewhere."""
    leadership, _, _ = _folded(
        *_up(1, 2, 3), _normal(10, 3, 3), _normal(10, 2, 2), _normal(10, 1, 2), Process(60, 2, "killed", 1)
    )
    (outage,) = leadership.outages
    assert (outage.began_us, outage.ended_us, outage.us(100)) == (60, None, 40)


def test_a_joining_node_causes_no_outage() -> None:
    """It is not Normal, and under no coordinator."""
    leadership, _, _ = _folded(
        *_up(1, 2, 3),
        *_all_under(10, 3),
        Process(20, 1, "killed", 1),
        Process(30, 1, "started", 2),
        _election(31, 1),
    )
    assert leadership.outages == []


def test_the_time_with_several_leaders() -> None:
    """Nodes that do not run do not count."""
    leadership, _, _ = _folded(
        *_up(1, 2, 3),
        _normal(10, 3, 3),
        _normal(20, 2, 2),
        _normal(30, 1, 1),
        Process(40, 1, "paused", 1),
        _normal(50, 2, 3),
        Process(60, 1, "resumed", 1),
    )
    assert leadership.multiple_leaders == [Span(20, 50), Span(60)]


def test_the_messages_of_an_election() -> None:
    """Including the steps that begin and end it; without heartbeats."""
    leadership, _, _ = _folded(
        *_up(1, 2, 3),
        _step(5, 1, None, "AreYouUp", "AreYouUp"),
        *_all_under(10, 3),
        _step(20, 1, None, "Stray"),
        _election(30, 2, "AreYouUp", "Beat"),
        _step(40, 1, None, "Yes", "Beat"),
        _normal(50, 2, 3, "Thanks"),
        _election(60, 1, "AreYouUp"),
    )
    assert leadership.elections == [2, 3]


def test_without_a_message_there_was_no_election() -> None:
    """The coordinator was paused, and no node noticed."""
    leadership, _, _ = _folded(
        *_up(1, 2, 3),
        _step(1, 1, None, "AreYouUp"),
        *_all_under(10, 3),
        Process(50, 3, "paused", 1),
        _step(60, 1, None, "Beat"),
        Process(80, 3, "resumed", 1),
    )
    assert leadership.elections == [1]


def test_elections_are_those_of_the_election_log() -> None:
    """Exactly the elections of the log in which messages were sent."""
    records = [
        *_up(1, 2, 3),
        _step(1, 1, None, "AreYouUp"),
        *_all_under(10, 3),
        Process(50, 3, "paused", 1),
        Process(80, 3, "resumed", 1),
        Process(100, 3, "killed", 1),
        _election(140, 2, "AreYouUp"),
        _normal(150, 2, 2),
        _normal(170, 1, 2, "Yes"),
    ]
    cluster = ClusterState((1, 2, 3))
    log = ElectionLog(cluster)
    for record in records:
        cluster.apply(record)
        log.observe(record)
    leadership, _, _ = _folded(*records)
    assert [(each.settled_at_us, each.coordinator) for each in log.settled] == [(10, 3), (80, 3), (170, 2)]
    assert leadership.elections == [1, 2], "in the second nothing was sent"


def _survey(at_us: int, node: int, done: list[int], *made: tuple[int, int, int]) -> Step:
    return _step(at_us, node, {"survey": {"number": 1, "done": done, "made": [list(each) for each in made]}})


def test_work_known_to_one_node_is_lost_with_it() -> None:
    """A known reading is a result, one made twice a duplicate, one not passed on before the crash is lost."""
    _, work, cluster = _folded(
        *_up(1, 2, 3),
        _survey(10, 1, [1, -1, -1], (1, 10, 1)),
        _survey(20, 2, [1, 2, -1], (1, 10, 1), (2, 20, 2)),
        _survey(30, 3, [-1, -1, 3], (3, 30, 2)),
        Process(40, 3, "killed", 1),
    )
    assert work.work(cluster, 3) == ReadingCounts(made=5, lost=2, duplicated=1)


def test_incarnations_are_counted_separately() -> None:
    """Each counts its own readings; what other nodes know of them does not count."""
    _, work, cluster = _folded(
        *_up(1, 2),
        _survey(10, 1, [1, -1, -1], (1, 10, 1)),
        Process(20, 1, "killed", 1),
        Process(30, 1, "started", 2),
        _survey(40, 1, [-1, 1, -1], (1, 40, 1)),
        _survey(50, 2, [-1, 1, -1], (1, 40, 1)),
    )
    assert work.work(cluster, 3) == ReadingCounts(made=2, lost=1)


def test_without_a_field_there_is_no_work() -> None:
    _, work, cluster = _folded(*_up(1, 2, 3), *_all_under(10, 3))
    assert work.work(cluster, 64) == ReadingCounts()


@pytest.mark.parametrize("rubbish", [None, 3, "x", [], {"made": 1}, {"made": [[1, 2]]}, {"number": "x"}], ids=str)
def test_other_values_called_survey_are_ignored(rubbish: Any) -> None:
    """In a user's protocol, or a foreign recording."""
    _, work, cluster = _folded(*_up(1, 2), _step(5, 2, {"survey": rubbish}), _survey(10, 1, [1, -1], (1, 10, 1)))
    assert work.work(cluster, 2) == ReadingCounts(made=1)

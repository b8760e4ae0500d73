"""Who leads: times without a coordinator, times with several, and what elections took, on records made by hand."""

from typing import Any

import pytest
from msgspec import Raw

from lab.analysis.elections import ElectionLog
from lab.analysis.field_work import Work, WorkLog
from lab.analysis.leadership import Leadership, Span
from lab.kernel import Fired, Message, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Process, Record

Fold = tuple[Leadership, WorkLog, ClusterState]


def _folded(*records: Record) -> Fold:
    leadership, work, cluster = Leadership(("Beat",)), WorkLog(), ClusterState((1, 2, 3))
    for record in records:
        cluster.apply(record)
        leadership.observe(record, cluster)
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


def test_it_begins_with_the_death_of_the_coordinator_and_ends_with_the_next_one() -> None:
    """Not with the start of the run; and not before the last has left the dead one."""
    leadership, _, _ = _folded(
        *_up(1, 2, 3),
        *_all_under(10, 3),
        Process(100, 3, "killed", 1),
        _election(140, 2),
        _normal(150, 2, 2),
        _normal(170, 1, 2),
    )
    assert leadership.outages == [Span(100, 170)]
    assert leadership.several == []


def test_a_coordinator_that_stands_still_does_not_lead() -> None:
    """When it goes on, it does again."""
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


def test_a_node_that_joins_costs_nobody_its_coordinator() -> None:
    """It is not Normal, and under nobody."""
    leadership, _, _ = _folded(
        *_up(1, 2, 3),
        *_all_under(10, 3),
        Process(20, 1, "killed", 1),
        Process(30, 1, "started", 2),
        _election(31, 1),
    )
    assert leadership.outages == []


def test_several_lead_from_the_second_to_the_last_but_one() -> None:
    """Who does not run does not count."""
    leadership, _, _ = _folded(
        *_up(1, 2, 3),
        _normal(10, 3, 3),
        _normal(20, 2, 2),
        _normal(30, 1, 1),
        Process(40, 1, "paused", 1),
        _normal(50, 2, 3),
        Process(60, 1, "resumed", 1),
    )
    assert leadership.several == [Span(20, 50), Span(60)]


def test_the_messages_of_an_election() -> None:
    """From when they agree no longer to when they do, with the steps that begin and end that; no heartbeats."""
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
    """The coordinator stood still, and nobody noticed."""
    leadership, _, _ = _folded(
        *_up(1, 2, 3),
        _step(1, 1, None, "AreYouUp"),
        *_all_under(10, 3),
        Process(50, 3, "paused", 1),
        _step(60, 1, None, "Beat"),
        Process(80, 3, "resumed", 1),
    )
    assert leadership.elections == [1]


def test_it_is_the_election_whose_times_are_told() -> None:
    """One definition of an election: each of the log's in which anything was sent was counted, and no other."""
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
    log, cluster = ElectionLog(), ClusterState((1, 2, 3))
    for record in records:
        cluster.apply(record)
        log.observe(record, cluster)
    leadership, _, _ = _folded(*records)
    assert [(each.settled_at_us, each.coordinator) for each in log.settled] == [(10, 3), (80, 3), (170, 2)]
    assert leadership.elections == [1, 2], "in the second nothing was sent"


def _survey(at_us: int, node: int, done: list[int], *made: tuple[int, int, int]) -> Step:
    return _step(at_us, node, {"survey": {"number": 1, "done": done, "made": [list(each) for each in made]}})


def test_work_is_lost_with_whoever_alone_knew_of_it() -> None:
    """Made and told: a result. Made twice: a duplicate. Made and not told before the crash: lost."""
    _, work, cluster = _folded(
        *_up(1, 2, 3),
        _survey(10, 1, [1, -1, -1], (1, 10, 1)),
        _survey(20, 2, [1, 2, -1], (1, 10, 1), (2, 20, 2)),
        _survey(30, 3, [-1, -1, 3], (3, 30, 2)),
        Process(40, 3, "killed", 1),
    )
    assert work.work(cluster, 3) == Work(made=5, lost=2, duplicated=1)


def test_a_life_forgets_what_the_one_before_counted() -> None:
    """Each is counted by itself; what another says of a node counts for nothing beside what it says itself."""
    _, work, cluster = _folded(
        *_up(1, 2),
        _survey(10, 1, [1, -1, -1], (1, 10, 1)),
        Process(20, 1, "killed", 1),
        Process(30, 1, "started", 2),
        _survey(40, 1, [-1, 1, -1], (1, 40, 1)),
        _survey(50, 2, [-1, 1, -1], (1, 40, 1)),
    )
    assert work.work(cluster, 3) == Work(made=2, lost=1)


def test_without_a_field_there_is_no_work() -> None:
    """Nobody made a reading."""
    _, work, cluster = _folded(*_up(1, 2, 3), *_all_under(10, 3))
    assert work.work(cluster, 64) == Work()


@pytest.mark.parametrize("rubbish", [None, 3, "x", [], {"made": 1}, {"made": [[1, 2]]}, {"number": "x"}], ids=str)
def test_what_else_is_called_a_survey_is_passed_over(rubbish: Any) -> None:
    """In a protocol of one's own, or a recording from anybody: it made no reading."""
    _, work, cluster = _folded(*_up(1, 2), _step(5, 2, {"survey": rubbish}), _survey(10, 1, [1, -1], (1, 10, 1)))
    assert work.work(cluster, 2) == Work(made=1)

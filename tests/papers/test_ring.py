"""The ring algorithm, rule by rule: R1-R6. What the coordinator does is in ``test_ring_coordinator.py``."""

from typing import Any

import pytest
from msgspec import json

from lab.kernel import Message, Step
from lab.protocols import Definition, Ring, Status
from lab.protocols.ring import (
    COORDINATOR,
    ELECTION,
    AreYouThereAnswer,
    AreYouUpAnswer,
    Circulating,
    Number,
    Passed,
)
from tests.harness import T_US, Rig, Solo

IDS = (1, 2, 3, 4, 5)
TASK = Definition(7, 5, IDS)


def _alone(node: int, *peers_up: int, ids: tuple[int, ...] = IDS) -> tuple[Solo, Step]:
    """Return a node that has started and passed its ELECTION to the first of these, skipping those before."""
    solo = Solo(Ring, node, ids)
    step = solo.start()
    while peers_up and step.sent[0].target != peers_up[0]:
        step = solo.fire_timer()
    if peers_up:
        solo.reply(step.sent[0], Passed())
    return solo, step


def _election(*members: int, in_round: int = 2) -> ELECTION:
    number = Number(in_round, members[0])
    return ELECTION(members, number, number)


def _coordinator(of: Circulating, *members: int) -> COORDINATOR:
    return COORDINATOR(members or of.members, of.number, of.met)


def _circulating(kind: str, in_round: int) -> Circulating:
    """Return a message that node 1 started, as node 2 passes it on."""
    election = _election(1, 2, in_round=in_round)
    return election if kind == "ELECTION" else _coordinator(election, *IDS)


def _led(node: int = 3, members: tuple[int, ...] = (2, 3, 4, 5, 1)) -> tuple[Solo, Step]:
    """Return a node that took part in an election of its predecessor, and follows the winner."""
    solo, _ = _alone(node, node % 5 + 1)
    election = _election(*members[: members.index(node)])
    for message in solo.hear(members[0], election).sent[1:]:
        solo.reply(message, Passed())
    step = solo.hear(members[0], _coordinator(election, *members))
    for message in step.sent:
        if message.kind == "COORDINATOR":
            solo.reply(message, Passed())
    return solo, step


def _sent(step: Step, *kinds: str) -> list[tuple[str, int]]:
    return [(message.kind, message.target) for message in step.sent if not kinds or message.kind in kinds]


def _content(message: Message) -> Any:
    return json.decode(message.body)


def _circulated(rig: Rig, since: int = 0) -> dict[tuple[str, int, int], list[int]]:
    """Return for each circulating message, by kind, starter and round, the nodes that passed it on."""
    ways: dict[tuple[str, int, int], list[int]] = {}
    for record in rig.records[since:]:
        for message in record.sent if isinstance(record, Step) else ():
            if message.kind in ("ELECTION", "COORDINATOR"):
                number = _content(message)["number"]
                way = ways.setdefault((message.kind, number["starter"], number["round"]), [])
                if way[-1:] != [message.source]:
                    way.append(message.source)
    return ways


# R1, R2


def test_R1_the_ring_is_in_the_order_of_the_ids() -> None:
    """R1: a node knows the whole ring: its successor is the next higher id, or the lowest for the highest."""
    solo = Solo(Ring, 3, IDS)
    step, tried = solo.start(), []
    while step.sent:
        tried += [target for _, target in _sent(step, "ELECTION")]
        step = solo.fire_timer()
    assert tried == [4, 5, 1, 2]


def test_R2_a_node_that_misses_the_coordinator_sends_election() -> None:
    """R2: no answer of the coordinator within T: ELECTION to the successor, with only the own id in the list."""
    solo, step = _led()
    assert ("AreYouThere", 5) in _sent(step)
    asked_us = solo.now_us
    step = solo.fire_timer()
    assert step.at_us == asked_us + T_US
    assert _sent(step) == [("ELECTION", 4)]
    assert _content(step.sent[0])["members"] == [3]
    assert (solo.protocol.status, solo.protocol.coordinator) == (Status.ELECTION, None)


def test_R2_a_coordinator_that_answers_is_kept() -> None:
    """R2: it is asked again T after it was asked."""
    solo, step = _led()
    (question,) = (message for message in step.sent if message.kind == "AreYouThere")
    solo.now_us += 10
    solo.reply(question, AreYouThereAnswer(TASK))
    assert solo.protocol.status is Status.NORMAL
    step = solo.fire_timer()
    assert (step.at_us, _sent(step)) == (T_US, [("AreYouThere", 5)])


def test_R2_a_silent_successor_is_skipped_for_the_next_one_along() -> None:
    """R2: it did not acknowledge within T; the first node that acknowledges ends it."""
    solo = Solo(Ring, 3, IDS)
    solo.start()
    step = solo.fire_timer()
    assert (step.at_us, _sent(step)) == (T_US, [("ELECTION", 5)])
    step = solo.reply(step.sent[0], Passed())
    assert "pass_on" not in [wait.procedure for wait in solo.waits]


def test_R2_queued_messages_skip_it_too() -> None:
    """R2: one T for all queued messages. Later messages may find the node up again."""
    solo = Solo(Ring, 3, IDS)
    (own,) = solo.start().sent
    solo.hear(2, _election(2, in_round=1))
    solo.hear(1, _election(1, 2, in_round=1))
    solo.reply(own, Passed())  # of 4, which then dies
    step = solo.fire_timer()
    assert (_sent(step), _content(step.sent[0])["members"]) == ([("ELECTION", 5)], [2, 3])
    step = solo.reply(step.sent[0], Passed())
    assert (_sent(step), _content(step.sent[0])["members"]) == ([("ELECTION", 5)], [1, 2, 3])
    solo.reply(step.sent[0], Passed())
    assert _sent(solo.hear(2, _election(2, in_round=3)))[1:] == [("ELECTION", 4)]


# R3


def test_R3_a_node_acknowledges_election_appends_its_id_and_passes_it_on() -> None:
    """R3: it is in status Election, and performs no task."""
    solo, step = _led()
    solo.reply(next(message for message in step.sent if message.kind == "AreYouThere"), AreYouThereAnswer(TASK))
    assert solo.protocol.processing
    step = solo.hear(2, _election(1, 2, in_round=9))
    assert _sent(step) == [("Passed", 2), ("ELECTION", 4)]
    assert _content(step.sent[1])["members"] == [1, 2, 3]
    assert (solo.protocol.status, solo.protocol.coordinator) == (Status.ELECTION, None)
    assert not solo.protocol.processing


def test_R3_back_at_its_starter_it_becomes_coordinator() -> None:
    """R3: with its list, if the nodes not in it are still silent: its highest leads, and it is the new ring."""
    solo, _ = _alone(3, 4)
    number = Number(1, 3)
    step = solo.hear(2, ELECTION((3, 4, 1, 2), number, number))
    assert _sent(step) == [("Passed", 2), ("AreYouUp", 5)]
    assert solo.protocol.status is Status.ELECTION
    step = solo.fire_timer()
    assert (step.at_us, _sent(step)) == (T_US, [("COORDINATOR", 4), ("AreYouThere", 4)])
    assert _content(step.sent[0])["members"] == [3, 4, 1, 2]
    assert (solo.protocol.status, solo.protocol.coordinator) == (Status.REORGANIZATION, 4)
    assert solo.protocol.up == {1, 2, 4}


def test_R3_with_all_in_the_list_it_becomes_coordinator_at_once() -> None:
    """R3: there is no node to ask."""
    solo, _ = _alone(3, 4)
    number = Number(1, 3)
    step = solo.hear(2, ELECTION((3, 4, 5, 1, 2), number, number))
    assert _sent(step) == [("Passed", 2), ("COORDINATOR", 4), ("AreYouThere", 5)]


def test_R4_a_skipped_node_that_has_come_up_is_admitted() -> None:
    """R4: it may follow another COORDINATOR; so the starter begins anew, then with that node."""
    solo, _ = _alone(3, 4)
    number = Number(1, 3)
    step = solo.hear(2, ELECTION((3, 4, 1, 2), number, number))
    step = solo.reply(step.sent[1], AreYouUpAnswer())
    assert _sent(step) == [("ELECTION", 4)]
    assert _content(step.sent[0])["number"] == {"round": 2, "starter": 3}


def test_R4_a_node_in_a_higher_election_drops_its_own() -> None:
    """R4: the higher one counts, and the own one is dropped while the skipped nodes are asked."""
    solo, _ = _alone(3, 4)
    number = Number(1, 3)
    solo.hear(2, ELECTION((3, 4, 1, 2), number, number))
    solo.reply(solo.hear(2, _election(2, in_round=5)).sent[1], Passed())
    step = solo.fire_timer()
    assert step.at_us > T_US
    assert _sent(step) == [("ELECTION", 4)]


def test_R3_coordinator_circulates_in_the_new_ring() -> None:
    """R3: nodes that are not in the list are not tried."""
    solo, step = _led(3, (1, 2, 3, 5))
    assert ("COORDINATOR", 5) in _sent(step)
    assert solo.protocol.coordinator == 5
    assert solo.protocol.up == {1, 2, 5}


def test_R3_coordinator_is_removed_by_its_starter() -> None:
    """R3: it circulates once."""
    solo, _ = _alone(3, 4)
    number = Number(1, 3)
    step = solo.hear(2, ELECTION((3, 4, 5, 1, 2), number, number))
    solo.reply(step.sent[1], Passed())
    step = solo.hear(2, COORDINATOR((3, 4, 5, 1, 2), number, number))
    assert _sent(step) == [("Passed", 2)]


def test_R3_the_highest_in_the_list_leads() -> None:
    """R3: it is Normal at once, with a Definition of the new ring."""
    solo, step = _led(5, (3, 4, 5, 2))
    assert (solo.protocol.status, solo.protocol.coordinator) == (Status.NORMAL, 5)
    assert solo.protocol.definition.members == (2, 3, 4, 5)
    assert _sent(step) == [("Passed", 3), ("COORDINATOR", 2)]


def test_R3_a_node_alone_leads_itself() -> None:
    """R3: after T for each node that did not acknowledge ELECTION, and T in which none of them has come up."""
    rig = Rig([1, 2, 3], protocol=Ring).started(2)
    assert rig.run_until_agreed() == 2
    assert rig.now_us == 3 * T_US
    assert rig.protocol(2).definition.members == (2,)


# R4


@pytest.mark.parametrize("nodes", [2, 3, 5, 8])
def test_R4_elections_of_all_nodes_at_once_end_with_one_coordinator(nodes: int) -> None:
    """R4: one coordinator and one ring; each of the messages circulated once, in the order of the ring."""
    rig = Rig(range(1, nodes + 1), protocol=Ring).started()
    assert rig.run_until_agreed() == nodes
    rig.run(10 * T_US)
    ids = tuple(rig.ids)
    assert {rig.protocol(node).definition.members for node in ids} == {ids}
    ways = _circulated(rig)
    assert len(ways) == 2 * nodes
    for (_, starter, _), way in ways.items():
        assert way == [*ids[starter - 1 :], *ids[: starter - 1]]


def test_R4_the_lower_election_circulates_and_is_not_followed() -> None:
    """R4: it is passed on unchanged, and so is its COORDINATOR, but no node follows two."""
    solo, _ = _alone(3, 4)
    high, low = _election(2, in_round=5), _election(1, 2, in_round=4)
    step = solo.hear(2, high)
    solo.reply(step.sent[1], Passed())
    step = solo.hear(2, low)
    assert _content(step.sent[1])["members"] == [1, 2, 3]
    assert _content(step.sent[1])["met"] == {"round": 5, "starter": 2}
    solo.reply(step.sent[1], Passed())
    step = solo.hear(2, _coordinator(low, 1, 2, 3, 4, 5))
    assert _sent(step) == [("Passed", 2), ("COORDINATOR", 4)]
    assert solo.protocol.status is Status.ELECTION
    solo.reply(step.sent[1], Passed())
    step = solo.hear(2, _coordinator(high, 2, 3, 4, 5, 1))
    assert ("COORDINATOR", 4) in _sent(step)
    assert solo.protocol.coordinator == 5


def test_R4_a_message_that_met_a_higher_election_is_not_followed() -> None:
    """R4: that election may be over, and have elected another coordinator."""
    solo, _ = _alone(3, 4)
    election = _election(2, in_round=5)
    solo.hear(2, election)
    solo.hear(2, COORDINATOR((2, 3, 4, 1), election.number, Number(5, 4)))
    assert solo.protocol.status is Status.ELECTION


@pytest.mark.parametrize("kind", ["ELECTION", "COORDINATOR"])
def test_R4_a_copy_is_removed(kind: str) -> None:
    """R4: extra messages do no harm. A lower one is not a copy: its starter may have been wiped."""
    solo, _ = _alone(3, 4)
    message, lower = (_circulating(kind, in_round) for in_round in (5, 4))
    solo.reply(solo.hear(2, message).sent[1], Passed())
    assert _sent(solo.hear(2, message)) == [("Passed", 2)]
    assert _sent(solo.hear(2, lower)) == [("Passed", 2), (kind, 4)]


def test_R4_a_coordinator_is_followed_once() -> None:
    """R4: a second one with the same number, caused by a lost acknowledgement, is removed."""
    solo, _ = _led()
    election = _election(2)
    assert _sent(solo.hear(2, _coordinator(election, 2, 3, 4))) == [("Passed", 2)]
    assert solo.protocol.coordinator == 5


# R5


@pytest.mark.parametrize("kind", ["ELECTION", "COORDINATOR"])
def test_R5_nobody_passes_it_on_past_its_starter(kind: str) -> None:
    """R5: if nobody up to the starter acknowledges it, not even the starter, it is removed."""
    solo, _ = _alone(3, 4)
    message = _circulating(kind, 5)
    step, tried = solo.hear(2, message), []
    while _sent(step, kind):
        tried += [target for _, target in _sent(step, kind)]
        step = solo.fire_timer()
    assert tried == [4, 5, 1]


@pytest.mark.parametrize("back_at", ["starter", "listed"])
def test_R5_the_last_before_a_dead_starter_removes_election(back_at: str) -> None:
    """R5: it is not back, though this node is in its list by now; those before this node are up."""
    solo = Solo(Ring, 3, IDS, parameters=Ring.Parameters(back_at=back_at))  # type: ignore[arg-type]
    step = solo.start()
    solo.reply(step.sent[0], Passed())
    step = solo.hear(2, _election(1, 2, in_round=5))
    while _sent(step, "ELECTION"):
        step = solo.fire_timer()
    assert step.sent == ()
    assert solo.protocol.status is Status.ELECTION
    assert not solo.protocol.outbox


@pytest.mark.parametrize("kind", ["ELECTION", "COORDINATOR"])
def test_R5_nothing_circulates_for_ever(kind: str) -> None:
    """R5: the starter dies while its message circulates; the message passes it at most once more.

    The nodes come to agree.
    """
    rig = Rig(IDS, protocol=Ring).started()
    rig.run_until_agreed()
    rig.run(20 * T_US)
    rig.do("kill 2")
    rig.run_until_agreed()
    rig.run(20 * T_US)
    since = len(rig.records)
    rig.do("restart 2", f"on deliver {kind} 3->4 kill 2")
    rig.run_until(lambda: 2 not in rig.incarnations, 20 * T_US, "2 dies")
    rig.run(80 * T_US)
    assert rig.agreed() == 5
    for way in _circulated(rig, since).values():
        assert len(way) == len(set(way)), "each passed it on once"


def test_R5_a_node_that_waits_for_coordinator_starts_anew() -> None:
    """R5: after two longest circulations, and T to ask the others; with a number above the last one."""
    solo, _ = _alone(3, 4)
    solo.reply(solo.hear(2, _election(2, in_round=4)).sent[1], Passed())
    step = solo.fire_timer()
    assert step.at_us == 2 * (5 * T_US * 3 // 2) + T_US
    assert _sent(step) == [("ELECTION", 4)]
    assert _content(step.sent[0])["number"] == {"round": 5, "starter": 3}


@pytest.mark.parametrize("kind", ["ELECTION", "COORDINATOR"])
@pytest.mark.parametrize("source", IDS)
def test_R5_a_node_dies_with_the_message(kind: str, source: int) -> None:
    """R5: whichever node it is, and wherever the message is, the others come to agree."""
    rig = Rig(IDS, protocol=Ring)
    rig.do(f"on send {kind} {source}->{source % 5 + 1} kill {source}")
    rig.started()
    rig.run_until(lambda: source not in rig.incarnations, 20 * T_US, f"{source} dies")
    assert rig.run_until_agreed() == (4 if source == 5 else 5)


# R6


def test_R6_a_node_that_comes_up_holds_an_election() -> None:
    """R6: at once, with a number above the last one that it knew."""
    solo = Solo(Ring, 3, IDS)
    step = solo.start({"number": {"round": 8, "starter": 5}})
    assert _sent(step) == [("ELECTION", 4)]
    assert _content(step.sent[0]) == {
        "members": [3],
        "number": {"round": 9, "starter": 3},
        "met": {"round": 9, "starter": 3},
    }
    assert step.stored == {"number": {"round": 9, "starter": 3}}


@pytest.mark.parametrize("node", IDS)
def test_R6_a_restarted_node_is_back_in_the_ring(node: int) -> None:
    """R6: it is in the ring of all nodes again, and the highest of all leads again."""
    rig = Rig(IDS, protocol=Ring).started()
    rig.run_until_agreed()
    rig.do(f"kill {node}")
    without = tuple(each for each in IDS if each != node)
    rig.run_until(
        lambda: {rig.protocol(each).definition.members for each in rig.incarnations} == {without},
        40 * T_US,
        "left out",
    )
    rig.do(f"restart {node}")
    rig.run_until(
        lambda: {rig.protocol(each).definition.members for each in rig.incarnations} == {IDS}, 40 * T_US, "back in"
    )
    assert rig.run_until_agreed() == 5


def test_R6_a_number_that_is_too_low_is_raised() -> None:
    """R6: others elected while it was down, so its election does not count; it starts one above theirs."""
    solo, _ = _alone(3, 4)
    met = Number(6, 2)
    step = solo.hear(2, ELECTION((3, 4, 5, 1, 2), Number(1, 3), met))
    assert _sent(step) == [("Passed", 2), ("ELECTION", 4)]
    assert _content(step.sent[1])["number"] == {"round": 7, "starter": 3}


@pytest.mark.parametrize("node", IDS)
def test_R6_a_wiped_node_is_back_in_the_ring(node: int) -> None:
    """R6: soon, however many elections there were before: its message circulates, and meets their number."""
    rig = Rig(IDS, protocol=Ring).started()
    rig.run_until_agreed()
    for _ in range(12):
        rig.do("kill 1", "restart 1")
        rig.run_until_agreed()
    since_us = rig.now_us
    rig.do(f"kill {node}", f"wipe {node}", f"restart {node}")
    assert rig.run_until_agreed() == 5
    assert rig.now_us - since_us < 5 * T_US, "nobody has waited for a COORDINATOR in vain"

"""The bully algorithm in Tanenbaum's version, rule by rule (T1-T5), and the repairs of its holes."""

from collections.abc import Callable

import pytest

from lab.kernel import Message, Step
from lab.protocols import BullyTanenbaum, Definition, Status
from lab.protocols.bully_tanenbaum import (
    COORDINATOR,
    ELECTION,
    OK,
    AreYouThere,
    AreYouThereAnswer,
    AreYouUp,
    AreYouUpAnswer,
)
from tests.harness import T_US, TIMING, Rig, Solo
from tests.papers import figure_3_12

HEARTBEATS = [kind.__name__ for kind in BullyTanenbaum.heartbeats]
DEFINITION = Definition(4, 7, (0, 1, 4, 7))
NOTHING = Definition()


def _alone(node: int = 4, ids: tuple[int, ...] = (0, 1, 4, 6, 7)) -> tuple[Solo, Step]:
    solo = Solo(BullyTanenbaum, node, ids)
    return solo, solo.start()


def _following(coordinator: int = 7) -> tuple[Solo, Message]:
    """Return a node that got COORDINATOR, and its question to the winner."""
    solo, _ = _alone()
    (question,) = solo.hear(coordinator, COORDINATOR()).sent
    return solo, question


def _normal() -> Solo:
    solo, question = _following()
    solo.reply(question, AreYouThereAnswer(DEFINITION))
    assert solo.protocol.status is Status.NORMAL
    return solo


def _leading(*members: int) -> Solo:
    """Return the highest of (0, 1, 4, 7), with these members."""
    solo, _ = _alone(7, (0, 1, 4, 7))
    for member in members:
        solo.hear(member, AreYouThere(NOTHING))
    if len(members) < 3:
        solo.fire_timer()
    assert solo.protocol.leads
    return solo


def _sent(step: Step) -> list[tuple[str, int]]:
    return [(message.kind, message.target) for message in step.sent]


ELECTIONS = [("ELECTION", 6), ("ELECTION", 7)]


def test_T1_a_node_that_misses_the_coordinator_asks_all_higher() -> None:
    """T1: the coordinator does not answer within T: ELECTION to all higher nodes, and to no lower ones."""
    solo = _normal()
    assert _sent(solo.fire_timer()) == [("AreYouThere", 7)]
    step = solo.fire_timer()
    assert _sent(step) == ELECTIONS
    assert solo.protocol.status is Status.ELECTION
    assert not solo.protocol.processing


def test_T1_a_coordinator_that_answers_is_kept() -> None:
    """T1: only the next question is sent, one T after the last."""
    solo = _normal()
    asked = solo.fire_timer()
    assert solo.reply(asked.sent[0], AreYouThereAnswer(DEFINITION)).sent == ()
    again = solo.fire_timer()
    assert (_sent(again), again.at_us - asked.at_us) == ([("AreYouThere", 7)], T_US)


@pytest.mark.parametrize("sender", [0, 1])
def test_T2_an_election_message_is_answered_and_begins_an_election(sender: int) -> None:
    """T2: OK to the lower node, ELECTION to those above."""
    solo = _normal()
    step = solo.hear(sender, ELECTION())
    assert sorted(_sent(step)) == sorted([("OK", sender), *ELECTIONS])


def test_T2_unless_it_is_holding_one() -> None:
    """T2: then it answers OK and does not begin again.

    This holds while it asks, while it waits for the winner, and while it waits to be admitted by it.
    """
    solo, step = _alone()
    assert _sent(solo.hear(0, ELECTION())) == [("OK", 0)]
    solo.reply(step.sent[0], OK())
    assert _sent(solo.hear(0, ELECTION())) == [("OK", 0)]
    solo.hear(7, COORDINATOR())
    assert _sent(solo.hear(0, ELECTION())) == [("OK", 0)]


def test_T3_without_an_OK_it_has_won() -> None:
    """T3: no answer within T: COORDINATOR to all others, higher and lower."""
    solo, begun = _alone()
    step = solo.fire_timer()
    assert step.at_us - begun.at_us == T_US
    assert _sent(step) == [("COORDINATOR", node) for node in (0, 1, 6, 7)]
    assert solo.protocol.coordinator == 4


def test_T3_with_an_OK_its_job_is_done() -> None:
    """T3: the first one is enough; it waits for COORDINATOR, and follows the sender."""
    solo, begun = _alone()
    step = solo.reply(begun.sent[0], OK())
    assert step.sent == ()
    assert [wait.what for wait in solo.waits] == ["a higher node to win"]
    assert _sent(solo.hear(6, COORDINATOR())) == [("AreYouThere", 6)]
    assert solo.protocol.coordinator == 6


def test_T3_without_COORDINATOR_in_time_it_starts_anew() -> None:
    """T3: 2·T after the OK it asks all higher nodes again."""
    solo, begun = _alone()
    given_up = solo.reply(begun.sent[1], OK())
    step = solo.fire_timer()
    assert (_sent(step), step.at_us - given_up.at_us) == (ELECTIONS, 2 * T_US)


def test_T4_a_restarted_node_holds_an_election() -> None:
    """T4: whatever is in its stable storage."""
    solo = Solo(BullyTanenbaum, 4, (0, 1, 4, 6, 7))
    assert _sent(solo.start({"version": 9}, incarnation=2, serial=100)) == ELECTIONS


def test_T4_the_highest_of_all_just_announces_itself() -> None:
    """T4: at once, and without ELECTION."""
    _, step = _alone(7)
    assert _sent(step) == [("COORDINATOR", node) for node in (0, 1, 4, 6)]


def test_T4_it_bullies_the_others_into_submission() -> None:
    """T4: while 6 leads, 7 restarts; its announcement is enough."""
    rig = Rig(range(8), protocol=BullyTanenbaum).started()
    rig.run_until_agreed()
    rig.do("kill 7")
    rig.run_until(lambda: rig.agreed() == 6, 20 * T_US, "6 leads")
    since = len(rig.records)
    rig.do("restart 7")
    rig.run_until(lambda: rig.agreed() == 7, 20 * T_US, "7 leads again")
    assert [each for each in rig.sent(since=since) if each[1] not in HEARTBEATS] == [
        (7, "COORDINATOR", node) for node in range(7)
    ]


def test_T5_figure_3_12(transcript: Callable[[str, str], None]) -> None:
    """T5: the messages (a) to (e) of the figure, and no others."""
    parameters = BullyTanenbaum.Parameters(ask_every_us=figure_3_12.ask_every_us(TIMING))
    rig = Rig(figure_3_12.NODES, protocol=BullyTanenbaum, parameters=parameters)
    rig.do(*figure_3_12.script(TIMING))
    rig.started()
    rig.run_until(lambda: 7 not in rig.incarnations, 20 * T_US, "7 crashes")
    rig.run_until_agreed()
    sent = figure_3_12.messages_since_crash(rig.records, HEARTBEATS)
    figure_3_12.assert_stages(sent)
    transcript("figure_3_12", "\n".join(f"{source} → {target} {kind}" for kind, source, target in sent))


# what the telling leaves open


def test_a_node_that_gets_COORDINATOR_leaves_its_coordinator_at_once() -> None:
    """A1.1: between COORDINATOR and the Definition of the new coordinator it follows nobody."""
    solo = Solo(BullyTanenbaum, 1, (0, 1, 6, 7))
    solo.start()
    (question,) = solo.hear(6, COORDINATOR()).sent
    solo.reply(question, AreYouThereAnswer(DEFINITION))
    assert solo.protocol.processing
    (question,) = solo.hear(7, COORDINATOR()).sent
    assert (solo.protocol.status, solo.protocol.processing) == (Status.ELECTION, False)
    solo.reply(question, AreYouThereAnswer())
    assert solo.protocol.status is Status.ELECTION, "7 has not heard from all yet"
    solo.reply(solo.fire_timer().sent[0], AreYouThereAnswer(DEFINITION))
    assert (solo.protocol.status, solo.protocol.definition) == (Status.NORMAL, DEFINITION)


def test_the_winner_is_normal_when_it_has_heard_from_all() -> None:
    """A1.1: or T later, when nodes that have not asked are dead."""
    assert _leading(0, 1, 4).now_us == 0
    assert _leading(0, 4).now_us == T_US


def test_a_lower_winner_is_bullied() -> None:
    """A2: a node that gets COORDINATOR from a lower one holds an election."""
    solo = _normal()
    assert _sent(solo.hear(1, COORDINATOR())) == ELECTIONS
    assert solo.protocol.coordinator == 7


def test_a_former_coordinator_is_silent() -> None:
    """T1: so a node that takes it for its coordinator notices, and elects."""
    assert _normal().hear(1, AreYouThere(NOTHING)).sent == ()
    solo, _ = _following()
    assert _sent(solo.fire_timer()) == ELECTIONS


def test_a_former_coordinator_that_answers_admits_nobody() -> None:
    """T1, read otherwise: it answers without a Definition; the node that asked asks again."""
    reading = BullyTanenbaum.Parameters(responding="any_node")
    solo = Solo(BullyTanenbaum, 4, (0, 1, 4, 6, 7), parameters=reading)
    solo.start()
    (asked,) = solo.hear(7, COORDINATOR()).sent
    solo.reply(asked, AreYouThereAnswer(DEFINITION))
    (answer,) = solo.hear(1, AreYouThere(NOTHING)).sent
    assert bytes(answer.body) == b"{}"
    (question,) = solo.fire_timer().sent
    step = solo.reply(question, AreYouThereAnswer())
    assert (step.sent, step.changed) == ((), {})


def test_a_node_that_asks_is_a_member_and_gets_the_definition() -> None:
    """The coordinator sends a new Definition when its members change."""
    solo = _leading(0, 4)
    assert solo.protocol.definition.members == (0, 4, 7)
    version = solo.protocol.definition.version
    step = solo.hear(1, AreYouThere(Definition(9, 6, (1, 6))))
    assert solo.protocol.definition.members == (0, 1, 4, 7)
    assert solo.protocol.definition.version == 10 > version, "newer than what any of them knows"
    assert step.stored == {"version": 10}


def test_a_silent_member_is_removed() -> None:
    """3·T after its last question."""
    rig = Rig((0, 1, 2), protocol=BullyTanenbaum).started()
    assert rig.run_until_agreed() == 2
    rig.do("kill 0")
    rig.run(5 * T_US)
    assert rig.protocol(2).definition.members == rig.protocol(1).definition.members == (1, 2)
    assert rig.protocol(1).processing


def test_a_non_member_that_is_up_makes_the_coordinator_hold_an_election() -> None:
    """A2: in this way two coordinators find each other."""
    solo = _leading(0, 4)
    step = solo.fire_timer()
    assert _sent(step) == [("AreYouUp", 1)]
    assert _sent(solo.reply(step.sent[0], AreYouUpAnswer())) == [("COORDINATOR", node) for node in (0, 1, 4)]
    assert _sent(_normal().hear(0, AreYouUp())) == [("AreYouUpAnswer", 0)]


@pytest.mark.parametrize("sides", ["0 1 | 2 3", "3", "0 | 1 | 2 | 3", "0 3 | 1 2"])
def test_a_partition_heals_to_one_coordinator(sides: str) -> None:
    """A2: each side has its own coordinator; after the heal, the highest leads."""
    rig = Rig(range(4), protocol=BullyTanenbaum).started()
    assert rig.run_until_agreed() == 3
    rig.do(f"partition {sides}")
    rig.run(20 * T_US)
    assert len({rig.protocol(node).coordinator for node in rig.ids}) == max(2, sides.count("|") + 1)
    rig.do("heal")
    rig.run_until(lambda: rig.agreed() == 3, 20 * T_US, "3 leads all")


def test_node_0_leads_when_it_is_alone() -> None:
    """M1: ids start at 0, and 0 is a coordinator like any other."""
    rig = Rig((0, 1), protocol=BullyTanenbaum).started()
    assert rig.run_until_agreed() == 1
    rig.do("kill coordinator")
    assert rig.run_until(lambda: rig.agreed() == 0, 20 * T_US, "0 leads")
    assert rig.protocol(0).definition.members == (0,)

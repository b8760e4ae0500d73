"""Section 7, rule F4: the majority guard. *Publish the survey* takes effect in at most one group at a time."""

from collections.abc import Iterable

import pytest

from lab.kernel import Message, Step
from lab.properties import A9, Judge
from lab.protocols import Bully, Election, Field, InvitationElection, Status, stacked
from lab.protocols.publishing import AreYouReady, Outcome, OutcomeOf, Published, Publishing, Vote
from lab.protocols.survey import Operation
from tests.harness import T_US, Rig, Solo

IDS = (1, 2, 3, 4, 5)
ELECTIONS = (Bully, InvitationElection)
above_each = pytest.mark.parametrize("election", ELECTIONS, ids=lambda each: each.name)


def rig(election: type[Election] = Bully, ids: tuple[int, ...] = IDS) -> Rig:
    """A cluster with little to survey, in one group."""
    protocol = stacked(Field, election)
    started = Rig(ids, protocol=protocol, parameters=protocol.Parameters(reading_every_us=100 * T_US)).started()
    started.settle()
    return started.run(20 * T_US)


def above(rig: Rig, node: int) -> Publishing:
    """The task of a node."""
    task = rig.protocol(node).above
    assert isinstance(task, Publishing)
    return task


def editions(rig: Rig, nodes: Iterable[int]) -> set[Operation]:
    """The newest editions that these nodes know."""
    return {above(rig, node).published for node in nodes}


def held(rig: Rig) -> bool:
    """Whether A9 holds of all records."""
    judge = Judge(rig.header)
    for record in rig.records:
        judge.observe(record)
    return not [violation for violation in judge.violations if violation.assertion == A9.id]


# a group with a majority


@above_each
def test_F4_a_group_with_a_majority_publishes(election: type[Election]) -> None:
    """Editions form one sequence, and each member knows the newest."""
    run = rig(election)
    for edition in (1, 2, 3):
        run.do("publish")
        run.run(4 * T_US)
        assert editions(run, IDS) == {Operation(edition, 5, edition)}
        assert above(run, 5).outcome == f"edition {edition} is published"
    assert held(run)


@above_each
def test_F4_a_group_without_a_majority_refuses_and_says_why(election: type[Election]) -> None:
    """Of two groups, the smaller refuses, in words, and sends nothing for it; the larger publishes."""
    run = rig(election)
    run.do("partition 1 2 | 3 4 5")
    run.run(60 * T_US)
    since = len(run.records)
    run.do("publish coordinators")
    run.run(4 * T_US)
    assert above(run, 2).outcome == "refused: 2 of 5 nodes are no majority"
    noted = [record for record in run.records[since:] if isinstance(record, Step) and record.notes]
    assert [record.node for record in noted] == [2, 5]
    assert editions(run, (1, 2)) == {Operation()}
    assert editions(run, (3, 4, 5)) == {Operation(1, 5, 1)}
    run.do("heal")
    run.run(80 * T_US)
    assert editions(run, IDS) == {Operation(1, 5, 1)}, "told with the Definition"
    assert held(run)


def test_F4_exactly_half_is_no_majority() -> None:
    """Two of four: both halves refuse."""
    run = rig(Bully, (1, 2, 3, 4))
    run.do("partition 1 2 | 3 4")
    run.run(60 * T_US)
    run.do("publish coordinators")
    run.run(4 * T_US)
    assert {above(run, node).outcome for node in (2, 4)} == {"refused: 2 of 4 nodes are no majority"}


def test_F4_the_dead_count_as_configured() -> None:
    """Three of five are dead: the two that are left are no majority."""
    run = rig()
    run.do("kill 3 4 5")
    run.settle()
    run.do("publish")
    assert above(run, 2).outcome == "refused: 2 of 5 nodes are no majority"


def test_F4_only_a_coordinator_publishes() -> None:
    """A participant refuses, and says why."""
    run = rig()
    run.do("publish 3")
    assert above(run, 3).outcome == "refused: only a Normal coordinator publishes"
    assert editions(run, IDS) == {Operation()}


# two-phase commit


def test_F4_it_is_a_two_phase_commit_within_the_group() -> None:
    """AreYouReady to all members, a vote of each, and then Published to all."""
    run = rig()
    since = len(run.records)
    run.do("publish")
    run.run(T_US)
    kinds = [sent for sent in run.sent(since=since) if sent[1] in ("AreYouReady", "Vote", "Published")]
    members = (1, 2, 3, 4)
    assert kinds[:4] == [(5, "AreYouReady", node) for node in members]
    assert kinds[4:8] == [(node, "Vote", 5) for node in members]
    assert kinds[8:] == [(5, "Published", node) for node in members]


def test_F4_without_all_votes_nothing_is_published() -> None:
    """A member that does not vote: the majority may be there no more."""
    run = rig()
    rule = run.lose(frozenset({(5, 2)}), "AreYouReady")
    run.do("publish")
    run.run(2 * T_US)
    assert above(run, 5).outcome == "edition 1 is not published: 2 did not vote"
    run.release(rule)
    run.run(6 * T_US)
    assert {above(run, node).pledge for node in IDS} == {None}, "who was pledged has learnt that it is over"
    run.do("publish")
    run.run(2 * T_US)
    assert editions(run, IDS) == {Operation(1, 5, 2)}


def test_F4_a_vote_against_it_says_why() -> None:
    """A member that is pledged to another operation names it."""
    run = rig()
    above(run, 2).pledge = Operation(1, 4, 1)
    run.do("publish")
    run.run(T_US)
    against = "2: it is pledged to an operation of 4 for edition 1"
    assert above(run, 5).outcome == f"edition 1 is not published: {against}"


def test_F4_an_operation_ends_with_the_group() -> None:
    """Who leaves Normal in the middle of it publishes nothing."""
    run = rig()
    run.hold(frozenset((node, 5) for node in (1, 2, 3, 4)), "Vote")
    run.do("publish")
    run.do("kill 4")
    run.run(T_US // 2)
    run.protocol(5).begin(run.protocol(5).election)
    run.run(40 * T_US)
    assert above(run, 5).outcome.startswith("edition 1 is not published")
    assert editions(run, (1, 2, 3, 5)) == {Operation()}


# pledges


def member() -> Solo:
    """Node 2 of five, Normal under 5."""
    solo = Solo(stacked(Field, Bully), 2, IDS)
    solo.start()
    solo.protocol.stop(solo.protocol.election)
    solo.protocol.status, solo.protocol.coordinator = Status.NORMAL, 5
    return solo


def answered(step: Step) -> Message:
    """The one answer in it."""
    (message,) = [message for message in step.sent if message.answers]
    return message


def test_F4_a_vote_is_in_safe_storage_before_it_leaves() -> None:
    """The pledge is stored in the very step that sends the vote."""
    step = member().hear(5, AreYouReady(Operation(1, 5, 1)))
    assert step.stored == {"pledge": [1, 5, 1]}
    assert answered(step).kind == "Vote"


def test_F4_the_decision_is_in_safe_storage_before_it_is_told() -> None:
    """The step that sends the first Published stores the operation, and who has still to be told."""
    run = rig()
    run.do("publish")
    run.run(T_US)
    (first, *_) = [step for step in run.steps if any(message.kind == "Published" for message in step.sent)]
    assert first.stored["published"] == [1, 5, 1]
    assert first.stored["untold"] == [1, 2, 3, 4]


def test_F4_a_pledged_member_votes_for_nothing_else() -> None:
    """Not for another operation of the same coordinator either; for the same one again, it does."""
    solo = member()
    solo.hear(5, AreYouReady(Operation(1, 5, 1)))
    other = answered(solo.hear(5, AreYouReady(Operation(1, 5, 2))))
    assert b"pledged to an operation of 5" in bytes(other.body)
    again = answered(solo.hear(5, AreYouReady(Operation(1, 5, 1))))
    assert b'"against":""' in bytes(again.body)


def test_F4_nobody_votes_outside_its_group_or_for_an_edition_that_is_out() -> None:
    """And the vote says which edition is the newest."""
    solo = member()
    assert b"not of the group" in bytes(answered(solo.hear(4, AreYouReady(Operation(1, 4, 1)))).body)
    solo.hear(5, Published(Operation(3, 5, 7)))
    late = bytes(answered(solo.hear(5, AreYouReady(Operation(3, 5, 8)))).body)
    assert b"edition 3 is out" in late
    assert b"[3,5,7]" in late


def test_F4_a_pledged_member_asks_for_the_outcome() -> None:
    """All others, again and again; it is released by who began the operation, or by a later edition."""
    solo = member()
    solo.hear(5, AreYouReady(Operation(1, 5, 1)))
    asked: list[Message] = []
    while not asked:
        asked = [message for message in solo.fire().sent if message.kind == "OutcomeOf"]
    assert [message.target for message in asked] == [1, 3, 4, 5]
    for message in asked[:-1]:
        solo.reply(message, Outcome(Operation(), over=False))
    assert solo.protocol.above.pledge == Operation(1, 5, 1)
    solo.reply(asked[-1], Outcome(Operation(), over=True))
    assert solo.protocol.above.pledge is None


def test_F4_a_later_edition_releases_a_pledge() -> None:
    """Whatever became of the operation: nobody votes for its edition any more."""
    solo = member()
    solo.hear(5, AreYouReady(Operation(1, 5, 1)))
    step = solo.hear(4, Published(Operation(2, 4, 1)))
    assert step.stored == {"published": [2, 4, 1], "pledge": None}
    assert not [wait for wait in step.waits if wait.procedure == "inquire"]


def test_F4_a_pledge_outlives_a_crash() -> None:
    """A member that comes back pledged asks at once what became of it."""
    solo = Solo(stacked(Field, Bully), 2, IDS)
    step = solo.start({"pledge": [1, 5, 1], "published": [0, 0, 0]}, incarnation=2)
    assert [wait.what for wait in step.waits if wait.procedure == "inquire"] == ["the decision"]
    assert solo.protocol.above.pledge == Operation(1, 5, 1)


def test_F4_presumed_abort() -> None:
    """Who began an operation, and neither decided it nor is about it, says that it is over; others do not."""
    solo = member()
    body = bytes(answered(solo.hear(3, OutcomeOf(Operation(1, 2, 1)))).body)
    assert b'"over":true' in body
    body = bytes(answered(solo.hear(3, OutcomeOf(Operation(1, 4, 1)))).body)
    assert b'"over":false' in body


def test_F4_who_is_about_an_operation_does_not_say_that_it_is_over() -> None:
    """The votes may still be coming in."""
    run = rig()
    run.hold(frozenset((node, 5) for node in (1, 2, 3, 4)), "Vote")
    run.do("publish")
    run.run(T_US // 2)
    operation = above(run, 5).publishing
    assert operation == Operation(1, 5, 1)
    assert above(run, 5).outcome_of(1, OutcomeOf(operation)) == Outcome(Operation(), over=False)
    run.run(T_US)
    assert above(run, 5).outcome_of(1, OutcomeOf(operation)) == Outcome(Operation(), over=True)


# crashes


def test_F4_a_coordinator_that_crashes_without_a_decision_never_decides() -> None:
    """The members were pledged; once it is back they learn that it is over."""
    run = rig()
    run.do("on send Vote 3->5 kill 5", "publish")
    run.run(30 * T_US)
    pledged = {node for node in (1, 2, 3, 4) if above(run, node).pledge is not None}
    assert pledged
    run.do("publish")
    run.run(4 * T_US)
    assert "not published" in above(run, 4).outcome or "pledged" in above(run, 4).outcome, "they are blocked"
    run.do("restart 5")
    run.run(40 * T_US)
    assert {above(run, node).pledge for node in IDS} == {None}
    run.do("publish")
    run.run(4 * T_US)
    assert {operation.edition for operation in editions(run, IDS)} == {1}
    assert held(run)


@pytest.mark.parametrize("told", [1, 2, 3, 4])
def test_F4_a_coordinator_that_crashed_after_the_decision_sends_it_again(told: int) -> None:
    """Killed between two messages of the step that decides: the edition is out, and in the end all know it."""
    run = rig()
    run.do(f"on send Published 5->{told} kill 5", "publish")
    run.run(30 * T_US)
    run.do("restart 5")
    run.run(60 * T_US)
    assert editions(run, IDS) == {Operation(1, 5, 1)}
    assert above(run, 5).untold == ()
    assert {above(run, node).pledge for node in IDS} == {None}
    assert held(run)


@above_each
@pytest.mark.parametrize("message", ["AreYouReady 5->3", "Vote 3->5", "Published 5->3", "PublishedAnswer 3->5"])
def test_F4_a_partition_in_mid_operation(election: type[Election], message: str) -> None:
    """Two groups that try at once, across a cut in the middle of it, never both succeed."""
    run = rig(election)
    run.do(f"on send {message} partition 1 2 5 | 3 4", "publish")
    for _ in range(12):
        run.run(8 * T_US)
        run.do("publish coordinators")
    run.do("heal")
    run.run(80 * T_US)
    run.do("publish")
    run.run(4 * T_US)
    assert held(run)
    (newest,) = editions(run, IDS)
    assert newest.edition > 1


def test_F4_a_vote_that_comes_too_late_changes_nothing() -> None:
    """The operation is over by then, and the voter learns it."""
    solo = Solo(stacked(Field, Bully), 5, IDS)
    solo.start()
    solo.protocol.stop(solo.protocol.election)
    solo.protocol.status, solo.protocol.coordinator = Status.NORMAL, 5
    solo.protocol.definition = solo.protocol.define(1, IDS, [solo.protocol.report()])
    task = solo.protocol.above
    solo.now_us += 1
    task.publish()
    asked = [message for message in solo.hear(1, Published(Operation())).sent if message.kind == "AreYouReady"]
    assert len(asked) == 4
    for message in asked[1:]:
        solo.reply(message, Vote("", Operation()))
    while not task.outcome:
        solo.fire()
    assert task.outcome == "edition 1 is not published: 1 did not vote"
    assert solo.reply(asked[0], Vote("", Operation())).late
    assert task.published == Operation()


# what is found in two operations at once


def test_F4_a_refusal_leaves_the_operation_as_it_is() -> None:
    """Whoever is about one refuses a second, and says so; the first goes on as if nothing had been asked."""
    run = rig()
    held_back = run.hold(frozenset({(4, 5)}), "Vote")
    run.do("publish 5")
    operation = above(run, 5).publishing
    run.do("publish 5")
    assert above(run, 5).publishing == operation == Operation(1, 5, 1)
    assert above(run, 5).outcome == "refused: an operation for edition 1 is going on"
    run.release(held_back)
    run.run(4 * T_US)
    assert editions(run, IDS) == {Operation(1, 5, 1)}


def test_F4_an_operation_ends_with_its_group_however_often_it_was_asked_for() -> None:
    """M7: the last vote comes when the coordinator is Normal no longer, and nothing is published."""
    run = rig()
    run.do("kill 1")
    run.run(10 * T_US)
    held_back = run.hold(frozenset({(4, 5)}), "Vote")
    run.do("restart 1", "publish 5", "publish 5")
    run.run_until(lambda: run.protocol(5).status is not Status.NORMAL, T_US, "5 has found 1")
    run.release(held_back)
    run.run(4 * T_US)
    assert editions(run, IDS) == {Operation()}
    assert above(run, 5).outcome == "edition 1 is not published: the group ended meanwhile"


def test_F4_a_node_that_knows_an_edition_does_not_count_for_the_next() -> None:
    """An answer to the edition before comes when the next is decided: that one is told to all all the same."""
    run = rig()
    held_back = run.lose(frozenset({(2, 5)}), "PublishedAnswer")
    run.do("publish 5")
    run.run_until(lambda: above(run, 5).untold == (2,), 4 * T_US, "all but 2 have said that they know")
    since = len(run.records)
    run.do("publish 5")
    run.run_until(lambda: above(run, 5).published.edition == 2, 4 * T_US, "the next edition")
    run.release(held_back)
    run.run(8 * T_US)
    told = {target for source, _, target in run.sent("Published", since=since) if source == 5}
    assert told == {1, 2, 3, 4}
    assert above(run, 5).untold == ()
    assert editions(run, IDS) == {Operation(2, 5, 2)}

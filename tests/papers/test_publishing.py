"""Section 7, rule F4: the majority guard. *Publish the survey* takes effect in at most one group at a time."""

from collections.abc import Iterable

import pytest

from lab.kernel import Message, Step
from lab.properties.assertions import A9
from lab.properties.judge import Judge
from lab.protocols import Bully, Election, Field, InvitationElection, Status, stacked
from lab.protocols.publishing import AreYouReady, Outcome, OutcomeOf, Published, Publishing, Vote
from lab.protocols.survey import PublishOperation
from tests.harness import T_US, Rig, Solo

IDS = (1, 2, 3, 4, 5)
ELECTIONS = (Bully, InvitationElection)
above_each = pytest.mark.parametrize("election", ELECTIONS, ids=lambda each: each.name)


def rig(election: type[Election] = Bully, ids: tuple[int, ...] = IDS) -> Rig:
    """Return a cluster with little to survey, in one group."""
    protocol = stacked(Field, election)
    started = Rig(ids, protocol=protocol, parameters=protocol.Parameters(reading_every_us=100 * T_US)).started()
    started.run_until_agreed()
    return started.run(20 * T_US)


def publishing_of(rig: Rig, node: int) -> Publishing:
    """Return the task of a node."""
    task = rig.protocol(node).upper_layer
    assert isinstance(task, Publishing)
    return task


def editions(rig: Rig, nodes: Iterable[int]) -> set[PublishOperation]:
    """Return the newest editions that these nodes know."""
    return {publishing_of(rig, node).published for node in nodes}


def held(rig: Rig) -> bool:
    """Return whether A9 holds over all records."""
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
        assert editions(run, IDS) == {PublishOperation(edition, 5, edition)}
        assert publishing_of(run, 5).outcome == f"edition {edition} is published"
    assert held(run)


@above_each
def test_F4_a_group_without_a_majority_refuses_with_a_reason(election: type[Election]) -> None:
    """Of two groups, the smaller one refuses with a text, and sends no messages; the larger one publishes."""
    run = rig(election)
    run.do("partition 1 2 | 3 4 5")
    run.run(60 * T_US)
    since = len(run.records)
    run.do("publish coordinators")
    run.run(4 * T_US)
    assert publishing_of(run, 2).outcome == "refused: 2 of 5 nodes are not a majority"
    noted = [record for record in run.records[since:] if isinstance(record, Step) and record.notes]
    assert [record.node for record in noted] == [2, 5]
    assert editions(run, (1, 2)) == {PublishOperation()}
    assert editions(run, (3, 4, 5)) == {PublishOperation(1, 5, 1)}
    run.do("heal")
    run.run(80 * T_US)
    assert editions(run, IDS) == {PublishOperation(1, 5, 1)}, "told with the Definition"
    assert held(run)


def test_F4_exactly_half_is_no_majority() -> None:
    """Two of four: both halves refuse."""
    run = rig(Bully, (1, 2, 3, 4))
    run.do("partition 1 2 | 3 4")
    run.run(60 * T_US)
    run.do("publish coordinators")
    run.run(4 * T_US)
    assert {publishing_of(run, node).outcome for node in (2, 4)} == {"refused: 2 of 4 nodes are not a majority"}


def test_F4_the_dead_count_as_configured() -> None:
    """Three of five are dead: the remaining two are no majority."""
    run = rig()
    run.do("kill 3 4 5")
    run.run_until_agreed()
    run.do("publish")
    assert publishing_of(run, 2).outcome == "refused: 2 of 5 nodes are not a majority"


def test_F4_only_a_coordinator_publishes() -> None:
    """A participant refuses with a reason."""
    run = rig()
    run.do("publish 3")
    assert publishing_of(run, 3).outcome == "refused: only a Normal coordinator publishes"
    assert editions(run, IDS) == {PublishOperation()}


# two-phase commit


def test_F4_it_is_a_two_phase_commit_within_the_group() -> None:
    """AreYouReady to all members, a vote of each, then Published to all."""
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
    """A member does not vote: the majority may no longer exist."""
    run = rig()
    rule = run.lose(frozenset({(5, 2)}), "AreYouReady")
    run.do("publish")
    run.run(2 * T_US)
    assert publishing_of(run, 5).outcome == "edition 1 is not published: 2 did not vote"
    run.release(rule)
    run.run(6 * T_US)
    assert {publishing_of(run, node).pledge for node in IDS} == {None}, (
        "who was pledged has learnt that it is over"
    )
    run.do("publish")
    run.run(2 * T_US)
    assert editions(run, IDS) == {PublishOperation(1, 5, 2)}


def test_F4_a_vote_against_has_a_reason() -> None:
    """A member that is pledged to another operation names it."""
    run = rig()
    publishing_of(run, 2).pledge = PublishOperation(1, 4, 1)
    run.do("publish")
    run.run(T_US)
    against = "2: it is pledged to an operation of 4 for edition 1"
    assert publishing_of(run, 5).outcome == f"edition 1 is not published: {against}"


def test_F4_an_operation_ends_with_the_group() -> None:
    """A coordinator that leaves Normal during the operation publishes nothing."""
    run = rig()
    run.hold(frozenset((node, 5) for node in (1, 2, 3, 4)), "Vote")
    run.do("publish")
    run.do("kill 4")
    run.run(T_US // 2)
    run.protocol(5).begin(run.protocol(5).election)
    run.run(40 * T_US)
    assert publishing_of(run, 5).outcome.startswith("edition 1 is not published")
    assert editions(run, (1, 2, 3, 5)) == {PublishOperation()}


# pledges


def member() -> Solo:
    """Return node 2 of five, Normal under 5."""
    solo = Solo(stacked(Field, Bully), 2, IDS)
    solo.start()
    solo.protocol.stop(solo.protocol.election)
    solo.protocol.status, solo.protocol.coordinator = Status.NORMAL, 5
    return solo


def answered(step: Step) -> Message:
    """Return the only answer in the step."""
    (message,) = [message for message in step.sent if message.reply_to]
    return message


def test_F4_a_vote_is_in_safe_storage_before_it_leaves() -> None:
    """The pledge is stored in the same step that sends the vote."""
    step = member().hear(5, AreYouReady(PublishOperation(1, 5, 1)))
    assert step.stored == {"pledge": [1, 5, 1]}
    assert answered(step).kind == "Vote"


def test_F4_the_decision_is_in_safe_storage_before_it_is_sent() -> None:
    """The step that sends the first Published stores the operation, and the nodes that must acknowledge it."""
    run = rig()
    run.do("publish")
    run.run(T_US)
    (first, *_) = [step for step in run.steps if any(message.kind == "Published" for message in step.sent)]
    assert first.stored["published"] == [1, 5, 1]
    assert first.stored["unacknowledged"] == [1, 2, 3, 4]


def test_F4_a_pledged_member_votes_for_nothing_else() -> None:
    """Not even for another operation of the same coordinator; again for the same one."""
    solo = member()
    solo.hear(5, AreYouReady(PublishOperation(1, 5, 1)))
    other = answered(solo.hear(5, AreYouReady(PublishOperation(1, 5, 2))))
    assert b"pledged to an operation of 5" in bytes(other.body)
    again = answered(solo.hear(5, AreYouReady(PublishOperation(1, 5, 1))))
    assert b'"against":""' in bytes(again.body)


def test_F4_nobody_votes_outside_its_group_or_for_an_edition_that_is_out() -> None:
    """The vote contains the newest edition."""
    solo = member()
    assert b"not of the group" in bytes(answered(solo.hear(4, AreYouReady(PublishOperation(1, 4, 1)))).body)
    solo.hear(5, Published(PublishOperation(3, 5, 7)))
    late = bytes(answered(solo.hear(5, AreYouReady(PublishOperation(3, 5, 8)))).body)
    assert b"edition 3 is out" in late
    assert b"[3,5,7]" in late


def test_F4_a_pledged_member_asks_for_the_outcome() -> None:
    """It asks all others repeatedly; the node that began the operation releases it, or a later edition does."""
    solo = member()
    solo.hear(5, AreYouReady(PublishOperation(1, 5, 1)))
    asked: list[Message] = []
    while not asked:
        asked = [message for message in solo.fire_timer().sent if message.kind == "OutcomeOf"]
    assert [message.target for message in asked] == [1, 3, 4, 5]
    for message in asked[:-1]:
        solo.reply(message, Outcome(PublishOperation(), over=False))
    assert solo.protocol.upper_layer.pledge == PublishOperation(1, 5, 1)
    solo.reply(asked[-1], Outcome(PublishOperation(), over=True))
    assert solo.protocol.upper_layer.pledge is None


def test_F4_a_later_edition_releases_a_pledge() -> None:
    """Nobody votes for its edition any more, whatever the outcome of the operation."""
    solo = member()
    solo.hear(5, AreYouReady(PublishOperation(1, 5, 1)))
    step = solo.hear(4, Published(PublishOperation(2, 4, 1)))
    assert step.stored == {"published": [2, 4, 1], "pledge": None}
    assert not [wait for wait in solo.waits if wait.procedure == "inquire"]


def test_F4_a_pledge_outlives_a_crash() -> None:
    """A member that restarts pledged asks for the outcome at once."""
    solo = Solo(stacked(Field, Bully), 2, IDS)
    solo.start({"pledge": [1, 5, 1], "published": [0, 0, 0]}, incarnation=2)
    assert [wait.what for wait in solo.waits if wait.procedure == "inquire"] == ["the decision"]
    assert solo.protocol.upper_layer.pledge == PublishOperation(1, 5, 1)


def test_F4_presumed_abort() -> None:
    """A node that began an operation, and neither decided nor runs it, answers that it is over; others do not."""
    solo = member()
    body = bytes(answered(solo.hear(3, OutcomeOf(PublishOperation(1, 2, 1)))).body)
    assert b'"over":true' in body
    body = bytes(answered(solo.hear(3, OutcomeOf(PublishOperation(1, 4, 1)))).body)
    assert b'"over":false' in body


def test_F4_a_running_operation_is_not_reported_over() -> None:
    """The votes may still arrive."""
    run = rig()
    run.hold(frozenset((node, 5) for node in (1, 2, 3, 4)), "Vote")
    run.do("publish")
    run.run(T_US // 2)
    operation = publishing_of(run, 5).publishing
    assert operation == PublishOperation(1, 5, 1)
    assert publishing_of(run, 5).on_outcome_of(1, OutcomeOf(operation)) == Outcome(PublishOperation(), over=False)
    run.run(T_US)
    assert publishing_of(run, 5).on_outcome_of(1, OutcomeOf(operation)) == Outcome(PublishOperation(), over=True)


# crashes


def test_F4_a_coordinator_that_crashes_without_a_decision_never_decides() -> None:
    """The members are pledged; once it has restarted, they learn that the operation is over."""
    run = rig()
    run.do("on send Vote 3->5 kill 5", "publish")
    run.run(30 * T_US)
    pledged = {node for node in (1, 2, 3, 4) if publishing_of(run, node).pledge is not None}
    assert pledged
    run.do("publish")
    run.run(4 * T_US)
    assert "not published" in publishing_of(run, 4).outcome or "pledged" in publishing_of(run, 4).outcome, (
        "they are blocked"
    )
    run.do("restart 5")
    run.run(40 * T_US)
    assert {publishing_of(run, node).pledge for node in IDS} == {None}
    run.do("publish")
    run.run(4 * T_US)
    assert {operation.edition for operation in editions(run, IDS)} == {1}
    assert held(run)


@pytest.mark.parametrize("target", [1, 2, 3, 4])
def test_F4_a_coordinator_that_crashed_after_the_decision_sends_it_again(target: int) -> None:
    """Killed between two messages of the deciding step: the edition is out, and in the end all know it."""
    run = rig()
    run.do(f"on send Published 5->{target} kill 5", "publish")
    run.run(30 * T_US)
    run.do("restart 5")
    run.run(60 * T_US)
    assert editions(run, IDS) == {PublishOperation(1, 5, 1)}
    assert publishing_of(run, 5).unacknowledged == ()
    assert {publishing_of(run, node).pledge for node in IDS} == {None}
    assert held(run)


@above_each
@pytest.mark.parametrize("message", ["AreYouReady 5->3", "Vote 3->5", "Published 5->3", "PublishedAnswer 3->5"])
def test_F4_a_partition_in_mid_operation(election: type[Election], message: str) -> None:
    """Two groups that try at once, with a cut during the operation, never both succeed."""
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


def test_F4_a_late_vote_has_no_effect() -> None:
    """The operation is over by then, and the voter learns it."""
    solo = Solo(stacked(Field, Bully), 5, IDS)
    solo.start()
    solo.protocol.stop(solo.protocol.election)
    solo.protocol.status, solo.protocol.coordinator = Status.NORMAL, 5
    solo.protocol.definition = solo.protocol.define(1, IDS, [solo.protocol.report()])
    task = solo.protocol.upper_layer
    solo.now_us += 1
    task.publish()
    asked = [
        message for message in solo.hear(1, Published(PublishOperation())).sent if message.kind == "AreYouReady"
    ]
    assert len(asked) == 4
    for message in asked[1:]:
        solo.reply(message, Vote("", PublishOperation()))
    while not task.outcome:
        solo.fire_timer()
    assert task.outcome == "edition 1 is not published: 1 did not vote"
    assert solo.reply(asked[0], Vote("", PublishOperation())).late
    assert task.published == PublishOperation()


# what is found in two operations at once


def test_F4_a_refusal_leaves_the_operation_as_it_is() -> None:
    """A node with an operation in progress refuses a second one; the first continues unaffected."""
    run = rig()
    held_back = run.hold(frozenset({(4, 5)}), "Vote")
    run.do("publish 5")
    operation = publishing_of(run, 5).publishing
    run.do("publish 5")
    assert publishing_of(run, 5).publishing == operation == PublishOperation(1, 5, 1)
    assert publishing_of(run, 5).outcome == "refused: an operation for edition 1 is in progress"
    run.release(held_back)
    run.run(4 * T_US)
    assert editions(run, IDS) == {PublishOperation(1, 5, 1)}


def test_F4_an_operation_ends_with_its_group_despite_further_requests() -> None:
    """M7: the last vote arrives when the coordinator is no longer Normal, and nothing is published."""
    run = rig()
    run.do("kill 1")
    run.run(10 * T_US)
    held_back = run.hold(frozenset({(4, 5)}), "Vote")
    run.do("restart 1", "publish 5", "publish 5")
    run.run_until(lambda: run.protocol(5).status is not Status.NORMAL, T_US, "5 has found 1")
    run.release(held_back)
    run.run(4 * T_US)
    assert editions(run, IDS) == {PublishOperation()}
    assert publishing_of(run, 5).outcome == "edition 1 is not published: the group ended meanwhile"


def test_F4_a_node_that_knows_an_edition_does_not_count_for_the_next() -> None:
    """An answer to the previous edition arrives after the decision on the next, which is still sent to all."""
    run = rig()
    held_back = run.lose(frozenset({(2, 5)}), "PublishedAnswer")
    run.do("publish 5")
    run.run_until(
        lambda: publishing_of(run, 5).unacknowledged == (2,), 4 * T_US, "all but 2 have said that they know"
    )
    since = len(run.records)
    run.do("publish 5")
    run.run_until(lambda: publishing_of(run, 5).published.edition == 2, 4 * T_US, "the next edition")
    run.release(held_back)
    run.run(8 * T_US)
    targets = {target for source, _, target in run.sent("Published", since=since) if source == 5}
    assert targets == {1, 2, 3, 4}
    assert publishing_of(run, 5).unacknowledged == ()
    assert editions(run, IDS) == {PublishOperation(2, 5, 2)}

"""The coordinator of the ring and its members: the part that the text leaves open."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import pytest
from msgspec.structs import replace

from lab.kernel import Step
from lab.protocols import Definition, FormedGroup, Group, Ring, Status, Task
from lab.protocols.ring import COORDINATOR, AreYouThere, AreYouUpAnswer, Number, Passed
from tests.harness import T_US, Rig, Solo

NUMBER = Number(2, 2)


def _leading(*members: int, node: int = 3, ids: tuple[int, ...] = (1, 2, 3, 4)) -> Solo:
    """Return a node that started alone, led itself, and was then elected by these, which have not asked it yet."""
    solo = Solo(Ring, node, ids)
    solo.start()
    for _ in ids:
        solo.fire_timer()
    solo.protocol.number = NUMBER
    solo.protocol.status = Status.ELECTION
    solo.protocol.stop(solo.protocol.lead)
    for message in solo.hear(members[0], COORDINATOR((*members, node), NUMBER, NUMBER)).sent:
        if message.kind == "COORDINATOR":
            solo.reply(message, Passed())
    assert solo.protocol.leads
    return solo


def _asks(solo: Solo, member: int, report: Definition | None = None) -> Step:
    return solo.hear(member, AreYouThere(report or Definition()))


def _begins(step: Step) -> bool:
    return any(message.kind == "ELECTION" for message in step.sent)


def test_a_member_that_asks_gets_the_definition() -> None:
    """M2: with the members of the ring and the coordinator."""
    solo = _leading(2)
    (answer,) = _asks(solo, 2).sent
    assert b'"coordinator":3,"members":[2,3]' in bytes(answer.body)


def test_a_members_report_leads_to_a_newer_definition() -> None:
    """B10: newer than all reports; later questions of a member are no reports of another group."""
    solo = _leading(1, 2)
    _asks(solo, 1, Definition(30, 4, (1, 4)))
    assert solo.protocol.definition.version == 31
    _asks(solo, 2, Definition(8, 4, (2, 4)))
    assert solo.protocol.definition.version == 32
    _asks(solo, 1, Definition(31, 3, (1, 2, 3)))
    assert solo.protocol.definition.version == 32


@pytest.mark.parametrize("asking", [4, 1])
def test_a_node_that_is_not_in_its_ring_gets_no_answer(asking: int) -> None:
    """The node has missed an election, and has to hold one."""
    assert _asks(_leading(2), asking).sent == ()


def test_during_an_election_a_member_has_to_wait() -> None:
    """So it holds no election of its own."""
    solo = Solo(Ring, 3)
    solo.start()
    (answer,) = _asks(solo, 2).sent
    assert bytes(answer.body) == b"{}"


def test_a_member_that_never_asks_is_missed() -> None:
    """After half of the duration of an election and 2·T; then it starts an election."""
    solo = _leading(1, 2)
    led_us = solo.now_us
    _asks(solo, 1)
    step = solo.fire_timer()
    assert step.at_us == led_us + (2 * (4 * T_US * 3 // 2) + T_US) // 2 + 2 * T_US
    assert _begins(step)


def test_a_member_that_no_longer_asks_is_missed() -> None:
    """After 3·T, at the next Check."""
    solo = _leading(2, ids=(2, 3))
    _asks(solo, 2)
    heard_us = solo.now_us
    step = solo.fire_timer()
    while not _begins(step):
        assert solo.now_us < heard_us + 5 * T_US
        step = solo.fire_timer()
    assert solo.now_us > heard_us + 3 * T_US


def test_a_node_outside_the_ring_that_is_up_triggers_an_election() -> None:
    """It is asked every T, while nothing else runs."""
    solo = _leading(2)
    _asks(solo, 2)
    questions = solo.fire_timer().sent
    assert [(message.kind, message.target) for message in questions] == [("AreYouUp", 1), ("AreYouUp", 4)]
    solo.reply(questions[1], AreYouUpAnswer())
    assert _begins(solo.fire_timer())


class Pieces(Task):
    """A task with visible handover: each member's work is a record of its own."""

    name: ClassVar[str] = "pieces"

    def report(self, definition: Definition) -> Definition:
        """Add a piece of this node."""
        own = FormedGroup(Group(self.id), self.id, (self.id,))
        history = definition.history if own in definition.history else (*definition.history, own)
        return replace(definition, history=history)

    def divide(self, new: Definition, reports: Sequence[Definition]) -> Definition:
        """Join the pieces of all reports."""
        return replace(new, history=tuple(_distinct(piece for each in reports for piece in each.history)))


def _distinct(pieces: Iterable[FormedGroup]) -> list[FormedGroup]:
    return sorted(dict.fromkeys(pieces), key=lambda piece: piece.coordinator)


class PiecesOnRing(Ring):
    """The ring with that task above it."""

    name: ClassVar[str] = "pieces-on-ring"
    upper_protocol = Pieces


def test_nothing_that_a_member_has_done_is_lost() -> None:
    """B10: the work of every node is in the common Definition, also after the coordinator has died."""
    rig = Rig([1, 2, 3, 4], protocol=PiecesOnRing).started()

    def pieces() -> set[tuple[int, ...]]:
        found = [rig.protocol(node).definition.history for node in sorted(rig.incarnations)]
        return {tuple(piece.coordinator for piece in history) for history in found}

    assert rig.run_until_agreed() == 4
    rig.run_until(lambda: pieces() == {(1, 2, 3, 4)}, 5 * T_US, "all have the pieces of all")
    rig.do("kill 4")
    rig.run_until(lambda: rig.agreed() == 3 and pieces() == {(1, 2, 3, 4)}, 30 * T_US, "the next one has them too")

"""Requests and their answers: which answers are awaited, when the wait ends, and which answers are late."""

import pytest

from lab.kernel import Payload, Protocol, ProtocolError, Request, on, procedure
from tests.harness import Solo

WITHIN_US = 100


class Pong(Payload, frozen=True):
    number: int = 0


class Ping(Request[Pong], frozen=True):
    pass


class Go(Payload, frozen=True):
    """Start asking; without ``enough``, all."""

    peers: tuple[int, ...]
    enough: int | None = None


class Stop(Payload, frozen=True):
    pass


class Asker(Protocol):
    """Asks the given peers and notes the answers."""

    wanted: Go = Go(())

    @on(Go)
    def go(self, sender: int, message: Go) -> None:
        self.wanted = message
        self.restart(self.asking)

    @on(Stop)
    def cease(self, sender: int, message: Stop) -> None:
        self.stop(self.asking)

    @on(Ping)
    def ping(self, sender: int, message: Ping) -> Pong:
        return Pong(sender)

    @procedure
    async def asking(self) -> None:
        replies = await self.ask_all(self.wanted.peers, Ping(), within=WITHIN_US, enough=self.wanted.enough)
        text = ", ".join(f"{peer}: {answer.number}" for peer, answer in replies.items())
        self.note(f"got {text}" if text else "got nothing")

    @procedure
    async def asking_one(self) -> None:
        answer = await self.ask(3, Ping(), within=WITHIN_US)
        self.note(f"one: {answer}")

    def started(self) -> None:
        if 9 in self.peers:
            self.begin(self.asking_one)


def _asker() -> Solo:
    solo = Solo(Asker, node=2, ids=(1, 2, 3, 4))
    solo.start()
    return solo


def test_answers_come_in_the_order_asked() -> None:
    """The order is not that of arrival: a protocol that iterates over answers is deterministic."""
    solo = _asker()
    asked = solo.hear(1, Go((4, 1, 3))).sent
    assert [message.target for message in asked] == [4, 1, 3]
    assert solo.reply(asked[2], Pong(30)).notes == ()
    assert solo.reply(asked[0], Pong(40)).notes == ()
    assert solo.reply(asked[1], Pong(10)).notes == ("got 4: 40, 1: 10, 3: 30",)
    assert solo.node.next_timer() is None


def test_a_silent_peer_is_missing_at_the_bound() -> None:
    """At the bound the procedure continues with the answers that arrived."""
    solo = _asker()
    asked = solo.hear(1, Go((1, 3))).sent
    solo.now_us = 40
    solo.reply(asked[1], Pong(30))
    step = solo.fire_timer()
    assert step.at_us == WITHIN_US
    assert step.notes == ("got 3: 30",)


def test_the_wait_names_the_silent_peers() -> None:
    """The record of the step names the peers that have not answered."""
    solo = _asker()
    asked = solo.hear(1, Go((1, 3, 4))).sent
    solo.reply(asked[0], Pong())
    (wait,) = solo.waits
    assert (wait.what, wait.peers, wait.until_us) == ("Ping answers", (3, 4), WITHIN_US)


def test_enough_answers_end_the_wait() -> None:
    """With ``enough=2`` the second answer ends the wait, and the third is late."""
    solo = _asker()
    asked = solo.hear(1, Go((1, 3, 4), enough=2)).sent
    solo.reply(asked[2], Pong(40))
    assert solo.reply(asked[0], Pong(10)).notes == ("got 1: 10, 4: 40",)
    assert solo.reply(asked[1], Pong(30)).late


def test_more_than_all_is_all() -> None:
    """``enough`` above the number of peers does not wait for answers that cannot come."""
    solo = _asker()
    asked = solo.hear(1, Go((1, 3), enough=5)).sent
    solo.reply(asked[0], Pong(1))
    assert solo.reply(asked[1], Pong(3)).notes == ("got 1: 1, 3: 3",)


def test_asking_nobody_takes_no_time() -> None:
    """The procedure continues in the same step."""
    solo = _asker()
    step = solo.hear(1, Go(()))
    assert step.notes == ("got nothing",)
    assert (step.sent, solo.waits) == ((), ())


def test_a_peer_that_is_named_twice_is_asked_once() -> None:
    """Nobody waits for a second answer of it."""
    solo = _asker()
    asked = solo.hear(1, Go((1, 3, 1))).sent
    assert [message.target for message in asked] == [1, 3]
    solo.reply(asked[0], Pong(1))
    assert solo.reply(asked[1], Pong(3)).notes == ("got 1: 1, 3: 3",)


def test_no_answer_is_enough_at_once() -> None:
    """The messages are sent, and their answers come to nobody."""
    solo = _asker()
    step = solo.hear(1, Go((1, 3), enough=0))
    assert (len(step.sent), step.notes, solo.waits) == (2, ("got nothing",), ())
    assert solo.reply(step.sent[0], Pong(1)).late


@pytest.mark.parametrize(("replies", "text"), [(True, "one: Pong(number=7)"), (False, "one: None")])
def test_asking_one(replies: bool, text: str) -> None:
    """``ask`` returns the answer, or None at the bound."""
    solo = Solo(Asker, node=2, ids=(2, 3, 9))
    (asked,) = solo.start().sent
    step = solo.reply(asked, Pong(7)) if replies else solo.fire_timer()
    assert step.notes == (text,)


def test_a_handlers_answer_names_the_request() -> None:
    """The return value of a handler is sent to the requester, with the serial of the request."""
    solo = _asker()
    (answer,) = solo.hear(4, Ping()).sent
    assert (answer.target, answer.kind, answer.reply_to, bytes(answer.body)) == (4, "Pong", 1, b'{"number":4}')


def test_B9_an_answer_to_an_earlier_request_is_late() -> None:
    """B9: an answer counts only for the request that it answers, not for a later one to the same peer."""
    solo = _asker()
    (before,) = solo.hear(1, Go((3,))).sent
    (after,) = solo.hear(1, Go((3,))).sent
    assert before.serial != after.serial
    step = solo.reply(before, Pong(1))
    assert step.late
    assert step.notes == ()
    assert [wait.peers for wait in solo.waits] == [(3,)]
    assert solo.reply(after, Pong(2)).notes == ("got 3: 2",)


def test_B9_an_answer_after_the_bound_or_after_stop_is_late() -> None:
    """B9: the requester has continued, or was stopped; the answer has no effect."""
    solo = _asker()
    (asked,) = solo.hear(1, Go((3,))).sent
    solo.fire_timer()
    assert solo.reply(asked, Pong()).late
    (asked,) = solo.hear(1, Go((3,))).sent
    solo.hear(1, Stop())
    step = solo.reply(asked, Pong())
    assert step.late
    assert (step.notes, step.sent, solo.waits) == ((), (), ())


def test_B9_a_second_copy_of_an_answer_is_late() -> None:
    """B9: a duplicated answer counts once, and does not replace another peer's."""
    solo = _asker()
    asked = solo.hear(1, Go((1, 3))).sent
    solo.reply(asked[0], Pong(1))
    step = solo.reply(asked[0], Pong(1))
    assert step.late
    assert solo.waits[0].peers == (3,)


def test_B9_serials_continue_in_the_next_incarnation() -> None:
    """B9: an answer to a request of an earlier incarnation matches no request of this one."""
    solo = Solo(Asker, node=2, ids=(2, 3, 9))
    (before,) = solo.start().sent
    again = Solo(Asker, node=2, ids=(2, 3, 9))
    (after,) = again.start(incarnation=2, serial=before.serial + 1).sent
    assert after.serial > before.serial
    assert again.reply(before, Pong()).late


def test_a_message_of_another_protocol_is_noted() -> None:
    """The node does not fail."""

    class Alien(Payload, frozen=True):
        pass

    step = _asker().hear(3, Alien())
    assert step.notes == ("Alien is not a message of this protocol",)
    assert not step.failed


def test_an_answer_that_names_no_request_is_noted() -> None:
    """Answers have no handler; without the serial of a request they are ignored."""
    assert _asker().hear(3, Pong()).notes == ("Pong arrived without a request that it answers",)


def test_a_request_must_declare_its_answer() -> None:
    """The error shows the syntax."""

    class Mute(Request, frozen=True):  # type: ignore[type-arg]
        pass

    with pytest.raises(ProtocolError, match=r"write class Mute\(Request\[ItsAnswer\]\)"):

        class _Asks(Protocol):
            @on(Mute)
            def mute(self, sender: int, message: Mute) -> None: ...

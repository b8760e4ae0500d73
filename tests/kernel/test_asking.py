"""Requests and their answers: who is waited for, when the wait ends, and what comes too late."""

import pytest

from lab.kernel import Payload, Protocol, ProtocolError, Request, on, procedure
from tests.harness import Solo

WITHIN_US = 100


class Pong(Payload, frozen=True):
    """An answer."""

    number: int = 0


class Ping(Request[Pong], frozen=True):
    """A request."""


class Go(Payload, frozen=True):
    """Begin to ask; ``enough`` 0 stands for all."""

    peers: tuple[int, ...]
    enough: int = 0


class Stop(Payload, frozen=True):
    """Stop asking."""


class Asker(Protocol):
    """Asks whom it is told to ask, and notes the answers."""

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
        enough = self.wanted.enough or None
        answers = await self.ask_all(self.wanted.peers, Ping(), within=WITHIN_US, enough=enough)
        said = ", ".join(f"{peer}: {answer.number}" for peer, answer in answers.items())
        self.note(f"got {said}" if said else "got nothing")

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
    """Not in the order of arrival: a protocol that iterates over them is the same in every run."""
    solo = _asker()
    asked = solo.hear(1, Go((4, 1, 3))).sent
    assert [message.target for message in asked] == [4, 1, 3]
    assert solo.reply(asked[2], Pong(30)).notes == ()
    assert solo.reply(asked[0], Pong(40)).notes == ()
    assert solo.reply(asked[1], Pong(10)).notes == ("got 4: 40, 1: 10, 3: 30",)
    assert solo.node.next_timer() is None


def test_who_is_silent_is_missing_at_the_bound() -> None:
    """At the bound the procedure goes on with the answers that there are."""
    solo = _asker()
    asked = solo.hear(1, Go((1, 3))).sent
    solo.now_us = 40
    solo.reply(asked[1], Pong(30))
    step = solo.fire()
    assert step.at_us == WITHIN_US
    assert step.notes == ("got 3: 30",)


def test_the_wait_names_those_still_silent() -> None:
    """The record of the step says for whom the procedure waits still."""
    solo = _asker()
    asked = solo.hear(1, Go((1, 3, 4))).sent
    (wait,) = solo.reply(asked[0], Pong()).waits
    assert (wait.what, wait.peers, wait.until_us) == ("Ping answers", (3, 4), WITHIN_US)


def test_enough_is_enough() -> None:
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
    """The procedure goes on in the same step."""
    step = _asker().hear(1, Go(()))
    assert step.notes == ("got nothing",)
    assert (step.sent, step.waits) == ((), ())


@pytest.mark.parametrize(("answers", "said"), [(True, "one: Pong(number=7)"), (False, "one: None")])
def test_asking_one(answers: bool, said: str) -> None:
    """``ask`` gives the answer, or None at the bound."""
    solo = Solo(Asker, node=2, ids=(2, 3, 9))
    (asked,) = solo.start().sent
    step = solo.reply(asked, Pong(7)) if answers else solo.fire()
    assert step.notes == (said,)


def test_a_handlers_answer_names_the_request() -> None:
    """What a handler returns is sent to whoever asked, with the serial of the request."""
    solo = _asker()
    (answer,) = solo.hear(4, Ping()).sent
    assert (answer.target, answer.kind, answer.answers, bytes(answer.body)) == (4, "Pong", 1, b'{"number":4}')


def test_B9_an_answer_to_an_earlier_request_is_late() -> None:
    """B9: an answer counts for the one request that it answers, never for a later one to the same peer."""
    solo = _asker()
    (before,) = solo.hear(1, Go((3,))).sent
    (after,) = solo.hear(1, Go((3,))).sent
    assert before.serial != after.serial
    step = solo.reply(before, Pong(1))
    assert step.late
    assert step.notes == ()
    assert [wait.peers for wait in step.waits] == [(3,)]
    assert solo.reply(after, Pong(2)).notes == ("got 3: 2",)


def test_B9_an_answer_after_the_bound_or_after_stop_is_late() -> None:
    """B9: whoever asked has gone on, or was stopped; the answer changes nothing."""
    solo = _asker()
    (asked,) = solo.hear(1, Go((3,))).sent
    solo.fire()
    assert solo.reply(asked, Pong()).late
    (asked,) = solo.hear(1, Go((3,))).sent
    solo.hear(1, Stop())
    step = solo.reply(asked, Pong())
    assert step.late
    assert (step.notes, step.sent, step.waits) == ((), (), ())


def test_B9_a_second_copy_of_an_answer_is_late() -> None:
    """B9: a duplicated answer counts once, and cannot stand in for another peer's."""
    solo = _asker()
    asked = solo.hear(1, Go((1, 3))).sent
    solo.reply(asked[0], Pong(1))
    step = solo.reply(asked[0], Pong(1))
    assert step.late
    assert step.waits[0].peers == (3,)


def test_B9_serials_go_on_in_the_next_life() -> None:
    """B9: an answer to a request of an earlier life can answer nothing in this one."""
    solo = Solo(Asker, node=2, ids=(2, 3, 9))
    (before,) = solo.start().sent
    again = Solo(Asker, node=2, ids=(2, 3, 9))
    (after,) = again.start(incarnation=2, serial=before.serial + 1).sent
    assert after.serial > before.serial
    assert again.reply(before, Pong()).late


def test_a_message_of_another_protocol_is_noted() -> None:
    """It does not fail the node."""

    class Alien(Payload, frozen=True):
        pass

    step = _asker().hear(3, Alien())
    assert step.notes == ("Alien is not a message of this protocol",)
    assert not step.failed


def test_an_answer_that_names_no_request_is_noted() -> None:
    """An answer has no handler; without the serial of a request it is nobody's."""
    assert _asker().hear(3, Pong()).notes == ("Pong came without the request that it answers",)


def test_a_request_has_to_say_what_answers_it() -> None:
    """The error says how to write it."""

    class Mute(Request, frozen=True):  # type: ignore[type-arg]
        pass

    with pytest.raises(ProtocolError, match=r"write class Mute\(Request\[ItsAnswer\]\)"):

        class _Asks(Protocol):
            @on(Mute)
            def mute(self, sender: int, message: Mute) -> None: ...

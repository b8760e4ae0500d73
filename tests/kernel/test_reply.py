"""A request that is answered later than its handler: by a procedure, with the number of the request."""

from typing import Any, ClassVar

import msgspec

from lab.kernel import Message, Node, Payload, Request, Started, Timing, on, procedure
from lab.kernel.protocol import Protocol


class Yes(Payload, frozen=True):
    """The one answer."""


class No(Payload, frozen=True):
    """The other one."""


class May(Request[Yes | No], frozen=True):
    """A question with answers of two types."""

    now: bool = True


class Slow(Protocol):
    """Answers at once, or after a while."""

    name: ClassVar[str] = "slow"

    @on(May)
    def on_may(self, sender: int, message: May) -> Yes | None:
        if message.now:
            return Yes()
        self.begin(self.think, (sender, self.handled))
        return None

    @procedure
    async def think(self, asked: tuple[int, int]) -> None:
        await self.sleep(100, "a thought")
        self.reply(*asked, No())


def _asked(node: Node, source: int, serial: int, **body: Any) -> list[tuple[int, str, int]]:
    step = node.step(Message(source, 1, serial, "May", msgspec.Raw(msgspec.json.encode(body))), 10)
    return [(sent.target, sent.kind, sent.reply_to) for sent in step.sent]


def test_an_answer_may_come_later() -> None:
    """To each request its own, also where a later one was answered first."""
    node = Node(Slow, 1, (1, 2, 3), Timing(1, 1))
    node.step(Started({}, 1, 1), 0)
    assert _asked(node, 2, 71, now=False) == []
    assert _asked(node, 3, 72, now=False) == []
    assert _asked(node, 2, 73) == [(2, "Yes", 73)]
    found = []
    for _ in range(2):
        timer = node.next_timer()
        assert timer is not None
        found += [(sent.target, sent.kind, sent.reply_to) for sent in node.step(timer[1], timer[0]).sent]
    assert found == [(2, "No", 71), (3, "No", 72)]


def test_all_types_of_answers_are_understood() -> None:
    """Both are kinds of the protocol."""
    assert {*Slow.payloads} == {"May", "Yes", "No"}

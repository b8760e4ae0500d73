"""What can be seen of a node: enough to tell apart what behaves apart, and no more than that."""

from collections.abc import Hashable
from typing import ClassVar

import pytest

from lab.kernel import Auxiliary, Node, Payload, Protocol, Request, Started, Timing, on, procedure
from lab.kernel.sight import ERA_US, HEARD, age, oldest_us, open_requests, rest_of, resume, sight_of
from tests.harness import Solo

TIMING = Timing(100, 100)
OLD_US = 1_000


class Yes(Payload, frozen=True):
    """An answer."""


class Ask(Request[Yes], frozen=True):
    """A request."""


class Go(Payload, frozen=True):
    """Begin that procedure."""

    what: str


class Waiting(Protocol):
    """Waits in many ways."""

    name: ClassVar[str] = "waiting"
    count: int = 0
    since_us: int = 0
    shown_us: Auxiliary[int] = 0

    @on(Go)
    def go(self, sender: int, message: Go) -> None:
        """Begin it."""
        self.begin(getattr(self, message.what))

    @on(Ask)
    def ask_me(self, sender: int, message: Ask) -> Yes:
        """Answer."""
        return Yes()

    @procedure
    async def asking(self) -> None:
        """Of all, then of one."""
        answers = await self.ask_all(self.peers, Ask(), within=500)
        self.count = len(answers)
        await self.ask(1, Ask(), within=500)

    @procedure
    async def sleeping(self) -> None:
        """With a variable."""
        for_us = 300 + self.count
        await self.sleep(for_us)
        self.count += for_us

    @procedure
    async def counting(self) -> None:
        """With a condition over a variable."""
        enough = self.count + 3
        await self.until(lambda: self.count >= enough, "enough", within=300)

    @procedure
    async def noting(self) -> None:
        """With an instant in a variable."""
        began_us = self.now_us
        await self.sleep(300)
        self.since_us = began_us

    @procedure
    async def looping(self) -> None:
        """What comes next is in the loop's hands."""
        for peer in self.peers:
            await self.ask(peer, Ask(), within=500)

    @procedure
    async def adding(self) -> None:
        """What is added to is in nobody's hands."""
        self.count = len(self.peers) + len(await self.ask_all(self.peers, Ask(), within=500))

    @procedure
    async def holding(self) -> None:
        """Something that no state may have."""
        things = object()
        await self.sleep(300)
        self.note(str(things))


def begun(what: str, at_us: int = ERA_US, before: int = 0) -> Solo:
    """Node 2 with that procedure begun, after as many others that are over."""
    solo = Solo(Waiting, timing=TIMING)
    solo.now_us = at_us
    solo.start()
    for _ in range(before):
        solo.hear(1, Go("asking"))
        solo.fire()
        solo.fire()
    if what:
        solo.hear(1, Go(what))
    return solo


def seen(solo: Solo, later_us: int = 0, asked: tuple[str, ...] = ()) -> Hashable | None:
    """What it looks like."""
    return sight_of(solo.node, solo.now_us + later_us, OLD_US, asked)


@pytest.mark.parametrize("what", ["", "asking", "sleeping", "counting", "noting"])
def test_the_past_does_not_show(what: str) -> None:
    """An hour later, after other serials: it looks the same, and does the same."""
    one, other = begun(what), begun(what, ERA_US + 3_600_000_000, before=3)
    assert seen(one) is not None
    assert seen(one) == seen(other)
    if what:
        one.fire()
        other.fire()
        assert seen(one) == seen(other)


def test_what_will_show_is_seen() -> None:
    """The place, the time left, the answers that came, the variables, the state, how long ago who was heard."""
    asking = begun("asking")
    first = seen(asking)
    request = next(
        serial for serial, name in open_requests(asking.node).items() if name == min(names(asking.node))
    )
    assert seen(asking, later_us=1) != first
    asking.hear(1, Yes(), answers=request)
    answered = seen(asking)
    assert answered != first
    asking.fire()
    assert seen(asking) not in (first, answered)
    counted = begun("sleeping")
    counted.protocol.count = 1
    assert seen(counted) != seen(begun("sleeping"))
    waiting = begun("counting")
    waiting.protocol.count = 1
    waiting.hear(1, Ask())
    assert seen(waiting) != seen(begun("counting"))
    heard = begun("")
    heard.hear(1, Ask())
    assert seen(heard, 1, (HEARD,)) != seen(heard, 2, (HEARD,))
    assert seen(heard, 1) == seen(heard, 2), "nobody asked for how long ago that was"
    assert seen(heard, OLD_US, (HEARD,)) == seen(heard, OLD_US + 1, (HEARD,)), "old is old"


def test_what_is_only_shown_is_not_seen() -> None:
    """Two nodes that differ in it alone look the same; that it changed is told as of any field."""
    one, other = begun(""), begun("")
    other.protocol.shown_us = ERA_US
    assert seen(one) == seen(other)
    assert other.hear(1, Ask()).changed == {"shown_us": ERA_US}
    other.protocol.since_us = ERA_US
    assert seen(one) != seen(other)


def test_what_is_old_can_be_made_older() -> None:
    """What was heard and begun up to an instant; what came later stays as it is, and so does what runs."""
    solo = begun("asking")
    solo.now_us += 300
    solo.hear(3, Ask())
    assert oldest_us(solo.node) == ERA_US
    age(solo.node, ERA_US, 5_000)
    assert oldest_us(solo.node) == ERA_US - 5_000
    assert (solo.node.heard_us(1), solo.node.heard_us(3)) == (ERA_US - 5_000, ERA_US + 300)
    assert solo.node.begun_us("asking") == ERA_US - 5_000
    assert solo.node.next_timer() == begun("asking").node.next_timer()


def names(node: Node) -> list[int]:
    """The names of the open requests."""
    return sorted(open_requests(node).values())


@pytest.mark.parametrize("what", ["looping", "adding", "holding"])
def test_what_cannot_be_seen_is_said(what: str) -> None:
    """A loop's place, half an expression, an object of some kind."""
    assert seen(begun(what)) is None


def test_a_node_at_rest_can_be_set_up_again() -> None:
    """The same data, and the same steps from then on."""
    solo = begun("sleeping")
    assert rest_of(solo.node) is None
    solo.fire()
    rest = rest_of(solo.node)
    assert rest is not None
    again = Node(Waiting, 2, (1, 2, 3), TIMING)
    resume(again, rest)
    assert sight_of(again, solo.now_us, OLD_US, (HEARD,)) == seen(solo, 0, (HEARD,))
    other = Solo(Waiting, timing=TIMING)
    other.node, other.now_us = again, solo.now_us
    assert other.hear(1, Go("asking")).sent == solo.hear(1, Go("asking")).sent


def test_names_of_requests_show_no_past() -> None:
    """The serials go on, the names do not."""
    assert names(begun("asking").node) == names(begun("asking", before=4).node)
    assert open_requests(begun("asking").node) != open_requests(begun("asking", before=4).node)
    fresh = Node(Waiting, 2, (1, 2, 3), TIMING)
    fresh.step(Started({}, 1, 1), 0)
    assert open_requests(fresh) == {}

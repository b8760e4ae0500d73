"""Fingerprints: they distinguish nodes with different behaviour, and no others."""

from collections.abc import Hashable
from typing import ClassVar

import pytest

from lab.kernel import Auxiliary, Node, Payload, Protocol, Request, Started, Timing, on, procedure
from lab.kernel.fingerprint import (
    EPOCH_US,
    HEARD,
    age_instants,
    fingerprint,
    oldest_us,
    open_requests,
    quiescent_snapshot,
    resume,
)
from tests.harness import Solo

TIMING = Timing(100, 100)
OLD_US = 1_000


class Yes(Payload, frozen=True):
    pass


class Ask(Request[Yes], frozen=True):
    pass


class Go(Payload, frozen=True):
    what: str


class Waiting(Protocol):
    """A protocol that waits in many ways."""

    name: ClassVar[str] = "waiting"
    count: int = 0
    since_us: int = 0
    shown_us: Auxiliary[int] = 0

    @on(Go)
    def go(self, sender: int, message: Go) -> None:
        self.begin(getattr(self, message.what))

    @on(Ask)
    def ask_me(self, sender: int, message: Ask) -> Yes:
        return Yes()

    @procedure
    async def asking(self) -> None:
        """Ask all, then one."""
        replies = await self.ask_all(self.peers, Ask(), within=500)
        self.count = len(replies)
        await self.ask(1, Ask(), within=500)

    @procedure
    async def sleeping(self) -> None:
        """Wait with a local variable."""
        for_us = 300 + self.count
        await self.sleep(for_us)
        self.count += for_us

    @procedure
    async def counting(self) -> None:
        """Wait for a condition over a local variable."""
        enough = self.count + 3
        await self.until(lambda: self.count >= enough, "enough", within=300)

    @procedure
    async def noting(self) -> None:
        """Wait with an instant in a local variable."""
        began_us = self.now_us
        await self.sleep(300)
        self.since_us = began_us

    @procedure
    async def looping(self) -> None:
        """Wait with the next value in a loop's iterator."""
        for _ in range(2):
            for peer in reversed(self.peers):
                await self.ask(peer, Ask(), within=500)

    @procedure
    async def shrinking(self) -> None:
        """Wait in a loop over a list that may change."""
        for peer in [*self.peers]:
            await self.ask(peer, Ask(), within=500)

    @procedure
    async def adding(self) -> None:
        """Wait with an operand on the evaluation stack."""
        self.count = len(self.peers) + len(await self.ask_all(self.peers, Ask(), within=500))

    @procedure
    async def holding(self) -> None:
        """Hold a value of a type that no state may have."""
        things = object()
        await self.sleep(300)
        self.note(str(things))


def begun(what: str, at_us: int = EPOCH_US, before: int = 0) -> Solo:
    """Return node 2 with that procedure begun, after ``before`` others that have ended."""
    solo = Solo(Waiting, timing=TIMING)
    solo.now_us = at_us
    solo.start()
    for _ in range(before):
        solo.hear(1, Go("asking"))
        solo.fire_timer()
        solo.fire_timer()
    if what:
        solo.hear(1, Go(what))
    return solo


def fingerprint_of(solo: Solo, later_us: int = 0, asked: tuple[str, ...] = ()) -> Hashable | None:
    """Return the fingerprint of the node."""
    return fingerprint(solo.node, solo.now_us + later_us, OLD_US, asked)


@pytest.mark.parametrize("what", ["", "asking", "sleeping", "counting", "noting", "looping"])
def test_the_fingerprint_is_independent_of_the_past(what: str) -> None:
    """An hour later, after other serials, the fingerprint and the behaviour are the same."""
    one, other = begun(what), begun(what, EPOCH_US + 3_600_000_000, before=3)
    assert fingerprint_of(one) is not None
    assert fingerprint_of(one) == fingerprint_of(other)
    if what:
        one.fire_timer()
        other.fire_timer()
        assert fingerprint_of(one) == fingerprint_of(other)


def test_the_fingerprint_has_all_that_affects_behaviour() -> None:
    """The position, the time left, the answers, the variables, the state, and the ages of peers heard."""
    asking = begun("asking")
    first = fingerprint_of(asking)
    request = next(
        serial for serial, name in open_requests(asking.node).items() if name == min(names(asking.node))
    )
    assert fingerprint_of(asking, later_us=1) != first
    asking.hear(1, Yes(), reply_to=request)
    answered = fingerprint_of(asking)
    assert answered != first
    asking.fire_timer()
    assert fingerprint_of(asking) not in (first, answered)
    counted = begun("sleeping")
    counted.protocol.count = 1
    assert fingerprint_of(counted) != fingerprint_of(begun("sleeping"))
    waiting = begun("counting")
    waiting.protocol.count = 1
    waiting.hear(1, Ask())
    assert fingerprint_of(waiting) != fingerprint_of(begun("counting"))
    heard = begun("")
    heard.hear(1, Ask())
    assert fingerprint_of(heard, 1, (HEARD,)) != fingerprint_of(heard, 2, (HEARD,))
    assert fingerprint_of(heard, 1) == fingerprint_of(heard, 2), "nobody asked for how long ago that was"
    assert fingerprint_of(heard, OLD_US, (HEARD,)) == fingerprint_of(heard, OLD_US + 1, (HEARD,)), "old is old"


def test_auxiliary_state_is_not_in_the_fingerprint() -> None:
    """Nodes that differ only in auxiliary state are equal; its changes are reported like those of any field."""
    one, other = begun(""), begun("")
    other.protocol.shown_us = EPOCH_US
    assert fingerprint_of(one) == fingerprint_of(other)
    assert other.hear(1, Ask()).changed == {"shown_us": EPOCH_US}
    other.protocol.since_us = EPOCH_US
    assert fingerprint_of(one) != fingerprint_of(other)


def test_old_instants_can_be_moved_further_back() -> None:
    """Instants up to a bound are moved; later ones and running procedures stay."""
    solo = begun("asking")
    solo.now_us += 300
    solo.hear(3, Ask())
    assert oldest_us(solo.node) == EPOCH_US
    age_instants(solo.node, EPOCH_US, 5_000)
    assert oldest_us(solo.node) == EPOCH_US - 5_000
    assert (solo.node.heard_us(1), solo.node.heard_us(3)) == (EPOCH_US - 5_000, EPOCH_US + 300)
    assert solo.node.begun_us("asking") == EPOCH_US - 5_000
    assert solo.node.next_timer() == begun("asking").node.next_timer()


def names(node: Node) -> list[int]:
    """Return the numbers of the open requests."""
    return sorted(open_requests(node).values())


@pytest.mark.parametrize("what", ["shrinking", "adding", "holding"])
def test_opaque_state_has_no_fingerprint(what: str) -> None:
    """A position in a list, half an expression, an object of an unknown type."""
    assert fingerprint_of(begun(what)) is None


def test_the_fingerprint_has_the_positions_of_loops() -> None:
    """Each round of the inner loop and of the outer one differs, although the node waits at the same line."""
    solo = begun("looping")
    found = [fingerprint_of(solo)]
    while solo.node.next_timer() is not None:
        solo.fire_timer()
        found.append(fingerprint_of(solo))
    assert len(set(found)) == 5
    assert None not in found
    assert fingerprint_of(begun("looping")) == found[0], "to look at a loop does not move it"


def test_a_quiescent_node_can_be_restored() -> None:
    """The restored node has the same data, and takes the same steps from then on."""
    solo = begun("sleeping")
    assert quiescent_snapshot(solo.node) is None
    solo.fire_timer()
    rest = quiescent_snapshot(solo.node)
    assert rest is not None
    again = Node(Waiting, 2, (1, 2, 3), TIMING)
    resume(again, rest)
    assert fingerprint(again, solo.now_us, OLD_US, (HEARD,)) == fingerprint_of(solo, 0, (HEARD,))
    other = Solo(Waiting, timing=TIMING)
    other.node, other.now_us = again, solo.now_us
    assert other.hear(1, Go("asking")).sent == solo.hear(1, Go("asking")).sent


def test_numbers_of_requests_are_independent_of_the_past() -> None:
    """The serials continue; the numbers do not."""
    assert names(begun("asking").node) == names(begun("asking", before=4).node)
    assert open_requests(begun("asking").node) != open_requests(begun("asking", before=4).node)
    fresh = Node(Waiting, 2, (1, 2, 3), TIMING)
    fresh.step(Started({}, 1, 1), 0)
    assert open_requests(fresh) == {}

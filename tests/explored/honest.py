"""Protocols and properties of which an exploration could easily say too much."""

from collections.abc import Callable
from typing import ClassVar

from lab.kernel import Auxiliary, Payload, Request, on, procedure
from lab.properties import GlobalState, Outcome, assumption, eventually, invariant
from lab.protocols import Algorithm


class Amount(Payload, frozen=True):
    """Some amount."""

    amount: int


class Price(Request[Amount], frozen=True):
    """Ask for the price."""


class Begin(Payload, frozen=True):
    """Begin to work."""


class Extra(Payload, frozen=True):
    """Something comes on top."""


class Till(Algorithm):
    """Node 1 reads its sum, asks node 2 for a price, and adds that to what it has read; meanwhile 3 interferes."""

    name: ClassVar[str] = "till"

    total: int = 0
    is_open: bool = True

    def started(self) -> None:
        if self.id > 1:
            self.send(1, Begin() if self.id == 2 else Extra())

    @on(Begin)
    def on_begin(self, sender: int, message: Begin) -> None:
        self.begin(self.charge)

    @on(Extra)
    def on_extra(self, sender: int, message: Extra) -> None:
        self.total, self.is_open = 1, False

    @on(Price)
    def on_price(self, sender: int, message: Price) -> Amount:
        return Amount(3)

    @procedure
    async def charge(self) -> None:
        _nothing, _one = 0, 1  # the same objects as the sums that the expression below keeps while it waits
        self.total = self.total + await self.price()

    async def price(self) -> int:
        answer = await self.ask(2, Price(), within=self.timing.t_us)
        return 0 if answer is None else answer.amount


class Turnstile(Algorithm):
    """Node 1 waits for one of two conditions, which are functions of one name."""

    name: ClassVar[str] = "turnstile"

    has_extra: bool = False
    has_amount: bool = False
    is_never: bool = False
    has_begun: bool = False
    is_early: bool = False
    has_passed: bool = False

    def started(self) -> None:
        if self.id == 2:
            self.send(1, Begin())
        elif self.id == 3:
            self.send(1, Extra())
            self.send(1, Amount(1))

    @on(Begin)
    def on_begin(self, sender: int, message: Begin) -> None:
        self.has_begun = True
        self.begin(self.wait)

    @on(Extra)
    def on_extra(self, sender: int, message: Extra) -> None:
        self.has_extra = True

    @on(Amount)
    def on_amount(self, sender: int, message: Amount) -> None:
        self.has_amount, self.is_early = True, self.has_begun

    @procedure
    async def wait(self) -> None:
        await self.until(self.condition(), "an amount, or nothing")
        self.has_passed = True

    def condition(self) -> Callable[[], bool]:
        return (lambda: self.has_amount) if self.has_extra else (lambda: self.is_never)


class Clock(Algorithm):
    """A timer, and another one that begins as a message comes; a light, and a count for display."""

    name: ClassVar[str] = "clock"

    light: bool = False
    is_second: bool = False
    ticks: Auxiliary[int] = 0

    def started(self) -> None:
        self.begin(self.tick)
        if self.id == 2:
            self.send(1, Begin())

    @on(Begin)
    def on_begin(self, sender: int, message: Begin) -> None:
        self.begin(self.second)

    @procedure
    async def tick(self) -> None:
        while True:
            await self.sleep(2 * self.timing.t_us, "the next tick")
            self.light, self.ticks = not self.light, self.ticks + 1

    @procedure
    async def second(self) -> None:
        await self.sleep(self.timing.t_us, "the second timer")
        self.is_second = True


@invariant
def sums_differ(state: GlobalState) -> Outcome:
    """No sum is four."""
    return all(getattr(node, "total", 0) != 4 for node in state)


@invariant
def nobody_passes(state: GlobalState) -> Outcome:
    """Who comes before the amount does not pass."""
    return not any(node.values.get("is_early") and node.has_passed for node in state)


@invariant
def nobody_waits(state: GlobalState) -> Outcome:
    """Who comes before the amount does not wait for nothing."""
    return not any(node.values.get("is_early") and not node.has_passed for node in state)


@eventually
def stays_on(state: GlobalState) -> Outcome:
    """The light is on."""
    return all(node.values.get("light", True) for node in state)


@invariant
def few_ticks(state: GlobalState) -> Outcome:
    """The clock ticks seldom."""
    return all(node.ticks < 3 for node in state if "ticks" in node.values)


@invariant
def soon(state: GlobalState) -> Outcome:
    """At some time, nothing is said."""
    return state.at_us < 5


@invariant
def only_if_broken(state: GlobalState) -> Outcome:
    """Speaks of states in which an assumption is broken."""
    return bool(state.broken) or None


@assumption
def wrong(state: GlobalState) -> Outcome:
    """Has an error in its code."""
    return state.nodes[99].id == 1


@invariant(relies_on=(wrong,))
def relies_on_wrong(state: GlobalState) -> Outcome:
    """No node is up."""
    return not state.nodes

"""Time: sleep, until, periodic procedures, the order of timers, and what a driver may not feed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.kernel import DriverError, Fired, Payload, Protocol, Started, on, periodic, procedure
from lab.kernel.timers import Timers
from tests.harness import Solo


class Tell(Payload, frozen=True):
    """A number to remember."""

    number: int


class Clock(Protocol):
    """Sleeps on 1, waits for a 2 with a bound on 10, without one on 11; two periodic procedures."""

    number: int = 0

    @on(Tell)
    def tell(self, sender: int, message: Tell) -> None:
        self.number = message.number
        if message.number == 1:
            self.begin(self.sleeper)
        elif message.number == 10:
            self.begin(self.bounded)
        elif message.number == 11:
            self.begin(self.unbounded)

    @procedure
    async def sleeper(self) -> None:
        await self.sleep(30)
        self.note(f"slept until {self.now_us}")

    @procedure
    async def bounded(self) -> None:
        held = await self.until(lambda: self.number == 2, "a two", within=50)
        self.note(f"held: {held}")

    @procedure
    async def unbounded(self) -> None:
        held = await self.until(lambda: self.number == 2, "a two")
        self.note(f"held: {held}")

    def _slow_due_us(self) -> int | None:
        return self.begun_us(self.slow) + 100

    @periodic(_slow_due_us)
    async def slow(self) -> None:
        self.note("slow")

    def _odd_due_us(self) -> int | None:
        return self.begun_us(self.odd) + 100 if self.number % 2 else None

    @periodic(_odd_due_us)
    async def odd(self) -> None:
        self.note("odd")
        await self.sleep(500)


def _clock() -> Solo:
    solo = Solo(Clock)
    solo.start()
    return solo


def test_sleep_takes_as_long_as_it_says() -> None:
    """The procedure goes on at the instant, by the clock that comes with the input."""
    solo = _clock()
    solo.now_us = 7
    solo.hear(1, Tell(1))
    assert solo.node.next_timer() == (37, Fired("sleeper"))
    assert solo.fire().notes == ("slept until 37",)


def test_until_holds_at_the_step_that_makes_it_hold() -> None:
    """The condition is looked at after every step; its timer is gone then."""
    solo = _clock()
    solo.hear(1, Tell(10))
    assert solo.hear(1, Tell(3)).notes == ()
    assert solo.hear(1, Tell(2)).notes == ("held: True",)
    assert solo.node.next_timer() == (100, Fired("slow"))


def test_until_gives_false_at_its_bound() -> None:
    """The bound comes first."""
    solo = _clock()
    solo.hear(1, Tell(10))
    step = solo.fire()
    assert (step.at_us, step.notes) == (50, ("held: False",))


def test_until_without_a_bound_waits_as_long_as_it_takes() -> None:
    """It sets no timer; and while it waits, nothing periodic begins."""
    solo = _clock()
    (wait,) = solo.hear(1, Tell(11)).waits
    assert (wait.until_us, wait.what) == (None, "a two")
    assert solo.node.next_timer() is None
    assert solo.hear(1, Tell(2)).notes == ("held: True",)


def test_a_periodic_procedure_begins_when_it_is_due_again_and_again() -> None:
    """Its instant is counted from when it last began."""
    solo = _clock()
    assert [(solo.fire().at_us, solo.protocol.begun_us(solo.protocol.slow)) for _ in range(3)] == [
        (100, 100),
        (200, 200),
        (300, 300),
    ]


def test_a_periodic_procedure_is_due_only_while_nothing_else_runs() -> None:
    """A sleeper of 500 µs holds up the slow one, which is then overdue and begins at once."""
    solo = _clock()
    solo.hear(1, Tell(3))
    assert solo.fire().notes == ("slow",), "of two due at the same instant the one declared first begins"
    assert solo.fire().notes == ("odd",)
    assert solo.node.next_timer() == (600, Fired("odd"))
    solo.fire()
    solo.now_us = 700
    assert solo.node.next_timer() == (200, Fired("slow"))


def test_a_periodic_procedure_without_an_instant_never_begins() -> None:
    """None: not now. It is asked again after every step."""
    solo = _clock()
    assert solo.node.next_timer() == (100, Fired("slow"))
    solo.hear(1, Tell(5))
    solo.fire()
    assert solo.node.next_timer() == (100, Fired("odd"))
    solo.hear(1, Tell(6))
    assert solo.node.next_timer() == (200, Fired("slow"))


def test_a_timer_that_is_not_the_next_is_the_drivers_error() -> None:
    """Whether it is another procedure's or comes too early; and the node is none the worse for it."""
    solo = _clock()
    solo.hear(1, Tell(1))
    with pytest.raises(DriverError, match="the timer of slow is not the next one due"):
        solo.node.step(Fired("slow"), 200)
    with pytest.raises(DriverError, match="the timer of sleeper is not the next one due"):
        solo.node.step(Fired("sleeper"), 29)
    assert solo.fire().notes == ("slept until 30",)


def test_a_node_is_started_once_and_first() -> None:
    """Anything before ``Started`` and a second ``Started`` are the driver's errors."""
    solo = Solo(Clock)
    with pytest.raises(DriverError, match="has not been started"):
        solo.hear(1, Tell(1))
    solo.start()
    with pytest.raises(DriverError, match="was started already"):
        solo.node.step(Started({}, 2, 5), 0)


def test_a_late_timer_is_not_an_error() -> None:
    """Timers fire when the driver comes to it, which may be later than they are due."""
    solo = _clock()
    solo.hear(1, Tell(1))
    assert solo.node.step(Fired("sleeper"), 90).notes == ("slept until 90",)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=80))
def test_timers_fire_in_one_total_order(armed: list[tuple[int, bool]]) -> None:
    """By time, and of equal times in the order in which they were set; cancelled ones never."""
    timers = Timers()
    serials = [timers.set(due_us, f"p{number}") for number, (due_us, _) in enumerate(armed)]
    for serial, (_, cancelled) in zip(serials, armed, strict=True):
        if cancelled:
            timers.cancel(serial)
    wanted = sorted((due_us, n) for n, (due_us, cancelled) in enumerate(armed) if not cancelled)
    fired = []
    while (first := timers.next()) is not None:
        fired.append((first[0], int(first[2][1:])))
        timers.cancel(first[1])
        timers.cancel(first[1])
    assert fired == wanted

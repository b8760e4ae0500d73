"""Time: sleep, until, periodic procedures, the order of timers, and driver errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.kernel import DriverError, Fired, Payload, Protocol, Started, on, periodic, procedure
from lab.kernel.node import Timers
from tests.harness import Solo


class SetNumber(Payload, frozen=True):
    """A number to remember."""

    number: int


class Clock(Protocol):
    """Sleeps on 1, waits for a 2 with a bound on 10, without one on 11; two periodic procedures."""

    number: int = 0

    @on(SetNumber)
    def on_set_number(self, sender: int, message: SetNumber) -> None:
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


def test_sleep_takes_its_duration() -> None:
    """The procedure resumes at that time, by the clock that comes with the input."""
    solo = _clock()
    solo.now_us = 7
    solo.hear(1, SetNumber(1))
    assert solo.node.next_timer() == (37, Fired("sleeper"))
    assert solo.fire_timer().notes == ("slept until 37",)


def test_until_resumes_in_the_step_that_makes_its_condition_hold() -> None:
    """The condition is evaluated after every step; its timer is cancelled."""
    solo = _clock()
    solo.hear(1, SetNumber(10))
    assert solo.hear(1, SetNumber(3)).notes == ()
    assert solo.hear(1, SetNumber(2)).notes == ("held: True",)
    assert solo.node.next_timer() == (100, Fired("slow"))


def test_until_returns_false_at_its_bound() -> None:
    solo = _clock()
    solo.hear(1, SetNumber(10))
    step = solo.fire_timer()
    assert (step.at_us, step.notes) == (50, ("held: False",))


def test_until_without_a_bound_sets_no_timer() -> None:
    """While it waits, nothing periodic begins."""
    solo = _clock()
    solo.hear(1, SetNumber(11))
    (wait,) = solo.waits
    assert (wait.until_us, wait.what) == (None, "a two")
    assert solo.node.next_timer() is None
    assert solo.hear(1, SetNumber(2)).notes == ("held: True",)


def test_a_periodic_procedure_begins_whenever_it_is_due() -> None:
    """Its due time counts from when it last began."""
    solo = _clock()
    assert [(solo.fire_timer().at_us, solo.protocol.begun_us(solo.protocol.slow)) for _ in range(3)] == [
        (100, 100),
        (200, 200),
        (300, 300),
    ]


def test_a_periodic_procedure_is_due_only_while_nothing_else_runs() -> None:
    """A sleep of 500 µs delays the slow one, which is then overdue and begins at once."""
    solo = _clock()
    solo.hear(1, SetNumber(3))
    assert solo.fire_timer().notes == ("slow",), "of two due at the same instant the one declared first begins"
    assert solo.fire_timer().notes == ("odd",)
    assert solo.node.next_timer() == (600, Fired("odd"))
    solo.fire_timer()
    solo.now_us = 700
    assert solo.node.next_timer() == (200, Fired("slow"))


def test_a_periodic_procedure_with_no_due_time_never_begins() -> None:
    """None means not now; it is evaluated again after every step."""
    solo = _clock()
    assert solo.node.next_timer() == (100, Fired("slow"))
    solo.hear(1, SetNumber(5))
    solo.fire_timer()
    assert solo.node.next_timer() == (100, Fired("odd"))
    solo.hear(1, SetNumber(6))
    assert solo.node.next_timer() == (200, Fired("slow"))


def test_a_timer_that_is_not_the_next_is_the_drivers_error() -> None:
    """It belongs to another procedure, or comes too early; the node continues to work."""
    solo = _clock()
    solo.hear(1, SetNumber(1))
    with pytest.raises(DriverError, match="the timer of slow is not the next one due"):
        solo.node.step(Fired("slow"), 200)
    with pytest.raises(DriverError, match="the timer of sleeper is not the next one due"):
        solo.node.step(Fired("sleeper"), 29)
    assert solo.fire_timer().notes == ("slept until 30",)


def test_a_node_is_started_once_and_first() -> None:
    """An input before ``Started`` and a second ``Started`` are driver errors."""
    solo = Solo(Clock)
    with pytest.raises(DriverError, match="has not been started"):
        solo.hear(1, SetNumber(1))
    solo.start()
    with pytest.raises(DriverError, match="was started already"):
        solo.node.step(Started({}, 2, 5), 0)


def test_a_late_timer_is_not_an_error() -> None:
    """Timers fire when the driver gets to them, which may be later than they are due."""
    solo = _clock()
    solo.hear(1, SetNumber(1))
    assert solo.node.step(Fired("sleeper"), 90).notes == ("slept until 90",)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=80))
def test_timers_fire_in_one_total_order(armed: list[tuple[int, bool]]) -> None:
    """By time, and at equal times in the order of setting; cancelled ones never."""
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

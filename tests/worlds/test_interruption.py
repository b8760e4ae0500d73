"""Ctrl-C amid a step: the step is finished first, and nothing is printed."""

import signal
import warnings
from collections.abc import Iterator

import pytest

from lab.kernel import procedure
from lab.protocols import Bully
from lab.worlds.explored.explorer import INTERRUPTED, Explorer
from lab.worlds.interruption import interrupted_between_steps
from tests.harness import Solo, simulated_header
from tests.waiting import wait_for


@pytest.fixture(autouse=True)
def _default_interrupt() -> Iterator[None]:
    """Restore the handlers, should a test fail."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Interrupted(Bully):
    """Ctrl-C is pressed where a procedure has been called, and has not begun."""

    finished: bool = False

    def started(self) -> None:
        begun = self.work()  # as the kernel does
        signal.raise_signal(signal.SIGINT)
        begun.close()
        self.finished = True
        super().started()

    @procedure
    async def work(self) -> None:
        await self.sleep(1)


class Endless(Bully):
    """Ctrl-C is pressed in a step that never ends."""

    def started(self) -> None:
        signal.raise_signal(signal.SIGINT)
        while True:
            pass


def test_a_step_is_finished_first() -> None:
    solo = Solo(Interrupted)
    failed = ["it did not return"]

    def step() -> None:
        with interrupted_between_steps():
            failed[:] = [solo.start().failed]
            wait_for(lambda: False, "KeyboardInterrupt, after the step")

    with warnings.catch_warnings(record=True) as warned, pytest.raises(KeyboardInterrupt):
        step()
    assert failed == [""]
    assert not warned


def test_the_interruption_is_not_lost_at_the_end() -> None:
    """It is raised then, if it was not before."""
    solo = Solo(Interrupted)
    handler, timer = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    with pytest.raises(KeyboardInterrupt), interrupted_between_steps():
        solo.start()
    assert solo.protocol.finished
    assert signal.getsignal(signal.SIGALRM) is handler
    assert bool(signal.getitimer(signal.ITIMER_REAL)[0]) == bool(timer[0])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_outside_of_steps_it_is_raised_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), interrupted_between_steps():
        signal.raise_signal(signal.SIGINT)


def test_a_step_that_never_returns_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.worlds.interruption._MOST_RETRIES", 3)
    with pytest.raises(KeyboardInterrupt), interrupted_between_steps():
        Solo(Endless).start()


def test_an_ignored_signal_is_still_ignored() -> None:
    """A program in the background of a shell ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupted_between_steps():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.raise_signal(signal.SIGINT)


def test_an_exploration_stops_between_two_steps() -> None:
    """What it has found so far is whole."""
    explorer = Explorer(Interrupted, simulated_header(Interrupted, (1, 2)), "ordered", 0, settled=False)
    with warnings.catch_warnings(record=True) as warned:
        tally = explorer.run(100_000)
    assert not warned
    assert tally.stopped_by == INTERRUPTED
    assert tally.states == len(explorer.states)

"""A step that never returns: its node fails, with the user's line, and the world continues."""

import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType

import pytest
from msgspec.structs import replace

from lab.kernel import Node, Payload, Protocol, Started, Step, Timing, on, procedure
from lab.properties.assertions import RAISES
from lab.properties.declarations import PropertyError, evaluate, invariant
from lab.properties.states import GlobalState
from lab.worlds.campaign.campaign import run_campaign
from lab.worlds.explored.explorer import Explorer
from lab.worlds.watchdog import _CHECKS, _Watchdog, watch_steps
from tests.campaign.stubborn import Hangs
from tests.campaign.test_workers import FOLDER, campaign
from tests.harness import Solo, simulated_header

TraceFunction = Callable[[FrameType, str, object], "TraceFunction"]
ERROR = "did not return within 0.1 s of computing"
"""A fifth of the real limit, which ``tests/cli/test_endless_step.py`` tests."""


@pytest.fixture(autouse=True)
def _watch_briefly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lower the limit, and stop the timer for other tests."""
    monkeypatch.setattr("lab.worlds.watchdog._MOST_S", 0.1)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)


class Go(Payload, frozen=True):
    pass


class Round(Protocol):
    """Loops in a handler, or in a procedure."""

    @on(Go)
    def go(self, sender: int, message: Go) -> None:
        if sender == 3:
            self.begin(self.later)
            return
        while True:
            self.turn()

    def turn(self) -> None:
        pass

    @procedure
    async def later(self) -> None:
        await self.sleep(5)
        while True:
            pass


def _watched() -> Solo:
    watch_steps()
    solo = Solo(Round)
    solo.start()
    return solo


def test_a_handler_that_never_returns() -> None:
    """The node has failed; the traceback ends in the user's line, and the error names the handler."""
    solo = _watched()
    step = solo.hear(1, Go())
    *lines, last = step.failed.splitlines()
    assert last == f"StepTooLongError: go {ERROR}"
    assert [line.partition(":")[0] for line in lines] in (["test_watchdog.py"], ["test_watchdog.py"] * 2)
    assert " in go: " in lines[0]
    assert solo.node.halted


class Fails(Protocol):
    """Waits in a procedure, and fails in a handler."""

    def started(self) -> None:
        self.begin(self.later)

    @on(Go)
    def go(self, sender: int, message: Go) -> None:
        raise ValueError("failed")

    @procedure
    async def later(self) -> None:
        await self.sleep(5)


def test_a_step_that_fails_is_not_interrupted() -> None:
    """Wherever the limit is exceeded while the kernel closes procedures, the error is that of the protocol."""
    solo, watchdog, lines = Solo(Fails), _Watchdog(), 0
    solo.start()

    def late(frame: FrameType, event: str, argument: object) -> TraceFunction:
        nonlocal lines
        around: FrameType | None = frame
        while around is not None and around.f_code is not Node._fail.__code__:
            around = around.f_back
        if around is not None:
            lines += 1
            for _ in range(_CHECKS + 1):
                watchdog.check(signal.SIGVTALRM, frame)
        return late

    before = sys.gettrace()
    sys.settrace(late)
    try:
        step = solo.hear(1, Go())
    finally:
        sys.settrace(before)
    assert step.failed.endswith("ValueError: failed")
    assert lines > _CHECKS


def test_a_procedure_that_never_waits_again() -> None:
    solo = _watched()
    assert not solo.hear(3, Go()).failed
    assert re.fullmatch(
        rf"test_watchdog\.py:\d+ in later: (while True:|pass)\nStepTooLongError: later {ERROR}",
        solo.fire_timer().failed,
    )


def test_a_protocol_that_goes_on_all_the_same() -> None:
    """Its ``except`` catches the first error, but not the next."""
    caught: list[Exception] = []

    class Clings(Protocol):
        def started(self) -> None:
            while len(caught) < 2:
                try:
                    self._spin()
                except Exception as error:
                    caught.append(error)
            self._spin()

        def _spin(self) -> None:
            while True:
                pass

    watch_steps()
    assert f"started {ERROR}" in Solo(Clings).start().failed
    assert len(caught) == 2


def test_a_property_that_never_returns() -> None:
    """Also one that catches the error; a built-in one is left alone, however long it takes."""
    caught: list[Exception] = []

    def clings(state: GlobalState) -> bool:
        """It holds."""
        while len(caught) < 2:
            try:
                while True:
                    pass
            except Exception as error:
                caught.append(error)
        while True:
            pass

    def is_slow(state: GlobalState) -> bool:
        """It holds."""
        began_s = time.process_time()
        while time.process_time() < began_s + 0.3:
            pass
        return True

    built_in = FunctionType(is_slow.__code__, {"time": time, "__name__": "lab.properties.assertions"})
    built_in.__module__, built_in.__doc__ = "lab.properties.assertions", "It holds."
    watch_steps()
    with pytest.raises(PropertyError, match=f"PropertyTooLongError: clings {ERROR}"):
        evaluate(invariant(clings), GlobalState({}))
    assert len(caught) == 2
    assert evaluate(invariant(built_in), GlobalState({})) is True


def test_many_steps_that_take_long_together() -> None:
    """None of them fails, nor does computation between them."""

    class Works(Protocol):
        def started(self) -> None:
            for _ in range(200_000):
                pass

    checks = 0
    watch_steps()
    check = signal.getsignal(signal.SIGVTALRM)
    assert callable(check)

    def counted(number: int, frame: FrameType | None) -> None:
        nonlocal checks
        checks += 1
        check(number, frame)

    signal.signal(signal.SIGVTALRM, counted)
    while checks < 12:
        step = Node(Works, 1, (1,), Timing(1, 1)).step(Started({}, 1, 1), 0)
        assert isinstance(step, Step)
        assert not step.failed
    while checks < 24:
        pass


def test_only_the_main_thread_can_be_interrupted() -> None:
    """In other threads nothing is done, without an error."""
    failures: list[Exception] = []

    def watch() -> None:
        try:
            watch_steps()
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=watch)
    thread.start()
    thread.join()
    assert failures == []
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


@pytest.mark.parametrize("workers", [1, 2])
def test_in_a_campaign(workers: int) -> None:
    """In this process, where lines are traced, and in workers: the run has a failure, and ends."""
    whole = campaign(f"{FOLDER / 'stubborn.py'}:Hangs", runs=1)
    going = run_campaign(replace(whole, plan=replace(whole.plan, nodes=(2, 2))), workers=workers)
    first = next(going)
    going.close()
    assert first.found
    assert first.violations[0][:2] == (RAISES.id, ())


def test_in_an_exploration() -> None:
    """The result is a state in which a node has failed."""
    explorer = Explorer(Hangs, simulated_header(Hangs, (1, 2)), "ordered", 0, settled=False)
    explorer.run(100)
    assert explorer.tally.violated[RAISES.id] > 0
    assert not explorer.tally.stopped_by

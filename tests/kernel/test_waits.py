"""The waits of procedures: the line is that of the ``await`` in the source, as the interface shows it."""

import inspect
import itertools

import pytest

from lab.kernel import Protocol, Step, procedure
from lab.protocols import bully
from lab.protocols.bully import AreYouUpAnswer, EnterElectionAnswer, NewStateAnswer, SetCoordinatorAnswer
from lab.protocols.definition import Definition
from tests.harness import T_US, Solo

ANSWERS = {
    "AreYouUp": AreYouUpAnswer(),
    "EnterElection": EnterElectionAnswer(Definition(), 0),
    "SetCoordinator": SetCoordinatorAnswer(),
    "NewState": NewStateAnswer(),
}


class Waiter(Protocol):
    """Waits in each of the ways, one after the other."""

    def started(self) -> None:
        self.begin(self.second)
        self.begin(self.first)

    @procedure
    async def first(self) -> None:
        await self.sleep(10)  # line of first
        held = await self.until(lambda: False, "something", within=7)  # line of until
        await self.helper()
        self.note(str(held))

    @procedure
    async def second(self) -> None:
        await self.sleep(1_000)  # line of second

    async def helper(self) -> None:
        await self.sleep(1)  # line of helper


def _line(mark: str) -> int:
    source = inspect.getsource(inspect.getmodule(Waiter) or Waiter).splitlines()
    return next(number for number, line in enumerate(source, 1) if line.endswith(f"# line of {mark}"))


def test_a_wait_has_line_reason_start_and_deadline() -> None:
    """Procedures are in the order in which they began, each at the line of the innermost ``await`` in its file."""
    solo = Solo(Waiter)
    solo.start()
    second, first = solo.waits
    assert (second.procedure, second.line) == ("second", _line("second"))
    assert (first.procedure, first.line, first.what) == ("first", _line("first"), "time to pass")
    assert (first.since_us, first.until_us) == (0, 10)
    solo.fire_timer()
    first = solo.waits[1]
    assert (first.line, first.what) == (_line("until"), "something")
    assert (first.since_us, first.until_us) == (10, 17)
    solo.fire_timer()
    first = solo.waits[1]
    assert (first.line, first.what, first.since_us) == (_line("helper"), "time to pass", 17)


def test_a_wait_ends_with_its_procedure() -> None:
    """A procedure that no longer runs has no wait."""
    solo = Solo(Waiter)
    solo.start()
    solo.fire_timer()
    solo.fire_timer()
    solo.fire_timer()
    assert [wait.procedure for wait in solo.waits] == ["second"]


@pytest.mark.parametrize("stage", range(4))
def test_the_stages_of_the_election_wait_at_their_lines(stage: int) -> None:
    """B4-B7: an observer of an election sees the line of bully.py at which it waits."""
    solo = Solo(bully.Bully)
    step = solo.start()
    for _ in range(stage):
        step = solo.fire_timer() if step.sent[0].kind == "AreYouUp" else _answer_all(solo, step)
    (wait,) = solo.waits
    kind = ("AreYouUp", "EnterElection", "SetCoordinator", "NewState")[stage]
    source = inspect.getsource(bully).splitlines()
    assert f" {kind}(" in source[wait.line - 1]
    assert "await self.ask" in source[wait.line - 1]
    assert (wait.procedure, wait.what, wait.until_us) == ("election", f"{kind} answers", step.at_us + T_US)


def _answer_all(solo: Solo, step: Step) -> Step:
    *_, last = (solo.reply(message, ANSWERS[message.kind]) for message in step.sent)
    return last


def test_bullys_lines_differ_by_stage() -> None:
    """One ``await`` per line: the line identifies the stage."""
    source = inspect.getsource(bully.Bully).splitlines()
    waits = [line for line in source if "await " in line]
    assert all(line.count("await ") == 1 for line in waits)
    assert all(a != b for a, b in itertools.combinations(waits, 2))

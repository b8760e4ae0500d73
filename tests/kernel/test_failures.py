"""A protocol that raises, or awaits something of another event loop, fails its node with a helpful error."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any

import pytest
import trio

from lab.kernel import (
    CommandInput,
    DriverError,
    Message,
    Node,
    Payload,
    Protocol,
    Request,
    Safe,
    Started,
    Timing,
    command,
    on,
    procedure,
)
from lab.kernel.payload import encode
from tests.harness import Solo


class Yielder:
    """An awaitable of no known event loop."""

    def __await__(self) -> Generator[int, None, None]:
        yield 5


class Listed:
    """An awaitable whose iterator has no code object."""

    def __await__(self) -> Any:
        return iter([1])


class Go(Payload, frozen=True):
    """Begin, or raise."""

    raises: bool = False


def _waiting_for(thing: Callable[[], Any]) -> type[Protocol]:
    class Foreign(Protocol):
        touched: int = 0
        kept: Safe[int] = 0

        @on(Go)
        def go(self, sender: int, message: Go) -> None:
            self.send(1, Go())
            self.touched, self.kept = 1, 1
            if message.raises:
                raise ValueError("out of order")
            self.begin(self.elsewhere)

        @procedure
        async def elsewhere(self) -> None:
            await thing()

    return Foreign


async def _raise() -> None:
    raise KeyError("missing")


async def _helper() -> None:
    await asyncio.sleep(0)


FOREIGN: dict[str, tuple[Callable[[], Any], str]] = {
    "asyncio.sleep": (
        lambda: asyncio.sleep(1),
        "`asyncio.sleep` awaited in elsewhere: use self.sleep(us) instead",
    ),
    "asyncio.sleep(0)": (lambda: asyncio.sleep(0), "`asyncio.sleep` awaited in elsewhere: use self.sleep(us)"),
    "asyncio.Event": (
        lambda: asyncio.Event().wait(),
        "`asyncio.wait` awaited in elsewhere: use self.until(condition, what) instead",
    ),
    "asyncio.Queue": (lambda: asyncio.Queue().get(), "`asyncio.get` awaited in elsewhere: use self.until("),
    "trio.sleep": (partial(trio.sleep, 1), "`trio.sleep` awaited in elsewhere: use self.sleep(us) instead"),
    "trio.Event": (lambda: trio.Event().wait(), "`trio.wait` awaited in elsewhere: use self.until("),
    "in a helper": (_helper, "`asyncio.sleep` awaited in elsewhere: use self.sleep(us) instead"),
    "generator": (
        Yielder,
        "`Yielder` awaited in elsewhere: a protocol awaits only self.ask, self.sleep or self.until",
    ),
    "iterator": (
        Listed,
        "`list_iterator` awaited in elsewhere: a protocol awaits only self.ask, self.sleep or self.until",
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_await_names_its_replacement(name: str) -> None:
    """Only the kernel's traps yield; awaiting anything else is a TypeError that names the replacement."""
    thing, message = FOREIGN[name]
    solo = Solo(_waiting_for(thing))
    solo.start()
    step = solo.hear(1, Go())
    assert f"TypeError: {message}" in step.failed


def test_a_failing_handler_sends_and_stores_nothing() -> None:
    """A failed step is a crash: none of its effects leave the node."""
    solo = Solo(_waiting_for(_raise))
    solo.start()
    step = solo.hear(1, Go(raises=True))
    assert step.failed.endswith("ValueError: out of order")
    assert 'in go: raise ValueError("out of order")' in step.failed
    assert (step.sent, step.stored, step.changed, solo.waits) == ((), {}, {}, ())


def test_a_failing_procedure_sends_and_stores_nothing() -> None:
    """The traceback has the protocol's lines, but no lines of the kernel and no folders."""
    solo = Solo(_waiting_for(_raise))
    solo.start()
    step = solo.hear(1, Go())
    lines = step.failed.splitlines()
    assert [line.partition(":")[0] for line in lines[:2]] == ["test_failures.py", "test_failures.py"]
    assert "in elsewhere: await thing()" in lines[0]
    assert lines[-1] == "KeyError: 'missing'"
    assert "/" not in step.failed
    assert (step.sent, step.stored, step.changed, solo.waits) == ((), {}, {}, ())


def test_a_failed_node_has_halted() -> None:
    """It accepts no more input and has no timer."""
    solo = Solo(_waiting_for(_raise))
    solo.start()
    solo.hear(1, Go())
    assert solo.node.halted
    assert solo.node.next_timer() is None
    with pytest.raises(DriverError, match="node 2 has halted and takes no input"):
        solo.hear(1, Go())


def test_a_condition_that_raises_fails_the_node() -> None:
    """Conditions are code of the protocol, too."""

    class Doubtful(Protocol):
        def started(self) -> None:
            self.begin(self.wait_for_it)

        @procedure
        async def wait_for_it(self) -> None:
            await self.until(lambda: bool(1 // 0), "the impossible")

    assert "ZeroDivisionError" in Solo(Doubtful).start().failed


def test_a_message_that_cannot_be_read_fails_the_node() -> None:
    """All nodes run the same algorithm (assumption 1), so this is a bug in the program."""

    class Other(Payload, frozen=True):
        raises: str = "yes"

    Other.__name__ = "Go"
    solo = Solo(_waiting_for(_raise))
    solo.start()
    assert "ValidationError: Expected `bool`, got `str`" in solo.hear(1, Other()).failed


def _clings() -> type[Protocol]:
    class Clings(Protocol):
        def started(self) -> None:
            self.begin(self.cling)
            self.begin(self.tidy)

        @on(Go)
        def go(self, sender: int, message: Go) -> None:
            if message.raises:
                raise ValueError("out of order")
            self.stop(self.cling)

        @procedure
        async def cling(self) -> None:
            try:
                await self.sleep(100)
            finally:
                await self.sleep(100)

        @procedure
        async def tidy(self) -> None:
            try:
                await self.sleep(100)
            finally:
                self.stop(self.cling)
                raise KeyError("untidy")

    return Clings


def test_waiting_while_being_stopped_fails_the_node() -> None:
    """A procedure that waits in its ``finally`` cannot be stopped exactly."""
    solo = Solo(_clings())
    solo.start()
    assert "RuntimeError: coroutine ignored GeneratorExit" in solo.hear(1, Go()).failed


def test_errors_while_a_node_fails_do_not_hide_the_failure() -> None:
    """The first error is reported, whatever the procedures do while they are closed."""
    solo = Solo(_clings())
    solo.start()
    assert solo.hear(1, Go(raises=True)).failed.endswith("ValueError: out of order")


def test_every_procedure_of_a_failed_node_is_closed() -> None:
    """None of their code can run afterwards."""
    closed: list[str] = []

    class Leaves(Protocol):
        def started(self) -> None:
            self.begin(self.lasting)

        @on(Go)
        def go(self, sender: int, message: Go) -> None:
            raise ValueError("out of order")

        @procedure
        async def lasting(self) -> None:
            try:
                await self.sleep(100)
            finally:
                closed.append("lasting")

    solo = Solo(Leaves)
    solo.start()
    solo.hear(1, Go())
    assert closed == ["lasting"]


def test_a_procedure_may_wait_in_helper_methods() -> None:
    """A procedure may be split into several methods, which wait on its behalf."""

    class Split(Protocol):
        def started(self) -> None:
            self.begin(self.outer)

        @procedure
        async def outer(self) -> None:
            await self.inner()
            self.note("done")

        def inner(self) -> Coroutine[Any, Any, None]:
            return self.sleep(5)

    solo = Solo(Split)
    solo.start()
    assert solo.waits[0].until_us == 5
    assert solo.fire_timer().notes == ("done",)


def test_a_procedure_that_loops_without_waiting_fails_the_node() -> None:
    """A wait for a condition that already holds takes no time, so a loop of such waits would never end."""

    class Spins(Protocol):
        def started(self) -> None:
            self.begin(self.spin)

        @procedure
        async def spin(self) -> None:
            while True:
                await self.until(lambda: True, "what holds already")

    step = Node(Spins, 1, (1,), Timing(1, 1)).step(Started({}, 1, 1), 0)
    assert "spin loops without waiting" in step.failed


def test_a_procedure_for_which_time_stands_still_fails_the_node() -> None:
    """Waits of no time follow each other at one instant; when time passes in between, they may go on."""

    class Stands(Protocol):
        def started(self) -> None:
            self.begin(self.stand)

        @procedure
        async def stand(self) -> None:
            while True:
                await self.sleep(0)

    for passes, failed in ((0, True), (1, False)):
        node = Node(Stands, 1, (1,), Timing(1, 1))
        step = node.step(Started({}, 1, 1), 0)
        for turn in range(1, 10_002):
            assert not step.failed, turn
            due = node.next_timer()
            assert due is not None
            step = node.step(due[1], turn * passes)
        assert ("stand is due at one instant for ever: let it wait for longer than 0" in step.failed) is failed


def test_what_is_no_message_is_not_sent() -> None:
    """Neither to a node, nor as an answer; nor is a request that no node handles."""

    class Answer(Payload, frozen=True):
        pass

    class Question(Request[Answer], frozen=True):
        pass

    class Other(Request[Answer], frozen=True):
        pass

    class Careless(Protocol):
        @on(Question)
        def answer(self, sender: int, message: Question) -> Any:
            return 5

        @command
        def greet(self) -> None:
            self.send(2, "hello")  # type: ignore[arg-type]

        @command
        def wonder(self) -> None:
            self.begin(self.ask_other)

        @procedure
        async def ask_other(self) -> None:
            await self.ask(2, Other(), within=1)

    question = Message(2, 1, 1, "Question", encode(Question()))
    for given, error in (
        (question, "answer returns 5: a handler returns a message, its answer, or None"),
        (CommandInput("greet"), "'hello' is no message: its class must be one like Name(Payload, frozen=True)"),
        (CommandInput("wonder"), "no node handles Other: write a handler for it, @on(Other)"),
    ):
        node = Node(Careless, 1, (1, 2), Timing(1, 1))
        node.step(Started({}, 1, 1), 0)
        assert f"ProtocolError: {error}" in node.step(given, 1).failed

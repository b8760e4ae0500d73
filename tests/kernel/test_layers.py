"""Protocols stack: two in one node, each with its own messages, state and procedures; and their commands."""

import pytest

from lab.kernel import (
    CommandInput,
    DriverError,
    Fired,
    Payload,
    Protocol,
    ProtocolError,
    Safe,
    Started,
    Step,
    command,
    on,
    periodic,
    procedure,
)
from tests.harness import Solo


class Knock(Payload, frozen=True):
    """A message to the upper layer."""


class Upper(Protocol):
    """Ticks every 10, counts knocks, and takes commands."""

    knocks: int = 0
    kept: Safe[int] = 0
    heard_of: str = ""

    def started(self) -> None:
        self.heard_of = (
            f"{type(self.lower_layer).__name__}, which keeps {getattr(self.lower_layer, 'level', None)}"
        )

    @on(Knock)
    def knock(self, sender: int, message: Knock) -> None:
        self.knocks += 1

    @periodic(lambda self: self.begun_us(self.tick) + 10)
    async def tick(self) -> None:
        self.kept += 1

    @command
    def count(self, by: str) -> None:
        """Count on by so many."""
        self.kept += int(by)


class Lower(Protocol):
    """A protocol that is busy from the start, and would otherwise check every 10."""

    upper_protocol = Upper
    level: Safe[int] = 1

    def started(self) -> None:
        self.begin(self.busy)

    @procedure
    async def busy(self) -> None:
        await self.sleep(35, "to be over")
        self.level += 1

    @periodic(lambda self: self.begun_us(self.check) + 10)
    async def check(self) -> None:
        self.note("checked")


def _ran(solo: Solo, steps: int) -> list[tuple[int, str]]:
    """Return when each procedure was begun or resumed."""
    fired = [solo.fire_timer() for _ in range(steps)]
    return [(step.at_us, step.input.procedure) for step in fired if isinstance(step.input, Fired)]


def _up() -> tuple[Solo, Step]:
    solo = Solo(Lower)
    return solo, solo.start({"level": 7, "kept": 40})


def test_a_layer_is_idle_while_another_is_busy() -> None:
    """The periodic procedure of the upper layer begins all along; that of the lower one once its own has ended."""
    solo, _ = _up()
    assert _ran(solo, 6) == [(10, "tick"), (20, "tick"), (30, "tick"), (35, "busy"), (35, "check"), (40, "tick")]


def test_the_state_of_both_is_reported_and_restored() -> None:
    """Each field belongs to its layer, and all are in one step."""
    solo, step = _up()
    assert step.changed == {"knocks": 0, "heard_of": "Lower, which keeps 7"}
    assert step.stored == {}
    assert solo.protocol.values() == {"level": 7, "knocks": 0, "kept": 40, "heard_of": "Lower, which keeps 7"}
    assert solo.hear(1, Knock()).changed == {"knocks": 1}
    assert solo.fire_timer().stored == {"kept": 41}


def test_a_command_reaches_the_layer_that_has_it() -> None:
    """It arrives with its words; the step has it as its input."""
    solo, _ = _up()
    command = CommandInput("count", ("3",))
    step = solo.node.step(command, 5)
    assert (step.input, step.stored) == (command, {"kept": 43})
    assert Lower.commands["count"].does == "Count on by so many."


def test_a_command_that_no_layer_has_is_an_error() -> None:
    """The driver has to check commands first."""
    solo, _ = _up()
    with pytest.raises(DriverError, match="shout is not a command"):
        solo.node.step(CommandInput("shout"), 5)
    with pytest.raises(DriverError, match="has not been started"):
        Solo(Lower).node.step(CommandInput("count", ("1",)), 0)


def test_a_node_is_started_once() -> None:
    """Both layers start with it."""
    solo, _ = _up()
    with pytest.raises(DriverError, match="started already"):
        solo.node.step(Started({}, 2, 9), 1)


def test_two_layers_may_not_share_a_name() -> None:
    """The error names the field, message or method."""
    with pytest.raises(ProtocolError, match="Upper cannot run above Twice: both have knocks; rename one"):

        class Twice(Protocol):
            upper_protocol = Upper
            knocks: int = 0

    with pytest.raises(ProtocolError, match="both have Knock"):

        class Listening(Protocol):
            upper_protocol = Upper

            @on(Knock)
            def listen(self, sender: int, message: Knock) -> None:
                """Do nothing."""

"""What is refused while a protocol's class is being made: its author reads it before anything runs."""

from typing import Any, ClassVar

import pytest

from lab.kernel import Payload, Protocol, ProtocolError, on, periodic, procedure


class Hello(Payload, frozen=True):
    """A message."""


def test_a_handler_that_could_wait_is_refused() -> None:
    """It would return a coroutine where an answer is wanted."""
    with pytest.raises(ProtocolError, match=r"^hello is a handler, which never waits: write def, not async def$"):

        class Waits(Protocol):
            @on(Hello)
            async def hello(self, sender: int, message: Hello) -> None:
                """Never run."""


@pytest.mark.parametrize("kind", [int, Hello(), "Hello", len])
def test_a_handler_of_what_is_no_message_is_refused(kind: Any) -> None:
    """No such thing can ever come."""
    with pytest.raises(ProtocolError, match=r"^@on takes a message class: class Name\(Payload, frozen=True\)$"):
        on(kind)


def test_a_procedure_that_cannot_wait_is_refused() -> None:
    """It would run to its end when it is to begin."""
    with pytest.raises(ProtocolError, match=r"^go is a procedure: write async def, not def$"):

        class Plain(Protocol):
            @procedure
            def go(self) -> None:
                """Never run."""

    with pytest.raises(ProtocolError, match=r"^tick is a procedure: write async def, not def$"):

        class Periodic(Protocol):
            @periodic(lambda self: None)
            def tick(self) -> None:
                """Never run."""


def test_what_is_a_class_variable_is_no_state() -> None:
    """With its type or without, and whatever it holds."""

    class Holder(Protocol):
        table: ClassVar[dict[str, int]] = {}
        other: ClassVar = {}  # type: ignore[var-annotated]
        count: int = 0

    assert [field.name for field in Holder.fields] == ["count"]

"""Errors in declarations are raised when the class of a protocol is created, before anything runs."""

from typing import Any, ClassVar

import pytest

from lab.kernel import Payload, Protocol, ProtocolError, on, periodic, procedure


class Hello(Payload, frozen=True):
    pass


class Goodbye(Payload, frozen=True):
    pass


def test_a_handler_that_could_wait_is_refused() -> None:
    """An async handler would return a coroutine instead of an answer."""
    with pytest.raises(ProtocolError, match=r"^hello is a handler, which never waits: write def, not async def$"):

        class Waits(Protocol):
            @on(Hello)
            async def hello(self, sender: int, message: Hello) -> None:
                """Never called."""


@pytest.mark.parametrize("kind", [int, Hello(), "Hello", len])
def test_a_handler_of_a_non_message_is_refused(kind: Any) -> None:
    """Such a handler could never be called."""
    with pytest.raises(ProtocolError, match=r"^@on takes a message class: class Name\(Payload, frozen=True\)$"):
        on(kind)


def test_a_second_handler_of_a_message_is_refused() -> None:
    """Only one of them would ever be called; one of a subclass replaces the inherited one."""
    with pytest.raises(ProtocolError, match=r"^Twice has two handlers of Hello, hello and again$"):

        class Twice(Protocol):
            @on(Hello)
            def hello(self, sender: int, message: Hello) -> None:
                """Never called."""

            @on(Hello)
            def again(self, sender: int, message: Hello) -> None:
                """Never called."""

    with pytest.raises(ProtocolError, match=r"^both has two @on: write a handler for each message$"):

        class Both(Protocol):
            @on(Hello)
            @on(Goodbye)
            def both(self, sender: int, message: Payload) -> None:
                """Never called."""

    class Once(Protocol):
        @on(Hello)
        def hello(self, sender: int, message: Hello) -> None:
            """Replaced."""

    class Other(Once):
        @on(Hello)
        def other(self, sender: int, message: Hello) -> None:
            """Called instead."""

    assert (Once.handlers, Other.handlers) == ({"Hello": "hello"}, {"Hello": "other"})


def test_a_procedure_that_cannot_wait_is_refused() -> None:
    """A plain function would run to its end when it is begun."""
    with pytest.raises(ProtocolError, match=r"^go is a procedure: write async def, not def$"):

        class Plain(Protocol):
            @procedure
            def go(self) -> None:
                """Never called."""

    with pytest.raises(ProtocolError, match=r"^tick is a procedure: write async def, not def$"):

        class Periodic(Protocol):
            @periodic(lambda self: None)
            def tick(self) -> None:
                """Never called."""


def test_a_class_variable_is_not_state() -> None:
    """With or without its type, and whatever its value."""

    class Holder(Protocol):
        table: ClassVar[dict[str, int]] = {}
        other: ClassVar = {}  # type: ignore[var-annotated]
        count: int = 0

    assert [field.name for field in Holder.fields] == ["count"]

"""What goes into a node and what comes out of it: messages, inputs, steps.

A run is a list of steps, and these structs are what is written down of it: a node process sends a ``Step``
to its host as one line of JSON, the host writes that line to the recording, the interface reads it there.
There is no second form. All times are microseconds since the run began.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Raw, Struct, field

from lab.kernel.log import Log

__all__ = ["CommandInput", "Fired", "Input", "Message", "Received", "Started", "Step", "Wait"]


class Message(Struct, frozen=True, omit_defaults=True, gc=False):
    """One message from ``source`` to ``target``; ``(source, serial)`` names it in the whole run.

    ``body`` is the payload as JSON: the network carries it and never looks inside. ``answers`` is the
    serial of the request that this message answers, or 0 (rule B9).
    """

    source: int
    target: int
    serial: int
    kind: str
    body: Raw
    answers: int = 0


class Started(Struct, frozen=True, tag="started", tag_field="type", gc=False):
    """The node came up, for the ``incarnation``-th time, with what its safe storage held.

    ``serial`` is the first serial its messages may use: serials go on across crashes, so an answer to a
    request of an earlier life can answer nothing in this one.
    """

    stored: dict[str, Any]
    incarnation: int = field(name="life")
    serial: int


class Received(Struct, frozen=True, tag="received", tag_field="type", gc=False):
    """The message ``(source, serial)`` was delivered."""

    source: int
    serial: int


class Fired(Struct, frozen=True, tag="fired", tag_field="type", gc=False):
    """The next timer due fired; it belongs to this procedure."""

    procedure: str


class CommandInput(Struct, frozen=True, omit_defaults=True, tag="told", tag_field="type", gc=False):
    """The user gave the node a command of its protocol's own."""

    command: str
    words: tuple[str, ...] = ()


Input = Started | Message | Fired | CommandInput
"""What a node can be fed. A step names a message by reference, as ``Received``."""


class Wait(Struct, frozen=True, omit_defaults=True, gc=False):
    """Where a running procedure waits: source line, for what, for whom still, since and until when."""

    procedure: str
    line: int
    what: str
    since_us: int
    until_us: int | None = None
    peers: tuple[int, ...] = ()


class Step(Struct, frozen=True, omit_defaults=True, tag="step", tag_field="record", gc=False):
    """What a node did with one input, at one instant.

    ``changed`` holds the declared state that changed and ``stored`` the part of it that is in safe storage,
    ``logged`` what was appended to logs there; both are on disk before any message of ``sent`` leaves. ``late``:
    the input was an answer that no request waits for any longer. ``failed`` is the traceback of a node that
    raised; such a step sends and stores nothing.
    """

    at_us: int
    node: int
    incarnation: int = field(name="life")
    input: Started | Received | Fired | CommandInput
    changed: dict[str, Any] = {}
    stored: dict[str, Any] = {}
    sent: tuple[Message, ...] = ()
    waits: tuple[Wait, ...] = ()
    notes: tuple[str, ...] = ()
    late: bool = False
    failed: str = ""
    logged: dict[str, list[Any]] = {}

    @property
    def changes_state(self) -> bool:
        """Whether any declared state changed."""
        return bool(self.changed or self.stored or self.logged)

    @property
    def stores(self) -> bool:
        """Whether anything is to be written to safe storage."""
        return bool(self.stored or self.logged)

    def kept(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """What safe storage holds after this step, where it held ``before``; logs that grew are ``Log``."""
        logs = {name: _log(before.get(name)) + new for name, new in self.logged.items()}
        return {**before, **self.stored, **logs}

    def state_after(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """The declared state after this step, where it was ``before``."""
        return {**self.kept(before), **self.changed}


def _log(value: Any) -> Log[Any]:
    return value if isinstance(value, Log) else Log(value if isinstance(value, list) else ())

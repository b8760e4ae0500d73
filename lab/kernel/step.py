"""The input and output of a node: messages, inputs, steps.

A run is a list of steps, and these structs are its only format: a node process sends a ``Step`` to its host as
one line of JSON, the host writes that line to the recording, and the interface reads it from there. All times are
microseconds since the run began.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Raw, Struct, field

from lab.kernel.log import Log

__all__ = ["CommandInput", "Fired", "Input", "Message", "Received", "Started", "Step", "Wait", "Wrote"]


class Message(Struct, frozen=True, omit_defaults=True, gc=False):
    """A message from ``source`` to ``target``; ``(source, serial)`` identifies it in the whole run.

    ``body`` is the payload as JSON; the network does not decode it. ``reply_to`` (in JSON: ``answers``) is the
    serial of the request that this message answers, or 0 (rule B9).
    """

    source: int
    target: int
    serial: int
    kind: str
    body: Raw
    reply_to: int = field(default=0, name="answers")


class Started(Struct, frozen=True, tag="started", tag_field="type", gc=False):
    """The node started its nth incarnation with the contents of its stable storage in ``stored``.

    ``serial`` is the first serial that its messages may use. Serials continue across crashes, so an answer to a
    request of an earlier incarnation matches no request of this one.
    """

    stored: dict[str, Any]
    incarnation: int = field(name="life")
    serial: int


class Received(Struct, frozen=True, tag="received", tag_field="type", gc=False):
    """The message ``(source, serial)`` was delivered."""

    source: int
    serial: int


class Fired(Struct, frozen=True, tag="fired", tag_field="type", gc=False):
    """The next timer fired; it belongs to this procedure."""

    procedure: str


class CommandInput(Struct, frozen=True, omit_defaults=True, tag="told", tag_field="type", gc=False):
    """The user gave the node one of its protocol's commands."""

    command: str
    words: tuple[str, ...] = ()


class Wrote(Struct, frozen=True, omit_defaults=True, tag="wrote", tag_field="type", gc=False):
    """The program that the node stands for wrote this line, to its ``log`` or else to its standard output."""

    line: str
    log: bool = False


Input = Started | Message | Fired | CommandInput | Wrote
"""The inputs of a node. A step refers to a message as ``Received``."""


class Wait(Struct, frozen=True, omit_defaults=True, gc=False):
    """The wait of a running procedure: its source line, reason, start, deadline, and missing peers."""

    procedure: str
    line: int
    what: str
    since_us: int
    until_us: int | None = None
    peers: tuple[int, ...] = ()


class Step(Struct, frozen=True, omit_defaults=True, tag="step", tag_field="record", gc=False):
    """The effects of one input on a node, at one instant.

    ``changed`` holds the new values of volatile fields, ``stored`` those of fields in stable storage, and
    ``logged`` the entries appended to logs there; the latter two are on disk before any message of ``sent``
    leaves. ``late``: the input was an answer to a request that no longer waits. ``failed`` is the traceback of a
    node that raised; such a step sends and stores nothing. ``draws`` are the random numbers that it drew.
    """

    at_us: int
    node: int
    incarnation: int = field(name="life")
    input: Started | Received | Fired | CommandInput | Wrote
    changed: dict[str, Any] = {}
    stored: dict[str, Any] = {}
    sent: tuple[Message, ...] = ()
    waits: tuple[Wait, ...] = ()
    notes: tuple[str, ...] = ()
    late: bool = False
    failed: str = ""
    logged: dict[str, list[Any]] = {}
    draws: tuple[float, ...] = ()

    @property
    def changes_state(self) -> bool:
        """Return whether any declared field changed."""
        return bool(self.changed or self.stored or self.logged)

    @property
    def stores(self) -> bool:
        """Return whether the step writes to stable storage."""
        return bool(self.stored or self.logged)

    def storage_after(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the contents of stable storage after this step, given those before; grown logs are ``Log``."""
        return contents_after(before, self.stored, self.logged)

    def state_after(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the declared state after this step, given the state before."""
        return {**self.storage_after(before), **self.changed}


def contents_after(
    before: Mapping[str, Any], stored: Mapping[str, Any], logged: Mapping[str, list[Any]]
) -> dict[str, Any]:
    """Return the contents of stable storage after a write of values and of log entries; grown logs are ``Log``."""
    logs = {name: _log(before.get(name)) + new for name, new in logged.items()}
    return {**before, **stored, **logs}


def _log(value: Any) -> Log[Any]:
    return value if isinstance(value, Log) else Log(value if isinstance(value, list) else ())

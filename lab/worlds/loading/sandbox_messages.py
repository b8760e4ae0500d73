"""The messages between a sandbox and its confined child, one line of JSON each: a request, and its reply."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from lab.kernel import CommandInput, Fired, Message, ProtocolCommand, Started, Step, Timing, Wrote

# requests to the child


class Load(Struct, frozen=True, tag="load"):
    """Load the protocol of this target, a file in the child's folder. Sent once.

    ``original``: the target of the faulty protocol that it repairs. Its methods then take the place of those that
    they override, and no other protocol of this program remains: what it asks for is nowhere in the process.
    """

    target: str
    original: str = ""


class Describe(Struct, frozen=True, tag="describe"):
    """Compute what the protocol declares for a run with these parameters and so many nodes."""

    parameters: dict[str, Any]
    timing: Timing
    nodes: int


class Create(Struct, frozen=True, tag="create"):
    """Create the node, in place of the last one; there is no reply. See ``Node``."""

    node: int
    ids: tuple[int, ...]
    timing: Timing
    parameters: dict[str, Any]
    seed: int


class Feed(Struct, frozen=True, tag="feed"):
    """Give the node an input: ``message``, or else ``given``."""

    now_us: int
    message: Message | None = None
    given: Started | Fired | CommandInput | Wrote | None = None
    draws: tuple[float, ...] = ()


SandboxRequest = Load | Describe | Create | Feed


# its replies


class Confined(Struct, frozen=True, tag="confined"):
    """The first reply, before the file is loaded: what of the confinement is ``missing`` on this system."""

    missing: tuple[str, ...]


class Refused(Struct, frozen=True, tag="refused"):
    """The file cannot be loaded; the text is for the user."""

    text: str


class Loaded(Struct, frozen=True, tag="loaded"):
    """The declarations of a protocol. ``base`` is the first built-in class of its bases, as module and name.

    ``payloads``: the kinds of messages, and whether each is a request. ``initial``: the values with which the
    fields begin, as plain JSON. ``own_properties``: the file declares properties, which are not judged, because
    their code would be executed by the judge.
    """

    name: str
    class_name: str
    base: tuple[str, str]
    promises: tuple[str, ...]
    payloads: dict[str, bool]
    fields: dict[str, Literal["volatile", "safe", "log"]]
    parameters: dict[str, Any]
    commands: dict[str, ProtocolCommand]
    workload: tuple[str, ...]
    heartbeats: tuple[str, ...]
    doc: str = ""
    own_properties: bool = False
    initial: dict[str, Any] = {}


class Described(Struct, frozen=True, tag="described"):
    """The bound within which the nodes settle, and what each promise relies on."""

    settles_within_us: int
    relied_on: dict[str, tuple[int | str, ...]]


class Fed(Struct, frozen=True, tag="fed"):
    """The step of a node, and its next timer: (due time, procedure)."""

    step: Step
    timer: tuple[int, str] | None


class Failed(Struct, frozen=True, tag="failed"):
    """The request could not be done: the protocol raised this where no node is to blame, or it was misused."""

    text: str


SandboxReply = Confined | Refused | Loaded | Described | Fed | Failed
decode_reply: Callable[[bytes], SandboxReply] = msgspec.json.Decoder(SandboxReply).decode

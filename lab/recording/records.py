"""What is written down of a run: one record a line, as JSON, a header first.

The recording, the feed that the interface reads and the wire between host and node hold the same lines. A
field never changes its meaning; a new meaning gets a new name, and a new ``FORMAT`` if old readers would
misread it. ``kernel.Step`` is a record too, and the most frequent one.

Times are microseconds since the run began. A step carries its node's own clock, every other record the
host's, so a record may be a little older than the one before it; the order of records is the order in which
the host saw things happen, and every prefix of it is a consistent state.
"""

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from lab.kernel import Message, Step, Timing
from lab.recording.snapshot import ProcessState, Snapshot
from lab.units import format_us

__all__ = [
    "FORMAT",
    "PROCESS_AFTER",
    "STRUCK_BY",
    "Captioned",
    "Commanded",
    "End",
    "Event",
    "Exercised",
    "Expected",
    "Fault",
    "Header",
    "Injected",
    "Keyframe",
    "Link",
    "Parent",
    "Process",
    "ProtocolInfo",
    "Record",
    "Routed",
    "decode",
    "encode",
]

FORMAT = 1


class Link(Struct, frozen=True, gc=False):
    """What every link of the run does to every message before any fault."""

    latency_us: int = 0
    jitter_us: int = 0


class ProtocolInfo(Struct, frozen=True):
    """The protocol of a run. ``source`` is for display; no code out of a recording is ever executed.

    ``promises`` names the assertions that hold as long as the assumptions do; ``relies_on`` gives, for some of
    them, the numbers of those that matter (where it gives none, all nine do); ``settles_within_us`` is how long
    after the last fault all nodes have agreed (A2).
    """

    name: str
    parameters: dict[str, Any]
    file: str
    source: str
    heartbeats: tuple[str, ...] = ()
    promises: tuple[str, ...] = ()
    relies_on: dict[str, tuple[int, ...]] = {}
    settles_within_us: int = 0

    @property
    def election(self) -> str | None:
        """The election below, where the protocol is a task above one."""
        election = self.parameters.get("election")
        return election if isinstance(election, str) else None

    @property
    def title(self) -> str:
        """Its name; of a task, with the election below it."""
        return self.name if self.election is None else f"{self.name} above {self.election}"

    @property
    def settings(self) -> tuple[str, ...]:
        """What was set, as ``lab run --set`` takes it; without the election, which is in the title."""
        return tuple(
            f"{name.removesuffix('_us')}={_value_said(name, value)}"
            for name, value in self.parameters.items()
            if name != "election"
        )


def _value_said(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and name.endswith("_us"):
        return format_us(value)
    is_plain = value is None or isinstance(value, int | float)  # nothing else can be set
    return msgspec.json.encode(value).decode() if is_plain else "…"


class Parent(Struct, frozen=True):
    """Where a branch comes from: the file ``recording``, seen from the branch's folder, which holds ``run``.

    The branch has the parent's records up to ``record``, byte for byte; that was at ``at_us``.
    """

    recording: str
    run: str
    record: int
    at_us: int


class Exercised(Struct, frozen=True):
    """Which exercise a run is of: its name, the student's, and the how-manieth attempt of theirs, from 1."""

    name: str
    student: str
    attempt: int = 1


class Header(Struct, frozen=True, omit_defaults=True, tag="header", tag_field="record"):
    """The first line: everything that a re-execution needs. ``began`` is UTC, ISO 8601.

    ``remark`` says what the run is there to show, ``scenario`` is the text of the file that it was made from.
    """

    format: int
    program: str
    run: str
    began: str
    world: Literal["live", "simulated"]
    protocol: ProtocolInfo
    nodes: tuple[int, ...]
    timing: Timing
    link: Link
    seed: int
    parent: Parent | None = None
    remark: str = ""
    scenario: str = ""
    exercise: Exercised | None = None


Fate = Literal["delayed", "dropped", "duplicated", "held", "released", "reordered"]


class Routed(Struct, frozen=True, omit_defaults=True, tag="routed", tag_field="record", gc=False):
    """The message ``(source, serial)`` met something other than plain delivery.

    ``by`` are the ids of the faults that touched it, ``why`` says in a word what became of a dropped one.
    """

    at_us: int
    source: int
    serial: int
    fate: Fate
    why: str = ""
    by: tuple[int, ...] = ()
    due_us: int | None = None


Event = Literal["started", "killed", "paused", "resumed", "failed", "wiped"]

PROCESS_AFTER: dict[str, ProcessState] = {
    "started": "running",
    "resumed": "running",
    "killed": "killed",
    "paused": "paused",
    "failed": "failed",
}
"""What a process does after an event; a wipe changes nothing in that."""

STRUCK_BY = {"killed": "kill", "paused": "pause", "wiped": "wipe"}
"""The kind of fault that each of these events shows to have struck."""


class Process(Struct, frozen=True, omit_defaults=True, tag="process", tag_field="record", gc=False):
    """Something was *seen* to have happened to a node's process. ``paused_us``: how long it had stood still."""

    at_us: int
    node: int
    event: Event
    incarnation: int = field(default=0, name="life")
    pid: int = 0
    paused_us: int = 0


class Fault(Struct, frozen=True, omit_defaults=True, tag="fault", tag_field="record", gc=False):
    """A fault came into force, or, with ``lifted``, went out of it.

    ``nodes`` are those that a fault of nodes strikes, ``links`` the (source, target) pairs of a fault of
    links. ``breaks`` are the numbers of the assumptions that do not hold while it is in force. A second
    record with the same id says that it holds for fewer links now. ``line``: of the script, that it is of, if any.
    """

    at_us: int
    id: int
    kind: str
    text: str = ""
    nodes: tuple[int, ...] = ()
    breaks: tuple[int, ...] = ()
    links: tuple[tuple[int, int], ...] = ()
    lifted: bool = False
    line: int = 0


class Commanded(Struct, frozen=True, omit_defaults=True, tag="command", tag_field="record", gc=False):
    """A command was carried out, found to change nothing (``changed`` False), or ``refused``: it could not be.

    ``reached``: the nodes that are given a command of their protocol's own. One that stands still takes it when
    it goes on. ``line``: where it stands in the script, from 1; 0 where it was given otherwise.
    """

    at_us: int
    text: str
    outcome: str
    changed: bool = True
    refused: bool = False
    reached: tuple[int, ...] = ()
    line: int = 0


class Captioned(Struct, frozen=True, omit_defaults=True, tag="caption", tag_field="record", gc=False):
    """Words for those who watch; with ``mark``, a bookmark. ``line`` as in ``Commanded``."""

    at_us: int
    text: str
    mark: bool = False
    line: int = 0


class Expected(Struct, frozen=True, omit_defaults=True, tag="expected", tag_field="record", gc=False):
    """It is known now whether an expectation was met; ``why`` says more where it was not. ``line`` as above."""

    at_us: int
    text: str
    met: bool
    why: str = ""
    line: int = 0


class Injected(Struct, frozen=True, omit_defaults=True, tag="injected", tag_field="record", gc=False):
    """A message was forged: ``source`` never sent it. Its serial is that of its fault, below 0."""

    at_us: int
    message: Message


class Keyframe(Struct, frozen=True, omit_defaults=True, tag="keyframe", tag_field="record"):
    """The state after the record before this one, so that a reader need not begin at the beginning.

    ``digest``: of all lines before it, in an attempt at an exercise.
    """

    at_us: int
    snapshot: Snapshot
    digest: str = ""


class End(Struct, frozen=True, omit_defaults=True, tag="end", tag_field="record", gc=False):
    """The run ended in good order. A recording without it was cut off. ``digest`` as in ``Keyframe``."""

    at_us: int
    why: str
    digest: str = ""


Record = Header | Step | Routed | Process | Fault | Commanded | Captioned | Expected | Injected | Keyframe | End

encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode
decode: Callable[[bytes | memoryview], Record] = msgspec.json.Decoder(Record).decode
"""A line, without its newline, to its record; ValueError (msgspec.DecodeError among them), RecursionError."""

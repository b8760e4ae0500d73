"""The records of a run: one a line, as JSON, a header first.

The recording, the feed that the interface reads and the wire between host and node hold the same lines. A field
never changes its meaning; a new meaning gets a new name, and a new ``FORMAT`` if old readers would misread it.
``kernel.Step`` is a record too, and the most frequent one.

Times are microseconds since the run began. A step carries the clock of its node, every other record that of the
host, so a record may be a little older than the one before it. The order of records is the order in which the host
saw the events, and every prefix of it is a consistent cut.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, cast

import msgspec
from msgspec import Struct, field

from lab.kernel import Message, Started, Step, Timing, Wait
from lab.kernel.step import EVERY_WAIT, CommandInput, Fired, Received
from lab.kernel.storage import DAMAGED
from lab.recording.snapshot import ProcessState, Snapshot, SnapshotDifference
from lab.units import format_ranges, format_us

FORMAT = 2
"""The format that is written. Its steps hold what changed, and most of its keyframes a difference.

Format 1 is read as well: the waits of its steps are all waits of the node.
"""


class Link(Struct, frozen=True, gc=False):
    """Latency and jitter of every link, before any fault."""

    latency_us: int = 0
    jitter_us: int = 0


class ProtocolInfo(Struct, frozen=True):
    """The protocol of a run. ``source`` is for display; no code from a recording is ever executed.

    ``promises`` names the assertions that hold while the assumptions do. ``relies_on`` gives, for some of them,
    the assumptions they need, by number or by name; all others need all nine. ``settles_within_us`` is the bound
    on the time from the last fault until all nodes agree (A2).
    """

    name: str
    parameters: dict[str, Any]
    file: str
    source: str
    heartbeats: tuple[str, ...] = ()
    promises: tuple[str, ...] = ()
    relies_on: dict[str, tuple[int | str, ...]] = {}
    settles_within_us: int = 0

    @property
    def election(self) -> str | None:
        """The election protocol below; None if the protocol is not a task above an election."""
        election = self.parameters.get("election")
        return election if isinstance(election, str) else None

    @property
    def title(self) -> str:
        """The name; for a task, with the election below it."""
        return self.name if self.election is None else f"{self.name} above {self.election}"

    @property
    def settings(self) -> tuple[str, ...]:
        """The parameters, in the form of ``lab run --set``; without the election, which is in the title."""
        return tuple(
            f"{name.removesuffix('_us')}={_format_setting(name, value)}"
            for name, value in self.parameters.items()
            if name != "election"
        )


def _format_setting(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and name.endswith("_us"):
        return format_us(value)
    if isinstance(value, list | tuple) and all(isinstance(each, str | int | float) for each in value):
        return ",".join(_format_setting("", each) for each in value)
    is_plain = value is None or isinstance(value, int | float)  # nothing else can be set
    return msgspec.json.encode(value).decode() if is_plain else "…"


class Parent(Struct, frozen=True):
    """The origin of a branch: the run ``run`` in the file ``recording``, relative to the folder of the branch.

    The branch has the records of its parent up to ``record``, at ``at_us``: byte for byte if both have one format.
    """

    recording: str
    run: str
    record: int
    at_us: int


class ExerciseAttempt(Struct, frozen=True, omit_defaults=True):
    """The exercise of a run: its name, the student, and the number of the attempt, from 1.

    ``drawn`` are the values that were drawn for the student.
    """

    name: str
    student: str
    attempt: int
    drawn: dict[str, str] = {}


class Role(Struct, frozen=True, omit_defaults=True):
    """Nodes outside the cluster, its clients or a service, with their names by their ids.

    ``protocol`` is what they execute, by its name.
    """

    name: str
    protocol: str
    nodes: dict[int, str]
    parameters: dict[str, Any] = {}


class MemberRole(Struct, frozen=True):
    """Nodes of the cluster that execute another protocol than the rest of it, which breaks assumption 1."""

    nodes: tuple[int, ...]
    protocol: ProtocolInfo


def names_in(roles: tuple[Role, ...]) -> dict[int, str]:
    """Return the names of all nodes that have these roles."""
    return {node: name for role in roles for node, name in role.nodes.items()}


class Header(Struct, frozen=True, omit_defaults=True, tag="header", tag_field="record"):
    """The first line: everything that a re-execution needs. ``began`` is UTC, ISO 8601.

    ``nodes`` are those of the cluster, which execute ``protocol``, but for those in ``members``; ``roles`` has
    further ones, the clients and services outside the cluster. ``remark`` describes the purpose of the run,
    ``scenario`` is the text of the file that it was made from.
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
    exercise: ExerciseAttempt | None = None
    roles: tuple[Role, ...] = ()
    members: tuple[MemberRole, ...] = ()

    @property
    def title(self) -> str:
        """The title of the protocol; of a mixed cluster, those of all, each with its nodes."""
        if not self.members:
            return self.protocol.title
        others = {node for role in self.members for node in role.nodes}
        rest = tuple(node for node in self.nodes if node not in others)
        parts = [(rest, self.protocol), *((role.nodes, role.protocol) for role in self.members)]
        return ", ".join(
            f"{info.title} (node{'s' if len(nodes) > 1 else ''} {format_ranges(nodes)})" for nodes, info in parts
        )

    def protocol_of(self, node: int) -> ProtocolInfo:
        """Return the protocol of a node of the cluster."""
        return next((role.protocol for role in self.members if node in role.nodes), self.protocol)

    @property
    def names(self) -> dict[int, str]:
        """The names of the nodes outside the cluster."""
        return names_in(self.roles)

    @property
    def clients(self) -> frozenset[int]:
        """The ids of the clients; the others outside the cluster are services."""
        return frozenset(node for role in self.roles if role.protocol in _CLIENTS for node in role.nodes)

    @property
    def all_nodes(self) -> tuple[int, ...]:
        """The nodes of the cluster, and those outside it."""
        return (*self.nodes, *self.names)


Fate = Literal["delayed", "dropped", "duplicated", "held", "released", "reordered"]


class Routed(Struct, frozen=True, omit_defaults=True, tag="routed", tag_field="record", gc=False):
    """The message ``(source, serial)`` was delayed, dropped, duplicated, held, released or reordered.

    ``by`` are the ids of the faults that touched it, ``why`` is the reason for a drop, in a word. ``due_us`` is
    when it arrives; for a duplicated message, when this copy does, if not with the original. The original ends its
    way before its copies.
    """

    at_us: int
    source: int
    serial: int
    fate: Fate
    why: str = ""
    by: tuple[int, ...] = ()
    due_us: int | None = None


Event = Literal["started", "killed", "paused", "resumed", "failed", "wiped", "unwritten", "torn", "flipped"]

PROCESS_AFTER: dict[str, ProcessState] = {
    "started": "running",
    "resumed": "running",
    "killed": "killed",
    "paused": "paused",
    "failed": "failed",
}
"""The state of a process after an event; what happens to its stable storage does not change it."""

FAULT_KIND_SEEN = {
    **{"killed": "kill", "paused": "pause", "wiped": "wipe"},
    **{"unwritten": "unwrite", "torn": "tear", "flipped": "flip"},
}
"""The kind of fault of which each of these events is the effect."""


SLOW_DISK = "slow-disk"
"""The kind of a fault of a node that shows in its writes: each is recorded when it ends."""


class Process(Struct, frozen=True, omit_defaults=True, tag="process", tag_field="record", gc=False):
    """An *observed* event of the process of a node.

    ``paused_us``: the length of the pause that ends. ``unsent``: how many messages of its last step have not left,
    because a pause struck before them. ``why`` it failed, if not by an exception in a step.
    ``has_erred``: it failed by an error of its own, such as the end of a program, and not because a fault has
    damaged its stable storage.

    ``lost``: how many forced writes are gone (unwritten, torn). ``left``: for each log that lost entries, how many
    are left. A flipped bit is number ``bit`` of the record of the forced write number ``write``, from 1.
    """

    at_us: int
    node: int
    event: Event
    incarnation: int = field(default=0, name="life")
    pid: int = 0
    paused_us: int = 0
    unsent: int = 0
    why: str = ""
    lost: int = 0
    left: dict[str, int] = {}
    write: int = 0
    bit: int = 0

    @property
    def has_erred(self) -> bool:
        return self.event == "failed" and self.why != "" and not self.why.startswith(DAMAGED)


class Stall(Struct, frozen=True, omit_defaults=True, tag="stall", tag_field="record", gc=False):
    """The host, or the process of ``node``, was not scheduled for ``lasted_us``, longer than Tp, until ``at_us``.

    The machine was at fault: neither a pause, nor a slow disk, nor the code of a node is a stall. A host that was
    not scheduled has done nothing meanwhile: this record comes before all others of the host since then. Its nodes
    may have gone on: their steps come later, with the times at which they were made. ``unrecorded`` is the number
    of stalls since the last one recorded of this process that were too short, and too soon, for a record.
    """

    at_us: int
    lasted_us: int
    node: int | None = None
    unrecorded: int = 0

    @property
    def began_us(self) -> int:
        """The time at which the process should have been scheduled."""
        return self.at_us - self.lasted_us

    @property
    def text(self) -> str:
        """Describe what stood still, and for how long."""
        lasted = format_us(round(self.lasted_us, -3))
        if self.node is None:
            return f"the machine stood still for {lasted}"
        return f"node {self.node} was not scheduled for {lasted}"


class Fault(Struct, frozen=True, omit_defaults=True, tag="fault", tag_field="record", gc=False):
    """A fault came into force or, with ``lifted``, ended.

    ``nodes`` are the targets of a fault of nodes, ``links`` the (source, target) pairs of a fault of links.
    ``breaks`` are the numbers of the assumptions that do not hold while it is in force. A second record with the
    same id narrows the fault to fewer links. ``line``: its line in the script, from 1, or 0.
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
    """A command was executed, changed nothing (``changed`` is False), or was ``refused``.

    ``reached``: the nodes that get a protocol command; a paused node handles it when it resumes. ``line``: its
    line in the script, from 1, or 0.
    """

    at_us: int
    text: str
    outcome: str
    changed: bool = True
    refused: bool = False
    reached: tuple[int, ...] = ()
    line: int = 0


class Captioned(Struct, frozen=True, omit_defaults=True, tag="caption", tag_field="record", gc=False):
    """A caption for the audience or, with ``mark``, a bookmark. ``line`` as in ``Commanded``."""

    at_us: int
    text: str
    mark: bool = False
    line: int = 0


class Expected(Struct, frozen=True, omit_defaults=True, tag="expected", tag_field="record", gc=False):
    """The result of an expectation; ``why`` explains why it was not met. ``line`` as in ``Commanded``."""

    at_us: int
    text: str
    met: bool
    why: str = ""
    line: int = 0


class Injected(Struct, frozen=True, omit_defaults=True, tag="injected", tag_field="record", gc=False):
    """A message was forged: its source never sent it. Its serial is the negated id of its fault."""

    at_us: int
    message: Message


class Keyframe(Struct, frozen=True, omit_defaults=True, tag="keyframe", tag_field="record"):
    """The state after the record before this one, from which a reader can start.

    It is a whole ``snapshot``, or the ``difference`` from that of the last keyframe that has one. ``digest`` is
    that of all lines before it, in recordings of exercises.
    """

    at_us: int
    snapshot: Snapshot | None = None
    digest: str = ""
    difference: SnapshotDifference | None = None


class End(Struct, frozen=True, omit_defaults=True, tag="end", tag_field="record", gc=False):
    """The regular end of a run. A recording without it was cut off. ``digest`` as in ``Keyframe``."""

    at_us: int
    why: str
    digest: str = ""


TIME_LIMIT_REACHED = "its time limit was reached"
"""``End.why`` of a run that lasted as long as it was meant to."""

Record = (
    Header | Step | Routed | Process | Stall | Fault | Commanded | Captioned | Expected | Injected | Keyframe | End
)


def header_in(records: Sequence[Record | None]) -> Header:
    """Return the header of a run, which is the first of its records."""
    header = records[0]
    assert isinstance(header, Header)
    return header


encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode
decode: Callable[[bytes | memoryview], Record] = msgspec.json.Decoder(Record).decode
"""Decode a line without its newline.

Raises ValueError (msgspec.DecodeError is one) or RecursionError.
"""


class _StepOfFormat1(Struct, tag="step", tag_field="record", gc=False):
    """A step of format 1, with whole values and all waits."""

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
    draws: tuple[float, ...] = ()


_decode_format_1: Callable[[bytes | memoryview], Any] = msgspec.json.Decoder(
    Header
    | _StepOfFormat1
    | Routed
    | Process
    | Stall
    | Fault
    | Commanded
    | Captioned
    | Expected
    | Injected
    | Keyframe
    | End
).decode


def decode_format_1(line: bytes | memoryview) -> Record:
    """Decode a line of a recording of format 1: a step there ends all earlier waits. Raises like ``decode``."""
    record = _decode_format_1(line)
    if not isinstance(record, _StepOfFormat1):
        return cast(Record, record)
    return Step(
        record.at_us,
        record.node,
        record.incarnation,
        record.input,
        record.changed,
        record.stored,
        record.sent,
        record.waits,
        record.notes,
        record.late,
        record.failed,
        record.logged,
        record.draws,
        ended=(EVERY_WAIT,),
    )


def decoder_of(format_number: int) -> Callable[[bytes | memoryview], Record]:
    """Return the function that decodes the lines of recordings of this format."""
    return decode_format_1 if format_number == 1 else decode


T = TypeVar("T")


def convert_or_none(value: Any, kind: type[T]) -> T | None:
    """Return the value converted to ``kind``, or None if it does not fit."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        return None


_LONGEST = 160
_CLIENTS = ("client", "given-client")


def decode_fields(line: bytes) -> dict[str, Any]:
    """Return the fields of an encoded record; the body of a message may hold any bytes.

    Raises msgspec.DecodeError.
    """
    found: dict[str, Any] = msgspec.json.decode(line.decode("utf-8", "replace"))
    return found


def differing_fields(one: dict[str, Any], other: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return (name, value in one, value in the other) for each field that differs."""
    return [
        (name, _short(one.get(name)), _short(other.get(name)))
        for name in dict.fromkeys([*one, *other])
        if one.get(name) != other.get(name)
    ]


def _short(value: Any) -> str:
    text = "nothing" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"

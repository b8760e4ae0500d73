"""The operations of clients, and what they are answered: the requests of Maelstrom's workloads and services.

The kind of a message is the type that Maelstrom gives it, as one word: ``ReadOk`` for ``read_ok``. A field that a
sender leaves out is ``UNSET``; a value may be any JSON. A server of the kernel handles an operation as any
request:

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk | Error:
        return ReadOk(self.value)

Source: Maelstrom's ``doc/workloads.md``, ``doc/services.md`` and ``doc/protocol.md``.
"""

from typing import Any

from msgspec import UNSET, field

from lab.histories.operations import (
    ABORT,
    KEY_DOES_NOT_EXIST,
    MALFORMED_REQUEST,
    PRECONDITION_FAILED,
    TEMPORARILY_UNAVAILABLE,
)
from lab.kernel import Payload, Request

__all__ = [
    "ABORT",
    "KEY_DOES_NOT_EXIST",
    "MALFORMED_REQUEST",
    "PRECONDITION_FAILED",
    "TEMPORARILY_UNAVAILABLE",
    "Add",
    "AddOk",
    "Broadcast",
    "BroadcastOk",
    "Cas",
    "CasOk",
    "CommitOffsets",
    "CommitOffsetsOk",
    "Echo",
    "EchoOk",
    "Error",
    "Generate",
    "GenerateOk",
    "ListCommittedOffsets",
    "ListCommittedOffsetsOk",
    "Poll",
    "PollOk",
    "Read",
    "ReadOk",
    "Send",
    "SendOk",
    "Topology",
    "TopologyOk",
    "Ts",
    "TsOk",
    "Txn",
    "TxnOk",
    "Write",
    "WriteOk",
]


class Error(Payload, frozen=True, omit_defaults=True):
    """The operation failed. ``code`` is a number of Maelstrom's protocol; some say that it may have happened."""

    code: int
    text: Any = ""


class EchoOk(Payload, frozen=True):
    """The value that was sent."""

    echo: Any = UNSET


class Echo(Request[EchoOk | Error], frozen=True):
    """Send this back."""

    echo: Any = UNSET


class GenerateOk(Payload, frozen=True):
    """An id that nobody else was given."""

    id: Any = UNSET


class Generate(Request[GenerateOk | Error], frozen=True):
    """Give me an id."""


class TopologyOk(Payload, frozen=True):
    """The topology is known."""


class Topology(Request[TopologyOk | Error], frozen=True):
    """The neighbours that are suggested for each node, by name."""

    topology: Any = UNSET


class BroadcastOk(Payload, frozen=True):
    """The message is accepted."""


class Broadcast(Request[BroadcastOk | Error], frozen=True):
    """Make this message known to all nodes."""

    message: Any = UNSET


class ReadOk(Payload, frozen=True):
    """A value; of a broadcast, all ``messages``."""

    value: Any = UNSET
    messages: Any = UNSET


class Read(Request[ReadOk | Error], frozen=True):
    """Read the value of a key, of a counter or a set, or all messages."""

    key: Any = UNSET


class WriteOk(Payload, frozen=True):
    """The value is written."""


class Write(Request[WriteOk | Error], frozen=True):
    """Write a value."""

    key: Any = UNSET
    value: Any = UNSET


class CasOk(Payload, frozen=True):
    """The value was the expected one, and is the new one now."""


class Cas(Request[CasOk | Error], frozen=True):
    """Compare and set: write ``to`` if the value is ``from``."""

    key: Any = UNSET
    expected: Any = field(default=UNSET, name="from")
    to: Any = UNSET
    create_if_not_exists: Any = UNSET


class AddOk(Payload, frozen=True):
    """It is added."""


class Add(Request[AddOk | Error], frozen=True):
    """Add an element to a set, or a number to a counter."""

    element: Any = UNSET
    delta: Any = UNSET


class TsOk(Payload, frozen=True):
    """A timestamp, later than all before."""

    ts: Any = UNSET


class Ts(Request[TsOk | Error], frozen=True):
    """Give me a timestamp."""


class SendOk(Payload, frozen=True):
    """The place of the message in its log."""

    offset: Any = UNSET


class Send(Request[SendOk | Error], frozen=True):
    """Append a message to the log ``key``."""

    key: Any = UNSET
    msg: Any = UNSET


class PollOk(Payload, frozen=True):
    """Messages with their offsets, by log."""

    msgs: Any = UNSET


class Poll(Request[PollOk | Error], frozen=True):
    """Return messages from these offsets on."""

    offsets: Any = UNSET


class CommitOffsetsOk(Payload, frozen=True):
    """The offsets are committed."""


class CommitOffsets(Request[CommitOffsetsOk | Error], frozen=True):
    """All messages up to these offsets are processed."""

    offsets: Any = UNSET


class ListCommittedOffsetsOk(Payload, frozen=True):
    """The committed offsets of logs."""

    offsets: Any = UNSET


class ListCommittedOffsets(Request[ListCommittedOffsetsOk | Error], frozen=True):
    """Return the committed offsets of these logs."""

    keys: Any = UNSET


class TxnOk(Payload, frozen=True):
    """The operations of the transaction, with what they read."""

    txn: Any = UNSET


class Txn(Request[TxnOk | Error], frozen=True):
    """A transaction: a list of operations ``[f, key, value]``."""

    txn: Any = UNSET

"""Maelstrom's protocol between a program and the network: a line of JSON for each message.

    {"src": "n1", "dest": "n2", "body": {"type": "echo", "msg_id": 7, "echo": "hello"}}

A program reads such lines from its standard input and writes them to its standard output. Its first line is
``init``, which names it (``n1``) and all nodes; it answers ``init_ok``. ``type`` is the kind of a message,
``msg_id`` a number of its sender's, and ``in_reply_to`` the ``msg_id`` of the request that a message answers.
Clients and services are nodes of the kernel, whose messages have none of these: a program gets them with their
kind as ``type`` (``read_ok`` for ``ReadOk``) and their serial as ``msg_id``.

A ``Message`` of the kernel has the body as it was written, byte for byte. Its kind is the type in the form that
kinds have here, ``RequestVote`` for ``request_vote``, so that scripts can name it. A program may pass on a message
in the name of another sender, as a Raft node does for a client; the body of such a message holds its sender, too.

Source: Maelstrom's ``doc/protocol.md``.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from lab.kernel import Message
from lab.text import sanitize

__all__ = ["NOT_A_MESSAGE", "Maelstrom", "NotAMessageError", "WrittenMessage", "body_of", "kind_of", "type_of"]

_MOST_REQUESTS = 10_000
_LARGEST_SERIAL = 1 << 53
_LONGEST = 80
_LONGEST_KIND = 40
_PASSED_ON = b'{"src":'
"""The body of a message that was written in the name of another sender begins so."""
_encode = msgspec.json.Encoder().encode
_K = TypeVar("_K")
_NOBODY: Mapping[int, str] = MappingProxyType({})


NOT_A_MESSAGE = "not a message"
"""The note on a line that is none begins so."""


class NotAMessageError(ValueError):
    """A line that a program wrote is no message; the text says what was expected."""


class WrittenMessage(Struct, frozen=True):
    """A message that a program wrote. ``target`` is a node, or None if ``dest`` names none.

    ``reply_to`` is the serial of the request that it answers, or 0. ``encoded`` is what the ``Message`` has as
    body.
    """

    dest: str
    target: int | None
    kind: str
    body: dict[str, Any]
    encoded: Raw
    reply_to: int


class _Envelope(Struct, forbid_unknown_fields=True):
    """A line. ``id`` is a number that Maelstrom gives to messages; it is ignored, as there."""

    src: str
    dest: str
    body: Raw
    id: int | None = None


class _PassedOn(Struct, forbid_unknown_fields=True):
    """The body of a message that was written in the name of another sender."""

    src: str
    body: Raw


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_passed_on = msgspec.json.Decoder(_PassedOn).decode
_decode_body = msgspec.json.Decoder(dict[str, Any]).decode


class Maelstrom:
    """One side of the conversation with the program of a node: its lines, and the requests that it may answer.

    ``nodes`` are those of the cluster; ``others`` have the names of the nodes of the kernel, in it or outside, and
    of services. A program that is a service finds its own name there.
    """

    def __init__(self, node: int, nodes: tuple[int, ...], others: Mapping[int, str] = _NOBODY) -> None:
        self.name = others.get(node, _name(node))
        self._members = frozenset(nodes)
        self._nodes = [_name(each) for each in nodes]
        self._others = others
        self._ids = {**dict(zip(self._nodes, nodes, strict=True)), **{name: each for each, name in others.items()}}
        self._requests: dict[tuple[str, int], int] = {}
        self._own: dict[int, int] = {}  # the ``msg_id`` of its requests to services, by serial

    def init_line(self) -> str:
        """Return the first line that a program reads."""
        body = {"type": "init", "msg_id": 1, "node_id": self.name, "node_ids": self._nodes}
        return _line("c0", self.name, _encode(body))

    def request_line(self, client: str, number: int, body: dict[str, Any]) -> str:
        """Return a request of a client's."""
        return _line(client, self.name, _encode({**body, "msg_id": number}))

    def message_line(self, message: Message) -> str:
        """Return a message of another node as the program reads it, and remember it if it can be answered."""
        if message.source in self._others:
            source, encoded = self._others[message.source], self._encode_for_program(message)
            number: Any = message.serial
        else:
            source, encoded = _written_by(message)
            number = _object_in(encoded).get("msg_id")
        if isinstance(number, int):
            _remember(self._requests, (source, number), message.serial)
        return _line(source, self.name, encoded)

    def _encode_for_program(self, message: Message) -> bytes:
        """Return the body of a message of a client or a service, as Maelstrom has it."""
        body: dict[str, Any] = {"type": type_of(message.kind), **_object_in(bytes(message.body))}
        if not message.reply_to:
            body["msg_id"] = message.serial
        elif (number := self._own.pop(message.reply_to, None)) is not None:
            body["in_reply_to"] = number
        return _encode(body)

    def posted(self, written: WrittenMessage, serial: int) -> None:
        """Note the serial of a message to a client or a service, which may answer it."""
        number = written.body.get("msg_id")
        if written.target in self._others and isinstance(number, int):
            _remember(self._own, serial, number)

    def read(self, line: str) -> WrittenMessage:
        """Return the message in a line that the program wrote. Raises NotAMessageError."""
        try:
            envelope = _decode_envelope(line)
            body = _decode_body(envelope.body)
        except (ValueError, RecursionError) as error:
            raise NotAMessageError(
                f"{NOT_A_MESSAGE}: {sanitize(line, _LONGEST)} ({error}); "
                'expected a line such as {"src": "n1", "dest": "n2", "body": {"type": "echo"}}'
            ) from None
        encoded = Raw(bytes(envelope.body))
        if envelope.src != self.name:
            encoded = Raw(_encode(_PassedOn(envelope.src, encoded)))
        answered = body.get("in_reply_to")
        target = self._ids.get(envelope.dest)
        if not isinstance(answered, int):
            reply_to = 0
        elif target in self._others:  # the request may have come from another node, which has passed it on
            reply_to = answered if 0 < answered < _LARGEST_SERIAL else 0
        else:
            reply_to = self._requests.get((envelope.dest, answered), 0)
        return WrittenMessage(envelope.dest, target, kind_of(body), body, encoded, reply_to)

    def node_of(self, name: object) -> int | None:
        """Return the node of this name, or with this number; None if there is none."""
        if isinstance(name, int):
            name = _name(name)
        found = self._ids.get(name) if isinstance(name, str) else None
        return found if found in self._members else None

    def is_member(self, node: int) -> bool:
        """Return whether this is a node of the cluster, and no client or service."""
        return node in self._members


def body_of(message: Message) -> dict[str, Any]:
    """Return the body of a message as the program that sent it wrote it; empty if it is no object."""
    return _object_in(_written_by(message)[1])


def _written_by(message: Message) -> tuple[str, bytes]:
    """Return the name of the sender that the message names, and its body as it was written."""
    encoded = bytes(message.body)
    if encoded.startswith(_PASSED_ON):
        with suppress(ValueError, RecursionError):
            passed_on = _decode_passed_on(encoded)
            return passed_on.src, bytes(passed_on.body)
    return _name(message.source), encoded


def _object_in(encoded: bytes) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        return _decode_body(encoded)
    return {}


def type_of(kind: str) -> str:
    """Return the type that Maelstrom gives a message of this kind: ``read_ok`` for ``ReadOk``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower()


def _remember(numbers: dict[_K, int], key: _K, number: int) -> None:
    """Keep a number, and not too many of them."""
    numbers[key] = number
    if len(numbers) > _MOST_REQUESTS:
        del numbers[next(iter(numbers))]


def kind_of(body: dict[str, Any]) -> str:
    """Return the kind of a message: its type as one word that begins with a capital letter."""
    return _kind_of_type(str(body.get("type", "")))


@lru_cache(1000)
def _kind_of_type(name: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", name)
    kind = "".join(word[0].upper() + word[1:] for word in words)[:_LONGEST_KIND]
    return kind if kind[:1].isalpha() else f"Message{kind}"


def _name(node: int) -> str:
    return f"n{node}"


def _line(source: str, target: str, body: bytes) -> str:
    return _encode({"src": source, "dest": target, "body": Raw(body)}).decode()

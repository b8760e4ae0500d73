"""The workloads of clients: which operations they draw, and what these are in a history.

A message is an operation ``f`` with a value in the form that ``lab.histories`` checks: ``Write(key=1, value=2)`` is
*write* ``[1, 2]``. An operation whose outcome is unknown may have happened; one that only reads has no effect in any
case, so that it has simply failed.

Source: Maelstrom's ``doc/workloads.md``.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from lab.kernel import Request
from lab.kernel.draws import NodeRandom
from lab.protocols.operations import (
    Add,
    Broadcast,
    Cas,
    CommitOffsets,
    Echo,
    Generate,
    Poll,
    Read,
    Send,
    Ts,
    Txn,
    Write,
)

__all__ = ["WORKLOADS", "ClientWorkload", "Draw", "may_have_happened", "operation_of", "result_of"]

AnyRequest = Request[Any]


class Draw(Struct, frozen=True):
    """What an operation is drawn from. ``number`` differs between all operations of all clients.

    ``keys``: how many there are. ``polled``: the offset after the last message that the client has seen, by key.
    """

    random: NodeRandom
    number: int
    keys: int
    polled: Mapping[str, int]

    @property
    def key(self) -> int:
        """One of the keys."""
        return self.random.randint(0, self.keys - 1)


class ClientWorkload(Struct, frozen=True):
    """What clients do: ``draw`` returns the next operation.

    ``kinds`` are the requests that a server must handle. ``final``: the operation that each client ends with, once the system has come to rest. ``services``: what a
    solution commonly uses.
    """

    draw: Callable[[Draw], AnyRequest]
    kinds: tuple[str, ...]
    final: Callable[[Draw], AnyRequest] | None = None
    services: tuple[str, ...] = ()


def _draw_key_value(draw: Draw) -> AnyRequest:
    choice, key = draw.random.random(), draw.key
    if choice < 0.5:
        return Read(key)
    if choice < 0.75:
        return Write(key, draw.random.randint(0, 4))
    return Cas(key, draw.random.randint(0, 4), draw.random.randint(0, 4))


def _draw_set(draw: Draw) -> AnyRequest:
    return Add(element=draw.number) if draw.random.random() < 0.5 else Read()


def _draw_counter(lowest: int) -> Callable[[Draw], AnyRequest]:
    def draw_one(draw: Draw) -> AnyRequest:
        return Add(delta=draw.random.randint(lowest, 5)) if draw.random.random() < 0.5 else Read()

    return draw_one


def _draw_broadcast(draw: Draw) -> AnyRequest:
    return Broadcast(draw.number) if draw.random.random() < 0.5 else Read()


def _draw_log(draw: Draw) -> AnyRequest:
    choice = draw.random.random()
    if choice < 0.5:
        return Send(str(draw.key), draw.number)
    if choice < 0.9 or not draw.polled:
        return Poll({str(key): draw.polled.get(str(key), 0) for key in range(draw.keys)})
    return CommitOffsets({key: offset - 1 for key, offset in draw.polled.items() if offset})


def _draw_transaction(write: str) -> Callable[[Draw], AnyRequest]:
    def draw_one(draw: Draw) -> AnyRequest:
        steps: list[list[Any]] = []
        for place in range(draw.random.randint(1, 4)):
            if draw.random.random() < 0.5:
                steps.append(["r", draw.key, None])
            else:
                steps.append([write, draw.key, draw.number * 10 + place])
        return Txn(steps)

    return draw_one


def _read(draw: Draw) -> AnyRequest:
    return Read()


def _poll_all(draw: Draw) -> AnyRequest:
    return Poll({str(key): draw.polled.get(str(key), 0) for key in range(draw.keys)})


WORKLOADS: dict[str, ClientWorkload] = {
    "echo": ClientWorkload(lambda draw: Echo(f"please echo {draw.number}"), ("Echo",)),
    "unique-ids": ClientWorkload(lambda draw: Generate(), ("Generate",)),
    "broadcast": ClientWorkload(_draw_broadcast, ("Broadcast", "Read", "Topology"), _read),
    "g-set": ClientWorkload(_draw_set, ("Add", "Read"), _read),
    "g-counter": ClientWorkload(_draw_counter(0), ("Add", "Read"), _read, ("seq-kv",)),
    "pn-counter": ClientWorkload(_draw_counter(-5), ("Add", "Read"), _read, ("seq-kv",)),
    "kafka": ClientWorkload(_draw_log, ("Send", "Poll", "CommitOffsets"), _poll_all, ("lin-kv",)),
    "lin-kv": ClientWorkload(_draw_key_value, ("Read", "Write", "Cas")),
    "lin-tso": ClientWorkload(lambda draw: Ts(), ("Ts",)),
    "txn-list-append": ClientWorkload(_draw_transaction("append"), ("Txn",), None, ("lin-kv",)),
    "txn-rw-register": ClientWorkload(_draw_transaction("w"), ("Txn",), None, ("lin-kv",)),
}
"""The workloads by the names under which ``lab.histories`` has their checkers."""

_NAMES = {
    "Echo": ("echo", ("echo",), "echo"),
    "Generate": ("generate", (), "id"),
    "Broadcast": ("broadcast", ("message",), ""),
    "Ts": ("ts", (), "ts"),
    "Txn": ("txn", ("txn",), "txn"),
    "Add": ("add", ("element", "delta"), ""),
    "CommitOffsets": ("commit_offsets", ("offsets",), ""),
}
"""By kind: the operation, the fields one of which is its value, and the field of the answer that is its result."""

_READ_ONLY = ("echo", "generate", "read", "ts", "poll")


def operation_of(kind: str, body: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return the operation that a request is, and its value; None if it is none of a history."""
    if kind == "Read":
        return "read", [body["key"], None] if "key" in body else None
    if kind == "Write":
        return "write", [body.get("key"), body.get("value")]
    if kind == "Cas":
        return "cas", [body.get("key"), [body.get("from"), body.get("to")]]
    if kind == "Send":
        return "send", [["send", body.get("key"), body.get("msg")]]
    if kind == "Poll":
        return "poll", [["poll"]]
    if kind in _NAMES:
        f, fields, _ = _NAMES[kind]
        return f, next((body[name] for name in fields if name in body), None)
    return None


def result_of(kind: str, value: Any, answer: Mapping[str, Any]) -> Any:
    """Return the result of an operation with this value, from the body of its answer."""
    if kind == "Read":
        if isinstance(value, list):
            return [value[0], answer.get("value")]
        return answer.get("messages", answer.get("value"))
    if kind == "Send":
        _, key, message = value[0]
        return [["send", key, [answer.get("offset"), message]]]
    if kind == "Poll":
        return [["poll", answer.get("msgs")]]
    if kind in _NAMES and _NAMES[kind][2]:
        return answer.get(_NAMES[kind][2])
    return value


def may_have_happened(f: str) -> bool:
    """Return whether an operation that was not answered may have had an effect."""
    return f not in _READ_ONLY

"""The workloads of clients: which operations they draw, and what these are in a history.

A message is an operation ``f`` with a value in the form that ``lab.histories`` checks: ``Write(key=1, value=2)``
is *write* ``[1, 2]``. An operation whose outcome is unknown may have happened; one that only reads has no effect
in any case, so that it has simply failed.

Source: Maelstrom's ``doc/workloads.md``.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from lab.kernel import Request
from lab.kernel.draws import NodeRandom
from lab.protocols.maelstrom import type_of
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

__all__ = ["WORKLOADS", "ClientWorkload", "Draw", "may_have_happened", "mistake_in", "operation_of", "result_of"]

AnyRequest = Request[Any]


class Draw(Struct, frozen=True):
    """The source of an operation. ``number`` differs between all operations of all clients.

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
    """The operations of clients: ``draw`` returns the next one.

    ``kinds`` are the requests that a server must handle. ``final``: the operation that each client ends with, once
    the system has come to rest; a poll is repeated until nothing more comes. ``services``: what a solution
    commonly uses.
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
    "txn-list-append": ClientWorkload(_draw_transaction("append"), ("Txn",), None, ("lin-kv", "lww-kv")),
    "txn-rw-register": ClientWorkload(_draw_transaction("w"), ("Txn",), None, ("lin-kv",)),
}
"""The workloads by the names under which ``lab.histories`` has their checkers."""

_Body = Mapping[str, Any]


def _as_poll(offsets: Any) -> list[Any]:
    """Return the micro-operation, with the offsets from which on it asks for messages."""
    is_well_formed = isinstance(offsets, dict) and all(type(each) is int for each in offsets.values())
    return ["poll", offsets] if is_well_formed else ["poll"]


_OPERATIONS: dict[str, tuple[str, Callable[[_Body], Any]]] = {
    "Add": ("add", lambda body: body.get("element", body.get("delta"))),
    "Broadcast": ("broadcast", lambda body: body.get("message")),
    "Cas": ("cas", lambda body: [body.get("key"), [body.get("from"), body.get("to")]]),
    "CommitOffsets": ("commit_offsets", lambda body: body.get("offsets")),
    "Echo": ("echo", lambda body: body.get("echo")),
    "Generate": ("generate", lambda body: None),
    "Poll": ("poll", lambda body: [_as_poll(body.get("offsets"))]),
    "Read": ("read", lambda body: [body["key"], None] if "key" in body else None),
    "Send": ("send", lambda body: [["send", body.get("key"), body.get("msg")]]),
    "Ts": ("ts", lambda body: None),
    "Txn": ("txn", lambda body: body.get("txn")),
    "Write": ("write", lambda body: [body.get("key"), body.get("value")]),
}
"""By the kind of the request: the operation, and its value."""

_RESULTS: dict[str, Callable[[Any, _Body], Any]] = {
    "Echo": lambda value, answer: answer.get("echo"),
    "Generate": lambda value, answer: answer.get("id"),
    "Poll": lambda value, answer: [["poll", answer.get("msgs")]],
    "Read": lambda value, answer: answer.get("value") if value is None else [value[0], answer.get("value")],
    "Send": lambda value, answer: [["send", value[0][1], [answer.get("offset"), value[0][2]]]],
    "Ts": lambda value, answer: answer.get("ts"),
    "Txn": lambda value, answer: answer.get("txn"),
}
"""By the kind of the request: the result, from its value and the answer; of all others, the value."""

_DUE: dict[str, str] = {
    "Echo": "echo",
    "Generate": "id",
    "Poll": "msgs",
    "Read": "value",
    "Send": "offset",
    "Ts": "ts",
    "Txn": "txn",
}
"""By the kind of the request: the field that its answer must have."""
_MESSAGES = "messages"
"""The field of a read, instead, if the workload is a broadcast."""

_READ_ONLY = ("echo", "generate", "poll", "read")


def operation_of(kind: str, body: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return the operation that a request is, and its value; None if it is none of a history."""
    found = _OPERATIONS.get(kind)
    return None if found is None else (found[0], found[1](body))


def result_of(workload: str, kind: str, value: Any, answer: Mapping[str, Any]) -> Any:
    """Return the result of an operation of a workload with this value, from the body of its answer."""
    if _due(workload, kind) == _MESSAGES:
        return answer.get(_MESSAGES)
    return _RESULTS[kind](value, answer) if kind in _RESULTS else value


def _due(workload: str, kind: str) -> str:
    return _MESSAGES if (workload, kind) == ("broadcast", "Read") else _DUE.get(kind, "")


def mistake_in(workload: str, kind: str, answer_kind: str, answer: _Body) -> str:
    """Return why a message is no answer to a request of this kind in a workload; empty if it is one."""
    written = answer.get("type", type_of(answer_kind))  # of a program, as it wrote it
    if answer_kind == "Error" and written == "error":
        code = answer.get("code")
        return "" if type(code) is int else f"an error whose code is {_as_json(code)}: expected a whole number"
    expected = f"{kind}Ok"
    if answer_kind == "Message" and "type" not in answer:
        return f"a message without a type: expected {type_of(expected)} or error"
    if answer_kind != expected or written != type_of(expected):
        return f"{written}: expected {type_of(expected)} or error"
    due = _due(workload, kind)
    return f"{type_of(expected)} without {due}" if due and due not in answer else ""


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def may_have_happened(f: str) -> bool:
    """Return whether an operation that was not answered may have had an effect."""
    return f not in _READ_ONLY

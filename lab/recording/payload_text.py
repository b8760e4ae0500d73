"""What messages and logs hold, in the words of the log that people read.

A commit protocol's own are said as its values say themselves: a transaction is ``5.1``, and amounts are dollars.
What is of another protocol, which need not be installed here, is said as JSON has it.
"""

from enum import Enum
from typing import Any

import msgspec
from msgspec import Struct

from lab.kernel import Message, encode
from lab.protocols import ThreePhaseCommit, TwoPhaseCommit
from lab.protocols.transaction import Entry
from lab.recording.conversion import converted

__all__ = ["body_said", "entries_said", "in_short"]

_KINDS = TwoPhaseCommit.payloads | ThreePhaseCommit.payloads


def body_said(message: Message) -> str:
    """What is in a message; JSON, where it is of no commit protocol."""
    body = bytes(message.body)
    kind = _KINDS.get(message.kind)
    if kind is not None:
        try:
            payload = msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            payload = None
        if payload is not None and bytes(encode(payload)) == body:  # of another protocol's it would leave out some
            return _said(payload)
    return body.decode("utf-8", "replace")


def entries_said(log: str, entries: list[Any]) -> str:
    """What was appended to the log of that name."""
    said = "; ".join(
        in_short(each) if (entry := converted(each, Entry)) is None else str(entry) for each in entries
    )
    return said if log == "log" else f"{log}: {said}"


def in_short(value: Any) -> str:
    """A value as JSON has it, without the punctuation of JSON."""
    match value:
        case dict():
            return " ".join(filter(None, (f"{name} {in_short(each)}" for name, each in value.items())))
        case list() | tuple():
            return " ".join(filter(None, map(in_short, value)))
        case str():
            return value
    return msgspec.json.encode(value).decode()


def _said(value: Any) -> str:
    match value:
        case Struct() if type(value).__str__ is object.__str__:
            fields = ((field, getattr(value, field.name)) for field in msgspec.structs.fields(value))
            return "; ".join(f"{field.name} {_said(each)}" for field, each in fields if each != field.default)
        case tuple():
            return ", ".join(map(_said, value))
        case Enum():
            return str(value.value)
        case bool():
            return "yes" if value else "no"
    return str(value)

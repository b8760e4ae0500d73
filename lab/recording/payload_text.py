"""Format the contents of messages and logs for the readable log.

Values of a commit protocol are written as their ``str``: a transaction is ``5.1``, and amounts are dollars. Values
of other protocols, which need not be installed here, are written as JSON.
"""

from enum import Enum
from typing import Any

import msgspec
from msgspec import Struct

from lab.kernel import Message, encode
from lab.protocols import ThreePhaseCommit, TwoPhaseCommit
from lab.protocols.transaction import Entry
from lab.recording.conversion import convert_or_none

__all__ = ["format_body", "format_entries", "format_value"]

_KINDS = TwoPhaseCommit.payloads | ThreePhaseCommit.payloads


def format_body(message: Message) -> str:
    """Return the body of a message as text; JSON if it is not a commit protocol's."""
    body = bytes(message.body)
    kind = _KINDS.get(message.kind)
    if kind is not None:
        try:
            payload = msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            payload = None
        # another protocol's message of the same kind would lose fields here
        if payload is not None and bytes(encode(payload)) == body:
            return _format_payload(payload)
    return body.decode("utf-8", "replace")


def format_entries(log: str, entries: list[Any]) -> str:
    """Return the entries appended to the log of that name, as text."""
    text = "; ".join(
        format_value(each) if (entry := convert_or_none(each, Entry)) is None else str(entry) for each in entries
    )
    return text if log == "log" else f"{log}: {text}"


def format_value(value: Any) -> str:
    """Return a value as JSON without its punctuation."""
    match value:
        case dict():
            return " ".join(filter(None, (f"{name} {format_value(each)}" for name, each in value.items())))
        case list() | tuple():
            return " ".join(filter(None, map(format_value, value)))
        case str():
            return value
    return msgspec.json.encode(value).decode()


def _format_payload(value: Any) -> str:
    match value:
        case Struct() if type(value).__str__ is object.__str__:
            fields = ((field, getattr(value, field.name)) for field in msgspec.structs.fields(value))
            return "; ".join(
                f"{field.name} {_format_payload(each)}" for field, each in fields if each != field.default
            )
        case tuple():
            return ", ".join(map(_format_payload, value))
        case Enum():
            return str(value.value)
        case bool():
            return "yes" if value else "no"
    return str(value)

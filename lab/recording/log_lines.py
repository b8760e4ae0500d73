"""The readable log: the lines that each record yields, and the contents of messages and logs as text.

The number of lines depends on the record alone, so a reader can count them without the state of the cluster, and
find line one million of a recording by its keyframes. If its protocol ``writes_text``, a value is written as its
``str``: in a bank, a transaction is ``5.1``, and amounts are dollars. Values of other protocols, which need not be
installed here, are written as JSON.
"""

from enum import Enum
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from lab.kernel import CommandInput, Message, Payload, Step, Wrote, encode
from lab.protocols import OWN_PROTOCOLS, PROTOCOLS, TASKS, Algorithm
from lab.recording.records import (
    Captioned,
    Commanded,
    End,
    Expected,
    Injected,
    Process,
    Record,
    Stall,
    convert_or_none,
)
from lab.recording.snapshot import group_in
from lab.units import format_us


class _TextTypes(Struct, frozen=True):
    """The types of payloads, by kind, and of log entries that are written as text."""

    payloads: dict[str, type[Payload]]
    entries: tuple[type, ...]


def _text_types() -> _TextTypes:
    return _text_types_of((*PROTOCOLS.values(), *TASKS.values(), *OWN_PROTOCOLS.values()))


@cache
def _text_types_of(protocols: tuple[type[Algorithm], ...]) -> _TextTypes:
    payloads: dict[str, type[Payload]] = {}
    for each in protocols:
        payloads |= each.payloads if each.writes_text else {}
    return _TextTypes(payloads, tuple(dict.fromkeys(each.log_entry for each in protocols if each.log_entry)))


def format_body(message: Message) -> str:
    """Return the body of a message as text; JSON unless its protocol ``writes_text``."""
    body = bytes(message.body)
    kind = _text_types().payloads.get(message.kind)
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
    text = "; ".join(map(_format_entry, entries))
    return text if log == "log" else f"{log}: {text}"


def _format_entry(entry: Any) -> str:
    read = (convert_or_none(entry, kind) for kind in _text_types().entries)
    found = next((each for each in read if each is not None), None)
    return format_value(entry) if found is None else str(found)


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


_Event = Process | Stall | Commanded | Captioned | Expected | Injected | End
"""The records that yield exactly one line."""

LINE_TYPES = (
    *("message", "status", "process", "command", "caption", "mark", "expectation", "stall"),
    *("protocol-command", "log", "note", "stderr", "failure", "end"),
)
"""The values of ``LogLine.what``."""


class LogLine(Struct, frozen=True, omit_defaults=True, gc=False):
    """A line: a message sent from ``source`` to ``target``, or an event at ``source`` (None: at no node).

    ``what`` is one of LINE_TYPES; *log* is what a step appended to a log of the node, before its messages left;
    *stderr* is a line that a program wrote to its standard error.
    """

    record: int
    at_us: int
    what: str
    text: str
    source: int | None = None
    target: int | None = None
    kind: str = ""
    serial: int = 0
    reply_to: int = 0

    @property
    def message(self) -> tuple[int, int]:
        """The key of a message: (source, serial)."""
        assert self.source is not None
        return self.source, self.serial


def count_lines(record: Record) -> int:
    """Return the number of lines that ``lines_of`` returns."""
    if isinstance(record, Step):
        is_command = isinstance(record.input, CommandInput)
        lines = len(record.sent) + len(record.notes) + sum(map(bool, record.logged.values()))
        return lines + _has_status(record) + bool(record.failed) + is_command + _is_stderr(record)
    return isinstance(record, _Event)


def lines_of(number: int, record: Record) -> list[LogLine]:
    """Return the lines of a record; in a step, the command, the status and the log come before the messages."""
    if isinstance(record, Step):
        return _step_lines(number, record)
    return [_event_line(number, record)] if isinstance(record, _Event) else []


def _event_line(number: int, record: _Event) -> LogLine:
    at_us = record.at_us
    if isinstance(record, Process | Stall):
        return _process_line(number, record)
    if isinstance(record, Commanded):
        text = f"{record.text} · {record.outcome}" if record.outcome else record.text
        return LogLine(number, at_us, "command", text)
    if isinstance(record, Captioned):
        return LogLine(number, at_us, "mark" if record.mark else "caption", record.text)
    if isinstance(record, Expected):
        why = f": {record.why}" if record.why else ""
        text = f"{record.text} · {'met' if record.met else f'NOT MET{why}'}"
        return LogLine(number, at_us, "expectation", text, kind="met" if record.met else "unmet")
    if isinstance(record, Injected):
        return _message_line(number, at_us, record.message)
    return LogLine(number, at_us, "end", f"the run ended: {record.why}")


def _process_line(number: int, record: Process | Stall) -> LogLine:
    if isinstance(record, Stall):
        text = record.text.removeprefix(f"node {record.node} was ")
        return LogLine(number, record.at_us, "stall", text, record.node)
    return LogLine(number, record.at_us, "process", format_process_event(record), record.node, kind=record.event)


def _step_lines(number: int, step: Step) -> list[LogLine]:
    lines = []
    if isinstance(step.input, CommandInput):
        text = " ".join((step.input.command, *step.input.words))
        lines.append(LogLine(number, step.at_us, "protocol-command", text, step.node, kind=step.input.command))
    if _has_status(step):
        updates = step.updates
        status = updates.get("status")
        parts = [str(status)] if status else []
        if updates.get("coordinator") is not None:
            parts.append(f"coordinator {updates['coordinator']}")
        if (group := group_in(updates)) is not None:
            parts.append(f"group {group[0]}.{group[1]}")
        text = ", ".join(parts) or "no coordinator"
        lines.append(LogLine(number, step.at_us, "status", text, step.node, kind=str(status or "")))
    lines += [
        LogLine(number, step.at_us, "log", format_entries(log, entries), step.node, kind=log)
        for log, entries in step.logged.items()
        if entries  # a new log is empty
    ]
    lines += [_message_line(number, step.at_us, message) for message in step.sent]
    lines += [LogLine(number, step.at_us, "note", note, step.node) for note in step.notes]
    if isinstance(step.input, Wrote) and step.input.log:
        lines.append(LogLine(number, step.at_us, "stderr", step.input.line, step.node))
    if step.failed:
        lines.append(LogLine(number, step.at_us, "failure", step.failed.rpartition("\n")[2], step.node))
    return lines


def _message_line(number: int, at_us: int, message: Message) -> LogLine:
    return LogLine(
        number,
        at_us,
        "message",
        format_body(message),
        message.source,
        message.target,
        message.kind,
        message.serial,
        message.reply_to,
    )


def _is_stderr(step: Step) -> bool:
    return isinstance(step.input, Wrote) and step.input.log


def _has_status(step: Step) -> bool:
    updates = step.updates
    return "status" in updates or "coordinator" in updates or group_in(updates) is not None


_STORAGE_TEXTS = {"wiped": "stable storage wiped", "torn": "the last write is torn"}


def format_process_event(record: Process) -> str:
    """Return what happened to the process of a node, or to its stable storage."""
    if record.event == "started":
        return f"started (incarnation {record.incarnation}, process {record.pid})"
    if record.event == "resumed":
        return f"resumed after {format_us(round(record.paused_us, -3))}"
    if record.event == "unwritten":
        return "the last write is lost" if record.lost == 1 else f"the last {record.lost} writes are lost"
    if record.event == "flipped":
        return f"a bit of write {record.write} is flipped"
    text = _STORAGE_TEXTS.get(record.event, record.event)
    return f"{text}: {record.why}" if record.why else text

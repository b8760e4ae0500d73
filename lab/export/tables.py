"""Tables of a run, for spreadsheets and data frames: CSV, or JSON Lines with one object per line.

The tables are messages, statuses, faults and events. A column that ends in ``_us`` is a time in microseconds since
the start of the run; ``record``, and columns that end in it, are record numbers, as in ``lab show --record``.
Unknown values are empty cells, or null. A list is one cell separated by blanks, or a JSON array.
"""

import csv
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from lab.analysis.group_history import Point
from lab.analysis.spacetime import MessageEdge
from lab.export.excerpt import Excerpt, TableName
from lab.export.traces import arrivals_of
from lab.recording.records import encode
from lab.text import sanitize

_Row = tuple[Any, ...]

COLUMNS: dict[TableName, dict[str, str]] = {
    "messages": {
        "record": "record of the sending; empty if it is before the first record that was read",
        "sent_us": "time of the sending",
        "source": "sender",
        "target": "receiver",
        "kind": "kind of message, as in the listings",
        "serial": "serial number of the message at its sender; negative if it was forged",
        "answers": "serial number of the request that it answers; 0: none",
        "body": "payload",
        "fate": "delivery outcome",
        "end_record": "record of the outcome",
        "end_us": "time of the outcome",
        "latency_us": "time from sending to arrival, if it arrived",
        "arrivals": "number of arrivals",
        "faults": "numbers of the faults that affected it",
    },
    "statuses": {
        "node": "node",
        "status": "status",
        "process": "state of its process: absent (not started), running, paused, killed or failed",
        "coordinator": "its coordinator",
        "group": "node that formed its group",
        "group_counter": "counter in the identifier of the group",
        "since_record": "record at which the interval begins",
        "since_us": "time of that record",
        "until_record": "record at which it ends; empty if it does not",
        "until_us": "time of that record",
        "lasted_us": "duration of the interval, within the export",
    },
    "faults": {
        "fault": "number of the fault",
        "kind": "kind of fault",
        "text": "the command",
        "nodes": "nodes affected",
        "links": "links affected, as source->target",
        "breaks": "numbers of the assumptions that it breaks",
        "touched": "number of nodes or messages affected; 0: inert",
        "since_record": "record at which it begins",
        "since_us": "time of that record",
        "until_record": "record at which it ends; empty if it does not",
        "until_us": "time of that record",
    },
    "events": {
        "record": "number of the record",
        "at_us": "time of the event",
        "what": "type of log line",
        "node": "node of the event; empty if it has none",
        "kind": "subtype of the event",
        "text": "text of the log line",
    },
}
"""The columns of each table, and their meaning."""


def columns_of(excerpt: Excerpt) -> dict[str, list[Any]]:
    """Return the table as columns by name; lists are tuples, and unknown values None."""
    names, rows = COLUMNS[excerpt.options.table], list(_rows(excerpt))
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def write_csv(excerpt: Excerpt, out: TextIO) -> None:
    """Write a header line and the rows. Cells that a spreadsheet would take for formulas are escaped."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS[excerpt.options.table])
    writer.writerows([_cell(value) for value in row] for row in _rows(excerpt))


def write_jsonl(excerpt: Excerpt, out: TextIO) -> None:
    names = tuple(COLUMNS[excerpt.options.table])
    for row in _rows(excerpt):
        out.write(encode(dict(zip(names, row, strict=True))).decode() + "\n")


def _cell(value: object) -> object:
    text = " ".join(map(str, value)) if isinstance(value, tuple) else value
    return f"'{text}" if isinstance(text, str) and text.startswith(("=", "+", "-", "@")) else text


def _rows(excerpt: Excerpt) -> Iterator[_Row]:
    rows: dict[TableName, Callable[[Excerpt], Iterator[_Row]]] = {
        "messages": _messages,
        "statuses": _statuses,
        "faults": _faults,
        "events": _events,
    }
    return rows[excerpt.options.table](excerpt)


def _messages(excerpt: Excerpt) -> Iterator[_Row]:
    for edge in excerpt.messages:
        line = edge.line
        yield (
            line.record if line.record >= 0 else None,
            line.at_us,
            line.source,
            line.target,
            sanitize(line.kind),
            line.serial,
            line.reply_to,
            sanitize(line.text),
            edge.fate,
            *_place(edge.end),
            _latency_us(edge),
            len(arrivals_of(edge)),
            edge.by,
        )


def _latency_us(edge: MessageEdge) -> int | None:
    return edge.end.at_us - edge.sent.at_us if edge.arrived and edge.end is not None else None


def _statuses(excerpt: Excerpt) -> Iterator[_Row]:
    for interval in excerpt.status_intervals:
        end_us = excerpt.until_us if interval.until is None else interval.until.at_us
        yield (
            interval.node,
            sanitize(interval.status),
            interval.process,
            interval.coordinator,
            *(interval.group or (None, None)),
            *_place(interval.since),
            *_place(interval.until),
            end_us - interval.since.at_us,
        )


def _faults(excerpt: Excerpt) -> Iterator[_Row]:
    for fault_interval in excerpt.fault_intervals:
        fault = fault_interval.fault
        yield (
            fault.id,
            sanitize(fault.kind),
            sanitize(fault.text),
            fault.nodes,
            tuple(f"{source}->{target}" for source, target in fault.links),
            fault.breaks,
            fault.touched,
            *_place(fault_interval.since),
            *_place(fault_interval.until),
        )


def _events(excerpt: Excerpt) -> Iterator[_Row]:
    for line in excerpt.events:
        yield line.record, line.at_us, line.what, line.source, sanitize(line.kind), sanitize(line.text)


def _place(point: Point | None) -> tuple[int | None, int | None]:
    return (None, None) if point is None else (point.record, point.at_us)

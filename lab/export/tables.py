"""Tables of a run, for spreadsheets and data frames: as CSV, or as JSON Lines, an object a line.

There are four: messages, statuses, faults and events. A column of time ends in ``_us``: microseconds since the run
began; ``record`` and what ends in it are numbers of records, as in ``lab show --record``. What is not known is an
empty cell, or null. A list is one cell with blanks between, or a JSON array.
"""

import csv
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from lab.analysis.group_history import Point
from lab.analysis.spacetime import MessageEdge
from lab.export.doings import arrivals_of
from lab.export.excerpt import Excerpt, Table
from lab.recording.records import encode
from lab.text import sanitize

__all__ = ["COLUMNS", "write_csv", "write_jsonl"]

_Row = tuple[Any, ...]

COLUMNS: dict[Table, dict[str, str]] = {
    "messages": {
        "record": "with which it was sent; empty where that was before the first record that was read",
        "sent_us": "when it was sent",
        "source": "the node that sent it",
        "target": "the node that it is for",
        "kind": "as the listings call it",
        "serial": "its number among those of its source; below 0 where it was forged",
        "answers": "the serial of the request that it answers; 0: none",
        "body": "what is in it",
        "fate": "what became of it",
        "end_record": "with which it met its fate",
        "end_us": "when it did",
        "latency_us": "how long it took to arrive, if it did",
        "arrivals": "how often it arrived",
        "faults": "the numbers of the faults that touched it",
    },
    "statuses": {
        "node": "which stood so",
        "status": "its Status",
        "process": "what its process did: absent, running, paused, killed or failed",
        "coordinator": "its Coordinator",
        "group": "the node that formed its group",
        "group_counter": "that node's counter in the name of the group",
        "since_record": "with which it came to stand so",
        "since_us": "when that was",
        "until_record": "with which that was over; empty where it was not",
        "until_us": "when that was",
        "lasted_us": "how long it stood so, as far as the export goes",
    },
    "faults": {
        "fault": "its number",
        "kind": "what kind of fault",
        "text": "as it was commanded",
        "nodes": "those that it struck",
        "links": "the links that it struck, as source->target",
        "breaks": "the numbers of the assumptions that do not hold under it",
        "touched": "how many nodes or messages it touched; 0: it was inert",
        "since_record": "with which it came into force",
        "since_us": "when that was",
        "until_record": "with which it was over; empty where it was not",
        "until_us": "when that was",
    },
    "events": {
        "record": "its number",
        "at_us": "when it was",
        "what": "what kind of line of the log it is",
        "node": "where it happened; empty where it was at no node",
        "kind": "more of what kind it is",
        "text": "as the log has it",
    },
}
"""The columns of each table, and what they say."""


def write_csv(excerpt: Excerpt, out: TextIO) -> None:
    """A line of names, then the rows. No cell is a formula to a spreadsheet."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS[excerpt.wanted.table])
    writer.writerows([_cell(value) for value in row] for row in _rows(excerpt))


def write_jsonl(excerpt: Excerpt, out: TextIO) -> None:
    """An object a row."""
    names = tuple(COLUMNS[excerpt.wanted.table])
    for row in _rows(excerpt):
        out.write(encode(dict(zip(names, row, strict=True))).decode() + "\n")


def _cell(value: object) -> object:
    text = " ".join(map(str, value)) if isinstance(value, tuple) else value
    return f"'{text}" if isinstance(text, str) and text.startswith(("=", "+", "-", "@")) else text


def _rows(excerpt: Excerpt) -> Iterator[_Row]:
    rows: dict[Table, Callable[[Excerpt], Iterator[_Row]]] = {
        "messages": _messages,
        "statuses": _statuses,
        "faults": _faults,
        "events": _events,
    }
    return rows[excerpt.wanted.table](excerpt)


def _messages(excerpt: Excerpt) -> Iterator[_Row]:
    for arrow in excerpt.arrows:
        line = arrow.line
        yield (
            line.record if line.record >= 0 else None,
            line.at_us,
            line.source,
            line.target,
            sanitize(line.kind),
            line.serial,
            line.answers,
            sanitize(line.text),
            arrow.fate,
            *_place(arrow.end),
            _latency_us(arrow),
            len(arrivals_of(arrow)),
            arrow.by,
        )


def _latency_us(arrow: MessageEdge) -> int | None:
    return arrow.end.at_us - arrow.sent.at_us if arrow.arrived and arrow.end is not None else None


def _statuses(excerpt: Excerpt) -> Iterator[_Row]:
    for stretch in excerpt.stretches:
        end_us = excerpt.until_us if stretch.until is None else stretch.until.at_us
        yield (
            stretch.node,
            sanitize(stretch.status),
            stretch.process,
            stretch.coordinator,
            *(stretch.group or (None, None)),
            *_place(stretch.since),
            *_place(stretch.until),
            end_us - stretch.since.at_us,
        )


def _faults(excerpt: Excerpt) -> Iterator[_Row]:
    for strike in excerpt.strikes:
        fault = strike.fault
        yield (
            fault.id,
            sanitize(fault.kind),
            sanitize(fault.text),
            fault.nodes,
            tuple(f"{source}->{target}" for source, target in fault.links),
            fault.breaks,
            fault.touched,
            *_place(strike.since),
            *_place(strike.until),
        )


def _events(excerpt: Excerpt) -> Iterator[_Row]:
    for line in excerpt.events:
        yield line.record, line.at_us, line.what, line.source, sanitize(line.kind), sanitize(line.text)


def _place(point: Point | None) -> tuple[int | None, int | None]:
    return (None, None) if point is None else (point.record, point.at_us)

"""The tables of a run, for spreadsheets and data frames.

Each has the columns ``run``, ``seed`` and ``protocol`` first, so that tables of several runs can be put together.
A column that ends in ``_us`` is a time in microseconds since the start of the run, or a duration; ``record``, and
columns that end in it, are record numbers. A protocol may bring a table of what it counts, such as transactions.

A window limits all tables but elections, verdicts and what the protocol brings: these are as of the end of the
window, and rest on all records before it.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import TextIO

from lab.analysis.elections import ElectionLog
from lab.analysis.group_history import RecordedMoment
from lab.analysis.history import History
from lab.analysis.spacetime import MessageEdge
from lab.export.excerpt import Excerpt, ExportError
from lab.export.traces import arrivals_of
from lab.kernel import CommandInput, Fired, Message, Received, Step, Wrote
from lab.properties.verdicts import Violation
from lab.recording.records import Header, Injected
from lab.recording.step_fold import StepFold
from lab.recording.timeline import Timeline
from lab.table_files import (
    Cell,
    Column,
    MissingExtraError,
    Row,
    Table,
    json_cell,
    write_csv,
    write_jsonl,
    write_parquet,
)
from lab.tasks.extension import analysis_of, extension_class_of, start_analysis
from lab.text import did_you_mean, sanitize, sanitize_json

RUN_COLUMNS = (
    Column("run", "text", "name of the run"),
    Column("seed", "integer", "seed of the run"),
    Column("protocol", "text", "protocol, and the election below it"),
)
"""The first columns of every table."""

COLUMNS: dict[str, tuple[Column, ...]] = {
    "messages": (
        Column("record", "integer", "record of the sending; empty if it is before the first record that was read"),
        Column("sent_us", "integer", "time of the sending"),
        Column("source", "integer", "sender"),
        Column("target", "integer", "receiver"),
        Column("kind", "text", "kind of message, as in the listings"),
        Column("serial", "integer", "serial number of the message at its sender; negative if it was forged"),
        Column("answers", "integer", "serial number of the request that it answers; 0: none"),
        Column("body", "json", "payload; empty if the message was sent before the window"),
        Column("fate", "text", "delivery outcome"),
        Column("end_record", "integer", "record of the outcome"),
        Column("end_us", "integer", "time of the outcome"),
        Column("latency_us", "integer", "time from sending to arrival, if it arrived"),
        Column("arrivals", "integer", "number of arrivals"),
        Column("faults", "json", "numbers of the faults that affected it"),
    ),
    "statuses": (
        Column("node", "integer", "node"),
        Column("status", "text", "status"),
        Column("process", "text", "state of its process: absent (not started), running, paused, killed or failed"),
        Column("coordinator", "integer", "its coordinator"),
        Column("group", "integer", "node that formed its group"),
        Column("group_counter", "integer", "counter in the identifier of the group"),
        Column("since_record", "integer", "record at which the interval begins"),
        Column("since_us", "integer", "time of that record"),
        Column("until_record", "integer", "record at which it ends; empty if it does not"),
        Column("until_us", "integer", "time of that record"),
        Column("lasted_us", "integer", "duration of the interval, within the export"),
    ),
    "faults": (
        Column("fault", "integer", "number of the fault"),
        Column("kind", "text", "kind of fault"),
        Column("text", "text", "the command"),
        Column("nodes", "json", "nodes affected"),
        Column("links", "json", "links affected, as pairs of sender and receiver"),
        Column("breaks", "json", "numbers of the assumptions that it breaks"),
        Column("touched", "integer", "number of nodes or messages affected; 0: inert"),
        Column("since_record", "integer", "record at which it begins"),
        Column("since_us", "integer", "time of that record"),
        Column("until_record", "integer", "record at which it ends; empty if it does not"),
        Column("until_us", "integer", "time of that record"),
    ),
    "elections": (
        Column("election", "integer", "number of the election, from 1"),
        Column("lost_us", "integer", "time at which the coordinator was lost; empty for a first election"),
        Column("settled_us", "integer", "time at which all running nodes agreed"),
        Column("took_us", "integer", "time from the one to the other"),
        Column("coordinator", "integer", "the coordinator on which they agreed"),
    ),
    "verdicts": (
        Column("assertion", "text", "assertion that the protocol promises"),
        Column("verdict", "text", "holds, not judged, excused or fails"),
        Column("rests_on", "text", "what the verdict rests on, or why nothing was judged"),
        Column("judged_by", "integer", "number of states, transactions and so on by which it was judged"),
        Column("failures", "integer", "number of violations with the assumptions intact"),
        Column("excused", "integer", "number of violations under broken assumptions"),
        Column("first_record", "integer", "record that shows the first violation, of a failure if there is one"),
        Column("first_us", "integer", "time of that record"),
        Column("first_nodes", "json", "nodes in whose states it shows"),
        Column("first", "text", "the first violation, in words"),
    ),
    "steps": (
        Column("record", "integer", "number of the record"),
        Column("at_us", "integer", "time of the step"),
        Column("node", "integer", "node that took it"),
        Column("incarnation", "integer", "incarnation of the node, from 1"),
        Column("input", "text", "started, received, fired or command"),
        Column("source", "integer", "of a received message: its sender"),
        Column("serial", "integer", "of a received message: its serial number at the sender"),
        Column("procedure", "text", "of a timer: its procedure; of a command: its word"),
        Column("late", "boolean", "whether it is an answer to a request that no longer waits"),
        Column("changed", "json", "new values of the volatile fields that changed"),
        Column("stored", "json", "new values of the fields in stable storage that changed"),
        Column("logged", "json", "entries appended to logs in stable storage"),
        Column("sent", "integer", "number of messages sent"),
        Column("waits", "json", "waits of the running procedures after it"),
        Column("notes", "json", "notes"),
        Column("failed", "text", "error that the node raised"),
    ),
    "events": (
        Column("record", "integer", "number of the record"),
        Column("at_us", "integer", "time of the event"),
        Column("what", "text", "type of log line"),
        Column("node", "integer", "node of the event; empty if it has none"),
        Column("kind", "text", "subtype of the event"),
        Column("text", "text", "text of the log line"),
    ),
}
"""The columns of the tables that every run has, after ``RUN_COLUMNS``."""


def tables_of(header: Header) -> dict[str, tuple[Column, ...]]:
    """Return the columns of each table that a run has: those of all runs, and one that its protocol brings."""
    analysis = analysis_of(extension_class_of(header))
    brought = {f"{analysis.noun}s": analysis.columns} if analysis.columns else {}
    return {name: (*RUN_COLUMNS, *columns) for name, columns in (COLUMNS | brought).items()}


def check_table(name: str, header: Header) -> None:
    """Raise ExportError if a run has no table of that name."""
    if name not in (known := tables_of(header)):
        title, near = sanitize(header.title, 40), did_you_mean(name, tuple(known))
        raise ExportError(f"a run of {title} has no table {name!r}{near or ': it has ' + ', '.join(known)}")


def table_of(excerpt: Excerpt) -> Table:
    """Return the table that the options name. Raises ExportError if the run has none of that name."""
    name, header = excerpt.options.table, excerpt.header
    check_table(name, header)
    begin: Row = (sanitize(header.run), header.seed, sanitize(header.title))
    rows = _ROWS.get(name, _counted)(excerpt)
    return Table(tables_of(header)[name], ((*begin, *row) for row in rows))


def write_csv_table(excerpt: Excerpt, out: TextIO) -> None:
    write_csv(table_of(excerpt), out)


def write_jsonl_table(excerpt: Excerpt, out: TextIO) -> None:
    write_jsonl(table_of(excerpt), out)


def write_parquet_table(excerpt: Excerpt, out: TextIO) -> None:
    """Write to the binary file below ``out``. Raises ExportError without the extra."""
    try:
        write_parquet(table_of(excerpt), out.buffer)
    except MissingExtraError as error:
        raise ExportError(str(error)) from None


def _messages(excerpt: Excerpt) -> Iterator[Row]:
    bodies = _bodies(excerpt)
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
            bodies.get(line.message),
            edge.fate,
            *_place(edge.end),
            _latency_us(edge),
            len(arrivals_of(edge)),
            json_cell(edge.by),
        )


def _bodies(excerpt: Excerpt) -> dict[tuple[int, int], str]:
    """Return the bodies of the messages sent in the window, by sender and serial."""
    found: dict[tuple[int, int], str] = {}
    for record in excerpt.store.records(excerpt.first, excerpt.last + 1):
        sent: tuple[Message, ...] = ()
        if isinstance(record, Step):
            sent = record.sent
        elif isinstance(record, Injected):
            sent = (record.message,)
        for message in sent:
            found[message.source, message.serial] = _body(message)
    return found


def _body(message: Message) -> str:
    return sanitize_json(bytes(message.body).decode("utf-8", "replace").encode())


def _latency_us(edge: MessageEdge) -> int | None:
    return edge.end.at_us - edge.sent.at_us if edge.arrived and edge.end is not None else None


def _statuses(excerpt: Excerpt) -> Iterator[Row]:
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


def _faults(excerpt: Excerpt) -> Iterator[Row]:
    for fault_interval in excerpt.fault_intervals:
        fault = fault_interval.fault
        yield (
            fault.id,
            sanitize(fault.kind),
            sanitize(fault.text),
            json_cell(fault.nodes),
            json_cell(fault.links),
            json_cell(fault.breaks),
            fault.touched,
            *_place(fault_interval.since),
            *_place(fault_interval.until),
        )


def _elections(excerpt: Excerpt) -> Iterator[Row]:
    history = History(excerpt.header)
    log = history.add(ElectionLog(history.cluster))
    for _, record in excerpt.records_before("searched for elections"):
        history.observe(record)
    for number, each in zip(count(1), log.settled, strict=False):
        lost_us, settled_us = each.lost_at_us, each.settled_at_us
        took_us = None if lost_us is None else settled_us - lost_us
        yield number, lost_us, settled_us, took_us, each.coordinator


def _verdicts(excerpt: Excerpt) -> Iterator[Row]:
    for verdict in excerpt.judge.verdicts():
        first = verdict.first
        yield (
            verdict.assertion,
            verdict.word,
            sanitize(verdict.evidence.text),
            verdict.evidence.count,
            verdict.failures,
            verdict.excused,
            *(
                (None,) * 4
                if first is None
                else (first.record, first.at_us, json_cell(first.nodes), sanitize(str(first)))
            ),
        )


def _violation(first: Violation) -> Row:
    return first.record, first.at_us, json_cell(first.nodes), sanitize(str(first))


def _counted(excerpt: Excerpt) -> Iterable[Row]:
    """Return the rows of the table that the protocol brings."""
    history = History(excerpt.header)
    analysis = history.add(start_analysis(excerpt.header, history.cluster))
    for _, record in excerpt.records_before("analysed"):
        history.observe(record)
    return analysis.rows()


def _steps(excerpt: Excerpt) -> Iterator[Row]:
    before = Timeline(excerpt.store).at(excerpt.first - 1)
    steps = StepFold(before.nodes.values())
    for number, change in enumerate(excerpt.store.records(excerpt.first, excerpt.last + 1), excerpt.first):
        if isinstance(change, Step) and change.node in excerpt.nodes:
            record = steps.whole(change)
            yield (
                number,
                record.at_us,
                record.node,
                record.incarnation,
                *_input(record),
                record.late,
                *map(json_cell, (record.changed, record.stored, record.logged)),
                len(record.sent),
                *map(json_cell, (record.began, record.notes)),
                sanitize(record.failed) or None,
            )


def _input(step: Step) -> tuple[Cell, Cell, Cell, Cell]:
    given = step.input
    if isinstance(given, Received):
        return "received", given.source, given.serial, None
    if isinstance(given, Fired):
        return "fired", None, None, sanitize(given.procedure)
    if isinstance(given, Wrote):
        return "wrote", None, None, "log" if given.log else None
    if isinstance(given, CommandInput):
        return "command", None, None, sanitize(given.command)
    return "started", None, None, None


def _events(excerpt: Excerpt) -> Iterator[Row]:
    for line in excerpt.events:
        yield line.record, line.at_us, line.what, line.source, sanitize(line.kind), sanitize(line.text)


def _place(point: RecordedMoment | None) -> tuple[int | None, int | None]:
    return (None, None) if point is None else (point.record, point.at_us)


_ROWS: dict[str, Callable[[Excerpt], Iterable[Row]]] = {
    "messages": _messages,
    "statuses": _statuses,
    "faults": _faults,
    "elections": _elections,
    "verdicts": _verdicts,
    "steps": _steps,
    "events": _events,
}

"""The facts of a run that the script of a page reads: nodes, messages, events, chapters and verdicts.

Times are microseconds since the run began. Every fact has the number of its record, so that two events at the same
time are still in order.
"""

from collections.abc import Iterator

from msgspec import Struct

from lab.analysis.spacetime import MessageEdge
from lab.export.annotations import describe_fault, describe_message, printable, status_label
from lab.export.excerpt import Excerpt
from lab.export.film import chapters_of
from lab.properties.assertions import ASSERTIONS
from lab.recording.log_lines import LogLine
from lab.units import CountText

_LONGEST_LINE = 1000


class StateChange(Struct, frozen=True, array_like=True):
    """The state of a node from a record on. ``node`` is its place in ``RunData.nodes``, ``leads`` a part of it."""

    node: int
    record: int
    at_us: int
    shown: str
    coordinator: int | None
    group: str | None
    leads: bool


class MessageData(Struct, frozen=True):
    """A message: its nodes by place, the points at which it was sent and ended, and its full text.

    ``taken`` is the record of its arrival, ``clock`` the vector clock of its sender; it is empty if the message is
    not drawn by itself.
    """

    source: int
    target: int
    sent: tuple[int, int]
    end: tuple[int, int] | None
    taken: int | None
    fate: str
    text: str
    clock: tuple[int, ...] = ()


class EventLine(Struct, frozen=True, array_like=True):
    """An event other than a message, at a node by place, or at none."""

    record: int
    at_us: int
    node: int | None
    text: str


class ChapterData(Struct, frozen=True, array_like=True):
    record: int
    at_us: int
    title: str
    is_violation: bool


class VerdictData(Struct, frozen=True):
    """The verdict on an assertion: judged from the record ``since`` on, and where it was first violated.

    ``excused`` and ``failed`` are (record, text).
    """

    name: str
    statement: str
    since: int | None
    excused: tuple[int, str] | None
    failed: tuple[int, str] | None


class RunData(Struct, frozen=True):
    """The facts of the window from the record ``first`` to ``last``."""

    first: int
    last: int
    from_us: int
    until_us: int
    nodes: tuple[int, ...]
    states: list[StateChange]
    messages: list[MessageData]
    lines: list[EventLine]
    chapters: list[ChapterData]
    verdicts: list[VerdictData]


def run_data(excerpt: Excerpt, drawn: frozenset[int]) -> RunData:
    """Return the facts of an excerpt. ``drawn`` are the numbers of the messages that are drawn by themselves."""
    violated = {violation.record for violation in excerpt.violations}
    return RunData(
        excerpt.first,
        excerpt.last,
        excerpt.from_us,
        excerpt.until_us,
        excerpt.nodes,
        [*_states(excerpt)],
        [*_messages(excerpt, drawn)],
        [_event_line(excerpt, line) for line in excerpt.events],
        [
            ChapterData(each.record, each.at_us, each.title, each.record in violated)
            for each in chapters_of(excerpt)
        ],
        [*_verdicts(excerpt)],
    )


def _states(excerpt: Excerpt) -> Iterator[StateChange]:
    place = {node: n for n, node in enumerate(excerpt.nodes)}
    for interval in excerpt.status_intervals:
        group = None if interval.group is None else f"{interval.group[0]}.{interval.group[1]}"
        has_state = interval.process in ("running", "paused")
        yield StateChange(
            place[interval.node],
            interval.since.record,
            interval.since.at_us,
            status_label(interval.shown),
            interval.coordinator if has_state else None,
            group if has_state else None,
            interval.leads,
        )


def _messages(excerpt: Excerpt, drawn: frozenset[int]) -> Iterator[MessageData]:
    place = {node: n for n, node in enumerate(excerpt.nodes)}
    faults = {each.fault.id: describe_fault(each.fault) for each in excerpt.space.fault_intervals}
    for number, edge in enumerate(excerpt.messages):
        end = edge.end
        yield MessageData(
            place[edge.ends[0]],
            place[edge.ends[1]],
            (edge.sent.record, edge.sent.at_us),
            None if end is None else (end.record, end.at_us),
            end.record if edge.arrived and end is not None else None,
            edge.fate,
            describe_message(edge, faults),
            _clock(excerpt, edge) if number in drawn else (),
        )
        excerpt.progress(CountText(number, len(excerpt.messages), "message", "described"))


def _clock(excerpt: Excerpt, edge: MessageEdge) -> tuple[int, ...]:
    """Return the vector clock with which a message was sent, at the nodes of the excerpt; none if forged."""
    clock = dict(zip(excerpt.header.all_nodes, excerpt.clocks.get(edge.line.message, ()), strict=False))
    return tuple(clock[node] for node in excerpt.nodes if node in clock)


def _event_line(excerpt: Excerpt, line: LogLine) -> EventLine:
    node = None if line.source is None else excerpt.nodes.index(line.source)
    word = {"log": "log ", "protocol-command": "command ", "command": "command "}.get(line.what, "")
    return EventLine(line.record, line.at_us, node, f"{word}{printable(line.text, _LONGEST_LINE)}")


def _verdicts(excerpt: Excerpt) -> Iterator[VerdictData]:
    first: dict[tuple[str, bool], tuple[int, str]] = {}
    for violation in excerpt.judge.violations:
        text = printable(f"{violation}", _LONGEST_LINE)
        first.setdefault((violation.assertion, violation.is_failure), (violation.record, text))
    for verdict in excerpt.judge.verdicts():
        name = verdict.assertion
        found = ASSERTIONS.get(name)
        statement = "" if found is None else printable(found.statement)
        yield VerdictData(
            printable(name), statement, verdict.evidence.since, first.get((name, False)), first.get((name, True))
        )

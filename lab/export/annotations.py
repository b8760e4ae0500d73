"""Annotations of a run, and texts for intervals, messages and faults, for pictures and text exports."""

import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from lab.analysis.spacetime import FaultInterval, MessageEdge, StatusInterval
from lab.export.excerpt import Excerpt
from lab.kernel import Step
from lab.recording.records import Commanded, Fault
from lab.recording.snapshot import ActiveFault
from lab.text import sanitize
from lab.units import format_ranges, format_us

_LONGEST = 200
_NOT_IN_XML = re.compile("[\ufffe\uffff]")


class Annotation(Struct, frozen=True):
    """A note in the margin. ``kind`` is a mark of the palette; violations have ``fault``."""

    at_us: int
    record: int
    kind: str
    text: str


def printable(text: str, limit: int = _LONGEST) -> str:
    """Return foreign text without characters that a picture, page or terminal cannot show."""
    return _NOT_IN_XML.sub("\ufffd", sanitize(text, limit))


def describe_excerpt(excerpt: Excerpt) -> str:
    header = excerpt.header
    parts = [*header.protocol.settings, header.world, f"nodes {format_ranges(excerpt.nodes)}"]
    if not excerpt.is_whole:
        parts.append(f"from {_to_ms(excerpt.from_us)} until {_to_ms(excerpt.until_us)}")
    if excerpt.left_out:
        parts.append(f"without {excerpt.left_out:,} heartbeats")
    if header.remark:
        parts.append(header.remark)
    return printable(" · ".join(parts))


def _to_ms(at_us: int) -> str:
    return format_us(round(at_us, -3))


def status_label(shown: str) -> str:
    """Return the label of a status, or of the state of a process."""
    return "not started" if shown == "absent" else printable(shown, 40)


def describe_status(interval: StatusInterval) -> str:
    """Return the status of a node in a few words."""
    text = status_label(interval.shown)
    if text in ("Normal", "Reorganization") and interval.coordinator is not None:
        text += " ★" if interval.coordinator == interval.node else f" under {interval.coordinator}"
    return printable(text, 40)


def describe_interval(interval: StatusInterval) -> str:
    """Return the full description of a status interval."""
    group = "" if interval.group is None else f", in group {interval.group[0]}.{interval.group[1]}"
    return f"node {interval.node}: {describe_status(interval)}{group}\n{describe_span(interval)}"


def describe_span(interval: StatusInterval | FaultInterval) -> str:
    until = "the end" if interval.until is None else f"{interval.until.at_us / 1e6:.6f} s"
    return f"from {interval.since.at_us / 1e6:.6f} s until {until}"


def describe_delivery(edge: MessageEdge) -> str:
    """Return the delivery outcome of a message, and its latency."""
    if edge.end is None:
        return edge.fate
    took = f"+{(edge.end.at_us - edge.line.at_us) / 1000:.1f} ms"
    return took if edge.fate == "delivered" else f"{edge.fate}, {took}"


def describe_fault(fault: ActiveFault) -> str:
    """Return the fault's command, or its kind if it had none."""
    return fault.text or fault.kind


def describe_message(edge: MessageEdge, faults: dict[int, str]) -> str:
    """Return the full description of a message, in several lines. ``faults`` maps numbers to texts."""
    line = edge.line
    lines = [
        f"{printable(line.kind)} {line.source} → {line.target}, number {line.serial}",
        f"sent {line.at_us / 1e6:.6f} s; {describe_delivery(edge)}",
    ]
    lines += [f"again {point.at_us / 1e6:.6f} s" for point in edge.again]
    lines += [f"affected by: {printable(faults[number])}" for number in edge.by if number in faults]
    if line.text not in ("", "{}"):
        lines.append(printable(line.text, 2000))
    return "\n".join(lines)


def annotations_in(excerpt: Excerpt) -> list[Annotation]:
    """Return commands, script output, expectations, failures and violations, in the order of the records."""
    return sorted(
        (*_event_annotations(excerpt), *_fault_annotations(excerpt), *_violation_annotations(excerpt)),
        key=lambda each: each.record,
    )


def _event_annotations(excerpt: Excerpt) -> Iterator[Annotation]:
    for line in excerpt.events:
        if line.what == "command":
            yield Annotation(line.at_us, line.record, "command", line.text)
        elif line.what in ("caption", "mark"):
            yield Annotation(line.at_us, line.record, line.what, line.text)
        elif line.what == "expectation":
            yield Annotation(line.at_us, line.record, line.kind, line.text)
        elif line.what in ("log", "note", "failure", "protocol-command", "stall"):
            kind = "fault" if line.what in ("failure", "stall") else "status"
            word = {"log": "log ", "protocol-command": "command "}.get(line.what, "")
            who = "" if line.source is None else f"node {line.source}: "
            yield Annotation(line.at_us, line.record, kind, f"{who}{word}{line.text}")


def _fault_annotations(excerpt: Excerpt) -> Iterator[Annotation]:
    """Yield the faults without a command of their own: scheduled ones, and those in force at the beginning."""
    for fault_interval in excerpt.fault_intervals:
        begins = fault_interval.since.record >= excerpt.first
        if not begins:
            text = f"in force: {describe_fault(fault_interval.fault)}"
            yield Annotation(excerpt.from_us, excerpt.first, "fault", text)
        elif not _is_commanded(excerpt, fault_interval):
            yield Annotation(
                fault_interval.since.at_us,
                fault_interval.since.record,
                "fault",
                describe_fault(fault_interval.fault),
            )


def _is_commanded(excerpt: Excerpt, fault_interval: FaultInterval) -> bool:
    """Return whether the fault's command is recorded after it, before the next step.

    Other commands, which it triggered, may be recorded in between.
    """
    line = 0
    for record in excerpt.store.records(fault_interval.since.record):
        if isinstance(record, Fault) and record.id == fault_interval.fault.id:
            line = record.line
        if isinstance(record, Step):
            return False
        if isinstance(record, Commanded) and record.line == line and fault_interval.fault.kind in record.text:
            return True
    return False


def _violation_annotations(excerpt: Excerpt) -> Iterator[Annotation]:
    """Yield the first violation of each assertion, with the number of further ones."""
    counts = Counter(each.assertion for each in excerpt.violations)
    for violation in excerpt.violations:
        more = counts.pop(violation.assertion, 0) - 1
        if more >= 0:
            text = f"{violation}" + (f" (and {more:,} more)" if more else "")
            yield Annotation(violation.at_us, violation.record, "fault", text)

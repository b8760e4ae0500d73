"""What pictures and texts say of stretches, messages and faults: short beside them, and whole under the mouse."""

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
from lab.units import format_us, listed

__all__ = [
    "Remark",
    "fate_said",
    "fault_said",
    "head_said",
    "message_said",
    "remarks_of",
    "safe",
    "stands",
    "stretch_said",
]

_LONGEST = 200
_NOT_IN_XML = re.compile("[\ufffe\uffff]")


class Remark(Struct, frozen=True):
    """Something to be read at the margin. ``kind`` as the palette has marks; a violation is a ``fault``."""

    at_us: int
    record: int
    kind: str
    text: str


def safe(text: str, limit: int = _LONGEST) -> str:
    """Foreign text, without what no picture, page or terminal could show."""
    return _NOT_IN_XML.sub("\ufffd", sanitize(text, limit))


def head_said(excerpt: Excerpt) -> str:
    """Which part of which run this is."""
    header = excerpt.header
    parts = [*header.protocol.settings, header.world, f"nodes {listed(excerpt.nodes)}"]
    if not excerpt.is_whole:
        parts.append(f"from {_to_ms(excerpt.from_us)} until {_to_ms(excerpt.until_us)}")
    if excerpt.left_out:
        parts.append(f"without {excerpt.left_out:,} heartbeats")
    if header.remark:
        parts.append(header.remark)
    return safe(" · ".join(parts))


def _to_ms(at_us: int) -> str:
    return format_us(round(at_us, -3))


def stands(stretch: StatusInterval) -> str:
    """How a node stands, in a few words."""
    if stretch.shown in ("Normal", "Reorganization") and stretch.coordinator is not None:
        return safe(
            f"{stretch.shown} {'★' if stretch.coordinator == stretch.node else f'under {stretch.coordinator}'}", 40
        )
    return safe(stretch.shown, 40)


def stretch_said(stretch: StatusInterval) -> str:
    """The whole of it."""
    group = "" if stretch.group is None else f", in group {stretch.group[0]}.{stretch.group[1]}"
    until = "the end" if stretch.until is None else f"{stretch.until.at_us / 1e6:.6f} s"
    return f"node {stretch.node}: {stands(stretch)}{group}\nfrom {stretch.since.at_us / 1e6:.6f} s until {until}"


def fate_said(arrow: MessageEdge) -> str:
    """What became of it, and how long that took."""
    if arrow.end is None:
        return arrow.fate
    took = f"+{(arrow.end.at_us - arrow.line.at_us) / 1000:.1f} ms"
    return took if arrow.fate == "delivered" else f"{arrow.fate}, {took}"


def fault_said(fault: ActiveFault) -> str:
    """As it was commanded; what sort it is, where nobody did."""
    return fault.text or fault.kind


def message_said(arrow: MessageEdge, faults: dict[int, str]) -> str:
    """The whole of a message, in lines. ``faults`` are texts by number."""
    line = arrow.line
    said = [
        f"{safe(line.kind)} {line.source} → {line.target}, number {line.serial}",
        f"sent {line.at_us / 1e6:.6f} s; {fate_said(arrow)}",
    ]
    said += [f"again {point.at_us / 1e6:.6f} s" for point in arrow.again]
    said += [f"touched by: {safe(faults[number])}" for number in arrow.by if number in faults]
    if line.text not in ("", "{}"):
        said.append(safe(line.text, 2000))
    return "\n".join(said)


def remarks_of(excerpt: Excerpt) -> list[Remark]:
    """What was commanded, said, expected, what broke down, and what does not hold, in the order of the records."""
    return sorted((*_said(excerpt), *_struck(excerpt), *_violated(excerpt)), key=lambda each: each.record)


def _said(excerpt: Excerpt) -> Iterator[Remark]:
    for line in excerpt.events:
        if line.what == "command":
            yield Remark(line.at_us, line.record, "command", line.text)
        elif line.what in ("caption", "mark"):
            yield Remark(line.at_us, line.record, line.what, line.text)
        elif line.what == "expectation":
            yield Remark(line.at_us, line.record, line.kind, line.text)
        elif line.what in ("log", "note", "failure", "told"):
            kind = "fault" if line.what == "failure" else "status"
            word = f"{line.what} " if line.what in ("log", "told") else ""
            yield Remark(line.at_us, line.record, kind, f"node {line.source}: {word}{line.text}")


def _struck(excerpt: Excerpt) -> Iterator[Remark]:
    """The faults that no command tells of: those of schedules, and those in force when the window begins."""
    for strike in excerpt.strikes:
        begins = strike.since.record >= excerpt.first
        if not begins:
            text = f"in force: {fault_said(strike.fault)}"
            yield Remark(excerpt.from_us, excerpt.first, "fault", text)
        elif not _is_commanded(excerpt, strike):
            yield Remark(strike.since.at_us, strike.since.record, "fault", fault_said(strike.fault))


def _is_commanded(excerpt: Excerpt, strike: FaultInterval) -> bool:
    """Whether the record of its command follows: before any step, though other commands may come of it first."""
    line = 0
    for record in excerpt.lines.records(strike.since.record):
        if isinstance(record, Fault) and record.id == strike.fault.id:
            line = record.line
        if isinstance(record, Step):
            return False
        if isinstance(record, Commanded) and record.line == line and strike.fault.kind in record.text:
            return True
    return False


def _violated(excerpt: Excerpt) -> Iterator[Remark]:
    """The first violation of each assertion, with how many more there are."""
    counts = Counter(each.assertion for each in excerpt.violations)
    for violation in excerpt.violations:
        more = counts.pop(violation.assertion, 0) - 1
        if more >= 0:
            text = f"{violation}" + (f" (and {more:,} more)" if more else "")
            yield Remark(violation.at_us, violation.record, "fault", text)

"""What each node did, record by record: what it got, what the log says of it, what it sent.

A step does all of this at one instant, so tools that know events and not steps get one event for it.
"""

from msgspec import Struct

from lab.analysis.group_history import Point
from lab.analysis.spacetime import MessageEdge
from lab.export.excerpt import Excerpt
from lab.recording.log_lines import LogLine
from lab.text import sanitize

__all__ = ["Doing", "arrivals_of", "doings_of", "is_forged"]

_LONGEST = 200
_SAID = {"status": "now {}", "told": "told {}", "log": "logs {}", "failure": "raises {}"}


class Doing(Struct):
    """What ``node`` did with the record of that number. ``got`` is the message that the step took, if any."""

    node: int
    record: int
    at_us: int
    got: MessageEdge | None = None
    lines: list[LogLine] = []
    sent: list[MessageEdge] = []

    @property
    def said(self) -> list[str]:
        """In words, each safe to show. A message has its number among those of its sender."""
        got = [] if self.got is None else [_got_said(self.got)]
        lines = (_SAID.get(line.what, "{}").format(sanitize(line.text, _LONGEST)) for line in self.lines)
        return [*got, *lines, *map(_sent_said, self.sent)]


def doings_of(excerpt: Excerpt) -> list[Doing]:
    """In the order of the records: every one that the log has a line of, or with which a message arrived.

    Heartbeats count as far as they are wanted.
    """
    found: dict[int, Doing] = {}

    def doing(node: int, record: int, at_us: int) -> Doing:
        return found.setdefault(record, Doing(node, record, at_us))

    for line in excerpt.events:
        if line.source is not None:
            doing(line.source, line.record, line.at_us).lines.append(line)
    for arrow in excerpt.arrows:
        source, target = arrow.line.source, arrow.line.target
        assert source is not None
        assert target is not None
        if arrow.sent.record >= excerpt.first and not is_forged(arrow):
            doing(source, arrow.sent.record, arrow.sent.at_us).sent.append(arrow)
        for point in arrivals_of(arrow):
            if excerpt.first <= point.record <= excerpt.last:
                doing(target, point.record, point.at_us).got = arrow
    return [found[record] for record in sorted(found)]


def arrivals_of(arrow: MessageEdge) -> list[Point]:
    """Where it arrived: with several steps, where it was duplicated."""
    return [*([arrow.end] if arrow.end is not None and arrow.arrived else []), *arrow.again]


def is_forged(arrow: MessageEdge) -> bool:
    """Whether no step sent it."""
    return arrow.line.serial < 0


def _got_said(arrow: MessageEdge) -> str:
    said = f"gets {_named(arrow)} of {arrow.line.source}"
    return said if arrow.fate in ("delivered", "forged") else f"{said} ({arrow.fate})"


def _sent_said(arrow: MessageEdge) -> str:
    said = f"sends {_named(arrow)} to {arrow.line.target}"
    body = sanitize(arrow.line.text, _LONGEST)
    fate = "" if arrow.arrived else f" ({arrow.fate})"
    return said + fate + (f": {body}" if body not in ("", "{}") else "")


def _named(arrow: MessageEdge) -> str:
    kind = sanitize(arrow.line.kind)
    return f"a forged {kind}" if is_forged(arrow) else f"{kind} #{arrow.line.serial}"

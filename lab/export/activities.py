"""The activities of each node, record by record: messages received, log lines, messages sent.

A step does all of this at once, so tools that know events instead of steps get one event for it.
"""

from msgspec import Struct

from lab.analysis.group_history import Point
from lab.analysis.spacetime import MessageEdge
from lab.export.excerpt import Excerpt
from lab.recording.log_lines import LogLine
from lab.text import sanitize

__all__ = ["Activity", "activities_in", "arrivals_of", "is_forged"]

_LONGEST = 200
_FORMATS = {"status": "now {}", "protocol-command": "command {}", "log": "logs {}", "failure": "raises {}"}


class Activity(Struct):
    """The effects of a record at ``node``. ``received`` is the message that the step handled, if any."""

    node: int
    record: int
    at_us: int
    received: MessageEdge | None = None
    lines: list[LogLine] = []
    sent: list[MessageEdge] = []

    @property
    def descriptions(self) -> list[str]:
        """The descriptions of all effects, sanitized. Messages have their sender's serial numbers."""
        received = [] if self.received is None else [_describe_received(self.received)]
        lines = (_FORMATS.get(line.what, "{}").format(sanitize(line.text, _LONGEST)) for line in self.lines)
        return [*received, *lines, *map(_describe_sent, self.sent)]


def activities_in(excerpt: Excerpt) -> list[Activity]:
    """Return the activities in the order of the records, one for each record with a log line or an arrival.

    Heartbeats are included as the export options say.
    """
    found: dict[int, Activity] = {}

    def activity(node: int, record: int, at_us: int) -> Activity:
        return found.setdefault(record, Activity(node, record, at_us))

    for line in excerpt.events:
        if line.source is not None:
            activity(line.source, line.record, line.at_us).lines.append(line)
    for edge in excerpt.messages:
        source, target = edge.line.source, edge.line.target
        assert source is not None
        assert target is not None
        if edge.sent.record >= excerpt.first and not is_forged(edge):
            activity(source, edge.sent.record, edge.sent.at_us).sent.append(edge)
        for point in arrivals_of(edge):
            if excerpt.first <= point.record <= excerpt.last:
                activity(target, point.record, point.at_us).received = edge
    return [found[record] for record in sorted(found)]


def arrivals_of(edge: MessageEdge) -> list[Point]:
    """Return where the message arrived: several points if it was duplicated."""
    return [*([edge.end] if edge.end is not None and edge.arrived else []), *edge.again]


def is_forged(edge: MessageEdge) -> bool:
    """Return whether no step sent the message."""
    return edge.line.serial < 0


def _describe_received(edge: MessageEdge) -> str:
    text = f"gets {_message_name(edge)} from {edge.line.source}"
    return text if edge.fate in ("delivered", "forged") else f"{text} ({edge.fate})"


def _describe_sent(edge: MessageEdge) -> str:
    text = f"sends {_message_name(edge)} to {edge.line.target}"
    body = sanitize(edge.line.text, _LONGEST)
    fate = "" if edge.arrived else f" ({edge.fate})"
    return text + fate + (f": {body}" if body not in ("", "{}") else "")


def _message_name(edge: MessageEdge) -> str:
    kind = sanitize(edge.line.kind)
    return f"a forged {kind}" if is_forged(edge) else f"{kind} #{edge.line.serial}"

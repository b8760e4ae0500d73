"""The events of an excerpt in order of time, for formats with one line per event."""

from msgspec import Struct

from lab.analysis.spacetime import MessageEdge, StatusInterval
from lab.export.annotations import Annotation, annotations_in, describe_status
from lab.export.excerpt import Excerpt

__all__ = ["Row", "initial_intervals", "is_slow", "rows_of"]

_RANKS: tuple[type, ...] = (StatusInterval, Annotation, MessageEdge)


class Row(Struct, frozen=True):
    """A status change, the sending of a message (or its end, with ``ends``), or an annotation."""

    record: int
    at_us: int
    what: StatusInterval | MessageEdge | Annotation
    ends: bool = False


def rows_of(excerpt: Excerpt) -> list[Row]:
    """Return the rows in order of time. A message that takes longer than Tm has another row for its end."""
    rows = [Row(remark.record, remark.at_us, remark) for remark in annotations_in(excerpt)]
    shown = {interval.node: describe_status(interval) for interval in initial_intervals(excerpt)}
    for interval in excerpt.status_intervals:
        if interval.since.record >= excerpt.first and describe_status(interval) != shown.get(interval.node):
            shown[interval.node] = describe_status(interval)
            rows.append(Row(interval.since.record, interval.since.at_us, interval))
    for edge in excerpt.messages:
        is_sent_here = edge.line.record >= excerpt.first
        if is_sent_here:
            rows.append(Row(edge.line.record, edge.line.at_us, edge))
        end = edge.end
        if end is not None and end.record <= excerpt.last and (not is_sent_here or is_slow(edge, excerpt)):
            rows.append(Row(end.record, end.at_us, edge, ends=True))
    # live steps are recorded slightly after they are taken
    return sorted(rows, key=lambda row: (row.at_us, row.record, _RANKS.index(type(row.what)), not row.ends))


def is_slow(edge: MessageEdge, excerpt: Excerpt) -> bool:
    """Return whether the message was in flight for longer than Tm."""
    return edge.end is not None and edge.end.at_us - edge.line.at_us > excerpt.header.timing.tm_us


def initial_intervals(excerpt: Excerpt) -> list[StatusInterval]:
    """Return the status intervals at the beginning of the window."""
    return [interval for interval in excerpt.status_intervals if interval.since.record < max(excerpt.first, 1)]

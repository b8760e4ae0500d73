"""What happens in an excerpt, one thing after another: for formats that have a line for each."""

from msgspec import Struct

from lab.analysis.spacetime import MessageEdge, StatusInterval
from lab.export.excerpt import Excerpt
from lab.export.words import Remark, remarks_of, stands

__all__ = ["Row", "is_slow", "rows_of", "standing_at_first"]

_RANKS: tuple[type, ...] = (StatusInterval, Remark, MessageEdge)


class Row(Struct, frozen=True):
    """A node stands anew, a message was sent or, with ``ends``, ended, or something is remarked."""

    record: int
    at_us: int
    what: StatusInterval | MessageEdge | Remark
    ends: bool = False


def rows_of(excerpt: Excerpt) -> list[Row]:
    """In the order of time. A message has a row of its own for its end where that took longer than Tm."""
    rows = [Row(remark.record, remark.at_us, remark) for remark in remarks_of(excerpt)]
    said = {stretch.node: stands(stretch) for stretch in standing_at_first(excerpt)}
    for stretch in excerpt.stretches:
        if stretch.since.record >= excerpt.first and stands(stretch) != said.get(stretch.node):
            said[stretch.node] = stands(stretch)
            rows.append(Row(stretch.since.record, stretch.since.at_us, stretch))
    for arrow in excerpt.arrows:
        is_sent_here = arrow.line.record >= excerpt.first
        if is_sent_here:
            rows.append(Row(arrow.line.record, arrow.line.at_us, arrow))
        end = arrow.end
        if end is not None and end.record <= excerpt.last and (not is_sent_here or is_slow(arrow, excerpt)):
            rows.append(Row(end.record, end.at_us, arrow, ends=True))
    # the records of a live run come in a little after they are made
    return sorted(rows, key=lambda row: (row.at_us, row.record, _RANKS.index(type(row.what)), not row.ends))


def is_slow(arrow: MessageEdge, excerpt: Excerpt) -> bool:
    """Whether it was on its way for longer than Tm."""
    return arrow.end is not None and arrow.end.at_us - arrow.line.at_us > excerpt.header.timing.tm_us


def standing_at_first(excerpt: Excerpt) -> list[StatusInterval]:
    """How the nodes stand as the window begins."""
    return [stretch for stretch in excerpt.stretches if stretch.since.record < max(excerpt.first, 1)]

"""A sequence diagram in Mermaid's language, for Markdown pages."""

import re
from collections.abc import Iterator
from typing import TextIO

from lab.analysis.spacetime import MessageEdge, StatusInterval
from lab.export.annotations import describe_delivery, describe_excerpt, describe_status, printable
from lab.export.excerpt import Excerpt
from lab.export.rows import Row, initial_intervals, is_slow, rows_of

__all__ = ["MOST_ARROWS", "write_mermaid"]

MOST_ARROWS = 200
"""Mermaid's own limits are 500 edges and 50,000 characters."""
_PLAIN = re.compile(r"[^\w .,:()=+/|'→★·-]")
_KEYWORD = re.compile(r"\bend\b", re.IGNORECASE)


def write_mermaid(excerpt: Excerpt, out: TextIO) -> None:
    """Write the sequence diagram. Raises ExportError if the excerpt is too large."""
    excerpt.need_at_most(MOST_ARROWS, "a sequence diagram")
    out.write("sequenceDiagram\n")
    out.write(
        f"  accTitle: {_plain(excerpt.header.protocol.title)}\n  accDescr: {_plain(describe_excerpt(excerpt))}\n"
    )
    for node in excerpt.nodes:
        out.write(f"  participant n{node} as node {node}\n")
    for line in _lines(excerpt):
        out.write(f"  {line}\n")


def _lines(excerpt: Excerpt) -> Iterator[str]:
    for interval in initial_intervals(excerpt):
        if interval.shown != "absent":
            yield f"Note over n{interval.node}: {_plain(describe_status(interval))}"
    for row in rows_of(excerpt):
        if not (row.ends and isinstance(row.what, MessageEdge) and row.what.line.record >= excerpt.first):
            yield _line(row, excerpt)


def _line(row: Row, excerpt: Excerpt) -> str:
    what = row.what
    if isinstance(what, StatusInterval):
        return f"Note over n{what.node}: {_plain(describe_status(what))}"
    if isinstance(what, MessageEdge):
        return _arrow(what, excerpt)
    ends = dict.fromkeys((excerpt.nodes[0], excerpt.nodes[-1]))
    return f"Note over {','.join(f'n{node}' for node in ends)}: {row.at_us / 1e6:.3f} s {_plain(what.text)}"


def _arrow(edge: MessageEdge, excerpt: Excerpt) -> str:
    line = edge.line
    is_answer = line.kind.endswith("Answer")
    is_gone = edge.end is not None and not edge.arrived
    way = ("--" if is_answer else "-") + ("x" if is_gone else ">>" if edge.end is not None else ")")
    label = f"{line.at_us / 1e6:.3f} s {line.kind}"
    if edge.fate != "delivered" or is_slow(edge, excerpt):
        label += f" ({describe_delivery(edge)})"
    return f"n{line.source}{way}n{line.target}: {_plain(label)}"


def _plain(text: str) -> str:
    """Escape the text for Mermaid: special characters as numbers, and the keyword ``end`` broken up."""
    escaped = _PLAIN.sub(lambda hit: f"#{ord(hit.group())};", printable(text, 160))
    return _KEYWORD.sub(lambda hit: f"{hit.group()[0]}#{ord(hit.group()[1])};{hit.group()[2]}", escaped)

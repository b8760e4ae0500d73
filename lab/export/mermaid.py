"""A sequence diagram in Mermaid's language, which Markdown pages draw: of a short window."""

import re
from collections.abc import Iterator
from typing import TextIO

from lab.analysis.spacetime import MessageEdge, StatusInterval
from lab.export.excerpt import Excerpt
from lab.export.rows import Row, is_slow, rows_of, standing_at_first
from lab.export.words import fate_said, head_said, safe, stands

__all__ = ["MOST_ARROWS", "write_mermaid"]

MOST_ARROWS = 200
"""Mermaid itself gives up at 500 edges and 50,000 letters."""
_PLAIN = re.compile(r"[^\w .,:()=+/|'→★·-]")
_KEYWORD = re.compile(r"\bend\b", re.IGNORECASE)


def write_mermaid(excerpt: Excerpt, out: TextIO) -> None:
    """ExportError where there is too much for one."""
    excerpt.need_at_most(MOST_ARROWS, "a sequence diagram")
    out.write("sequenceDiagram\n")
    out.write(f"  accTitle: {_plain(excerpt.header.protocol.title)}\n  accDescr: {_plain(head_said(excerpt))}\n")
    for node in excerpt.nodes:
        out.write(f"  participant n{node} as node {node}\n")
    for line in _lines(excerpt):
        out.write(f"  {line}\n")


def _lines(excerpt: Excerpt) -> Iterator[str]:
    for stretch in standing_at_first(excerpt):
        if stretch.shown != "absent":
            yield f"Note over n{stretch.node}: {_plain(stands(stretch))}"
    for row in rows_of(excerpt):
        if not (row.ends and isinstance(row.what, MessageEdge) and row.what.line.record >= excerpt.first):
            yield _line(row, excerpt)


def _line(row: Row, excerpt: Excerpt) -> str:
    what = row.what
    if isinstance(what, StatusInterval):
        return f"Note over n{what.node}: {_plain(stands(what))}"
    if isinstance(what, MessageEdge):
        return _arrow(what, excerpt)
    ends = dict.fromkeys((excerpt.nodes[0], excerpt.nodes[-1]))
    return f"Note over {','.join(f'n{node}' for node in ends)}: {row.at_us / 1e6:.3f} s {_plain(what.text)}"


def _arrow(arrow: MessageEdge, excerpt: Excerpt) -> str:
    line = arrow.line
    is_answer = line.kind.endswith("Answer")
    is_gone = arrow.end is not None and not arrow.arrived
    way = ("--" if is_answer else "-") + ("x" if is_gone else ">>" if arrow.end is not None else ")")
    said = f"{line.at_us / 1e6:.3f} s {line.kind}"
    if arrow.fate != "delivered" or is_slow(arrow, excerpt):
        said += f" ({fate_said(arrow)})"
    return f"n{line.source}{way}n{line.target}: {_plain(said)}"


def _plain(text: str) -> str:
    """Text that is nothing but text to Mermaid: its signs as numbers, and its keyword broken up."""
    escaped = _PLAIN.sub(lambda hit: f"#{ord(hit.group())};", safe(text, 160))
    return _KEYWORD.sub(lambda hit: f"{hit.group()[0]}#{ord(hit.group()[1])};{hit.group()[2]}", escaped)

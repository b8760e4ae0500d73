"""The table of export formats."""

from collections.abc import Callable
from typing import TextIO

from msgspec import Struct

from lab.export.diagram import write_svg
from lab.export.dot import write_dot
from lab.export.excerpt import Excerpt
from lab.export.mermaid import write_mermaid
from lab.export.page import write_html
from lab.export.perfetto import write_perfetto
from lab.export.shiviz import write_shiviz
from lab.export.tables import write_csv, write_jsonl
from lab.export.text_diagram import write_text

__all__ = ["FORMATS", "Format"]


class Format(Struct, frozen=True):
    """A format. ``write`` writes an excerpt as text, and raises ExportError if it cannot."""

    name: str
    suffix: str
    help: str
    write: Callable[[Excerpt, TextIO], None]


FORMATS = (
    Format("svg", ".svg", "space-time diagram, as a picture with tooltips", write_svg),
    Format("html", ".html", "space-time diagram, as a page: causal past and future, search", write_html),
    Format("text", ".txt", "space-time diagram, as plain text for email and issues", write_text),
    Format("mermaid", ".mmd", "sequence diagram of a short window, for Markdown (Mermaid)", write_mermaid),
    Format("dot", ".dot", "history of groups, as a graph for Graphviz", write_dot),
    Format("shiviz", ".shiviz", "log with vector clocks, for ShiViz", write_shiviz),
    Format("perfetto", ".perfetto.json", "trace, for ui.perfetto.dev (Chrome's JSON format)", write_perfetto),
    Format("csv", ".csv", "table for spreadsheets: messages, statuses, faults or events", write_csv),
    Format("jsonl", ".messages.jsonl", "table as JSON Lines", write_jsonl),
)

"""The table of formats: what each is called, how its files end, what it is good for, and what writes it."""

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
from lab.export.text import write_text

__all__ = ["FORMATS", "Format"]


class Format(Struct, frozen=True):
    """A format. ``write`` writes an excerpt as text; ExportError, from ``excerpt``, where it cannot be."""

    name: str
    suffix: str
    help: str
    write: Callable[[Excerpt, TextIO], None]


FORMATS = (
    Format("svg", ".svg", "the space-time diagram as a picture, with words under the mouse", write_svg),
    Format("html", ".html", "the same as a page: the causes and effects of messages, search", write_html),
    Format("text", ".txt", "the same as plain text, for mails and issues", write_text),
    Format("mermaid", ".mmd", "a sequence diagram for Markdown (Mermaid), of a short window", write_mermaid),
    Format("dot", ".dot", "the history of groups as a graph for Graphviz", write_dot),
    Format("shiviz", ".shiviz", "a log with vector clocks for ShiViz: who could know of what", write_shiviz),
    Format("perfetto", ".perfetto.json", "a trace for ui.perfetto.dev (Chrome's JSON)", write_perfetto),
    Format("csv", ".csv", "a table for spreadsheets: messages, statuses, faults or events", write_csv),
    Format("jsonl", ".messages.jsonl", "the same table as JSON Lines", write_jsonl),
)

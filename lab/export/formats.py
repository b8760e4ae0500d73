"""The export formats, and the exported file: its default name, and writing it atomically."""

from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from msgspec import Struct

from lab.durable import owner_only
from lab.export.excerpt import Excerpt
from lab.export.film_files import write_gif, write_mp4
from lab.export.group_pictures import write_dot
from lab.export.html_page import write_html
from lab.export.svg_diagram import write_pdf, write_png, write_svg
from lab.export.tables import write_csv_table, write_jsonl_table, write_parquet_table
from lab.export.text_diagram import write_mermaid, write_text
from lab.export.traces import write_perfetto, write_shiviz

Opener = Callable[[str, int], int]
"""The ``opener`` of ``open``: opens a path with these flags."""


class Format(Struct, frozen=True):
    """A format. ``write`` writes an excerpt, and raises ExportError if it cannot.

    A format of tables writes the table that the options name; one that is not text, bytes below the text file. A
    film of the diagram has its own options.
    """

    name: str
    suffix: str
    help: str
    write: Callable[[Excerpt, TextIO], None]
    is_table: bool = False
    is_text: bool = True
    is_diagram_film: bool = False


FORMATS = (
    Format("svg", ".svg", "space-time diagram, as a picture with tooltips", write_svg),
    Format(
        "html", ".html", "space-time diagram, as a page: time slider, play, causal past and future", write_html
    ),
    Format("text", ".txt", "space-time diagram, as plain text for email and issues", write_text),
    Format("mermaid", ".mmd", "sequence diagram of a short window, for Markdown (Mermaid)", write_mermaid),
    Format("dot", ".dot", "history of groups, as a graph for Graphviz", write_dot),
    Format("pdf", ".pdf", "space-time diagram, for papers and slides", write_pdf, is_text=False),
    Format("png", ".png", "space-time diagram, in pixels", write_png, is_text=False),
    Format(
        "gif", ".gif", "film of the space-time diagram, for slides", write_gif, is_text=False, is_diagram_film=True
    ),
    Format("mp4", ".mp4", "the same film as a video, by ffmpeg", write_mp4, is_text=False, is_diagram_film=True),
    Format("shiviz", ".shiviz", "log with vector clocks, for ShiViz", write_shiviz),
    Format("perfetto", ".perfetto.json", "trace, for ui.perfetto.dev (Chrome's JSON format)", write_perfetto),
    Format("csv", ".csv", "table for spreadsheets: messages, elections, verdicts …", write_csv_table, True),
    Format("jsonl", ".jsonl", "table as JSON Lines", write_jsonl_table, True),
    Format("parquet", ".parquet", "table as Apache Parquet, for data frames", write_parquet_table, True, False),
)


def default_path(recording: Path, format_: Format, folder: Path, table: str = "messages") -> Path:
    """Return the default path of an export in this format; that of a table has its name."""
    name = f"{recording.stem}.{table}" if format_.is_table else recording.stem
    return folder / f"{name}{format_.suffix}"


def format_for_file(name: str, formats: tuple[Format, ...]) -> Format | None:
    """Return the format with the longest suffix that the name ends in."""
    fits = [each for each in formats if name.endswith(each.suffix)]
    return max(fits, key=lambda each: len(each.suffix), default=None)


def write_file(format_: Format, excerpt: Excerpt, path: Path) -> int:
    """Write the file atomically and return its size in bytes. Raises ExportError, OSError.

    The export of an attempt at an exercise is readable by its owner only.
    An exception from the excerpt's ``progress`` aborts the export, even after the last byte; then no file is left.
    """
    temporary, out = _open_temporary(path, None if excerpt.header.exercise is None else owner_only)
    try:
        with out:
            format_.write(excerpt, out)
        excerpt.progress(f"writing {path.name} …")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path.stat().st_size


def _open_temporary(path: Path, opener: Opener | None, number: int = 1) -> tuple[Path, TextIO]:
    """Create a file in the same folder. Without an ``opener`` its permissions are the user's default."""
    temporary = path.with_name(f".{path.name}.{number}")
    try:
        return temporary, open(
            temporary, "x", encoding="utf-8", newline="", errors="backslashreplace", opener=opener
        )
    except FileExistsError:
        return _open_temporary(path, opener, number + 1)

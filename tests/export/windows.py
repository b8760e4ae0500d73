"""Excerpts of recordings, and their exports, for tests."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import msgspec

from lab.export.excerpt import Excerpt, ExportOptions, read_excerpt
from lab.recording.reader import FileRecords, open_recording
from tests.recording.samples import eventful_lines, write_lines

__all__ = ["EVIL", "RECORDINGS", "eventful_recording", "evil_recording", "excerpt_in", "written"]

RECORDINGS = Path(__file__).parents[2] / "recordings"
EVIL = (
    "</title></script><script>document.title='taken'</script>\"' onload=x <!-- ]]> & ; # % end \x1b[2J\u202e\uffff"
)
"""Hostile text, which every format must treat as text."""


def eventful_recording(folder: Path) -> FileRecords:
    """Return a run of four nodes with every kind of record, and a keyframe every 40 records."""
    return open_recording(write_lines(folder / "run.jsonl", eventful_lines()))


def evil_recording(folder: Path) -> Path:
    """Return the same with ``EVIL`` in place of every text that a user can choose."""
    lines = [msgspec.json.decode(line) for line in eventful_lines()]
    return write_lines(folder / "evil.jsonl", [msgspec.json.encode(_spoilt(line)) for line in lines])


def excerpt_in(lines: FileRecords, **options: Any) -> Excerpt:
    """Return an excerpt with these options."""
    return read_excerpt(lines, ExportOptions(**options))


def written(write: Callable[[Excerpt, TextIO], None], excerpt: Excerpt) -> str:
    """Return an excerpt in a format."""
    out = io.StringIO()
    write(excerpt, out)
    return out.getvalue()


def _spoilt(record: Any) -> Any:
    """Replace kinds, payloads, texts of faults, commands and captions, names and statuses by ``EVIL``."""
    if isinstance(record, list):
        return [_spoilt(each) for each in record]
    if not isinstance(record, dict):
        return record
    spoilt = {name: _spoilt(value) for name, value in record.items()}
    for name in ("text", "remark", "why", "outcome", "kind", "name", "status"):
        if isinstance(spoilt.get(name), str) and spoilt[name] != "header":
            spoilt[name] = EVIL
    if "serial" in spoilt and "body" in spoilt:
        spoilt["body"] = {EVIL: EVIL}
    return spoilt

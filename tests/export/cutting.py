"""Excerpts of recordings for the tests of exports, and what formats make of them."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import msgspec

from lab.export.excerpt import Excerpt, Wanted, excerpt_of
from lab.recording.reader import FileRecords, open_recording
from tests.recording.samples import eventful_lines, write_lines

__all__ = ["EVIL", "RECORDINGS", "eventful_recording", "evil_recording", "excerpt_in", "written"]

RECORDINGS = Path(__file__).parents[2] / "recordings"
EVIL = (
    "</title></script><script>document.title='taken'</script>\"' onload=x <!-- ]]> & ; # % end \x1b[2J\u202e\uffff"
)
"""What must be text, and nothing else, wherever it comes to stand."""


def eventful_recording(folder: Path) -> FileRecords:
    """A run of four nodes in which every kind of record occurs, with a keyframe every 40 records."""
    return open_recording(write_lines(folder / "run.jsonl", eventful_lines()))


def evil_recording(folder: Path) -> Path:
    """The same with ``EVIL`` in place of every text that anybody can choose."""
    lines = [msgspec.json.decode(line) for line in eventful_lines()]
    return write_lines(folder / "evil.jsonl", [msgspec.json.encode(_spoilt(line)) for line in lines])


def excerpt_in(lines: FileRecords, **wanted: Any) -> Excerpt:
    """What is wanted of it."""
    return excerpt_of(lines, Wanted(**wanted))


def written(write: Callable[[Excerpt, TextIO], None], excerpt: Excerpt) -> str:
    """What a format makes of it."""
    out = io.StringIO()
    write(excerpt, out)
    return out.getvalue()


def _spoilt(record: Any) -> Any:
    """Kinds, bodies, texts of faults, commands and captions, names, statuses."""
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

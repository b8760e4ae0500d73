"""What students did in their attempts, command by command, as their recordings have it."""

import contextlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lab.exercises.assessment import is_given
from lab.journal import Commanded, Header, NotARecordingError, open_recording
from lab.serve.folder import DataFolder
from lab.serve.log import LogLine

__all__ = ["commands_given"]


def commands_given(folder: DataFolder, student: str | None, tell: Callable[[str], None]) -> Iterator[LogLine]:
    """A line for each that was given by hand, in all attempts of this student, or of all."""
    for name, home in folder.homes().items():
        if student in (None, name):
            for path in sorted((home / "attempts").glob("*.jsonl")):
                tell(f"reading {name}/{path.name}")
                with contextlib.suppress(NotARecordingError):
                    yield from _commands_in(path, name)


def _commands_in(path: Path, student: str) -> Iterator[LogLine]:
    with contextlib.closing(open_recording(path)) as lines:
        for record in lines.records():
            if isinstance(record, Commanded) and is_given(record):
                at = _at(lines.header, record, path)
                said = f"{path.stem}: {record.text}: {record.outcome}"
                yield LogLine(at.isoformat(timespec="milliseconds"), "command", student, text=said)


def _at(header: Header, record: Commanded, path: Path) -> datetime:
    """When; in a simulated run, whose time is its own, when it was written to last."""
    if header.began:
        return datetime.fromisoformat(header.began) + timedelta(microseconds=record.at_us)
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)

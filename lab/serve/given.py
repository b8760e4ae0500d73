"""What students did in their attempts, command by command, as their recordings have it."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from lab.exercises.assessment import is_given
from lab.exercises.noting import time_of
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import Commanded
from lab.serve.folder import DataFolder
from lab.serve.log import LogLine

__all__ = ["commands_given"]


def commands_given(folder: DataFolder, student: str | None, tell: Callable[[str], None]) -> Iterator[LogLine]:
    """A line for each that was given by hand, in all attempts of this student, or of all."""
    for name, path in folder.recordings():
        if student in (None, name):
            tell(f"reading {name}/{path.name}")
            with contextlib.suppress(NotARecordingError):
                yield from _commands_in(path, name)


def _commands_in(path: Path, student: str) -> Iterator[LogLine]:
    with contextlib.closing(open_recording(path)) as lines:
        for record in lines.records():
            if isinstance(record, Commanded) and is_given(record):
                at = time_of(lines.header, record.at_us, path)
                said = f"{path.stem}: {record.text}: {record.outcome}"
                yield LogLine(at.isoformat(timespec="milliseconds"), "command", student, text=said)

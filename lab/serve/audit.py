"""List what students did in their attempts: the commands in their recordings."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from lab.exercises.assessment import is_manual_command
from lab.exercises.progress_writer import record_time
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import Commanded
from lab.serve.folder import DataFolder
from lab.serve.server_log import ServerLogLine

__all__ = ["student_commands"]


def student_commands(
    folder: DataFolder, student: str | None, report_progress: Callable[[str], None]
) -> Iterator[ServerLogLine]:
    """Yield a line for each manual command in the attempts of this student, or of all."""
    for name, path in folder.recordings():
        if student in (None, name):
            report_progress(f"reading {name}/{path.name}")
            with contextlib.suppress(NotARecordingError):
                yield from _commands_in(path, name)


def _commands_in(path: Path, student: str) -> Iterator[ServerLogLine]:
    with contextlib.closing(open_recording(path)) as store:
        for record in store.records():
            if isinstance(record, Commanded) and is_manual_command(record):
                at = record_time(store.header, record.at_us, path)
                text = f"{path.stem}: {record.text}: {record.outcome}"
                yield ServerLogLine(at.isoformat(timespec="milliseconds"), "command", student, text=text)

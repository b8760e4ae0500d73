"""Check output files before the work begins, so that an error does not appear after an hour."""

import os
from pathlib import Path

from lab.cli.usage_errors import UsageError
from lab.durable import write_durably
from lab.places import new_recording_path
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.writer import BeingWrittenError, open_exclusive

__all__ = ["picture_file", "recording_path", "writable", "writable_recording", "write_whole"]


def recording_path(record: Path | None, run: str, parent: Path | None = None) -> Path:
    """Return the file to record to: the given one, or a new one in lab's data folder, which keeps ``parent``."""
    return new_recording_path(run, parent) if record is None else writable_recording("--record", record)


def writable_recording(option: str, path: Path) -> Path:
    """Return the absolute path. Raises UsageError; an existing file that is not a recording is never replaced."""
    file = writable(option, path)
    if file.exists() and file.stat().st_size:
        try:
            open_recording(file).close()
        except NotARecordingError:
            raise UsageError(f"{option} {path} exists and is not a recording; name another file") from None
    if file.exists():
        try:
            os.close(open_exclusive(file))
        except BeingWrittenError:
            raise UsageError(f"{option} {path} is in use by another run; name another file") from None
    return file


def picture_file(path: Path | None) -> Path | None:
    """Return the file for the charts, if any. Raises UsageError."""
    if path is not None:
        if path.suffix != ".svg":
            raise UsageError(f"--output {path}: only SVG is supported; name a file that ends in .svg")
        writable("--output", path)
    return path


def writable(option: str, path: Path) -> Path:
    """Return the absolute path of the file given with this option. Raises UsageError if it cannot be written."""
    file = path.absolute()
    if not file.parent.is_dir():
        raise UsageError(f"{option} {path}: the folder {file.parent} does not exist")
    if file.is_dir():
        raise UsageError(f"{option} {path} is a folder; name a file in it")
    if file.exists() and not file.is_file():
        raise UsageError(f"{option} {path} is not a regular file; name another")
    is_new = not file.exists()
    try:
        file.open("ab").close()
    except OSError as error:
        raise UsageError(f"{option} {path} cannot be written ({error.strerror}); name another file") from None
    if is_new:
        file.unlink()
    return file


def write_whole(path: Path, data: bytes) -> None:
    """Replace the contents of the file. Raises UsageError."""
    try:
        write_durably(path, data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another file") from None

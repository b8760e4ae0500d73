"""The files that a command writes: found fault with before its work begins, and not after an hour of it."""

import os
from pathlib import Path

from lab.cli.errors import UsageError
from lab.durable import write_durably
from lab.places import new_recording_path
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.writer import BeingWrittenError, open_alone

__all__ = ["picture_file", "recording_path", "writable", "writable_recording", "write_whole"]


def recording_path(record: Path | None, run: str, parent: Path | None = None) -> Path:
    """Where to record: where the user wants it, or among the recordings that lab keeps, where ``parent`` stays."""
    return new_recording_path(run, parent) if record is None else writable_recording("--record", record)


def writable_recording(option: str, path: Path) -> Path:
    """The absolute path; a file that is there and is no recording is left alone. UsageError."""
    file = writable(option, path)
    if file.exists() and file.stat().st_size:
        try:
            open_recording(file).close()
        except NotARecordingError:
            raise UsageError(f"{option} {path} exists and is no recording; it is left alone") from None
    if file.exists():
        try:
            os.close(open_alone(file))
        except BeingWrittenError:
            raise UsageError(f"{option} {path} is being written by another run; name another file") from None
    return file


def picture_file(path: Path | None) -> Path | None:
    """The file to draw charts into, if any. UsageError."""
    if path is not None:
        if path.suffix != ".svg":
            raise UsageError(f"--output {path}: only SVG can be drawn; name a file that ends in .svg")
        writable("--output", path)
    return path


def writable(option: str, path: Path) -> Path:
    """The absolute path that was given with this option. UsageError where no file can be written there."""
    file = path.absolute()
    if not file.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {file.parent}")
    if file.is_dir():
        raise UsageError(f"{option} {path} is a folder; name a file in it")
    if file.exists() and not file.is_file():
        raise UsageError(f"{option} {path} is no file that can be kept; name another")
    is_new = not file.exists()
    try:
        file.open("ab").close()
    except OSError as error:
        raise UsageError(f"{option} {path} cannot be written ({error.strerror}); name another file") from None
    if is_new:
        file.unlink()
    return file


def write_whole(path: Path, data: bytes) -> None:
    """Put this into the file, in the place of what was there. UsageError."""
    try:
        write_durably(path, data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another file") from None

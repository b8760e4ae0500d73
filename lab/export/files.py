"""The exported file: its default name, and writing it atomically."""

from pathlib import Path
from typing import TextIO

from lab.export.excerpt import Excerpt
from lab.export.formats import Format

__all__ = ["default_path", "format_for_file", "write_file"]


def default_path(recording: Path, format_: Format, folder: Path) -> Path:
    """Return the default path of an export in this format."""
    return folder / f"{recording.stem}{format_.suffix}"


def format_for_file(name: str, formats: tuple[Format, ...]) -> Format | None:
    """Return the format with the longest suffix that the name ends in."""
    fits = [each for each in formats if name.endswith(each.suffix)]
    return max(fits, key=lambda each: len(each.suffix), default=None)


def write_file(format_: Format, excerpt: Excerpt, path: Path) -> int:
    """Write the file atomically and return its size in bytes. Raises ExportError, OSError.

    An exception from the excerpt's ``progress`` aborts the export, even after the last byte; then no file is left.
    """
    temporary, out = _open_temporary(path)
    try:
        with out:
            format_.write(excerpt, out)
        excerpt.progress(f"writing {path.name} …")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path.stat().st_size


def _open_temporary(path: Path, number: int = 1) -> tuple[Path, TextIO]:
    """Create a file in the same folder. Its permissions are the user's default, as for any other file."""
    temporary = path.with_name(f".{path.name}.{number}")
    try:
        return temporary, temporary.open("x", encoding="utf-8", newline="", errors="backslashreplace")
    except FileExistsError:
        return _open_temporary(path, number + 1)

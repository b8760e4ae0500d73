"""The file that is exported to: what it is called by default, and how it comes to be whole or not at all."""

import os
import tempfile
from pathlib import Path

from lab.export.excerpt import Excerpt
from lab.export.formats import Format

__all__ = ["file_for", "format_of_file", "write_file"]


def file_for(recording: Path, wanted: Format, folder: Path) -> Path:
    """Where a recording goes, where nobody says where."""
    return folder / f"{recording.stem}{wanted.suffix}"


def format_of_file(name: str, formats: tuple[Format, ...]) -> Format | None:
    """The format whose files end as this one does."""
    fits = [each for each in formats if name.endswith(each.suffix)]
    return max(fits, key=lambda each: len(each.suffix), default=None)


def write_file(wanted: Format, excerpt: Excerpt, path: Path) -> int:
    """Write it, over what is there only when all of it is written; how many bytes it has. ExportError, OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    beside = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="", errors="backslashreplace") as out:
            wanted.write(excerpt, out)
        beside.chmod(0o666 & ~_umask())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return path.stat().st_size


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask

"""The file that is exported to: what it is called by default, and how it comes to be whole or not at all."""

from pathlib import Path
from typing import TextIO

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
    """Write it, over what is there only when all of it is written; how many bytes it has. ExportError, OSError.

    What the excerpt's ``tell`` raises ends it, too, and as late as when all is written: then nothing is there.
    """
    beside, out = _opened_beside(path)
    try:
        with out:
            wanted.write(excerpt, out)
        excerpt.tell(f"writing {path.name} …")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return path.stat().st_size


def _opened_beside(path: Path, number: int = 1) -> tuple[Path, TextIO]:
    """A new file in the same folder. It is made as any other is, so it can be read by whom the user lets read."""
    beside = path.with_name(f".{path.name}.{number}")
    try:
        return beside, beside.open("x", encoding="utf-8", newline="", errors="backslashreplace")
    except FileExistsError:
        return _opened_beside(path, number + 1)

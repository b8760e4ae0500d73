"""All export formats: those of ``lab.export``, and those that need a screen."""

from typing import TextIO

from lab.export.excerpt import Excerpt
from lab.export.formats import FORMATS, Format


def _write_cast(excerpt: Excerpt, out: TextIO) -> None:
    from lab.tui.apps.cast import write_cast  # noqa: PLC0415 - it imports the whole interface

    write_cast(excerpt, out)


ALL_FORMATS = (
    *FORMATS,
    Format("cast", ".cast", "a film of the interface for asciinema, with chapters", _write_cast),
)


def format_named(name: str) -> Format | None:
    """Return the format with this name, or None."""
    return next((each for each in ALL_FORMATS if each.name == name), None)

"""The terminal: whether there is one, its width, and the characters it can show."""

import codecs
import os
import shutil
import sys
import textwrap
from io import TextIOWrapper

from rich.console import Console
from rich.table import Table

from lab.cli.usage_errors import UsageError
from lab.glyphs import draws_unicode

__all__ = ["has_terminal", "print_table", "print_wrapped", "require_terminal", "set_output_encoding"]

_WIDEST = 1_000
_ERROR_HANDLER = "lab.alike"
_REPLACEMENTS = {"²": "^2", "±": "+-", "−": "-", "µ": "u", "█": "#", "░": "."}


def has_terminal() -> bool:
    """Return whether the interface can be shown."""
    return os.isatty(0) and os.isatty(1)


def require_terminal(instead: str) -> None:
    """Raise UsageError if the interface cannot be shown; ``instead`` is a command that does not need it."""
    if not has_terminal():
        raise UsageError(f"the interface requires a terminal; without one: {instead}")


def print_wrapped(text: str) -> None:
    """Print a line; on a terminal, wrapped between words."""
    if sys.stdout.isatty():
        indent = " " * (len(text) - len(text.lstrip()))
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, width, subsequent_indent=indent, break_on_hyphens=False)
    print(text)


def print_table(table: Table) -> None:
    """Print the table: on a terminal as wide as that, elsewhere without cutting cells."""
    Console(highlight=False, markup=False, width=None if os.isatty(1) else _WIDEST).print(table)


def set_output_encoding(stream: TextIOWrapper) -> None:
    """Replace characters that the terminal cannot show by ASCII; letters of names are kept."""
    codecs.register_error(_ERROR_HANDLER, _replace_unencodable)
    utf8 = stream.encoding.lower().startswith("utf")
    stream.reconfigure(encoding="ascii" if utf8 and not draws_unicode() else None, errors=_ERROR_HANDLER)


def _replace_unencodable(error: UnicodeError) -> tuple[bytes, int]:
    """Encode the characters that the stream cannot encode by similar ASCII (an error handler of ``codecs``)."""
    from lab.tui.terminal.plain import to_ascii  # noqa: PLC0415 - slow, and rarely needed

    assert isinstance(error, UnicodeEncodeError)
    encoding = "utf-8" if error.encoding == "ascii" else error.encoding
    written = b""
    for letter in error.object[error.start : error.end]:
        alike = _REPLACEMENTS.get(letter) or to_ascii(letter)
        written += (letter if "?" in alike else alike).encode(encoding, "replace")
    return written, error.end

"""Whether somebody sits at a terminal, how wide it is, and what it can show."""

import codecs
import os
import shutil
import sys
import textwrap
from io import TextIOWrapper

from rich.console import Console
from rich.table import Table

from lab.cli.errors import UsageError
from lab.glyphs import draws_unicode

__all__ = ["has_terminal", "need_terminal", "print_table", "print_wrapped", "write_what_it_shows"]

_WIDEST = 1_000
_ALIKE = "lab.alike"
_LONGER = {"²": "^2", "±": "+-", "−": "-", "µ": "u", "█": "#", "░": "."}


def has_terminal() -> bool:
    """Whether the interface can be shown."""
    return os.isatty(0) and os.isatty(1)


def need_terminal(instead: str) -> None:
    """UsageError where the interface cannot be shown; ``instead`` is the command that does without."""
    if not has_terminal():
        raise UsageError(f"the interface needs a terminal; without one: {instead}")


def print_wrapped(text: str) -> None:
    """Print a line of many words: on a terminal no line ends within one of them. Elsewhere it stays a line."""
    if sys.stdout.isatty():
        indent = " " * (len(text) - len(text.lstrip()))
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, width, subsequent_indent=indent, break_on_hyphens=False)
    print(text)


def print_table(table: Table) -> None:
    """Print it, on a terminal as wide as that; elsewhere no cell is cut."""
    Console(highlight=False, markup=False, width=None if os.isatty(1) else _WIDEST).print(table)


def write_what_it_shows(stream: TextIOWrapper) -> None:
    """From now on what is drawn is written in ASCII where nothing else is shown. Letters of names stay."""
    codecs.register_error(_ALIKE, _alike)
    utf8 = stream.encoding.lower().startswith("utf")
    stream.reconfigure(encoding="ascii" if utf8 and not draws_unicode() else None, errors=_ALIKE)


def _alike(error: UnicodeError) -> tuple[bytes, int]:
    """What is written for letters that the stream cannot encode, and where it goes on."""
    from lab.tui.terminal.plain import ascii_of  # noqa: PLC0415 - takes a while, and is needed on few terminals

    assert isinstance(error, UnicodeEncodeError)
    encoding = "utf-8" if error.encoding == "ascii" else error.encoding
    written = b""
    for letter in error.object[error.start : error.end]:
        alike = _LONGER.get(letter) or ascii_of(letter)
        written += (letter if "?" in alike else alike).encode(encoding, "replace")
    return written, error.end

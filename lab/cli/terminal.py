"""The output of every command: errors and an exit status, tables, and progress."""

import codecs
import os
import shutil
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from types import FrameType
from typing import NoReturn

import msgspec
from rich.console import Console
from rich.table import Table

from lab.glyphs import draws_unicode
from lab.text import UserError, sanitize

EXIT_NOT_AS_EXPECTED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


class UsageError(UserError):
    """A command that was not called correctly."""


def fail(text: str, status: int = EXIT_USAGE) -> NoReturn:
    """Print an error in one line and exit."""
    print_error(text)
    raise SystemExit(status)


def print_error(text: str) -> None:
    """Print an error or a warning in one line."""
    print(f"lab: {sanitize(text)}", file=sys.stderr)


def has_terminal() -> bool:
    """Return whether the interface can be shown."""
    return os.isatty(0) and os.isatty(1)


def require_terminal(instead: str) -> None:
    """Raise UsageError if the interface cannot be shown; ``instead`` is a command that does not need it."""
    if not has_terminal():
        raise UsageError(f"the interface requires a terminal; without one: {instead}")


# text and tables

_WIDEST = 1_000
_WIDEST_REPORT = 120


def report_width() -> int:
    """Return the width of reports and charts, which are no wider than easy to read."""
    return min(shutil.get_terminal_size((100, 30)).columns, _WIDEST_REPORT)


def print_wrapped(text: str) -> None:
    """Print a line; on a terminal, wrapped between words."""
    if sys.stdout.isatty():
        indent = " " * (len(text) - len(text.lstrip()))
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, width, subsequent_indent=indent, break_on_hyphens=False)
    print(text)


def console() -> Console:
    """Return a console as wide as the terminal; where there is none, wide enough to cut nothing."""
    return Console(highlight=False, markup=False, width=None if os.isatty(1) else _WIDEST)


def print_table(table: Table) -> None:
    """Print the table: on a terminal as wide as that, elsewhere without cutting cells."""
    console().print(table)


def print_paragraphs(text: str) -> None:
    """Print a text whose paragraphs are separated by empty lines, each wrapped, and an empty line after each."""
    for paragraph in filter(None, text.split("\n\n")):
        print_wrapped(sanitize(" ".join(paragraph.split())))
        print()


def print_facts(facts: list[tuple[str, str]]) -> None:
    """Print names with their texts, one below the other; without those that have no text."""
    for name, text in facts:
        if text:
            print(f"{name:12} {sanitize(text)}")


def print_json(value: object) -> None:
    """Print the value as a JSON object, in one line."""
    print(msgspec.json.encode(value).decode())


# progress, and its interruption


def interrupt_on_signals() -> None:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


_EVERY_S = 0.1
_SHORT = 20_000


@contextmanager
def progress_line(shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a text as the last line of standard error; erase the line at the end.

    It may be called as often as wanted. Nothing is shown if standard error is not a terminal.
    """
    shown = shown and sys.stderr.isatty()
    next_s, width = 0.0, 0

    def progress(text: str) -> None:
        nonlocal next_s, width
        if shown and time.monotonic() >= next_s:
            next_s = time.monotonic() + _EVERY_S
            width = max(width, len(text))
            print(f"\r{text:<{width}}", end="", file=sys.stderr, flush=True)

    try:
        yield progress
    finally:
        if width:
            print("\r" + " " * width + "\r", end="", file=sys.stderr, flush=True)


@contextmanager
def count_progress(total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that shows the number of records done. Nothing is shown for small totals."""
    with progress_line(total > _SHORT) as progress:
        yield lambda done: progress(f"{done:,} of {total:,} records")


# terminals that cannot show every character

_ERROR_HANDLER = "lab.alike"
_REPLACEMENTS = {"²": "^2", "±": "+-", "−": "-", "µ": "u", "█": "#", "░": "."}


def set_output_encoding(stream: TextIOWrapper) -> None:
    """Replace characters that the terminal cannot show by ASCII; letters of names are kept."""
    codecs.register_error(_ERROR_HANDLER, _replace_unencodable)
    utf8 = stream.encoding.lower().startswith("utf")
    stream.reconfigure(encoding="ascii" if utf8 and not draws_unicode() else None, errors=_ERROR_HANDLER)


def _replace_unencodable(error: UnicodeError) -> tuple[bytes, int]:
    """Encode the characters that the stream cannot encode by similar ASCII (an error handler of ``codecs``)."""
    from lab.styles import to_ascii  # noqa: PLC0415 - slow, and rarely needed

    assert isinstance(error, UnicodeEncodeError)
    encoding = "utf-8" if error.encoding == "ascii" else error.encoding
    written = b""
    for letter in error.object[error.start : error.end]:
        alike = _REPLACEMENTS.get(letter) or to_ascii(letter)
        written += (letter if "?" in alike else alike).encode(encoding, "replace")
    return written, error.end

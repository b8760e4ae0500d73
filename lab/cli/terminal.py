"""The output of every command: errors and an exit status, text and tables."""

import codecs
import os
import shutil
import signal
import sys
import textwrap
from collections.abc import Iterator
from io import TextIOWrapper
from types import FrameType
from typing import NoReturn

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from lab.glyphs import draws_unicode
from lab.output import print_error, print_line
from lab.text import UserError, remove_controls

EXIT_NOT_AS_EXPECTED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_CLOSED_PIPE = 141
"""As of a program that SIGPIPE ends: nobody has read the verdict."""


class UsageError(UserError):
    """A command that was not called correctly."""


def fail(text: str, status: int = EXIT_USAGE) -> NoReturn:
    """Print an error in one line and exit."""
    print_error(text)
    raise SystemExit(status)


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
    lines = [text]
    if sys.stdout.isatty():
        indent = " " * (len(text) - len(text.lstrip()))
        width = shutil.get_terminal_size().columns
        lines = textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False) or [""]
    for line in lines:
        print_line(line)


class TerminalConsole(Console):
    """A console of rich that lets no control character of the text through; the codes of styles are its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of the renderable without control characters."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else remove_controls(text), style, control)


def console() -> TerminalConsole:
    """Return a console as wide as the terminal; where there is none, wide enough to cut nothing."""
    return TerminalConsole(highlight=False, markup=False, width=None if os.isatty(1) else _WIDEST)


def print_table(table: Table) -> None:
    """Print the table: on a terminal as wide as that, elsewhere without cutting cells."""
    console().print(table)


def print_paragraphs(text: str) -> None:
    """Print a text whose paragraphs are separated by empty lines, each wrapped, and an empty line after each.

    One whose lines are all indented, or one between fences, is printed as it is: a script to copy.
    """
    for paragraph in filter(None, text.split("\n\n")):
        lines = paragraph.strip("\n").splitlines()
        if all(line.startswith("    ") for line in lines) or lines[0].startswith("```"):
            for line in lines:
                print_line(line)
        else:
            print_wrapped(" ".join(paragraph.split()))
        print_line()


def print_facts(facts: list[tuple[str, str]]) -> None:
    """Print names with their texts, one below the other; without those that have no text."""
    for name, text in facts:
        if text:
            print_line(f"{name:12} {text}")


# interruption


def interrupt_on_signals() -> None:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


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

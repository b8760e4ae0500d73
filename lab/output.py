"""The doors through which lines leave for a terminal: each takes text that is sanitized, or sanitizes it."""

import sys
from typing import TextIO

from lab.text import Sanitized, sanitize


def write_line(line: Sanitized, out: TextIO) -> None:
    """Write a line; all lines that are printed pass here."""
    print(line, file=out)


def print_line(text: str = "") -> None:
    """Print a line, sanitized: foreign text in it neither controls the terminal nor adds lines."""
    write_line(sanitize(text), sys.stdout)


def print_text(text: str) -> None:
    """Print a text of several lines, each sanitized."""
    for line in text.removesuffix("\n").split("\n"):
        print_line(line)


def print_remark(text: str) -> None:
    """Print a line, sanitized, on standard error."""
    write_line(sanitize(text), sys.stderr)


def print_error(text: str) -> None:
    """Print an error or a warning in one line, sanitized, on standard error."""
    print_remark(f"lab: {text}")

"""Progress of long work, as one line on the terminal's standard error."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["count_progress", "progress_line"]

_EVERY_S = 0.1
_SHORT = 20_000


@contextmanager
def progress_line(shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a text as the progress line; erase the line at the end.

    It may be called as often as wanted.
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

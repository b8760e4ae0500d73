"""How far a long piece of work has come, in one line on a terminal's standard error."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["counted", "progress_line"]

_EVERY_S = 0.1
_SHORT = 20_000


@contextmanager
def progress_line(shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Gives what is to be called, as often as one likes, with what can be said by now; the end wipes it away."""
    shown = shown and sys.stderr.isatty()
    next_s, width = 0.0, 0

    def tell(text: str) -> None:
        nonlocal next_s, width
        if shown and time.monotonic() >= next_s:
            next_s = time.monotonic() + _EVERY_S
            width = max(width, len(text))
            print(f"\r{text:<{width}}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if width:
            print("\r" + " " * width + "\r", end="", file=sys.stderr, flush=True)


@contextmanager
def counted(total: int) -> Iterator[Callable[[int], None]]:
    """Gives what is to be called with the number of records done. Nothing is shown where there are few."""
    with progress_line(total > _SHORT) as tell:
        yield lambda done: tell(f"{done:,} of {total:,} records")

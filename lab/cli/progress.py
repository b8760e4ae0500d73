"""How far a long piece of work has come, on a terminal's standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["counted"]

_SHORT = 20_000


@contextmanager
def counted(total: int) -> Iterator[Callable[[int], None]]:
    """Gives what is to be called with the number of records done. Nothing is shown where there are few."""
    shown = sys.stderr.isatty() and total > _SHORT

    def progress(done: int) -> None:
        if shown:
            print(f"\r{done:,} of {total:,} records", end="", file=sys.stderr)

    try:
        yield progress
    finally:
        if shown:
            print("\r" + " " * 50 + "\r", end="", file=sys.stderr)

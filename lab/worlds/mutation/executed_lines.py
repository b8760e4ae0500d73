"""The lines of several files that a run executes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ExecutedLines = tuple[frozenset[int], ...]
"""The executed lines of each file."""


@contextmanager
def trace_lines(files: tuple[str, ...]) -> Iterator[Callable[[], ExecutedLines]]:
    """Collect the lines executed inside the ``with``; yield a function that returns them, in the files' order.

    What cached functions of these files have computed before is forgotten, or they would not be executed again.
    """
    executed: dict[str, set[int]] = {file: set() for file in files}

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        lines = executed.get(frame.f_code.co_filename)
        if lines is None:
            return None
        add = lines.add

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            add(frame.f_lineno)
            return line

        return line

    _clear_caches(files)
    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield lambda: tuple(frozenset(lines) for lines in executed.values())
    finally:
        sys.settrace(before)


def _clear_caches(files: tuple[str, ...]) -> None:
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) in files:
            owners = [module, *(each for each in vars(module).values() if isinstance(each, type))]
            for function in [each for owner in owners for each in vars(owner).values()]:
                clear = getattr(function, "cache_clear", None)
                if clear is not None and not isinstance(function, type):
                    clear()

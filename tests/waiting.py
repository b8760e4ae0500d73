"""The only place where tests wait: for a condition, with a bound and a description."""

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["WAIT_S", "never", "wait_for"]

WAIT_S = 60.0
"""Far more than anything here takes, even on a busy machine: a test that passes waits only as long as it must."""

T = TypeVar("T")


def wait_for(condition: Callable[[], T], what: str, within_s: float = WAIT_S, every_s: float = 0.004) -> T:
    """Wait until ``condition()`` is true; return its value. Raises AssertionError that names ``what``."""
    ends = time.monotonic() + within_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > ends:
            raise AssertionError(f"not within {within_s:g} s: {what}")
        time.sleep(every_s)


def never(condition: Callable[[], object], what: str, for_s: float, every_s: float = 0.01) -> None:
    """Check for this long that ``condition()`` stays false."""
    ends = time.monotonic() + for_s
    while time.monotonic() < ends:
        assert not condition(), f"it did happen: {what}"
        time.sleep(every_s)

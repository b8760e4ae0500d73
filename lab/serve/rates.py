"""Counting what comes too often, and who keeps the door busy."""

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

__all__ = ["HalfOpen", "Knocking", "Rate"]

_WINDOW_S = 60.0


class Rate:
    """How often each of them came in the last minute; ``now_s`` is a clock that never goes back."""

    def __init__(self, most: int, now_s: Callable[[], float]) -> None:
        self._most = most
        self._now_s = now_s
        self._came: dict[str, deque[float]] = {}

    def too_often(self, who: str) -> bool:
        """Count this one; whether that is more than may be."""
        now_s = self._now_s()
        for each in [each for each, came in self._came.items() if came[-1] < now_s - _WINDOW_S]:
            del self._came[each]
        came = self._came.setdefault(who, deque(maxlen=self._most + 1))
        came.append(now_s)
        return len(came) > self._most and came[0] > now_s - _WINDOW_S


class Knocking(Protocol):
    """A connection that has not logged in."""

    address: str

    def give_way(self) -> None:
        """Close it: another one needs its place."""


K = TypeVar("K", bound=Knocking)


class HalfOpen(Generic[K]):
    """Those that have not logged in, the oldest first.

    Where there are too many, the oldest goes of the address that has most: a log-in takes a second, and who
    holds a hundred connections open loses them, and nobody else does.
    """

    def __init__(self, most: int, most_per_address: int) -> None:
        self._most = most
        self._most_per_address = most_per_address
        self._knocking: dict[str, list[K]] = {}

    def add(self, connection: K) -> None:
        """It has come; another one may have to give way."""
        same = self._knocking.setdefault(connection.address, [])
        same.append(connection)
        if len(same) > self._most_per_address:
            self._drop(same[0])
        elif sum(map(len, self._knocking.values())) > self._most:
            self._drop(max(self._knocking.values(), key=len)[0])

    def discard(self, connection: K) -> None:
        """It has logged in, or left."""
        same = self._knocking.get(connection.address, [])
        if connection in same:
            same.remove(connection)
        if not same:
            self._knocking.pop(connection.address, None)

    def all(self) -> list[K]:
        """All of them."""
        return [each for same in self._knocking.values() for each in same]

    def _drop(self, connection: K) -> None:
        self.discard(connection)
        connection.give_way()

"""An append-only log: an immutable sequence like a tuple, with appending in constant time.

Logs that were derived from one another by appending share one list of entries; each remembers its own length.
So keeping an earlier version is free, and so is the check that one log extends another.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar, overload

__all__ = ["Log", "as_lists"]

V = TypeVar("V")


class Log(Generic[V]):
    """``log: Log[Entry] = Log()``: an append-only log in stable storage. Each step writes only the new entries."""

    __slots__ = ("_entries", "_length")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, entries: Iterable[V] = ()) -> None:
        self._entries = list(entries)
        self._length = len(self._entries)

    def __add__(self, more: Iterable[V]) -> "Log[V]":
        """Return the log with these entries appended; copy the entries if a longer log already shares them."""
        if isinstance(more, str):
            raise TypeError(f"a log takes a tuple of entries, not a string: write += ({more!r},), with the comma")
        is_newest = 0 < self._length == len(self._entries)
        grown = self if is_newest else Log(self)
        longer: Log[V] = Log()
        grown._entries.extend(more)
        longer._entries, longer._length = grown._entries, len(grown._entries)
        return longer

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> V: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[V, ...]: ...
    def __getitem__(self, place: int | slice) -> V | tuple[V, ...]:
        """Return an entry, counted from the end if ``place`` is negative, or a tuple of several."""
        if isinstance(place, slice):
            return tuple(self._entries[each] for each in range(*place.indices(self._length)))
        if not -self._length <= place < self._length:
            raise IndexError(f"a log of {self._length} entries has none at {place}")
        return self._entries[place % self._length]

    def __iter__(self) -> Iterator[V]:
        return iter(self._entries[: self._length])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Log) and other._entries is self._entries:
            return other._length == self._length
        return isinstance(other, Log | list | tuple) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"Log({list(self)})"

    def after(self, before: "Log[V]") -> tuple[V, ...] | None:
        """Return the entries that follow those of ``before``; None if this log does not begin with them."""
        known = before._length
        if known > self._length:
            return None
        if before._entries is not self._entries and before._entries[:known] != self._entries[:known]:
            return None
        return tuple(self._entries[known : self._length])


def as_lists(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with every log as a list, as JSON has it."""
    return {name: list(value) if isinstance(value, Log) else value for name, value in values.items()}

"""A log that only grows: a value like a tuple, but to append to it costs the same however long it is.

All that came of one log by appending share its entries, and each knows how many of them are its own. So it costs
nothing either to keep what a log was before, and to see that one continues another.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["Log", "as_lists"]

V = TypeVar("V")


class Log(Generic[V]):
    """``log: Log[Entry] = Log()``: a log in safe storage. It only grows, and only what is new is written."""

    __slots__ = ("_entries", "_length")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, entries: Iterable[V] = ()) -> None:
        self._entries = list(entries)
        self._length = len(self._entries)

    def __add__(self, more: Iterable[V]) -> "Log[V]":
        """The log with these behind it. Where another one was appended to already, the two part company."""
        is_newest = 0 < self._length == len(self._entries)
        grown = self if is_newest else Log(self)
        longer: Log[V] = Log()
        grown._entries.extend(more)
        longer._entries, longer._length = grown._entries, len(grown._entries)
        return longer

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[V]:
        return iter(self._entries[: self._length])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Log) and other._entries is self._entries:
            return other._length == self._length
        return isinstance(other, Log | list | tuple) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"Log({list(self)})"

    def after(self, before: "Log[V]") -> tuple[V, ...] | None:
        """The entries behind those of ``before``; None where the log does not begin with these."""
        known = before._length
        if known > self._length:
            return None
        if before._entries is not self._entries and before._entries[:known] != self._entries[:known]:
            return None
        return tuple(self._entries[known : self._length])


def as_lists(values: dict[str, Any]) -> dict[str, Any]:
    """The same values, with a list for each log among them, as JSON has it."""
    return {name: list(value) if isinstance(value, Log) else value for name, value in values.items()}

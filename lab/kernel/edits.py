"""Edits: what a longer value took over from the one before it, and what is new.

A list that grows, shrinks or changes in a few places is written as pieces of its predecessor with new items between
them, so that a record does not grow with the list. A short list, or one that is mostly new, is written whole.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, count, islice, repeat
from operator import eq, ne
from typing import Any

from msgspec import Struct

__all__ = ["Edit", "Piece", "edit_between", "edited"]

SHORTEST = 8
"""A list of fewer items is always written whole."""


class Piece(Struct, frozen=True, array_like=True, omit_defaults=True):
    """The items ``start`` to ``end`` of the earlier list, and then the items ``new``."""

    start: int
    end: int
    new: list[Any] = []


Edit = tuple[Piece, ...]
"""A new list: its pieces in a row. They are in ascending order, and do not overlap."""


def edited(before: Any, edit: Edit) -> list[Any]:
    """Return the list after the edit; a value before it that is no list counts as empty."""
    known = before if isinstance(before, list) else []
    after: list[Any] = []
    taken = 0  # no item is taken over twice, whatever a foreign recording asks for: lists would grow without bound
    for piece in edit:
        start, end = max(taken, piece.start), max(0, piece.end)
        after += known[start:end]
        after += piece.new
        taken = max(taken, min(end, len(known)))
    return after


def edit_between(
    before: Sequence[Any], after: Sequence[Any], make: Callable[[Sequence[Any]], list[Any]] = list
) -> Edit | None:
    """Return the edit that turns one sequence into the other, or None if the whole is as short.

    ``make`` makes plain items of those of ``after`` that are new.
    """
    if len(after) < SHORTEST or not before:
        return None
    parts = list(_parts_between(before, after))
    if 2 * (len(parts) + sum(last - first for _, _, first, last in parts)) > len(after):
        return None
    return tuple(Piece(start, end, make(after[first:last])) for start, end, first, last in parts)


_Part = tuple[int, int, int, int]
"""(start, end) of the items taken over, and (first, last) of the new ones that follow them."""


def _parts_between(before: Sequence[Any], after: Sequence[Any]) -> Iterator[_Part]:
    dropped = _dropped(before, after)
    kept = before[dropped:]
    head = _count_equal(kept, after, min(len(kept), len(after)))
    rest = min(len(kept), len(after)) - head
    tail = _count_equal(islice(reversed(kept), rest), islice(reversed(after), rest), rest)
    at, start, end, last = dropped, dropped + head, len(before) - tail, len(after) - tail
    if end - start == last - head:  # items were replaced in their places
        for place in compress(count(), map(ne, before[start:end], after[head:last])):
            yield at, start + place, head + place, head + place + 1
            at = start + place + 1
    else:
        yield at, start, head, last
        at = end
    if at < len(before):
        yield at, len(before), last, last


def _dropped(before: Sequence[Any], after: Sequence[Any]) -> int:
    """Return how many items at the beginning are gone, as in a queue or a window of the newest."""
    if before[0] == after[0]:
        return 0
    return next(compress(count(), map(eq, before, repeat(after[0]))), 0)


def _count_equal(one: Iterable[Any], other: Iterable[Any], most: int) -> int:
    """Return how many items at the beginning of both are equal; ``most`` if all are."""
    return next(compress(count(), map(ne, one, other)), most)

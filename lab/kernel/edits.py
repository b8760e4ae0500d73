"""Edits: what a longer list took over from the one before it, and what is new in it.

A list that grows, shrinks or changes in a few places is written as pieces of its predecessor with new items
between them, so that a record does not grow with the list. A short list, or one that is mostly new, is written
whole.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import compress, count
from operator import is_, is_not
from typing import Any

from msgspec import Struct, json

__all__ = ["Edit", "Piece", "edit_between", "edited", "is_same"]

_SHORTEST = 8
"""A list of fewer items is always written whole."""

_EXACT = (int, str, bool, type(None))
"""Types of which equal values are written equally."""

_encode = json.Encoder(order="deterministic").encode


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
        end = max(taken, min(piece.end, len(known)))
        after += known[max(taken, piece.start) : end]
        after += piece.new
        taken = end
    return after


def edit_between(
    before: Sequence[Any], after: Sequence[Any], plain: Callable[[Sequence[Any]], list[Any]] = list
) -> Edit | None:
    """Return the edit that turns one sequence into the other, or None if the whole is as short.

    ``plain`` converts those items of ``after`` that are new.
    """
    if len(after) < _SHORTEST or not before:
        return None
    parts = list(_parts_between(before, after))
    if 2 * (len(parts) + sum(last - first for _, _, first, last in parts)) > len(after):
        return None
    return tuple([Piece(start, end, plain(after[first:last])) for start, end, first, last in parts])


_Part = tuple[int, int, int, int]
"""(start, end) of the items taken over, and (first, last) of the new ones that follow them."""


def _parts_between(before: Sequence[Any], after: Sequence[Any]) -> Iterator[_Part]:
    dropped = _count_dropped(before, after[0])
    kept = before[dropped:]
    head = _count_same(kept, after)
    tail = _count_same(kept[head:][::-1], after[head:][::-1])
    at, end, last = dropped, len(before) - tail, len(after) - tail
    if end - (dropped + head) == last - head:  # items were replaced in their places
        for place in _differences(before[dropped + head : end], after[head:last]):
            yield at, dropped + head + place, head + place, head + place + 1
            at = dropped + head + place + 1
    else:
        yield at, dropped + head, head, last
        at = end
    if at < len(before):
        yield at, len(before), last, last


def _count_dropped(before: Sequence[Any], first: Any) -> int:
    """Return how many items at the beginning are gone, as in a queue or a window of the newest."""
    return next((place for place, each in enumerate(before) if is_same(each, first)), 0)


def _count_same(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return how many items at the beginning of both are the same."""
    return next(_differences(one, other), min(len(one), len(other)))


def _differences(one: Sequence[Any], other: Sequence[Any]) -> Iterator[int]:
    """Yield the places at which the sequences differ; most items are the same objects."""
    for place in compress(count(), map(is_not, one, other)):
        if not is_same(one[place], other[place]):
            yield place


def is_same(one: Any, other: Any) -> bool:
    """Return whether both are written equally: 1, 1.0 and True are equal, but are not the same."""
    kind = type(one)
    if one is other or (kind is type(other) is tuple and len(one) == len(other) and all(map(is_, one, other))):
        return True
    if kind is not type(other) or one != other:
        return False
    return kind in _EXACT or _encode(one) == _encode(other)

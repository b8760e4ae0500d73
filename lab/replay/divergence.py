"""Where two recordings part: the first record in which they differ.

What is compared is what happened. The headers are compared for what makes runs differ, not for when and where
they were run; and keyframes, which only add up the records before them, are passed over. So is a line that cannot
be read, with the record in its place in the other: what it was is not known.
"""

from bisect import bisect_right
from collections.abc import Callable
from itertools import zip_longest

from msgspec import Struct

from lab.recording.reader import RecordStore
from lab.recording.record_fields import differing_fields, plain
from lab.recording.records import Header, encode

__all__ = ["Comparison", "Parting", "header_differences", "parting_of"]

_EVERY = 10_000


class Parting(Struct, frozen=True):
    """``same`` records are the same; then come these, by their numbers, or None where that recording ends."""

    same: int
    one: int | None
    other: int | None

    @property
    def parts(self) -> bool:
        """Whether there is any difference."""
        return self.one is not None or self.other is not None


class Comparison:
    """Two recordings, compared a piece at a time. Either may be one that still grows.

    ``same`` records are the same so far; ``parting`` is where they part, once that is known.
    """

    def __init__(self, one: RecordStore, other: RecordStore) -> None:
        self.one = one
        self.other = other
        self.same = 0
        self.parting: Parting | None = None
        self._passed_over = 0

    def go_on(self, most: int) -> bool:
        """Compare so many records; whether there is no more to compare at present."""
        for _ in range(most):
            here, there = self._next(self.one), self._next(self.other)
            if here is None or there is None:
                return True
            if self.one.raw(here) == self.other.raw(there):
                self.same += 1
            elif _is_damaged(self.one, here) | _is_damaged(self.other, there):
                self._passed_over += 1
            else:
                self.parting = Parting(self.same, here, there)
                return True
        return False

    def so_far(self) -> Parting:
        """Where they part; as long as that is not known, where the shorter one ends."""
        return self.parting or Parting(self.same, self._next(self.one), self._next(self.other))

    def beside(self, number: int) -> int | None:
        """The record of the other one that stands where this one's does; None behind where they part."""
        place = number - bisect_right(self.one.keyframes, number)
        return None if place > self.same + self._passed_over else _number_at(self.other, place)

    def _next(self, lines: RecordStore) -> int | None:
        number = _number_at(lines, self.same + self._passed_over + 1)
        return number if number < len(lines) else None


def parting_of(
    one: RecordStore, other: RecordStore, progress: Callable[[int], None] = lambda done: None
) -> Parting:
    """Where they part. ``progress`` is told the number of records done, now and then.

    Lines that were passed over, as they cannot be read, are in ``damage`` of ``one`` or ``other`` then.
    """
    comparison = Comparison(one, other)
    progress(0)
    while not comparison.go_on(_EVERY):
        progress(comparison.same)
    return comparison.so_far()


def _number_at(lines: RecordStore, place: int) -> int:
    """The number of the record at that place among those that say what happened, of which the header is at 0."""
    number = place
    while (ahead := place + bisect_right(lines.keyframes, number)) != number:
        number = ahead
    return number


def _is_damaged(lines: RecordStore, number: int) -> bool:
    lines.record(number)
    return number in lines.damage


def header_differences(one: Header, other: Header) -> list[tuple[str, str, str]]:
    """(what, in one, in the other), of the world, the protocol, the nodes, the timing, the links and the seed."""
    left, right = _lasting(one), _lasting(other)
    sources = one.protocol.source.splitlines(), other.protocol.source.splitlines()
    for number, (here, there) in enumerate(zip_longest(*sources, fillvalue=""), 1):
        if here != there:
            line = f"the protocol's source, first in line {number}"
            return [*differing_fields(left, right), (line, here.strip(), there.strip())]
    return differing_fields(left, right)


def _lasting(header: Header) -> dict[str, object]:
    told = plain(encode(header))
    protocol = told["protocol"]
    return {
        "world": told["world"],
        "protocol": protocol["name"],
        "parameters": protocol["parameters"],
        **{name: told[name] for name in ("nodes", "timing", "link", "seed")},
    }

"""Where two recordings part: the first record in which they differ.

What is compared is what happened. The headers are compared for what makes runs differ, not for when and where
they were run; and keyframes, which only add up the records before them, are passed over. So is a line that cannot
be read, with the record in its place in the other: what it was is not known.
"""

from collections.abc import Callable, Iterator
from itertools import zip_longest

from msgspec import Struct

from lab.journal.fields import differing_fields, plain
from lab.journal.reader import Lines
from lab.journal.records import Header, encode

__all__ = ["Parting", "header_differences", "parting_of"]

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


def parting_of(one: Lines, other: Lines, progress: Callable[[int], None] = lambda done: None) -> Parting:
    """Where they part. ``progress`` is told the number of records done, now and then.

    Lines that were passed over, as they cannot be read, are in ``damage`` of ``one`` or ``other`` then.
    """
    left, right = _happened(one), _happened(other)
    same = 0
    while True:
        if same % _EVERY == 0:
            progress(same)
        here, there = next(left, None), next(right, None)
        if here is None or there is None:
            return Parting(same, here, there)
        if one.raw(here) == other.raw(there):
            same += 1
        elif not (_is_damaged(one, here) | _is_damaged(other, there)):
            return Parting(same, here, there)


def _happened(lines: Lines) -> Iterator[int]:
    """The numbers of the records that say what happened."""
    keyframes = frozenset(lines.keyframes)
    return (number for number in range(1, len(lines)) if number not in keyframes)


def _is_damaged(lines: Lines, number: int) -> bool:
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

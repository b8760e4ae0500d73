"""Plain values: converting what changed in a tuple gives what converting all of it would, and copies the rest."""

from hypothesis import given
from hypothesis import strategies as some
from msgspec import Struct

from lab.kernel.plain import plain, plain_items


class Entry(Struct, frozen=True):
    """An item of a long value."""

    key: int
    parts: tuple[int, ...] = ()


entries = some.lists(some.builds(Entry, some.integers(0, 3), some.tuples(some.integers(0, 2))), max_size=6)


@given(entries, some.data())
def test_a_changed_tuple_is_converted_as_a_whole_one(before: list[Entry], data: some.DataObject) -> None:
    """Items are inserted, removed and replaced anywhere; some are equal, some the same object."""
    start = data.draw(some.integers(0, len(before)))
    end = data.draw(some.integers(start, len(before)))
    after = (*before[:start], *data.draw(entries), *before[end:])
    known = plain(tuple(before))
    assert plain_items("Owner", "field", after, tuple(before), known) == plain(after)


@given(entries, entries)
def test_what_both_have_is_not_converted_again(before: list[Entry], new: list[Entry]) -> None:
    """At the end of a queue: what leaves, and what joins it."""
    known = plain(tuple(before))
    found = plain_items("Owner", "field", (*before[1:], *new), tuple(before), known)
    assert all(mine is theirs for mine, theirs in zip(found, known[1:], strict=False))

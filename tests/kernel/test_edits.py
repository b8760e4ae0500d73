"""Edits of long lists: together with the list before it, an edit gives the list after it, and is short."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as some
from msgspec import Struct

from lab.kernel.edits import Edit, Piece, edit_between, edited
from lab.kernel.plain import plain


class Entry(Struct, frozen=True):
    """An item of a long value."""

    key: int | float | bool
    parts: tuple[int, ...] = ()


KEYS = some.sampled_from((0, 0.0, -0.0, False, 1, 1.0, True, 2))
ITEMS = some.one_of(some.builds(Entry, KEYS, some.tuples(some.integers(0, 2))), KEYS, some.tuples(KEYS))
LISTS = some.lists(ITEMS, max_size=20)
PIECES = some.builds(Piece, some.integers(), some.integers(), some.lists(some.integers(0, 3), max_size=3))


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)


@given(LISTS, some.data())
def test_an_edit_gives_the_later_list(before: list[Any], data: some.DataObject) -> None:
    """Items are inserted, removed and replaced anywhere; 1, 1.0 and True are not the same."""
    after = before
    for _ in range(data.draw(some.integers(1, 3))):
        start = data.draw(some.integers(0, len(after)))
        end = data.draw(some.integers(start, len(after)))
        after = [*after[:start], *data.draw(some.lists(ITEMS, max_size=3)), *after[end:]]
    edit = edit_between(tuple(before), tuple(after), plain)
    if edit is not None:
        read = msgspec.convert(msgspec.json.decode(_json(edit)), Edit)
        assert _json(edited(plain(tuple(before)), read)) == _json(after)


def test_an_edit_is_as_short_as_what_changed() -> None:
    """A queue, a window of the newest, a value replaced, values appended and removed."""
    before = tuple(range(100, 400))
    for after in (
        before[1:],
        (*before[3:], 1),
        (*before[:150], 1, *before[151:]),
        (*before[:150], *before[151:]),
        (1, *before),
        (*before, 1, 2),
        (*before[:10], 1, *before[11:200], 2, *before[201:]),
    ):
        edit = edit_between(before, after)
        assert edit is not None
        assert len(_json(edit)) < 60
        assert edited(list(before), edit) == list(after)


def test_a_list_that_is_short_or_mostly_new_is_written_whole() -> None:
    """An edit would be no shorter."""
    assert edit_between((1, 2, 3), (1, 2, 3, 4)) is None
    assert edit_between((), tuple(range(20))) is None
    assert edit_between(tuple(range(20)), tuple(range(20, 40))) is None


@given(some.one_of(some.lists(some.integers(), max_size=9), some.text()), some.lists(PIECES, max_size=5))
def test_a_foreign_edit_takes_no_item_over_twice(before: Any, pieces: list[Piece]) -> None:
    """So that a list is never longer than the lines that it was read from."""
    known = len(before) if isinstance(before, list) else 0
    assert len(edited(before, tuple(pieces))) <= known + sum(len(piece.new) for piece in pieces)

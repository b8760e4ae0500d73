"""Append-only logs: values like tuples that share their entries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.kernel import Log, as_lists


def _longer(log: Log[int], *more: int) -> Log[int]:
    return log + more


def test_appending_leaves_the_earlier_log_unchanged() -> None:
    first = _longer(Log(), 1)
    second = _longer(first, 2, 3)
    assert (list(first), list(second)) == ([1], [1, 2, 3])
    assert (len(Log()), len(first), len(second)) == (0, 1, 3)


def test_a_string_is_no_tuple_of_entries() -> None:
    """The comma was forgotten: its letters are not appended one by one."""
    log: Log[str] = Log()
    with pytest.raises(TypeError, match=r"takes a tuple of entries.*write \+= \('yes 3\.1',\), with the comma"):
        log += "yes 3.1"


def test_two_logs_that_extend_the_same_one_are_independent() -> None:
    both = Log((1, 2))
    left, right = _longer(both, 3), _longer(both, 4)
    assert (list(_longer(left, 5)), list(right), list(both)) == ([1, 2, 3, 5], [1, 2, 4], [1, 2])
    assert left != right


def test_logs_that_all_begin_empty_share_nothing() -> None:
    """The default value of a class is the first value of every node."""
    empty: Log[int] = Log()
    one, two = _longer(empty, 1), _longer(empty, 2)
    assert (list(one), list(two), list(empty)) == ([1], [2], [])


def test_after_returns_the_new_entries() -> None:
    """Empty after itself; None if the other log is longer or different."""
    before = Log((1, 2))
    log = _longer(before, 3)
    assert (log.after(before), log.after(log), log.after(Log((1, 2)))) == ((3,), (), (3,))
    assert (before.after(log), log.after(Log((2,))), _longer(before, 4).after(log)) == (None, None, None)


@given(st.lists(st.lists(st.integers(), max_size=3), max_size=8), st.data())
def test_a_log_equals_the_tuple_of_its_entries(parts: list[list[int]], data: st.DataObject) -> None:
    """For any sequence of appends to any earlier log."""
    logs: list[tuple[Log[int], tuple[int, ...]]] = [(Log(), ())]
    for part in parts:
        log, known = data.draw(st.sampled_from(logs))
        logs.append((log + part, (*known, *part)))
    for log, known in logs:
        assert log == Log(known)
        assert log == list(known)
        for other, before in logs:
            assert (log == other) == (known == before)
            new = known[len(before) :] if known[: len(before)] == before else None
            assert log.after(other) == new


@given(st.lists(st.integers(), max_size=5), st.integers(-6, 6), st.slices(5))
def test_entries_are_read_as_those_of_a_tuple(entries: list[int], place: int, some: slice) -> None:
    """Whatever was appended to the list that it shares."""
    log, known = Log(entries), tuple(entries)
    longer = _longer(log, 7, 8)
    assert longer[len(known) :] == (7, 8)
    assert log[some] == known[some]
    if -len(known) <= place < len(known):
        assert log[place] == known[place]
    else:
        with pytest.raises(IndexError, match=f"a log of {len(known)} entries has none at {place}"):
            log[place]


def test_a_log_is_not_hashable() -> None:
    """Comparison is by contents, which may be long."""
    with pytest.raises(TypeError, match="unhashable"):
        hash(Log((1,)))


def test_as_lists_converts_logs_only() -> None:
    other = {"x": [1]}
    assert as_lists({"log": Log((1, 2)), "other": other}) == {"log": [1, 2], "other": other}
    assert type(as_lists({"log": Log()})["log"]) is list

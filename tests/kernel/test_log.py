"""Logs that only grow: values like tuples, which share their entries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.kernel import Log, as_lists


def _longer(log: Log[int], *more: int) -> Log[int]:
    return log + more


def test_what_a_log_was_before_it_stays() -> None:
    """To append gives another log; the one before is as it was."""
    first = _longer(Log(), 1)
    second = _longer(first, 2, 3)
    assert (list(first), list(second)) == ([1], [1, 2, 3])
    assert (len(Log()), len(first), len(second)) == (0, 1, 3)


def test_two_that_append_to_the_same_part_company() -> None:
    """What the one writes is not in the other."""
    both = Log((1, 2))
    left, right = _longer(both, 3), _longer(both, 4)
    assert (list(_longer(left, 5)), list(right), list(both)) == ([1, 2, 3, 5], [1, 2, 4], [1, 2])
    assert left != right


def test_logs_that_all_begin_empty_share_nothing() -> None:
    """The value that a class declares is every node's first."""
    empty: Log[int] = Log()
    one, two = _longer(empty, 1), _longer(empty, 2)
    assert (list(one), list(two), list(empty)) == ([1], [2], [])


def test_what_is_new_behind_another() -> None:
    """Nothing behind itself; None where it does not begin with that, be it shorter, or another."""
    before = Log((1, 2))
    log = _longer(before, 3)
    assert (log.after(before), log.after(log), log.after(Log((1, 2)))) == ((3,), (), (3,))
    assert (before.after(log), log.after(Log((2,))), _longer(before, 4).after(log)) == (None, None, None)


@given(st.lists(st.lists(st.integers(), max_size=3), max_size=8), st.data())
def test_it_is_what_a_tuple_would_be(parts: list[list[int]], data: st.DataObject) -> None:
    """Whatever is appended to whatever came of it before."""
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


def test_a_log_is_no_key() -> None:
    """It is compared by what it holds, which may be much."""
    with pytest.raises(TypeError, match="unhashable"):
        hash(Log((1,)))


def test_as_json_has_it() -> None:
    """A list for each log; all else is the same."""
    other = {"x": [1]}
    assert as_lists({"log": Log((1, 2)), "other": other}) == {"log": [1, 2], "other": other}
    assert type(as_lists({"log": Log()})["log"]) is list

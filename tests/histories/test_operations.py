"""Histories: what clients can have done, and what is refused."""

from typing import Any

import pytest

from lab.histories.operations import ErrorReply, Event, History, HistoryBuilder, HistoryError
from lab.histories.values import format_value, freeze


def test_an_operation_has_both_events() -> None:
    builder = HistoryBuilder()
    builder.invoke("c1", "write", ["x", 3], 1_000)
    builder.invoke("c2", "read", ["x", None], 2_000)
    builder.complete("c2", "ok", ["x", 3], 3_000)
    builder.complete("c1", "fail", None, 4_000, ErrorReply(11, "busy"))
    write, read = builder.history().operations
    assert (write.index, write.completed_index, read.index, read.completed_index) == (0, 3, 1, 2)
    assert (write.invoked_at_us, write.completed_at_us, read.interval) == (1_000, 4_000, "2 ms to 3 ms")
    assert str(write) == "c1 write [x 3] failed (temporarily-unavailable: busy)"
    assert str(read) == "c2 read [x nil] → [x 3]"
    assert History.of_events(builder.history().events()) == builder.history()


def test_what_is_not_over_may_happen_for_ever() -> None:
    """One that was never completed, and one with an unknown outcome alike: it precedes nothing."""
    builder = HistoryBuilder()
    builder.invoke("c1", "write", 1)
    builder.invoke("c2", "write", 2)
    builder.complete("c2", "info", error=ErrorReply(0))
    builder.invoke("c3", "read")
    builder.complete("c3", "ok", 1)
    builder.invoke("c3", "read")
    one, two, three, four = builder.history().operations
    assert [one.outcome, two.outcome, four.outcome] == ["info"] * 3
    assert two.completed_index == 2
    assert two.returned_index is None
    assert not one.precedes(three)
    assert not two.precedes(three)
    assert three.precedes(four)
    assert two.interval == "from 0 ms on"
    assert str(two) == "c2 write 2 has no known outcome (timeout)"


def invoke(process: str, f: str = "read", at_us: int = 0, index: int | None = None) -> Event:
    return Event("invoke", process, f, None, at_us, index=index)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (
            [invoke("c1"), invoke("c1", "write")],
            "event 1: client c1 invokes write while it waits for read (event 0)",
        ),
        (
            [invoke("c1"), Event("info", "c1", "read"), invoke("c1")],
            "event 2: .* expected a client with a new name",
        ),
        ([Event("ok", "c1", "read")], "event 0: ok of client c1, which waits for nothing"),
        ([invoke("c1"), Event("ok", "c1", "write")], "event 1: client c1 completes write, and waits for read"),
        ([invoke("c1", index=4), invoke("c2", index=4)], "event 4 comes after event 4: expected events in order"),
    ],
)
def test_what_no_client_does_is_refused(events: list[Event], message: str) -> None:
    """The message names the event, and what was expected."""
    with pytest.raises(HistoryError, match=message.replace("(", r"\(").replace(")", r"\)")):
        History.of_events(events)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ([1, [2]], (1, (2,)), True),
        ([True], [1], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, [["a", 1]], False),
        ([], {}, False),
        (None, False, False),
        ("1", 1, False),
    ],
)
def test_values_are_compared_as_json(one: Any, other: Any, same: bool) -> None:
    assert (freeze(one) == freeze(other)) is same
    if same:
        assert hash(freeze(one)) == hash(freeze(other))


def test_values_as_text() -> None:
    assert format_value(["x", [1, None, True, {"a b": 2.5}]]) == '[x [1 nil true {"a b" 2.5}]]'
    assert format_value(freeze(["x", {"a": [False]}])) == "[x {a [false]}]"
    assert format_value({3, 1}) == "#{1 3}"


def test_times_are_for_show() -> None:
    """A clock that goes back changes no order; nothing took less than no time."""
    (called,) = History.of_events([invoke("c1", at_us=9), Event("ok", "c1", "read", None, 8)]).operations
    assert (called.invoked_at_us, called.completed_at_us) == (9, 9)

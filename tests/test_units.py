"""Parsing and formatting of durations and ranges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.units import CountText, format_ranges, format_us, parse_us


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("200ms", 200_000),
        ("1.5s", 1_500_000),
        ("2m", 120_000_000),
        ("2min", 120_000_000),
        ("7us", 7),
        ("7µs", 7),
        (" 3 s ", 3_000_000),
        ("0", 0),
        ("0.0", 0),
        ("0.0000004s", 0),
        ("1.0000004s", 1_000_000),
    ],
)
def test_durations_are_parsed(text: str, us: int) -> None:
    """A number and a unit; zero needs no unit."""
    assert parse_us(text) == us


@pytest.mark.parametrize(
    "text", ["", "5", "ms", "-5ms", "1,5s", "1.s", ".5s", "5 h", "5ms5", "1e3s", "inf s", "nan"]
)
def test_invalid_durations_are_refused(text: str) -> None:
    """The error describes the format."""
    with pytest.raises(ValueError, match="is not a duration: write a number and a unit, such as 200ms"):
        parse_us(text)


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0s"),
        (1, "1us"),
        (999, "999us"),
        (1_000, "1ms"),
        (1_500, "1.5ms"),
        (1_234_000, "1.234s"),
        (1_000_000, "1s"),
        (90_000_000, "90s"),
    ],
)
def test_durations_are_formatted_shortly(us: int, text: str) -> None:
    """In the largest unit that needs at most three decimals."""
    assert format_us(us) == text


@given(st.integers(0, 100_000 * 60_000_000))
def test_formatted_durations_can_be_parsed(us: int) -> None:
    """No microsecond is lost."""
    assert parse_us(format_us(us)) == us


@pytest.mark.parametrize(
    ("numbers", "output"),
    [
        ((), ""),
        ((3,), "3"),
        ((1, 2), "1 2"),
        ((1, 2, 3), "1-3"),
        (tuple(range(1, 101)), "1-100"),
        ((1, 2, 3, 4, 7, 9, 10), "1-4 7 9 10"),
    ],
)
def test_numbers_are_formatted_as_ranges(numbers: tuple[int, ...], output: str) -> None:
    """Three or more consecutive numbers become a range."""
    assert format_ranges(numbers) == output


def test_a_text_with_its_numbers() -> None:
    text = CountText(3, 7000, "record", "read")
    assert text == "3 of 7,000 records read"
    assert (text.done, text.total, text.noun, text.what) == (3, 7000, "record", "read")

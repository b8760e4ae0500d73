"""Durations: what people write, and what is shown to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.units import format_us, listed, parse_us


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
def test_durations_are_read(text: str, us: int) -> None:
    """A number and a unit; zero needs none."""
    assert parse_us(text) == us


@pytest.mark.parametrize(
    "text", ["", "5", "ms", "-5ms", "1,5s", "1.s", ".5s", "5 h", "5ms5", "1e3s", "inf s", "nan"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    """The text says what one looks like."""
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
def test_durations_are_shown_shortly(us: int, text: str) -> None:
    """In the largest unit that takes three decimals at most."""
    assert format_us(us) == text


@given(st.integers(0, 100_000 * 60_000_000))
def test_what_is_shown_can_be_read_back(us: int) -> None:
    """No microsecond is lost."""
    assert parse_us(format_us(us)) == us


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((), ""),
        ((3,), "3"),
        ((1, 2), "1 2"),
        ((1, 2, 3), "1-3"),
        (tuple(range(1, 101)), "1-100"),
        ((1, 2, 3, 4, 7, 9, 10), "1-4 7 9 10"),
    ],
)
def test_numbers_are_listed(numbers: tuple[int, ...], said: str) -> None:
    """Three and more in a row by the first and the last of them."""
    assert listed(numbers) == said

"""Quantities as users write and read them: durations, counts and ranges of ids.

Durations such as ``200ms`` and ``1.5s`` are integers in microseconds inside the program.
"""

import re
from collections.abc import Iterable, Sequence

__all__ = ["CountText", "first_duplicate", "format_count", "format_ranges", "format_us", "parse_us"]

_UNITS = {"us": 1, "µs": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "min": 60_000_000}
_LONGEST_US = 100_000 * _UNITS["m"]
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(us|µs|ms|s|min|m)?\s*")


def parse_us(text: str) -> int:
    """Return the microseconds of a duration: ``"1.5s"`` → 1500000. Raises ValueError."""
    match = _DURATION.fullmatch(text)
    if match is None or (match[2] is None and float(match[1]) != 0):
        raise ValueError(f"{text!r} is not a duration: write a number and a unit, such as 200ms, 1.5s or 2m")
    us = float(match[1]) * _UNITS[match[2] or "us"]
    if us > _LONGEST_US:
        raise ValueError(f"{text[:30]!r} is longer than any run: at most 100000m")
    return round(us)


def format_us(us: int) -> str:
    """Return a duration as text: 1500000 → ``"1.5s"``; the shortest form that ``parse_us`` reads back."""
    for unit, factor in (("s", 1_000_000), ("ms", 1_000)):
        if us >= factor:
            whole, rest = divmod(us * 1000 // factor, 1000)  # no float: a recording may contain any number
            return f"{whole}.{rest:03}".rstrip("0").rstrip(".") + unit if us * 1000 % factor == 0 else f"{us}us"
    return f"{us}us" if us else "0s"


def format_rounded(us: int) -> str:
    """Return a duration as one reads it: 1540000 → ``"1.5 s"``, 6300 → ``"6 ms"``."""
    return f"{us / 1_000_000:.1f} s" if us >= 1_000_000 else f"{round(us / 1000)} ms"


def format_count(number: int, noun: str) -> str:
    """Return a count with its noun: (1, ``"link"``) → ``"1 link"``, (2000, ``"link"``) → ``"2,000 links"``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


class CountText(str):
    """A text with the numbers in it: (3, 70, ``"record"``, ``"read"``) → ``"3 of 70 records read"``."""

    def __new__(cls, done: int, total: int, noun: str, what: str) -> "CountText":
        return super().__new__(cls, f"{done:,} of {format_count(total, noun)} {what}")

    def __init__(self, done: int, total: int, noun: str, what: str) -> None:
        self.done, self.total, self.noun, self.what = done, total, noun, what


def first_duplicate(numbers: Iterable[int]) -> int | None:
    """Return the first number that was among those before it."""
    known = set[int]()
    for number in numbers:
        if number in known:
            return number
        known.add(number)
    return None


def format_ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as ranges: (1, 2, 3, 4, 7, 9, 10) → ``"1-4 7 9 10"``."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return " ".join(f"{span[0]}-{span[-1]}" if len(span) > 2 else " ".join(map(str, span)) for span in spans)

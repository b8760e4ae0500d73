"""What each student gets of their own: values drawn for them, which the texts of an exercise follow.

An exercise lists the values that a name may have, and uses the name in braces: ``kill {victim}``. Which value a
student gets follows from the student's name and a nonce of the course, which only the teacher has. So nothing has
to be stored, grading draws the same, and no student can find out what another one gets. At home there is no nonce.

Without a student each name has its first value.
"""

import hmac
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lab.exercises.handout import drawn_together, fill
from lab.text import sanitize

DrawnValues = str | tuple[str | tuple[str, ...], ...]
"""A range of numbers, ``1-9999``, or the values to draw from; a value has a text for each name."""

DrawTable = Mapping[str, DrawnValues]
"""What is drawn for one name, or for several that are drawn together."""

_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def first_values(table: DrawTable) -> dict[str, str]:
    """Return the first value of each name: what the exercise is without a student."""
    return dict(itertools.chain.from_iterable(_pairs(names, 0, table[names]) for names in table))


def draw(table: DrawTable, exercise: str, student: str, nonce: bytes) -> dict[str, str]:
    """Return the values that this student gets in this exercise."""
    drawn: dict[str, str] = {}
    for names, values in table.items():
        text = "\0".join((exercise, names, student))
        number = int.from_bytes(hmac.digest(nonce or b"\0", text.encode("utf-8", "replace"), "sha256"))
        drawn |= _pairs(names, number % _count(values), values)
    return drawn


def draw_seed(exercise: str, student: str, nonce: bytes) -> int:
    """Return the seed of the runs that grade what this student wrote for this exercise."""
    text = "\0".join((exercise, "", student))
    return int.from_bytes(hmac.digest(nonce or b"\0", text.encode("utf-8", "replace"), "sha256")[:6])


def is_possible(table: DrawTable, drawn: Mapping[str, str]) -> bool:
    """Return whether some student could get these values."""
    return drawn.keys() == first_values(table).keys() and all(
        _has(values, tuple(drawn[name] for name in names.split())) for names, values in table.items()
    )


def describe_draw(drawn: Mapping[str, str]) -> str:
    """Format the values: ``leader 5, heir 4``."""
    return sanitize(", ".join(f"{name} {value}" for name, value in drawn.items()), 200)


def mistakes_in_draws(table: DrawTable) -> Iterator[str]:
    """Yield what is wrong with the table, for the author."""
    for names, values in table.items():
        if not all(map(_NAME.fullmatch, names.split())) or not names.strip():
            yield f'draw: {sanitize(names, 40)!r} is not a name: write victim = […], or "leader heir" = […]'
        elif isinstance(values, str):
            found = _RANGE.fullmatch(values)
            if found is None or int(found[1]) >= int(found[2]):
                yield f"draw: {names} = {sanitize(values, 40)!r} is not a range of numbers: 1-9999"
        elif len(values) < 2 or any(len(drawn_together(value)) != len(names.split()) for value in values):
            yield f"draw: {names} needs at least two values to draw from, each with a text for each name"
    every = [name for names in table for name in names.split()]
    for name in sorted({name for name in every if every.count(name) > 1}):
        yield f"draw: {name} is drawn twice"


def fill_all(value: Any, drawn: Mapping[str, str]) -> Any:
    """Put the values in place of the names in all texts of a decoded file, in keys of tables too."""
    match value:
        case str():
            return fill(value, drawn)
        case list():
            return [fill_all(each, drawn) for each in value]
        case dict():
            return {fill(name, drawn): fill_all(each, drawn) for name, each in value.items()}
    return value


def _pairs(names: str, number: int, values: DrawnValues) -> Iterator[tuple[str, str]]:
    if isinstance(values, str):
        yield names, str(int(values.partition("-")[0]) + number)
    else:
        yield from zip(names.split(), drawn_together(values[number]), strict=True)


def _count(values: DrawnValues) -> int:
    if not isinstance(values, str):
        return len(values)
    least, _, most = values.partition("-")
    return int(most) - int(least) + 1


def _has(values: DrawnValues, drawn: tuple[str, ...]) -> bool:
    if not isinstance(values, str):
        return any(tuple(drawn_together(value)) == drawn for value in values)
    least, _, most = values.partition("-")
    (number,) = drawn
    return number.isdecimal() and number.isascii() and int(least) <= int(number) <= int(most)

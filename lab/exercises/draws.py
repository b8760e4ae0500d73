"""What each student gets of their own: values drawn for them, which the texts of an exercise follow.

An exercise lists the values that a name may have, and uses the name in braces: ``kill {victim}``. Which value a
student gets follows from the student's name and a nonce of the course, which only the teacher has. So nothing has
to be stored, grading draws the same, and no student can find out what another one gets. At home there is no nonce.

Some answers follow from what was drawn, but are not drawn themselves: the outcome of a crash that each student has
at another point. Such a task has a ``case`` for each value of the name that it differs ``by``: the question, its
answer, the key and the explanation. So the table of what is drawn contains no answer.

Without a student each name has its first value.
"""

import hmac
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lab.exercises.handout import drawn_together, fill, in_case
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


def mistakes_in_cases(task: Mapping[str, Any], table: DrawTable) -> Iterator[str]:
    """Yield what is wrong with the cases of an undecoded task: each value that may be drawn needs one."""
    if ("by" in task) != ("case" in task):
        yield 'by = "NAME" and [task.case.VALUE] belong together: the task differs by what is drawn for NAME'
    elif "case" in task:
        drawn, cases = _values_of(task["by"], table), task["case"]
        if not drawn:
            yield f"by = {sanitize(repr(task['by']), 40)}: expected a name that is drawn from a list of values"
        elif not isinstance(cases, dict) or not all(isinstance(each, dict) for each in cases.values()):
            yield "case: expected a table for each value: [task.case.VALUE]"
        elif drawn != cases.keys():
            yield f"case: expected one for each of {', '.join(sorted(drawn))}; got {', '.join(sorted(cases))}"


def as_drawn(task: Any, drawn: Mapping[str, str]) -> Any:
    """Return an undecoded task in the case of these values; there must be no mistake in its cases."""
    return in_case(task, drawn[task["by"]]) if isinstance(task, dict) and "case" in task else task


def _values_of(wanted: object, table: DrawTable) -> set[str]:
    """Return the values listed for one name; none if it is not drawn, or from a range."""
    for names, values in table.items():
        if wanted in names.split() and not isinstance(values, str):
            return {drawn_together(value)[names.split().index(str(wanted))] for value in values}
    return set()


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

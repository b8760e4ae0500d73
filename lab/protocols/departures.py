"""Departures of a protocol from the text that it is taken from, as data: readings and repairs.

* A **reading** is one of several ways to understand the text. It is a parameter; its values are the ways.
* A **repair** is a class that overrides a few methods of the listing. It can be left out: ``without=NAME``; with
  ``without=all`` the text runs alone. It closes a *gap* if an assertion fails without it in every reading, while
  all assumptions hold; if there is a reading in which none fails without it, it is needed in *one reading* of
  those that can be chosen; it goes *beyond the promise* if an assumption has to be broken first.

Each says on which words it rests.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, TypeVar

from msgspec import Struct

__all__ = [
    "CHOW_JOHNSON",
    "LECTURE_NOTES",
    "NOTES_1982",
    "TANENBAUM",
    "Quotation",
    "Reading",
    "Repair",
    "Text",
    "Value",
    "recording_of",
    "repair",
    "variation",
]


class Text(Struct, frozen=True):
    """A source text."""

    author: str
    year: int | None
    title: str

    def __str__(self) -> str:
        return self.author if self.year is None else f"{self.author} {self.year}"


CHOW_JOHNSON = Text("Chow & Johnson", 1997, "Distributed Operating Systems and Algorithms, section 10.2")
LECTURE_NOTES = Text("lecture notes", None, "Coordinator election, two-phase and three-phase commit")
NOTES_1982 = Text("notes on Garcia-Molina", 1982, "lecture notes on: Elections in a Distributed Computing System")
TANENBAUM = Text("Tanenbaum", 1995, "Distributed Operating Systems, section 3.3")


class Quotation(Struct, frozen=True):
    """The words of a text, at a place in it: a listing, a step, a page."""

    text: Text
    place: str
    words: str

    def __str__(self) -> str:
        return f"{self.text}, {self.place}: “{self.words}”"


class Value(Struct, frozen=True):
    """A way to read a text: the ``name`` as a value of the parameter, what it ``means``, and what follows.

    ``found`` says what holds or fails under it, ``recording`` shows a failure, if there is one: the name of a file
    in recordings/holes.
    """

    name: str
    means: str
    found: str
    recording: str = ""


class Reading(Struct, frozen=True):
    """A place of the text that can be read in several ways. The first of the ``values`` is the default."""

    parameter: str
    question: str
    rests_on: tuple[Quotation, ...]
    values: tuple[Value, ...]


class Repair(Struct, frozen=True):
    """An addition to the text: what happens ``without`` it, and which assertion then fails, if any.

    ``recordings`` show that: names of files in recordings/holes. ``rests_on`` are the words that leave the gap
    or, in another text, close it.
    """

    name: str
    kind: Literal["gap", "one reading", "beyond the promise"]
    does: str
    without: str
    fails: str
    recordings: tuple[str, ...]
    rests_on: tuple[Quotation, ...]

    def applies(self, parameters: Any) -> bool:
        """Return whether it is not left out."""
        return not {self.name, _ALL} & {*parameters.without}


def recording_of(name: str) -> str:
    """Return the file that shows a failure, in the project's folder."""
    return f"recordings/holes/{name}.jsonl"


K = TypeVar("K", bound=type)
_ALL = "all"
"""The name of all repairs: without them the text runs alone."""


def repair(declared: Repair) -> Callable[[K], K]:
    """Make the class a repair: its methods do what those below them do, if it is left out by its name."""

    def decorate(klass: K) -> K:
        klass.repair = declared  # type: ignore[attr-defined]
        return _optional(klass, declared.applies)

    return decorate


def variation(parameter: str) -> Callable[[K], K]:
    """Make the class a variation that the text suggests: its methods apply if this parameter is true."""
    return lambda klass: _optional(klass, lambda parameters: bool(getattr(parameters, parameter)))


def _optional(klass: K, applies: Callable[[Any], bool]) -> K:
    for name, method in list(vars(klass).items()):
        if callable(method) and _is_overridden(klass, name):
            setattr(klass, name, _either(klass, name, method, applies))
    return klass


def _is_overridden(klass: type, name: str) -> bool:
    return any(name in vars(base) for base in klass.__mro__[1:]) and not name.startswith("__")


def _either(
    klass: type, name: str, method: Callable[..., Any], applies: Callable[[Any], bool]
) -> Callable[..., Any]:
    @wraps(method)
    def either(self: Any, *arguments: Any) -> Any:
        if applies(self.parameters):
            return method(self, *arguments)
        return getattr(super(klass, self), name)(*arguments)

    either.applies = applies  # type: ignore[attr-defined]
    return either

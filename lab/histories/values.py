"""The values in a history: made hashable, to be compared and counted; and as short text.

A client may write and read any JSON or EDN value. Two of them are the same if JSON calls them so: ``1`` and
``1.0`` are, ``1`` and ``true`` are not, though Python thinks otherwise.
"""

import json
import re
from collections.abc import Hashable, Mapping, Sequence, Set
from typing import Any

from msgspec import Struct

_MOST = 8
"""The number of values that are written out."""
_BARE = re.compile(r"[A-Za-z_][\w.-]*")


class _Boolean(Struct, frozen=True):
    """True or false, which Python takes for 1 and 0."""

    value: bool


class _Object(Struct, frozen=True):
    """The members of an object, in no order."""

    members: frozenset[tuple[Hashable, Hashable]]


_SIMPLE = frozenset((int, str, float, type(None)))
_BOOLEANS = (_Boolean(False), _Boolean(True))


def freeze(value: Any) -> Hashable:
    """Return a hashable value, equal to that of another value exactly if JSON calls the two the same."""
    kind = type(value)
    frozen: Hashable = value
    if kind in _SIMPLE:
        pass
    elif kind is list or kind is tuple:
        frozen = tuple(map(freeze, value))
    elif kind is bool:
        frozen = _BOOLEANS[value]
    elif isinstance(value, Mapping):
        frozen = _Object(frozenset((freeze(key), freeze(member)) for key, member in value.items()))
    elif isinstance(value, Set):
        frozen = frozenset(map(freeze, value))
    return frozen


def format_value(value: Any) -> str:
    """Return a value as short text: ``["x", [1, null]]`` → ``[x [1 nil]]``."""
    match value:
        case bool():
            text = "true" if value else "false"
        case int() | float():
            text = str(value)
        case str():
            text = value if _BARE.fullmatch(value) else json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            text = "[" + " ".join(map(format_value, value)) + "]"
        case None:
            text = "nil"
        case _Boolean():
            text = format_value(value.value)
        case Mapping() | _Object():
            members = value.members if isinstance(value, _Object) else value.items()
            text = "{" + ", ".join(f"{format_value(key)} {format_value(member)}" for key, member in members) + "}"
        case Set():
            text = "#{" + " ".join(sorted(map(format_value, value))) + "}"
        case _:
            text = str(value)
    return text


def format_values(values: Sequence[Any]) -> str:
    """Return the first values, and how many more there are: ``3, 5, 8 and 2 more``."""
    named = ", ".join(map(format_value, values[:_MOST]))
    return named if len(values) <= _MOST else f"{named} and {len(values) - _MOST:,} more"

"""The types of values in predicates, to refuse comparisons that are always true or always false."""

from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from msgspec import Struct


class ValueType(Struct, frozen=True):
    """A type of values: its name, the ``words`` that are its values, if any, and whether it includes ``none``."""

    name: str
    words: tuple[str, ...] = ()
    none: bool = False

    @property
    def is_computable(self) -> bool:
        """True if its values can be ordered and computed with."""
        return self.name in _COMPUTABLE

    def overlaps(self, other: "ValueType") -> bool:
        """Return whether values of the two types may be equal."""
        names = {self.name, other.name}
        return len(names) == 1 or ANYTHING in (self, other) or names in _MAY_BE_EQUAL


ANYTHING = ValueType("anything")
NUMBER = ValueType("a number")
AMOUNT = ValueType("an amount", none=True)
CENTS = ValueType("an amount of dollars and cents")
LIST = ValueType("a list")
WORD = ValueType("a word")
YES_OR_NO = ValueType("true or false", ("true", "false"))

_MAY_BE_EQUAL = [{AMOUNT.name, NUMBER.name}, {AMOUNT.name, CENTS.name}, {LIST.name, NUMBER.name}]
"""Different types whose values may be equal; a list compares by its length."""
_COMPUTABLE = {each.name for each in (ANYTHING, NUMBER, AMOUNT, CENTS, LIST)}


def type_of(declared: Any) -> ValueType:
    """Return the type of a field or a term by its annotation; ``ANYTHING`` if that is not a simple one."""
    none = False
    if get_origin(declared) in (Union, UnionType):
        parts = [part for part in get_args(declared) if part is not NoneType]
        none = len(parts) < len(get_args(declared))
        if len(parts) > 1:
            return ANYTHING
        declared = parts[0]
    if get_origin(declared) is tuple:
        return LIST
    words = _declared_words(declared)
    if words:
        return ValueType(WORD.name, words, none)
    plain = {int: NUMBER, bool: YES_OR_NO, Decimal: AMOUNT}.get(declared)
    return ANYTHING if plain is None else ValueType(plain.name, plain.words, none)


def _declared_words(declared: Any) -> tuple[str, ...]:
    if get_origin(declared) is Literal:
        values = get_args(declared)
    elif isinstance(declared, type) and issubclass(declared, Enum):
        values = tuple(each.value for each in declared)
    else:
        return ()
    return values if all(isinstance(each, str) for each in values) else ()

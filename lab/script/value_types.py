"""Type-check comparisons, to refuse those that are always true or always false."""

from collections.abc import Sequence
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from msgspec import Struct

from lab.kernel import Protocol
from lab.protocols.transaction import State
from lab.recording.snapshot import ProcessState
from lab.script.bank_terms import keeps_accounts
from lab.script.commands import CommandError
from lab.script.predicates import Arithmetic, Attribute, Balance, Compare, Count, Number, Text, Value
from lab.text import did_you_mean


class _ValueType(Struct, frozen=True):
    """A type of values: its name, the ``words`` that are its values, if any, and whether it includes ``none``."""

    name: str
    words: tuple[str, ...] = ()
    none: bool = False


_ANYTHING = _ValueType("anything")
_NUMBER = _ValueType("a number")
_AMOUNT = _ValueType("an amount", none=True)
_CENTS = _ValueType("an amount of dollars and cents")
_LIST = _ValueType("a list")
_YES_OR_NO = _ValueType("true or false", ("true", "false"))
_ATTRIBUTE_TYPES = {
    "coordinator": _ValueType("a number", none=True),
    "group": _ValueType("a group", none=True),
    "version": _NUMBER,
    "leads": _YES_OR_NO,
    "process": _ValueType("a process", get_args(ProcessState)),
}
"""The attributes of every node, except its status."""
_BANK_TYPES = {
    "state": _ValueType("a state", tuple(each.value for each in State), none=True),
    "cash_out": _AMOUNT,
    "blocked": _YES_OR_NO,
}
"""The attributes of every node of a bank."""
_MAY_BE_EQUAL = [
    {each.name for each in pair} for pair in ((_NUMBER, _AMOUNT), (_AMOUNT, _CENTS), (_NUMBER, _LIST))
]
"""Different types whose values may be equal; a list compares by its length."""
_COMPUTABLE = [each.name for each in (_ANYTHING, _NUMBER, _AMOUNT, _CENTS, _LIST)]
_WORDS = ("none", "true", "false")
_DOWN = "Down"


def check_compare(compare: Compare, protocol: type[Protocol], ids: Sequence[int]) -> None:
    """Raise CommandError if the two sides can never be equal, or cannot be ordered by this operator."""
    left, right = (_type_of(side, protocol) for side in (compare.left, compare.right))
    for side, other, type_ in ((compare.left, compare.right, right), (compare.right, compare.left, left)):
        if isinstance(side, Text):
            _check_word(side.word, other, type_)
        if isinstance(side, Number) and isinstance(other, Attribute) and other.name == "coordinator":
            _check_node(side.value, compare.operator, ids)
    if isinstance(compare.left, Text | Number) and isinstance(compare.right, Text | Number):
        raise CommandError("both sides are constant; name an attribute or a count: 4.coordinator == 5")
    texts = Text in (type(compare.left), type(compare.right))
    same = left.name == right.name or {left.name, right.name} in _MAY_BE_EQUAL
    if not texts and not same and _ANYTHING not in (left, right):
        sides = f"{_describe(compare.left)} is {left.name}, and {_describe(compare.right)} is {right.name}"
        raise CommandError(f"{sides}, so they are never equal")
    if compare.operator not in ("==", "!="):
        for type_ in (left, right):
            if type_.name not in _COMPUTABLE or left.name == right.name == _LIST.name:
                raise CommandError(f"{type_.name} cannot be ordered: write == or !=, not {compare.operator}")


def check_arithmetic(value: Arithmetic, protocol: type[Protocol]) -> None:
    """Raise CommandError if an operand is not a number, or the divisor is 0."""
    for side in (value.left, value.right):
        if _type_of(side, protocol).name not in _COMPUTABLE:
            raise CommandError(f"{_describe(side)} is not a number, so it cannot be used in arithmetic")
    if value.operator == "/" and value.right == Number(0):
        raise CommandError("division by 0")


def _check_word(word: str, other: Value, type_: _ValueType) -> None:
    constant = word.lower() if word.lower() in _WORDS else ""
    known = (*type_.words, *(("none",) if type_.none else ()))
    if word in known or (type_ is _ANYTHING and (word == constant or not constant)):
        return
    near = f"; did you mean {constant}?" if type_ is _ANYTHING or constant in known else did_you_mean(word, known)
    parts = ([type_.name] if not type_.words and type_ is not _ANYTHING else []) + list(known)
    types = f"; expected {', '.join(parts)}" if parts else ""
    raise CommandError(f"{_describe(other)} is never {word}{types}{near}")


def _check_node(number: int | Decimal, operator: str, ids: Sequence[int]) -> None:
    if operator in ("==", "!=") and number not in ids:
        raise CommandError(f"there is no node {number}; the nodes are {' '.join(map(str, sorted(ids)))}")


def _describe(value: Value) -> str:
    match value:
        case Attribute(_, name):
            return name
        case Number(number):
            return str(number)
        case Text(word):
            return word
        case Balance():
            return "balance"
        case Count():
            return value.what
        case Arithmetic():
            return f"the result of {value.operator}"


def _type_of(value: Value, protocol: type[Protocol]) -> _ValueType:
    match value:
        case Text():
            return _ValueType("a word")
        case Attribute(_, name):
            return _attribute_type(name, protocol)
        case Number(Decimal()):
            return _CENTS
        case Balance() | Count("money"):
            return _AMOUNT
        case Arithmetic(_, left, right) if _AMOUNT in (_type_of(left, protocol), _type_of(right, protocol)):
            return _AMOUNT
    return _NUMBER


def _attribute_type(name: str, protocol: type[Protocol]) -> _ValueType:
    fields = {field.name: field.type for field in protocol.fields}
    known = _ATTRIBUTE_TYPES.get(name) or (_BANK_TYPES.get(name) if keeps_accounts(fields) else None)
    found = known or _declared_type(fields.get(name, Any))
    if name != "status" or not found.words:
        return found
    return found if _DOWN in found.words else _ValueType(found.name, (*found.words, _DOWN))


def _declared_type(declared: Any) -> _ValueType:
    """Return the type of a field by its annotation; ``anything`` if that is not a simple one."""
    none = False
    if get_origin(declared) in (Union, UnionType):
        parts = [part for part in get_args(declared) if part is not NoneType]
        none = len(parts) < len(get_args(declared))
        if len(parts) > 1:
            return _ANYTHING
        declared = parts[0]
    if get_origin(declared) is tuple:
        return _LIST
    words = _declared_words(declared)
    if words:
        return _ValueType("a word", words, none)
    plain = {int: "a number", bool: "true or false"}.get(declared)
    if plain is None:
        return _ANYTHING
    return _ValueType(plain, _YES_OR_NO.words if declared is bool else (), none)


def _declared_words(declared: Any) -> tuple[str, ...]:
    if get_origin(declared) is Literal:
        values = get_args(declared)
    elif isinstance(declared, type) and issubclass(declared, Enum):
        values = tuple(each.value for each in declared)
    else:
        return ()
    return values if all(isinstance(each, str) for each in values) else ()

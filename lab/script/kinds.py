"""What kind of value is on a side of a comparison, so that one which can only come out one way is refused."""

from collections.abc import Sequence
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from msgspec import Struct

from lab.kernel import Protocol
from lab.protocols.transaction import State
from lab.recording.snapshot import ProcessState
from lab.script.banking import is_bank
from lab.script.commands import CommandError
from lab.script.predicates import Arithmetic, Attribute, Balance, Compare, Count, Number, Text, Value
from lab.text import did_you_mean

__all__ = ["check_arithmetic", "check_compare"]


class _Kind(Struct, frozen=True):
    """``words``: those that it may be; ``none``: whether it may be none, too."""

    name: str
    words: tuple[str, ...] = ()
    none: bool = False


_ANYTHING = _Kind("anything")
_NUMBER = _Kind("a number")
_AMOUNT = _Kind("an amount", none=True)
_CENTS = _Kind("an amount of dollars and cents")
_LIST = _Kind("a list")
_YES_OR_NO = _Kind("true or false", ("true", "false"))
_KINDS = {
    "coordinator": _Kind("a number", none=True),
    "group": _Kind("a group", none=True),
    "version": _NUMBER,
    "leads": _YES_OR_NO,
    "process": _Kind("a process", get_args(ProcessState)),
}
"""Of what every node has, beside its status."""
_KINDS_IN_BANK = {
    "state": _Kind("a state", tuple(each.value for each in State), none=True),
    "dispensed": _AMOUNT,
    "blocked": _YES_OR_NO,
}
"""Of what every node of a bank has."""
_MAY_BE_EQUAL = [
    {each.name for each in pair} for pair in ((_NUMBER, _AMOUNT), (_AMOUNT, _CENTS), (_NUMBER, _LIST))
]
"""Kinds that are not the same, and yet may be equal: a list is as much as there is in it."""
_COMPUTABLE = [each.name for each in (_ANYTHING, _NUMBER, _AMOUNT, _CENTS, _LIST)]
_WORDS = ("none", "true", "false")
_DOWN = "Down"


def check_compare(compare: Compare, protocol: type[Protocol], ids: Sequence[int]) -> None:
    """CommandError where the two sides can never be equal, or only one of them be less than the other."""
    left, right = (_kind_of(side, protocol) for side in (compare.left, compare.right))
    for side, other, kind in ((compare.left, compare.right, right), (compare.right, compare.left, left)):
        if isinstance(side, Text):
            _check_word(side.word, other, kind)
        if isinstance(side, Number) and isinstance(other, Attribute) and other.name == "coordinator":
            _check_node(side.value, compare.operator, ids)
    if isinstance(compare.left, Text | Number) and isinstance(compare.right, Text | Number):
        raise CommandError("neither side ever changes; name an attribute or a count: 4.coordinator == 5")
    texts = Text in (type(compare.left), type(compare.right))
    same = left.name == right.name or {left.name, right.name} in _MAY_BE_EQUAL
    if not texts and not same and _ANYTHING not in (left, right):
        sides = f"{_said(compare.left)} is {left.name}, and {_said(compare.right)} is {right.name}"
        raise CommandError(f"{sides}: they are never equal")
    if compare.operator not in ("==", "!="):
        for kind in (left, right):
            if kind.name not in _COMPUTABLE or left.name == right.name == _LIST.name:
                raise CommandError(f"{kind.name} is neither less nor more: write == or !=, not {compare.operator}")


def check_arithmetic(value: Arithmetic, protocol: type[Protocol]) -> None:
    """CommandError where it is computed with what is no number, or divided by 0."""
    for side in (value.left, value.right):
        if _kind_of(side, protocol).name not in _COMPUTABLE:
            raise CommandError(f"{_said(side)} is no number, and cannot be computed with")
    if value.operator == "/" and value.right == Number(0):
        raise CommandError("nothing can be divided by 0")


def _check_word(word: str, other: Value, kind: _Kind) -> None:
    meant = word.lower() if word.lower() in _WORDS else ""
    known = (*kind.words, *(("none",) if kind.none else ()))
    if word in known or (kind is _ANYTHING and (word == meant or not meant)):
        return
    near = f"; did you mean {meant}?" if kind is _ANYTHING or meant in known else did_you_mean(word, known)
    parts = ([kind.name] if not kind.words and kind is not _ANYTHING else []) + list(known)
    said = f"; it is {', '.join(parts)}" if parts else ""
    raise CommandError(f"{_said(other)} is never {word}{said}{near}")


def _check_node(number: int | Decimal, operator: str, ids: Sequence[int]) -> None:
    if operator in ("==", "!=") and number not in ids:
        raise CommandError(f"there is no node {number}; there are {' '.join(map(str, sorted(ids)))}")


def _said(value: Value) -> str:
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
            return f"what is computed with {value.operator}"


def _kind_of(value: Value, protocol: type[Protocol]) -> _Kind:
    match value:
        case Text():
            return _Kind("a word")
        case Attribute(_, name):
            return _kind_of_attribute(name, protocol)
        case Number(Decimal()):
            return _CENTS
        case Balance() | Count("money"):
            return _AMOUNT
        case Arithmetic(_, left, right) if _AMOUNT in (_kind_of(left, protocol), _kind_of(right, protocol)):
            return _AMOUNT
    return _NUMBER


def _kind_of_attribute(name: str, protocol: type[Protocol]) -> _Kind:
    fields = {field.name: field.type for field in protocol.fields}
    known = _KINDS.get(name) or (_KINDS_IN_BANK.get(name) if is_bank(fields) else None)
    found = known or _kind_declared(fields.get(name, Any))
    if name != "status" or not found.words:
        return found
    return found if _DOWN in found.words else _Kind(found.name, (*found.words, _DOWN))


def _kind_declared(declared: Any) -> _Kind:
    """The kind of a field by its type, where that is plain; else it may be anything."""
    none = False
    if get_origin(declared) in (Union, UnionType):
        parts = [part for part in get_args(declared) if part is not NoneType]
        none = len(parts) < len(get_args(declared))
        if len(parts) > 1:
            return _ANYTHING
        declared = parts[0]
    if get_origin(declared) is tuple:
        return _LIST
    words = _words_declared(declared)
    if words:
        return _Kind("a word", words, none)
    plain = {int: "a number", bool: "true or false"}.get(declared)
    if plain is None:
        return _ANYTHING
    return _Kind(plain, _YES_OR_NO.words if declared is bool else (), none)


def _words_declared(declared: Any) -> tuple[str, ...]:
    if get_origin(declared) is Literal:
        values = get_args(declared)
    elif isinstance(declared, type) and issubclass(declared, Enum):
        values = tuple(each.value for each in declared)
    else:
        return ()
    return values if all(isinstance(each, str) for each in values) else ()

"""The value of a parameter, as it is written behind ``--set NAME=``."""

from typing import Any

import msgspec
from msgspec import inspect

from lab.cli.errors import UsageError

__all__ = ["value_of"]

_WORDS: dict[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.NoneType: "null",
}


def value_of(setting: str, text: str, kind: Any) -> Any:
    """The value that ``text`` has as this type; UsageError, which says what may be written."""
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        may_be = _written(inspect.type_info(kind))
        raise UsageError(f"--set {setting}: {f'write {may_be}' if may_be else error}") from None


def _written(kind: inspect.Type) -> str:
    """What may be written for a value of this type; empty where there is no word for it."""
    match kind:
        case inspect.UnionType(types):
            each = [_written(one) for one in types]
            return " or ".join(each) if all(each) else ""
        case inspect.IntType(ge=int(least), le=int(most)):
            return f"a whole number from {least} to {most}"
    return _WORDS.get(type(kind), "")

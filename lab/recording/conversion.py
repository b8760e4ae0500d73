"""Convert untrusted values of a recording, which may come from anywhere or from another protocol."""

from typing import Any, TypeVar

import msgspec

__all__ = ["convert_or_none"]

T = TypeVar("T")


def convert_or_none(value: Any, kind: type[T]) -> T | None:
    """Return the value converted to ``kind``, or None if it does not fit."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        return None

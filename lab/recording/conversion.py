"""Values of a recording that may be from anybody, or of another protocol: as what is wanted, if they are that."""

from typing import Any, TypeVar

import msgspec

__all__ = ["converted"]

T = TypeVar("T")


def converted(value: Any, kind: type[T]) -> T | None:
    """The value as one of this kind; None where it is none."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        return None

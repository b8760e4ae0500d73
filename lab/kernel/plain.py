"""Plain JSON values: what a protocol's immutable values are in records and in stable storage.

A struct that equals one met before is neither checked nor converted again.
"""

from enum import Enum
from functools import lru_cache
from typing import Any

import msgspec

from lab.kernel.errors import ProtocolError
from lab.kernel.log import Log

__all__ = ["format_plain", "plain", "require_immutable"]

_REMEMBERED = 256
"""The number of structs remembered, by the process: groups pass equal values on from node to node."""

_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder()
_PLAIN = {int, str, bool, type(None)}
_ATOMS = (int, str, bool, float, bytes, type(None), msgspec.UnsetType, Enum)
_NAN = "nan"


def plain(value: Any) -> Any:
    """Convert ``value`` to plain JSON values: lists for tuples and (sorted) sets, dicts for structs."""
    if value is None or type(value) in (int, str, bool, float):
        return value
    if isinstance(value, Log):
        return [plain(entry) for entry in value]
    if isinstance(value, tuple) and _PLAIN.issuperset(map(type, value)):
        return list(value)
    encoded = _ENCODER.encode(value)
    return _decode_struct(encoded) if isinstance(value, msgspec.Struct) else _DECODER.decode(encoded)


def require_immutable(owner: str, name: str, value: Any) -> None:
    """Raise ProtocolError if a value of the field ``owner.name`` could be changed unnoticed, or is nan."""
    mutable = _find_mutable(value)
    if mutable is _NAN:
        raise ProtocolError(f"{owner}.{name} is nan, which differs from itself: no state is the same twice")
    if mutable is not None:
        raise ProtocolError(
            f"{owner}.{name} is a {mutable}, which could be changed unnoticed: "
            "use a tuple, a frozenset or a frozen struct"
        )


def _find_mutable(value: Any) -> str | None:
    """Return the name of the first type in the value that is not immutable, or _NAN, or None."""
    if isinstance(value, _ATOMS):
        return _NAN if value != value else None  # noqa: PLR0124 - the one value that differs from itself
    if isinstance(value, tuple | frozenset | Log):
        if _PLAIN.issuperset(map(type, value)):  # no loop in Python: values of rings and of banks are long
            return None
        return next((found for found in map(_find_mutable, value) if found is not None), None)
    if isinstance(value, msgspec.Struct) and value.__struct_config__.frozen:
        try:
            return _find_mutable_field(value)
        except TypeError:  # it has no hash: something in it is mutable
            return _find_mutable_field.__wrapped__(value)
    return type(value).__name__


@lru_cache(_REMEMBERED)
def _find_mutable_field(value: msgspec.Struct) -> str | None:
    fields = (getattr(value, name) for name in value.__struct_fields__)
    return next((found for found in map(_find_mutable, fields) if found is not None), None)


@lru_cache(_REMEMBERED)
def _decode_struct(encoded: bytes) -> Any:
    return _DECODER.decode(encoded)


def format_plain(value: Any) -> str:
    """Return a plain value as text for users."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return value if isinstance(value, str) else _ENCODER.encode(value).decode()

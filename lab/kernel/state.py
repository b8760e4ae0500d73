"""The declared state vector of a protocol.

A protocol declares its state as annotated class attributes with immutable values. The kernel finds what a
step changed by comparison, so no author can forget to report it; a value that could be changed in place
would go unseen, and is refused.
"""

from enum import Enum
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from lab.kernel.errors import ProtocolError
from lab.kernel.log import Log

__all__ = ["Auxiliary", "Field", "Safe", "declared_fields", "plain"]

V = TypeVar("V")
_SAFE, _SHOWN = object(), object()

Safe = Annotated[V, _SAFE]
"""``version: Safe[int] = 0``: this field lives in safe storage, and survives a crash (rule M3)."""

Auxiliary = Annotated[V, _SHOWN]
"""``since_us: Auxiliary[int] = 0``: for whoever looks on. Nothing else that the node does depends on this field."""


class Field(msgspec.Struct, frozen=True):
    """One declared field: its name, type, value in a fresh node, whether in safe storage, whether a log there,
    whether for display alone.
    """

    name: str
    type: Any
    default: Any
    safe: bool
    log: bool = False
    shown: bool = False


def declared_fields(protocol: type, root: type) -> tuple[Field, ...]:
    """The fields that ``protocol`` and its bases below ``root`` declare, in order of declaration."""
    inherited = get_type_hints(root, include_extras=True)
    fields = []
    for name, hint in get_type_hints(protocol, include_extras=True).items():
        if name in inherited or hint is ClassVar or get_origin(hint) is ClassVar:
            continue
        marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        kind = get_args(hint)[0] if marks else hint
        if not hasattr(protocol, name):
            raise ProtocolError(f"{protocol.__name__}.{name} is declared without a value: {name}: … = …")
        default = getattr(protocol, name)
        _refuse_mutable(protocol.__name__, name, default)
        is_log = get_origin(hint) is Log
        if is_log and not isinstance(default, Log):
            raise ProtocolError(f"{protocol.__name__}.{name} is a log, and begins as one: {name}: Log[…] = Log()")
        fields.append(Field(name, kind, default, is_log or _SAFE in marks, is_log, _SHOWN in marks))
    return tuple(fields)


Changes = tuple[dict[str, Any], dict[str, Any], dict[str, list[Any]]]
"""(changed, stored, logged): fields with their new values, those of them in safe storage, and new entries of
logs there; all as plain JSON values."""


class StateVector:
    """Compares declared fields, each with its owner, with what they were after the step before."""

    def __init__(self, fields: tuple[tuple[Field, object], ...]) -> None:
        self._fields = fields
        self._last: dict[str, Any] = {}

    def restore(self, stored: dict[str, Any]) -> None:
        """Set the safe fields to what storage held (JSON values). msgspec.ValidationError if it cannot be."""
        for field, owner in self._fields:
            if field.safe and field.name in stored:
                value = _restored(field, stored[field.name])
                setattr(owner, field.name, value)
                self._last[field.name] = value  # what storage holds already is not written again

    def changes(self) -> Changes:
        """What differs from the last call. ProtocolError for a value that may be changed in place, or a log that
        lost an entry.
        """
        changed: dict[str, Any] = {}
        stored: dict[str, Any] = {}
        logged: dict[str, list[Any]] = {}
        last = self._last
        for field, owner in self._fields:
            name = field.name
            value = getattr(owner, name)
            if name in last:
                before = last[name]
                if before is value or (before == value and type(before) is type(value)):
                    continue
            if field.log:
                logged[name] = _appended(type(owner).__name__, name, last.get(name) or Log(), value)
            else:
                _refuse_mutable(type(owner).__name__, name, value)
                (stored if field.safe else changed)[name] = plain(value)
            last[name] = value
        return changed, stored, logged


def _restored(field: Field, stored: Any) -> Any:
    if field.log:
        return Log(msgspec.convert(stored, list[get_args(field.type)[0]]))  # type: ignore[misc]
    return msgspec.convert(stored, field.type)


def _appended(owner: str, name: str, before: Log[Any], log: Any) -> list[Any]:
    new = log.after(before) if isinstance(log, Log) else None
    if new is None:
        raise ProtocolError(f"{owner}.{name} is a log, which only grows: self.{name} += (entry,)")
    _refuse_mutable(owner, name, new)
    return [plain(entry) for entry in new]


def plain(value: Any) -> Any:
    """``value`` as JSON would give it back: lists for tuples and (sorted) sets, dicts for structs."""
    if value is None or type(value) in (int, str, bool, float):
        return value
    if isinstance(value, Log):
        return [plain(entry) for entry in value]
    return _DECODER.decode(_ENCODER.encode(value))


_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder()
_ATOMS = (int, str, bool, float, bytes, type(None), Enum)


def _refuse_mutable(owner: str, name: str, value: Any) -> None:
    if isinstance(value, _ATOMS):
        return
    if isinstance(value, tuple | frozenset | Log):
        for item in value:
            if type(item) is not int:  # as most are
                _refuse_mutable(owner, name, item)
        return
    if isinstance(value, msgspec.Struct) and value.__struct_config__.frozen:
        for each in value.__struct_fields__:
            _refuse_mutable(owner, name, getattr(value, each))
        return
    raise ProtocolError(
        f"{owner}.{name} is a {type(value).__name__}, which could be changed unseen: "
        "use a tuple, a frozenset or a frozen struct"
    )

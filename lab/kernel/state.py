"""The declared state vector of a protocol.

A protocol declares its state as annotated class attributes with immutable values. The kernel finds what a
step changed by comparison, so no author can forget to report it. Comparison misses a value that is changed in
place; so mutable values are refused.
"""

from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from lab.kernel.edits import Edit, edit_between
from lab.kernel.errors import ProtocolError
from lab.kernel.log import Log
from lab.kernel.plain import plain, require_immutable

__all__ = ["Auxiliary", "Displayed", "Safe", "StateField", "declared_fields"]

V = TypeVar("V")
_SAFE, _AUXILIARY, _DISPLAYED = object(), object(), object()

Safe = Annotated[V, _SAFE]
"""``version: Safe[int] = 0``: this field lives in stable storage, and survives a crash (rule M3)."""

Auxiliary = Annotated[V, _AUXILIARY]
"""``since_us: Auxiliary[int] = 0``: a field for display, on which nothing else in the node depends."""


Displayed = Annotated[V, _DISPLAYED]
"""``term: Displayed[Safe[int]] = 0``: the pane of a node shows it, and the log each of its changes."""


class StateField(msgspec.Struct, frozen=True):
    """A declared field: name, type, initial value, and whether it is safe, a log, auxiliary, or displayed.

    ``kinds`` are the classes that its values may have.
    """

    name: str
    type: Any
    default: Any
    safe: bool
    log: bool = False
    auxiliary: bool = False
    kinds: tuple[Any, ...] = (object,)
    displayed: bool = False


def declared_fields(protocol: type, root: type) -> tuple[StateField, ...]:
    """Return the fields that ``protocol`` and its bases below ``root`` declare, in order of declaration."""
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
        require_immutable(protocol.__name__, name, default)
        is_log = get_origin(hint) is Log
        if is_log and not isinstance(default, Log):
            raise ProtocolError(
                f"{protocol.__name__}.{name} is a log and must start as one: {name}: Log[…] = Log()"
            )
        fields.append(
            StateField(
                name,
                kind,
                default,
                is_log or _SAFE in marks,
                is_log,
                _AUXILIARY in marks,
                _kinds(kind),
                _DISPLAYED in marks,
            )
        )
    return tuple(fields)


def _kinds(declared: Any) -> tuple[type, ...]:
    """Return the classes that a value of the declared type may have; ``object`` where that is not known."""
    origin = get_origin(declared)
    if origin in (Union, UnionType):
        return tuple(kind for each in get_args(declared) for kind in _kinds(each))
    if origin is Literal:
        return tuple(type(each) for each in get_args(declared))
    found = declared if origin is None else origin
    if found is float:
        return (float, int)
    return (found,) if isinstance(found, type) else (object,)


def _type_text(declared: Any) -> str:
    return declared.__name__ if isinstance(declared, type) else str(declared).replace("typing.", "")


class Changes(msgspec.Struct, frozen=True):
    """The changes of a step, in plain JSON values; the fields are those of ``Step``."""

    changed: dict[str, Any] = {}
    stored: dict[str, Any] = {}
    logged: dict[str, list[Any]] = {}
    edits: dict[str, Edit] = {}
    stored_edits: dict[str, Edit] = {}


class StateVector:
    """Compare declared fields, each with its owner, to their values after the previous step.

    A value is checked and converted once, when it is made; of a longer tuple, the items that are new. ``_sorted``
    are the plain items of the fields whose previous value is a set.
    """

    def __init__(self, fields: tuple[tuple[StateField, object], ...]) -> None:
        self._fields = fields
        self._last: dict[str, Any] = {}
        self._sorted: dict[str, list[Any]] = {}

    def restore(self, stored: dict[str, Any]) -> None:
        """Restore the safe fields from storage (JSON values). Raises msgspec.ValidationError."""
        for field, owner in self._fields:
            if field.safe and field.name in stored:
                value = _restored(field, stored[field.name])
                setattr(owner, field.name, value)
                self._last[field.name] = value  # do not write again what storage already holds

    def changes(self) -> Changes:
        """Return the changes since the last call. Raises ProtocolError for a mutable value or a shortened log."""
        found = Changes({}, {}, {}, {}, {})
        last = self._last
        for field, owner in self._fields:
            name = field.name
            value = getattr(owner, name)
            before = None
            if name in last:
                before = last[name]
                if before is value or (before == value and type(before) is type(value)):
                    continue
            if field.log:
                found.logged[name] = _appended(type(owner).__name__, name, before or Log(), value)
            else:
                self._add(found, type(owner).__name__, field, before, value)
            last[name] = value
        return found

    def _add(self, found: Changes, owner: str, field: StateField, before: Any, value: Any) -> None:
        """Add the change of a field: an edit of its earlier value if that is shorter than the new one."""
        name = field.name

        def made(items: Any) -> Any:
            require_immutable(owner, name, items)
            return plain(items)

        are_tuples = isinstance(value, tuple) and isinstance(before, tuple)
        edit = edit_between(before, value, made) if are_tuples else None
        whole: Any = made(value) if edit is None else None
        if isinstance(value, frozenset):
            edit = edit_between(self._sorted.get(name, ()), whole)
            self._sorted[name] = whole
        elif name in self._sorted:
            del self._sorted[name]
        if edit is None:
            (found.stored if field.safe else found.changed)[name] = whole
        else:
            (found.stored_edits if field.safe else found.edits)[name] = edit
        if not isinstance(value, field.kinds):
            kind = _type_text(field.type)
            raise ProtocolError(f"{owner}.{name} is {value!r}, and is declared as {kind}")


def _restored(field: StateField, stored: Any) -> Any:
    if field.log:
        return Log(msgspec.convert(stored, list[get_args(field.type)[0]]))  # type: ignore[misc]
    return msgspec.convert(stored, field.type)


def _appended(owner: str, name: str, before: Log[Any], log: Any) -> list[Any]:
    new = log.after(before) if isinstance(log, Log) else None
    if new is None:
        raise ProtocolError(f"{owner}.{name} is a log, which can only be appended to: self.{name} += (entry,)")
    require_immutable(owner, name, new)
    return [plain(entry) for entry in new]

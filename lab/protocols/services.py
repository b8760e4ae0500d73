"""The services of Maelstrom: nodes that the nodes of a cluster use, as one uses a database.

- ``lin-kv``: a store of keys and values, linearizable;
- ``seq-kv``: the same, sequentially consistent. A reader may be shown any of the last states, and never an older
  one than it saw before; a write goes to the newest, and who writes has seen it;
- ``lww-kv``: two replicas; the last write wins when one is copied to the other, at random moments;
- ``lin-tso``: timestamps 0, 1, 2, …

A service survives its crashes: all that it knows is in stable storage. Keys and values are any JSON; they are kept
as text, so that equal values are equal.

Source: Maelstrom's ``doc/services.md``.
"""

import json
from typing import Any, ClassVar

from msgspec import UNSET, Struct

from lab.kernel import Protocol, Safe, on
from lab.protocols.operations import (
    KEY_DOES_NOT_EXIST,
    MALFORMED_REQUEST,
    PRECONDITION_FAILED,
    Cas,
    CasOk,
    Error,
    Read,
    ReadOk,
    Ts,
    TsOk,
    Write,
    WriteOk,
)

__all__ = ["SERVICES", "LastWriteWinsStore", "LinearizableStore", "SequentialStore", "TimestampService"]

_STATES = 32
"""The number of states of seq-kv that a reader may be shown."""


class Version(Struct, frozen=True):
    """The value of a key from write number ``write`` on; key and value as JSON text."""

    key: str
    write: int
    value: str


Versions = tuple[Version, ...]


class _Service(Protocol):
    """A node that is asked, and answers at once."""

    status: str = "Working"


class _Store(_Service):
    """A store: each request is read from one state, and written to one."""

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk | Error:
        if message.key is UNSET:
            return _malformed("read", "key")
        found = self.find(sender, _text(message.key), writes=False)
        return _missing(message.key) if found is None else ReadOk(json.loads(found))

    @on(Write)
    def on_write(self, sender: int, message: Write) -> WriteOk | Error:
        if message.key is UNSET or message.value is UNSET:
            return _malformed("write", "key and value")
        self.put(sender, _text(message.key), _text(message.value))
        return WriteOk()

    @on(Cas)
    def on_cas(self, sender: int, message: Cas) -> CasOk | Error:
        if UNSET in (message.key, message.expected, message.to):
            return _malformed("cas", "key, from and to")
        key = _text(message.key)
        found = self.find(sender, key, writes=True)
        if found is None and message.create_if_not_exists is not True:
            return _missing(message.key)
        if found is not None and found != _text(message.expected):
            return Error(PRECONDITION_FAILED, f"expected {_text(message.expected)}, but it is {found}")
        self.put(sender, key, _text(message.to))
        return CasOk()

    def find(self, sender: int, key: str, writes: bool) -> str | None:
        """Return the value of the key as this sender is shown it; None if there is none."""
        raise NotImplementedError

    def put(self, sender: int, key: str, value: str) -> None:
        """Write the value of the key."""
        raise NotImplementedError


class LinearizableStore(_Store):
    """Keys and values; each operation takes effect at one instant between its request and its answer."""

    name: ClassVar[str] = "lin-kv"

    versions: Safe[Versions] = ()

    def find(self, sender: int, key: str, writes: bool) -> str | None:
        return next((each.value for each in self.versions if each.key == key), None)

    def put(self, sender: int, key: str, value: str) -> None:
        self.versions = _replaced(self.versions, Version(key, 0, value))


class SequentialStore(_Store):
    """Keys and values; all operations have one order, in which those of each client are as it made them."""

    name: ClassVar[str] = "seq-kv"

    versions: Safe[Versions] = ()
    """Of each key, the versions that a reader may still be shown, oldest first."""
    newest: Safe[int] = 0
    seen: Safe[tuple[tuple[int, int], ...]] = ()
    """For each client, the number of the newest write that it has seen."""

    def find(self, sender: int, key: str, writes: bool) -> str | None:
        oldest = max(dict(self.seen).get(sender, 0), self.newest - _STATES)
        shown = self.newest if writes else self.random.randint(oldest, self.newest)
        self._note_seen(sender, shown)
        return _value_at(self.versions, key, shown)

    def put(self, sender: int, key: str, value: str) -> None:
        self.newest += 1
        oldest = self.newest - _STATES
        kept = [each for each in self.versions if each.write >= oldest or self._is_newest_before(each, oldest)]
        self.versions = (*kept, Version(key, self.newest, value))
        self._note_seen(sender, self.newest)

    def _is_newest_before(self, version: Version, write: int) -> bool:
        return not any(each.key == version.key and version.write < each.write <= write for each in self.versions)

    def _note_seen(self, sender: int, write: int) -> None:
        self.seen = tuple(sorted({**dict(self.seen), sender: write}.items()))


class LastWriteWinsStore(_Store):
    """Keys and values in two replicas, which differ until one is copied to the other."""

    name: ClassVar[str] = "lww-kv"

    first: Safe[Versions] = ()
    second: Safe[Versions] = ()
    used: Safe[int] = 0
    """The replica that the request under way uses: 0 or 1."""

    def find(self, sender: int, key: str, writes: bool) -> str | None:
        self._pick()
        return next((each.value for each in self._replica if each.key == key), None)

    def put(self, sender: int, key: str, value: str) -> None:
        newest = max((each.write for each in self._replica), default=0)
        self._set_replica(_replaced(self._replica, Version(key, newest + 1, value)))

    @on(Write)
    def on_write(self, sender: int, message: Write) -> WriteOk | Error:
        self._pick()
        return super().on_write(sender, message)

    @property
    def _replica(self) -> Versions:
        return self.second if self.used else self.first

    def _set_replica(self, versions: Versions) -> None:
        if self.used:
            self.second = versions
        else:
            self.first = versions

    def _pick(self) -> None:
        """Choose a replica for this request; every other time, it first gets what the other one knows."""
        self.used = self.random.randint(0, 1)
        if self.random.random() < 0.5:
            merged = self._replica
            for each in self.first if self.used else self.second:
                own = next((one for one in merged if one.key == each.key), None)
                if own is None or (own.write, own.value) < (each.write, each.value):
                    merged = _replaced(merged, each)
            self._set_replica(merged)


class TimestampService(_Service):
    """Timestamps, each later than all that were given before."""

    name: ClassVar[str] = "lin-tso"

    next_timestamp: Safe[int] = 0

    @on(Ts)
    def on_ts(self, sender: int, message: Ts) -> TsOk:
        given = self.next_timestamp
        self.next_timestamp += 1
        return TsOk(given)


SERVICES: dict[str, type[Protocol]] = {
    each.name: each for each in (LinearizableStore, SequentialStore, LastWriteWinsStore, TimestampService)
}
"""The services by the names under which nodes reach them."""


def _replaced(versions: Versions, version: Version) -> Versions:
    """Return the versions with this one for its key."""
    return tuple(sorted([*(each for each in versions if each.key != version.key), version], key=_key_of))


def _key_of(version: Version) -> str:
    return version.key


def _value_at(versions: Versions, key: str, write: int) -> str | None:
    """Return the value of the key after that write."""
    found = [each for each in versions if each.key == key and each.write <= write]
    return found[-1].value if found else None


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def _missing(key: Any) -> Error:
    return Error(KEY_DOES_NOT_EXIST, f"there is no key {_text(key)}")


def _malformed(what: str, fields: str) -> Error:
    return Error(MALFORMED_REQUEST, f"{what} needs {fields}")

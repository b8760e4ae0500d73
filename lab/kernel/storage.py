"""Stable storage as a log of forced writes, each a record with its length and a checksum. Pure: no file.

The log's own check tells three sorts of records apart. One that ends too soon, at the end of the log, is *torn*: a
crash struck amid the write, before it was reported as done. It is discarded. One with a wrong length or checksum
is *damaged*: nothing of the log is used, and DamagedStorageError is raised. All others are whole.

A record is a line: the checksum as eight hexadecimal digits, the length of its content, and the content as JSON.
Before records had checksums, a line was the content alone; such lines are read without that check.

``unwrite``, ``tear`` and ``flip`` are what a bad disk does to the log (assumption 4). Live nodes keep the log in a
file, simulated ones in a ``WriteLog``.
"""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any
from zlib import crc32

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from lab.kernel.edits import Edit
from lab.kernel.log import as_lists
from lab.kernel.step import Step, contents_after

__all__ = [
    "NEWEST",
    "AlteredStorage",
    "DamagedStorageError",
    "Write",
    "WriteLog",
    "contents_of",
    "encode_write",
    "flip",
    "read_log",
    "tear",
    "unwrite",
    "write_of",
]

NEWEST = 100
"""Faults strike this many of the newest writes at most."""
_SEPARATE = 10_000
"""The number of newest writes that have a record each in memory; up to twice as many."""

_OLD = b"{"


class Write(Struct, omit_defaults=True):
    """A forced write: the fields replaced, the entries appended to logs, and the long lists edited."""

    stored: dict[str, Any] = {}
    logged: dict[str, list[Any]] = {}
    edits: dict[str, Edit] = {}


_decode = json.Decoder(Write).decode


DAMAGED = "its stable storage is damaged"
"""The beginning of why a node does not start that has found that."""


class DamagedStorageError(Exception):
    """A record of stable storage fails its check: the record of this write, of so many. Both count from 1."""

    def __init__(self, write: int, writes: int) -> None:
        super().__init__(f"write {write} of {writes} fails its check")
        self.write = write
        self.writes = writes

    def describe(self, node: int) -> str:
        """Return why the node does not start, and what to do, for the user."""
        return f"{DAMAGED}: {self}; wipe {node} before you restart it"


class AlteredStorage(Struct, frozen=True):
    """The log after a fault, and what the fault did.

    ``lost`` is the number of writes that are gone, ``left`` the number of entries left in each log that lost some.
    If a bit was flipped, it is number ``bit`` of the record of number ``write``, which counts from 1.
    """

    data: bytes
    lost: int = 0
    left: dict[str, int] = {}
    write: int = 0
    bit: int = 0


# the log


def write_of(step: Step) -> Write:
    """Return what a step writes."""
    return Write(step.stored, step.logged, step.stored_edits)


def encode_write(write: Write) -> bytes:
    """Return the record of a write."""
    content = json.encode(write)
    return b"%08x %d %b\n" % (crc32(content), len(content), content)


def read_log(data: bytes) -> tuple[list[Write], int]:
    """Return (writes, length of their records); what follows is torn. Raises DamagedStorageError."""
    writes: list[Write] = []
    length = 0
    records = _records(data)
    for number, record in enumerate(records, 1):
        if not record.endswith(b"\n") and _ends_too_soon(record):
            break
        write = _decode_record(record)
        if write is None:
            raise DamagedStorageError(number, len(records))
        writes.append(write)
        length += len(record)
    return writes, length


def contents_of(writes: Iterable[Write]) -> dict[str, Any]:
    """Return the contents of stable storage after these writes."""
    values: dict[str, Any] = {}
    for write in writes:
        values = contents_after(values, write.stored, write.logged, write.edits)
    return as_lists(values)


def _records(data: bytes) -> list[bytes]:
    """Return the records; the last one may lack its end."""
    *ended, rest = data.split(b"\n")
    records = [line + b"\n" for line in ended]
    return [*records, rest] if rest else records


def _parts(record: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the checksum, the length and the content of a record, with whatever follows it."""
    checksum, _, rest = record.partition(b" ")
    length, _, content = rest.partition(b" ")
    return checksum, length, content


def _ends_too_soon(record: bytes) -> bool:
    """Return whether a record without its end may be the beginning of a whole one."""
    _, length, content = _parts(record)
    return record.startswith(_OLD) or not (length.isdigit() and content) or len(content) <= int(length)


def _decode_record(record: bytes) -> Write | None:
    """Return the write of a record, or None if the record is damaged."""
    content = record[:-1]
    if not record.startswith(_OLD):
        checksum, length, content = _parts(record[:-1])
        if (checksum, length) != (b"%08x" % crc32(content), b"%d" % len(content)) or record[-1:] != b"\n":
            return None
    try:
        return _decode(content)
    except (DecodeError, UnicodeDecodeError):
        return None


# faults


def unwrite(data: bytes, count: int) -> AlteredStorage | None:
    """Undo the last writes, which had been reported as done; return None if there are none."""
    records = _records(data)
    whole = [record for record in records if record.endswith(b"\n")]
    kept = whole[: max(0, len(whole) - count)]
    if not whole:
        return None
    return _altered(data, b"".join(kept), len(whole) - len(kept))


def tear(data: bytes) -> AlteredStorage | None:
    """Cut the last record in the middle; return None if there is none, or if it is torn already."""
    records = _records(data)
    if not records or not records[-1].endswith(b"\n"):
        return None
    last = records[-1]
    return _altered(data, data[: len(data) - len(last) + len(last) // 2], 1)


def flip(data: bytes, random: Random) -> AlteredStorage | None:
    """Flip some bit of the newest writes, not of what is torn; return None if there are none."""
    records = [record for record in _records(data) if record.endswith(b"\n")]
    newest = records[-NEWEST:]
    if not newest:
        return None
    (number,) = random.choices(range(len(newest)), [len(record) for record in newest])
    bit = random.randrange(8 * len(newest[number]))
    return flip_bit(data, len(records) - len(newest) + number + 1, bit)


def flip_bit(data: bytes, write: int, bit: int) -> AlteredStorage | None:
    """Flip this bit of the record of this write, from 1; return None if there is no such record."""
    records = _records(data)
    if not 1 <= write <= len(records):
        return None
    byte, place = divmod(bit % (8 * len(records[write - 1])), 8)
    altered = bytearray(data)
    altered[sum(map(len, records[: write - 1])) + byte] ^= 1 << place
    return AlteredStorage(bytes(altered), write=write, bit=bit)


def _altered(data: bytes, after: bytes, lost: int) -> AlteredStorage:
    before, now = _log_lengths(data), _log_lengths(after)
    left = {name: now.get(name, 0) for name, length in before.items() if length > now.get(name, 0)}
    return AlteredStorage(after, lost, left)


def _log_lengths(data: bytes) -> dict[str, int]:
    try:
        writes, _ = read_log(data)
    except DamagedStorageError:
        return {}
    grown = {name for write in writes for name in write.logged}
    return {name: len(value) for name, value in contents_of(writes).items() if name in grown}


# in memory


class WriteLog:
    """Stable storage in memory. ``values`` are its contents.

    The newest writes have a record each, as in a file; all older ones together are one. ``was_altered``: a fault
    has struck it. What that left takes effect when the log is opened.
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self.values: dict[str, Any] = dict(values or {})
        self.was_altered = False
        self._records = [encode_write(Write(self.values))] if self.values else []
        self._first = 1
        self._altered: bytes | None = None

    @property
    def is_empty(self) -> bool:
        """True if it holds nothing."""
        return not (self._records if self._altered is None else self._altered)

    def append(self, step: Step) -> None:
        """Write what a step stores."""
        self.values = step.storage_after(self.values)
        self._records.append(encode_write(write_of(step)))
        if len(self._records) > 2 * _SEPARATE:
            older = read_log(b"".join(self._records[:_SEPARATE]))[0]
            self._records[:_SEPARATE] = [encode_write(Write(contents_of(older)))]
            self._first += _SEPARATE - 1

    def open(self) -> dict[str, Any]:
        """Return the contents, checked, as a node reads them when it starts. Raises DamagedStorageError."""
        if self._altered is not None:
            try:
                writes, length = read_log(self._altered)
            except DamagedStorageError as error:
                earlier = self._first - 1
                raise DamagedStorageError(earlier + error.write, earlier + error.writes) from None
            self.values, self._records = contents_of(writes), _records(self._altered[:length])
            self._altered = None
        return as_lists(self.values)

    def unwrite(self, count: int) -> AlteredStorage | None:
        """Undo the last writes; return None if there are none."""
        return self._alter(unwrite(self._bytes, count))

    def tear(self) -> AlteredStorage | None:
        """Tear the last write; return None if there is none."""
        return self._alter(tear(self._bytes))

    def flip(self, random: Random) -> AlteredStorage | None:
        """Flip some bit; return None if there is none."""
        return self._alter(flip(self._bytes, random))

    def flip_bit(self, write: int, bit: int) -> AlteredStorage | None:
        """Flip this bit of the record of this write; return None if there is none."""
        return self._alter(flip_bit(self._bytes, write - self._first + 1, bit))

    @property
    def _bytes(self) -> bytes:
        return b"".join(self._records) if self._altered is None else self._altered

    def _alter(self, altered: AlteredStorage | None) -> AlteredStorage | None:
        if altered is None:
            return None
        self._altered, self.was_altered = altered.data, True
        return replace(altered, write=altered.write + self._first - 1) if altered.write else altered

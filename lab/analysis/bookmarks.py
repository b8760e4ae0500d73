"""Bookmarks: notes of people on records of a run, kept in a file beside its recording.

The file is JSON Lines: first whose bookmarks they are, then one a line. Several interfaces may have the same
recording open, so a change is made to what the file holds by then, while nobody else makes one. Lines that cannot
be read are kept as they are. A file that is no such file, or of another run, is left alone, and what is noted
lasts as long as the interface does.
"""

import contextlib
import fcntl
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from lab.analysis.marks import Places
from lab.recording.lineage import read_kin
from lab.recording.reader import UNREADABLE, NotARecordingError
from lab.recording.records import Header
from lab.units import count_of

__all__ = ["Bookmark", "Bookmarks", "bookmarks_file"]

_FORMAT = 1
_LARGEST = 1 << 20
_SUFFIX = ".bookmarks"
_LAST = (1 << 63) - 1


class Bookmark(Struct, frozen=True):
    """A note on a record. ``inherited``: it is of the recording that this one branched from."""

    record: int
    at_us: int
    note: str
    inherited: bool = False


class _Head(Struct, frozen=True):
    bookmarks: int
    run: str


class _Line(Struct, frozen=True):
    record: Annotated[int, Meta(ge=0, le=_LAST)]
    at_us: int
    note: str


class _Held(Struct):
    """What a file holds: bookmarks by their records, and the lines that cannot be read."""

    own: dict[int, Bookmark]
    others: list[bytes]


class _ForeignError(Exception):
    """The file is none of this run's; the text says what it is."""


class _NotKeptError(Exception):
    """The file does not have the change; the text says why."""


def bookmarks_file(recording: Path) -> Path:
    """Where the bookmarks of a recording are."""
    return recording.with_name(recording.name + _SUFFIX)


class Bookmarks:
    """Those of a run, whose recording may not be known. ``trouble``: why they are not kept, if they are not.

    ``places`` says where they are; ``changes`` counts how often that, or what is noted, may have changed.
    """

    def __init__(self, header: Header, recording: Path | None) -> None:
        self.trouble = ""
        self.changes = 0
        self.places = Places()
        self._run = header.run
        self._file = None if recording is None else bookmarks_file(recording)
        self._held = _Held({}, [])
        self._unwritten: dict[int, Bookmark | None] = {}
        self._inherited: dict[int, Bookmark] = {}
        self._all: dict[int, Bookmark] = {}
        if recording is not None:
            self._inherited = _inherited(header, recording.resolve().parent)
        self.read()

    @property
    def all(self) -> list[Bookmark]:
        """All of them, in the order of their records."""
        return list(self._all.values())

    def at(self, record: int) -> Bookmark | None:
        """The one at that record."""
        return self._all.get(record)

    def near(self, number: int, forward: bool) -> int | None:
        """The record of the next one after that record, or of the one before it."""
        records = self.places.records
        place = bisect_right(records, number) if forward else bisect_left(records, number) - 1
        return records[place] if 0 <= place < len(records) else None

    def put(self, record: int, at_us: int, note: str) -> None:
        """Note this on a record, instead of what was noted there."""
        self._change(record, Bookmark(record, at_us, note))

    def remove(self, record: int) -> None:
        """Take away what is noted on a record; what is inherited stays."""
        self._change(record, None)

    def read(self) -> None:
        """Read the file, if there is one; ``trouble`` says what is wrong with it."""
        file, self.trouble = self._file, ""
        file_name = "" if file is None else file.name
        try:
            self._held = _Held({}, []) if file is None else _read(file, self._run)
            if count := len(self._held.others):
                lines = f"{count_of(count, 'line')} that cannot be read as bookmarks"
                self.trouble = f"{file_name} has {lines}; they are left as they are"
        except _ForeignError as error:
            self.trouble = f"{file_name} {error}, so it is left as it is"
        except OSError as error:
            self.trouble = f"{file_name} cannot be read: {error.strerror}"
        self._merge()

    def _change(self, record: int, bookmark: Bookmark | None) -> None:
        """In the file, if that can be; here in any case."""
        self._unwritten[record] = bookmark
        try:
            self._held = self._written()
        except _NotKeptError as error:
            self.trouble = str(error)
        else:
            self.trouble = ""
            self._unwritten.clear()
        self._merge()

    def _merge(self) -> None:
        changed = {**self._inherited, **self._held.own, **self._unwritten}
        self._all = {record: each for record, each in sorted(changed.items()) if each is not None}
        self.changes += 1
        self.places = Places()
        for each in self._all.values():
            self.places.add(each.record, each.at_us)

    def _written(self) -> _Held:
        """What the file holds once the changes are in it. _NotKeptError."""
        file = self._file
        if file is None:
            raise _NotKeptError("the file of this run's recording is not known here")
        try:
            with _alone(file.parent):
                held = _read(file, self._run)
                for record, bookmark in self._unwritten.items():
                    held.own.pop(record, None)
                    if bookmark is not None:
                        held.own[record] = bookmark
                _write(file, self._run, held)
        except _ForeignError as error:
            raise _NotKeptError(f"{file.name} {error}") from None
        except OSError as error:
            raise _NotKeptError(f"{file.name} cannot be written: {error.strerror}") from None
        return held


def _read(file: Path, run: str) -> _Held:
    """OSError, _ForeignError."""
    try:
        with file.open("rb") as opened:
            text = opened.read(_LARGEST + 1)
    except FileNotFoundError:
        return _Held({}, [])
    head, *lines = text.split(b"\n")
    try:
        told = msgspec.json.decode(head, type=_Head)
    except UNREADABLE:
        raise _ForeignError("is no file of bookmarks") from None
    if told.bookmarks != _FORMAT or len(text) > _LARGEST:
        raise _ForeignError("is no file of bookmarks that this version can read")
    if told.run != run:
        raise _ForeignError("is of another run")
    held = _Held({}, [])
    for line in filter(None, lines):
        try:
            each = msgspec.json.decode(line, type=_Line)
        except UNREADABLE:
            held.others.append(line)
        else:
            held.own[each.record] = Bookmark(each.record, each.at_us, each.note)
    return held


def _write(file: Path, run: str, held: _Held) -> None:
    """All or nothing. OSError."""
    lines = [msgspec.json.encode(_Head(_FORMAT, run))]
    own = [each for _, each in sorted(held.own.items())]
    lines += [msgspec.json.encode(_Line(each.record, each.at_us, each.note)) for each in own]
    new = file.with_name(f".{file.name}.new")
    try:
        with new.open("wb") as written:
            written.write(b"\n".join([*lines, *held.others, b""]))
            written.flush()
            os.fsync(written.fileno())
        new.replace(file)
    except OSError:
        new.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """While nobody else changes bookmarks in this folder. OSError."""
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


def _inherited(header: Header, folder: Path) -> dict[int, Bookmark]:
    """Those of the recordings that the run branched from, up to where it did; of two on a record the nearer."""
    found: dict[int, Bookmark] = {}
    parent, upto, seen = header.parent, _LAST, set[Path]()
    while parent is not None and (file := (folder / parent.recording).resolve()) not in seen:
        seen.add(file)
        upto = min(upto, parent.record)
        try:
            above = read_kin(file).header
            held = _read(bookmarks_file(file), parent.run)
        except (OSError, NotARecordingError, _ForeignError):
            break
        if above.run != parent.run:
            break
        for each in held.own.values():
            if each.record <= upto:
                found.setdefault(each.record, Bookmark(each.record, each.at_us, each.note, inherited=True))
        parent, folder = above.parent, file.parent
    return found

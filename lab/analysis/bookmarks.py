"""Bookmarks: a user's notes on records of a run, kept in a file next to its recording.

The file is JSON Lines: a header that names the run, then a bookmark a line. Several interfaces may have the same
recording open, so each change locks the folder and is applied to the current content of the file. Lines that
cannot be read are kept unchanged. A file in another format, or of another run, is not touched; bookmarks then last
as long as the interface.
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
from lab.durable import owner_only
from lab.foreign_file import RefusedFileError, read_foreign
from lab.recording.lineage import read_recording_info
from lab.recording.reader import UNREADABLE, NotARecordingError
from lab.recording.records import Header
from lab.units import format_count

_FORMAT = 1
_LARGEST = 1 << 20
_SUFFIX = ".bookmarks"
_LAST = (1 << 63) - 1


class Bookmark(Struct, frozen=True):
    """A note on a record. ``inherited``: it belongs to a recording that this one descends from."""

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


class _FileContent(Struct):
    """The content of a file: bookmarks by record, and the lines that cannot be read."""

    own: dict[int, Bookmark]
    others: list[bytes]


class _ForeignError(Exception):
    """The file does not hold bookmarks of this run; the text says why."""


class _NotSavedError(Exception):
    """The change was not saved; the text says why."""


def bookmarks_file(recording: Path) -> Path:
    """Return the path of the bookmarks of a recording."""
    return recording.with_name(recording.name + _SUFFIX)


class Bookmarks:
    """The bookmarks of a run, whose recording may be unknown. ``trouble``: why they are not saved, or empty.

    ``places`` holds their positions; ``changes`` counts the possible changes of bookmarks.
    """

    def __init__(self, header: Header, recording: Path | None) -> None:
        self.trouble = ""
        self.changes = 0
        self.places = Places()
        self._run = header.run
        self._file = None if recording is None else bookmarks_file(recording)
        self._content = _FileContent({}, [])
        self._unsaved: dict[int, Bookmark | None] = {}
        self._inherited: dict[int, Bookmark] = {}
        self._all: dict[int, Bookmark] = {}
        if recording is not None:
            self._inherited = _inherited(header, recording.resolve().parent)
        self.read()

    @property
    def all(self) -> list[Bookmark]:
        """All bookmarks, in the order of their records."""
        return list(self._all.values())

    def at(self, record: int) -> Bookmark | None:
        """Return the bookmark at that record, or None."""
        return self._all.get(record)

    def near(self, number: int, forward: bool) -> int | None:
        """Return the record of the nearest bookmark after (or before) that record, or None."""
        records = self.places.records
        place = bisect_right(records, number) if forward else bisect_left(records, number) - 1
        return records[place] if 0 <= place < len(records) else None

    def put(self, record: int, at_us: int, note: str) -> None:
        """Set the note on a record."""
        self._change(record, Bookmark(record, at_us, note))

    def remove(self, record: int) -> None:
        """Remove the note on a record, unless it is inherited."""
        self._change(record, None)

    def read(self) -> None:
        """Read the file, if there is one, and set ``trouble``."""
        file, self.trouble = self._file, ""
        file_name = "" if file is None else file.name
        try:
            self._content = _FileContent({}, []) if file is None else _read(file, self._run)
            if count := len(self._content.others):
                lines = f"{format_count(count, 'line')} that cannot be read as bookmarks"
                self.trouble = f"{file_name} has {lines}; they are left as they are"
        except _ForeignError as error:
            self.trouble = f"{file_name} {error}, so it is left as it is"
        except OSError as error:
            self.trouble = f"{file_name} cannot be read: {error.strerror}"
        self._merge()

    def _change(self, record: int, bookmark: Bookmark | None) -> None:
        # the change takes effect here even if it cannot be saved
        self._unsaved[record] = bookmark
        try:
            self._content = self._save()
        except _NotSavedError as error:
            self.trouble = str(error)
        else:
            self.trouble = ""
            self._unsaved.clear()
        self._merge()

    def _merge(self) -> None:
        changed = {**self._inherited, **self._content.own, **self._unsaved}
        self._all = {record: each for record, each in sorted(changed.items()) if each is not None}
        self.changes += 1
        self.places = Places()
        for each in self._all.values():
            self.places.add(each.record, each.at_us)

    def _save(self) -> _FileContent:
        """Save the unsaved changes and return the content of the file.

        Raises _NotSavedError.
        """
        file = self._file
        if file is None:
            raise _NotSavedError("the file of this run's recording is not known here")
        try:
            with _locked(file.parent):
                content = _read(file, self._run)
                for record, bookmark in self._unsaved.items():
                    content.own.pop(record, None)
                    if bookmark is not None:
                        content.own[record] = bookmark
                _write(file, self._run, content)
        except _ForeignError as error:
            raise _NotSavedError(f"{file.name} {error}") from None
        except OSError as error:
            raise _NotSavedError(f"{file.name} cannot be written: {error.strerror}") from None
        return content


def _read(file: Path, run: str) -> _FileContent:
    """Read a file of bookmarks.

    Raises OSError or _ForeignError.
    """
    try:
        text = read_foreign(file, _LARGEST)
    except FileNotFoundError:
        return _FileContent({}, [])
    except RefusedFileError as error:
        raise _ForeignError(f"is not a file of bookmarks: {error.strerror}") from None
    head, *lines = text.split(b"\n")
    try:
        header = msgspec.json.decode(head, type=_Head)
    except UNREADABLE:
        raise _ForeignError("is not a file of bookmarks") from None
    if header.bookmarks != _FORMAT:
        raise _ForeignError("is not a file of bookmarks that this version can read")
    if header.run != run:
        raise _ForeignError("belongs to another run")
    content = _FileContent({}, [])
    for line in filter(None, lines):
        try:
            each = msgspec.json.decode(line, type=_Line)
        except UNREADABLE:
            content.others.append(line)
        else:
            content.own[each.record] = Bookmark(each.record, each.at_us, each.note)
    return content


def _write(file: Path, run: str, content: _FileContent) -> None:
    """Write the file atomically.

    Raises OSError.
    """
    lines = [msgspec.json.encode(_Head(_FORMAT, run))]
    own = [each for _, each in sorted(content.own.items())]
    lines += [msgspec.json.encode(_Line(each.record, each.at_us, each.note)) for each in own]
    new = file.with_name(f".{file.name}.new")
    try:
        with open(new, "wb", opener=owner_only) as written:
            written.write(b"\n".join([*lines, *content.others, b""]))
            written.flush()
            os.fsync(written.fileno())
        new.replace(file)
    except OSError:
        new.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder against other changes of bookmarks.

    Raises OSError.
    """
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


def _inherited(header: Header, folder: Path) -> dict[int, Bookmark]:
    """Return the bookmarks of all ancestors up to the branch point; on one record, the nearest ancestor wins."""
    found: dict[int, Bookmark] = {}
    parent, upto, seen = header.parent, _LAST, set[Path]()
    while parent is not None and (file := (folder / parent.recording).resolve()) not in seen:
        seen.add(file)
        upto = min(upto, parent.record)
        try:
            parent_header = read_recording_info(file).header
            content = _read(bookmarks_file(file), parent.run)
        except (OSError, NotARecordingError, _ForeignError):
            break
        if parent_header.run != parent.run:
            break
        for each in content.own.values():
            if each.record <= upto:
                found.setdefault(each.record, Bookmark(each.record, each.at_us, each.note, inherited=True))
        parent, folder = parent_header.parent, file.parent
    return found

"""Read recordings: from a file, mapped and decoded on demand, or from a feed as it grows.

Both are lists of lines with an index, so a million records cost a few megabytes, and reading one takes a
microsecond. A torn last line is left out. A line that cannot be read is None and is listed in ``damage``; a record
of a kind that this version does not know is None too, and is counted in ``unknown``.

A file may come from anybody, and have any size and content. Its header is read first, within a bound; then it is
mapped and indexed piece by piece, so that what is no recording is refused before it costs much time or memory.
"""

import io
import mmap
import os
import re
import tempfile
import typing
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from lab.foreign_file import open_foreign
from lab.recording.records import FORMAT, Header, Keyframe, Record, decode, decoder_of
from lab.recording.snapshot import Snapshot, snapshot_after
from lab.text import UserError


class NotARecordingError(UserError):
    """The file is not a recording, or this version cannot read it; the text gives the reason."""


class _Kind(Struct):
    record: str


class _LinesAt(Struct):
    class _Of(Struct):
        lines: int
        messages: dict[str, int]

    at_us: int
    snapshot: _Of | None = None
    difference: _Of | None = None


_READABLE = range(1, FORMAT + 1)
_KNOWN = {kind.__struct_config__.tag for kind in typing.get_args(Record)}
LARGEST_RECORDING = 1 << 34
"""The most bytes of a recording: 16 GB, some fifty million records."""
LONGEST_HEADER = 1 << 20
_LONGEST_LINE = 1 << 26
_PIECE = 1 << 22
_MOST_LINES = _PIECE // 32
"""The most lines that end in a piece; it bounds the index of a hostile file."""
KEYFRAME_START = b'{"record":"keyframe"'
UNREADABLE = (ValueError, RecursionError)
"""The exceptions of decoding: ValueError covers msgspec and Unicode errors, RecursionError deep nesting."""

_kind_of = msgspec.json.Decoder(_Kind).decode
_lines_at = msgspec.json.Decoder(_LinesAt).decode


class RecordStore:
    """A recording as numbered lines.

    ``keyframes`` are the numbers of the keyframe records. In parallel to them, ``times_us`` holds their times,
    ``lines_at`` the length of the log at each, and ``heartbeats_at`` the number of heartbeats in it. ``torn``: the
    last line was cut off, and is left out.
    """

    def __init__(self, header: Header) -> None:
        self.header = header
        self.decode = decoder_of(header.format)
        self.offsets = array("Q", [0])
        self.keyframes: list[int] = []
        self.times_us: list[int] = []
        self.lines_at: list[int] = []
        self.heartbeats_at: list[int] = []
        self._whole: int | None = None
        self._base_of: dict[int, int] = {}
        self._base: tuple[int, Snapshot] | None = None
        self.damage: dict[int, str] = {}
        self.unknown: set[int] = set()
        self.torn = False

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _read(self, start: int, end: int) -> bytes:
        raise NotImplementedError

    def raw(self, number: int) -> bytes:
        """Return the line with that number, without its newline.

        Raises IndexError.
        """
        return self._read(self.offsets[number], self.offsets[number + 1] - 1)

    def record(self, number: int) -> Record | None:
        """Return the record with that number, or None if it cannot be read (see ``damage`` and ``unknown``)."""
        line = self.raw(number)
        try:
            return self.decode(line)
        except UNREADABLE as error:
            self._note_unreadable(number, line, error)
            return None

    def records(self, start: int = 0, end: int | None = None) -> Iterator[Record | None]:
        """Yield the records from ``start`` up to, but not including, ``end``."""
        for number in range(start, len(self) if end is None else end):
            yield self.record(number)

    def keyframe_before(self, number: int) -> int | None:
        """Return the number of the last keyframe at or before that record."""
        place = bisect_right(self.keyframes, number)
        return self.keyframes[place - 1] if place else None

    def snapshot(self, keyframe: int) -> Snapshot | None:
        """Return the state that this keyframe holds, or None if it cannot be read."""
        record = self.record(keyframe)
        if not isinstance(record, Keyframe):
            return None
        if record.snapshot is not None:
            self._base = keyframe, record.snapshot
            return record.snapshot
        base = self._base_of.get(keyframe)
        if base is None or record.difference is None:
            return None
        if self._base is not None and self._base[0] == base:
            return snapshot_after(self._base[1], record.difference)
        whole = self.record(base)
        if not isinstance(whole, Keyframe) or whole.snapshot is None:
            return None
        self._base = base, whole.snapshot
        return snapshot_after(whole.snapshot, record.difference)

    def _add_keyframe(self, number: int, line: bytes) -> None:
        """Add a keyframe to the index. One that is damaged is ignored, with the differences that follow it."""
        try:
            keyframe = _lines_at(line)
        except UNREADABLE:
            self._whole = None
            return
        if keyframe.snapshot is not None:
            self._whole = number
        elif self._whole is not None:
            self._base_of[number] = self._whole
        counted = keyframe.snapshot or keyframe.difference
        if counted is None or self._whole is None:
            return
        self.keyframes.append(number)
        self.times_us.append(keyframe.at_us)
        self.lines_at.append(counted.lines)
        self.heartbeats_at.append(sum(counted.messages.get(kind, 0) for kind in self.header.protocol.heartbeats))

    def _note_unreadable(self, number: int, line: bytes, error: Exception) -> None:
        try:
            known = _kind_of(line).record in _KNOWN
        except UNREADABLE:
            known = True
        if known:
            self.damage[number] = str(error)
        else:
            self.unknown.add(number)


class FileRecords(RecordStore):
    """A recording in a memory-mapped file; see ``lab.foreign_file`` for links.

    Raises NotARecordingError, or OSError if the file cannot be opened.
    """

    def __init__(self, path: Path, follow_links: bool = True) -> None:
        self.path = path
        with open_foreign(path, LARGEST_RECORDING, follow_links) as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                raise NotARecordingError(f"{path} is empty, not a recording")
            super().__init__(read_header_from(file, str(path)))
            self._map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        self._index(size)

    def _read(self, start: int, end: int) -> bytes:
        return self._map[start:end]

    def find(self, needles: tuple[bytes, ...], chunk: int) -> Iterator[tuple[float, list[int]]]:
        """Yield (share of the file done, numbers of the lines with a needle) for each chunk of bytes."""
        number, start = 0, 0
        while start < self.offsets[-1]:
            end = self.offsets[self._line_of(min(start + chunk, self.offsets[-1]) - 1, number) + 1]
            hits = set()
            for needle in needles:
                at, low = self._map.find(needle, start, end), number
                while at >= 0:
                    low = self._line_of(at, low)
                    hits.add(low)
                    at = self._map.find(needle, self.offsets[low + 1], end)
            yield end / self.offsets[-1], sorted(hits)
            number, start = self._line_of(end - 1, number) + 1, end

    def close(self) -> None:
        """Unmap the file."""
        self._map.close()

    def _line_of(self, offset: int, low: int) -> int:
        """Return the number of the line that holds the byte at ``offset``; it is at least ``low``."""
        return bisect_right(self.offsets, offset, low + 1) - 1

    def _index(self, size: int) -> None:
        for start in range(0, size, _PIECE):
            self._index_piece(start, min(start + _PIECE, size))
        if self.offsets[-1] != size:
            self._index_last_line(size)

    def _index_piece(self, start: int, end: int) -> None:
        """Add the lines that end in this piece of the file."""
        first, number = self.offsets[-1], len(self)
        lines = self._map[first : self._map.rfind(b"\n", first, end) + 1]
        ends = islice(accumulate(map(len, io.BytesIO(lines)), initial=first), 1, _MOST_LINES + 2)
        self.offsets.fromlist(list(ends))
        if len(self) - number > _MOST_LINES:
            raise NotARecordingError(f"{self.path} is not a recording: it has too many lines of a few characters")
        if end - self.offsets[-1] > _LONGEST_LINE:
            raise NotARecordingError(
                f"{self.path} is not a recording: line {len(self) + 1} is longer than {_LONGEST_LINE >> 20} MB"
            )
        at = lines.find(KEYFRAME_START)
        while at >= 0:
            number = self._line_of(first + at, number)
            if self.offsets[number] == first + at:  # it begins a line
                self._add_keyframe(number, self.raw(number))
            at = lines.find(KEYFRAME_START, at + 1)
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED, start, end - start)  # the index has touched all of its pages

    def _index_last_line(self, size: int) -> None:
        line = self._map[self.offsets[-1] : size]
        try:
            self.decode(line)
        except UNREADABLE:
            self.torn = True
        else:
            self.offsets.append(size + 1)  # complete except for its newline
            if line.startswith(KEYFRAME_START):
                self._add_keyframe(len(self) - 1, line)


class FeedRecords(RecordStore):
    """The lines of a feed, kept in an unnamed temporary file."""

    def __init__(self, header_line: bytes) -> None:
        super().__init__(read_header(header_line, "the feed"))
        self._file: Any = tempfile.TemporaryFile("w+b", buffering=0)  # noqa: SIM115
        self.append(header_line)

    def append(self, line: bytes) -> None:
        """Add a line, without its newline."""
        if line.startswith(KEYFRAME_START):
            self._add_keyframe(len(self), line)
        self._file.write(line + b"\n")
        self.offsets.append(self.offsets[-1] + len(line) + 1)

    def _read(self, start: int, end: int) -> bytes:
        return os.pread(self._file.fileno(), end - start, start)

    def close(self) -> None:
        """Delete the temporary file."""
        self._file.close()


def read_header(line: bytes, where: str) -> Header:
    """Return the header in the first line of a recording.

    Raises NotARecordingError.
    """
    start = re.match(rb'\{"record":"header","format":(\d{1,9})\b', line)
    if (
        start and int(start[1]) not in _READABLE
    ):  # checked first: this version may not be able to decode a newer header
        found = int(start[1])
        raise NotARecordingError(
            f"{where} has format {found}; this version reads formats 1 to {FORMAT}: "
            + ("a newer version of lab can read it" if found > FORMAT else "it is too old")
        )
    if line.startswith(b'{"record":"campaign"'):
        raise NotARecordingError(
            f"{where} is a campaign, not a recording of a run; see: lab campaign show {where}"
        )
    if re.match(rb"\s*(\[\s*)?(#[\w.]+\s*)?\{\s*(:\w|\"(type|process)\")", line):
        raise NotARecordingError(
            f"{where} looks like a history, not like a recording of a run; check it with: lab consistency {where} "
            "--workload NAME"
        )
    try:
        header = decode(line)
    except UNREADABLE as error:
        raise NotARecordingError(f"{where} is not a recording: it has no header line ({error})") from None
    if not isinstance(header, Header):
        raise NotARecordingError(f"{where} is not a recording: it has no header line")
    if header.format not in _READABLE:
        raise NotARecordingError(f"{where} has format {header.format}; this version reads formats 1 to {FORMAT}")
    return header


def read_header_from(file: BinaryIO, where: str) -> Header:
    """Read the first line of a recording, and return its header.

    Raises NotARecordingError.
    """
    line = file.readline(LONGEST_HEADER)
    if len(line) == LONGEST_HEADER:
        longest = f"its first line is longer than {LONGEST_HEADER >> 20} MB"
        raise NotARecordingError(f"{where} is not a recording: it has no header line ({longest})")
    return read_header(line.removesuffix(b"\n"), where)


def open_recording(path: Path, follow_links: bool = True) -> FileRecords:
    """Open a recording; see ``lab.foreign_file`` for links.

    Raises NotARecordingError, with a text for the user, if it cannot be opened or read.
    """
    try:
        return FileRecords(path, follow_links)
    except OSError as error:
        raise NotARecordingError(f"{path} cannot be opened: {error.strerror}") from None

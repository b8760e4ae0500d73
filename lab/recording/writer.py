"""Logs that a world writes its records to: a file, written as the run happens, or a list in memory.

Recordings of exercises carry a digest chain: each keyframe, and the end, hold the digest of all earlier lines. A
line that is changed, inserted or removed later shows in the next digest. The chain does not protect against
somebody who recomputes the digests; nothing inside a file can. Recordings of other runs have no digests, which
would cost a twentieth of the time of a simulation.
"""

import errno
import fcntl
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from lab.durable import owner_only
from lab.kernel import Step
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import KEYFRAME_START, RecordStore
from lab.recording.records import End, Header, Keyframe, Record, encode
from lab.recording.snapshot import Snapshot, difference_between
from lab.recording.step_fold import StepFold

KEYFRAME_EVERY = 1000
_PER_KEYFRAME = 8
"""After a keyframe, as many times its size must be written before the next one."""
_PER_KEYFRAME_OF_FORMAT_1 = 2
_PER_SNAPSHOT = 16
"""After a keyframe with a snapshot, as many times its size must be written before the next such one."""
_DIGITS = 16
_WHOLE = re.compile(KEYFRAME_START + rb',"at_us":\d+,"snapshot":')


class Chain:
    """The lines added so far, each with its newline: ``count`` lines, ``size`` bytes.

    ``snapshot_at`` is the offset of the last keyframe with a whole snapshot, or 0. ``is_keyframe_due``: the next
    line must be a keyframe. ``is_snapshot_due``: the next keyframe must have a whole snapshot. Those of many
    nodes are large, and come less often: all keyframes together take a fifth of a long recording at most.
    """

    def __init__(self, header: Header) -> None:
        self.count = 0
        self.size = 0
        self.snapshot_at = 0
        self.is_keyframe_due = False
        self._keyframe_at = self._keyframe_size = self._snapshot_size = 0
        self._has_differences = header.format > 1
        self._per_keyframe = _PER_KEYFRAME if self._has_differences else _PER_KEYFRAME_OF_FORMAT_1
        self._hash = None if header.exercise is None else hashlib.sha256()
        self._has_digests_of_parent = header.exercise is None and header.parent is not None

    @property
    def digest(self) -> str:
        """Digest of all lines so far; empty if the run belongs to no exercise."""
        return "" if self._hash is None else self._hash.hexdigest()[:_DIGITS]

    def mismatch(self, record: Record | None) -> str:
        """Return what shows that a line before this record was edited; empty if nothing does."""
        if not isinstance(record, Keyframe | End) or self._has_digests_of_parent or record.digest == self.digest:
            return ""
        return "the lines before it were edited"

    @property
    def is_snapshot_due(self) -> bool:
        """True if the next keyframe must have a whole snapshot."""
        written = self.size - self.snapshot_at
        return not self._has_differences or written >= _PER_SNAPSHOT * self._snapshot_size

    def add(self, line: bytes) -> None:
        """Add the next line."""
        if line.startswith(KEYFRAME_START):
            if _WHOLE.match(line):
                self.snapshot_at, self._snapshot_size = self.size, len(line)
            self._keyframe_at, self._keyframe_size = self.size, len(line)
        if self._hash is not None:
            self._hash.update(line)
        self.count += 1
        self.size += len(line)
        self.is_keyframe_due = (
            self.count % KEYFRAME_EVERY == 0
            and self.size - self._keyframe_at >= self._per_keyframe * self._keyframe_size
        )


class RecordLog(Protocol):
    """The log to which a world writes its records; ``cluster`` is the state after the last one."""

    header: Header

    @property
    def cluster(self) -> ClusterState:
        """The cluster after the last record."""

    def append(self, record: Record) -> None:
        """Add a record."""


class MemoryLog:
    """A list of records. The cluster is computed on access; ``watch`` is called with every record."""

    def __init__(self, header: Header, watch: Callable[[Record], object] | None = None) -> None:
        self.header = header
        self.records: list[Record] = [header]
        self._watch = watch
        self._cluster = ClusterState.of(header)
        self._folded = 0

    @property
    def cluster(self) -> ClusterState:
        """The cluster after the last record; always the same object."""
        if self._folded < len(self.records):
            self._cluster.apply_all(self.records[self._folded :])
            self._folded = len(self.records)
        return self._cluster

    def append(self, record: Record) -> None:
        """Add a record."""
        self.records.append(record)
        if self._watch is not None:
            self._watch(record)


class BeingWrittenError(OSError):
    """Another run is writing to this file."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EBUSY, "it is being written by another run", str(path))


def open_exclusive(path: Path) -> int:
    """Open the file for writing, without truncating it, and lock it against other writers while it is open.

    A new file is readable by its owner only.

    Raises OSError, or BeingWrittenError if another run has it.
    """
    file = owner_only(str(path), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        if isinstance(error, BlockingIOError):
            raise BeingWrittenError(path) from None
        raise
    return file


class Writer:
    """Append records to a file, and a keyframe every thousand. The cluster is computed on access.

    ``append`` collects records, ``flush`` passes all of them to the operating system in one write: after it, no
    crash of the process loses them. ``size`` is the number of bytes flushed, ``keyframe_offset`` the offset of the
    last flushed keyframe that has a whole snapshot, or 0. Raises OSError if the file cannot be written,
    BeingWrittenError if another run has it.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self.size = 0
        self.keyframe_offset = 0
        self._chain = Chain(header)
        self._pending: list[bytes] = []
        self._cluster = ClusterState.of(header)
        self._unfolded: list[Record | None] = []
        self._base: Snapshot | None = None
        self._file = open_exclusive(path)
        os.ftruncate(self._file, 0)  # only after the lock is held
        self.append(header)
        self.flush()  # a recording that exists is one, however soon its run ends

    @property
    def cluster(self) -> ClusterState:
        """The cluster after the last record; always the same object."""
        self._fold()
        return self._cluster

    def _fold(self) -> None:
        self._cluster.apply_all(self._unfolded)
        self._unfolded.clear()

    @property
    def count(self) -> int:
        """Number of records appended, flushed or not."""
        return self._chain.count

    @property
    def length(self) -> int:
        """Number of bytes appended, flushed or not."""
        return self._chain.size

    def append(self, record: Record) -> None:
        """Add a record. An End gets its digest here."""
        if isinstance(record, End):
            record = replace(record, digest=self._chain.digest)
        self._put(encode(record))
        self._unfolded.append(record)
        if self._chain.is_keyframe_due:
            keyframe = self._keyframe()
            self._put(encode(keyframe))
            self._unfolded.append(keyframe)

    def _keyframe(self) -> Keyframe:
        now, digest = self.cluster.snapshot(), self._chain.digest
        if self._base is None or self._chain.is_snapshot_due:
            self._base = now
            return Keyframe(now.at_us, now, digest)
        return Keyframe(now.at_us, None, digest, difference_between(self._base, now))

    def copy(self, store: RecordStore, last: int, cluster: ClusterState) -> None:
        """Copy the records of another recording up to ``last``, byte for byte unless it has another format.

        ``cluster`` is the state after them; the writer takes ownership of it.
        """
        if store.header.format == self.header.format:
            for number in range(1, last + 1):
                self._put(store.raw(number))
                if number % KEYFRAME_EVERY == 0:
                    self.flush()
        else:
            self.convert(store, last)
        self._cluster, self._unfolded = cluster, []

    def convert(self, store: RecordStore, last: int, progress: Callable[[int], None] = lambda done: None) -> None:
        """Copy the records of a recording of format 1 up to ``last``, each in this format.

        Records have the same numbers, and keyframes the same places. A line that cannot be read is copied as it
        is. ``progress`` is called with the number of records done, every thousand.
        """
        steps = StepFold()
        for number in range(1, last + 1):
            record = store.record(number)
            if isinstance(record, Keyframe):
                record = self._keyframe()
            elif isinstance(record, Step):
                record = steps.change_of(record)
            self._put(store.raw(number) if record is None else encode(record))
            self._unfolded.append(record)
            if number % KEYFRAME_EVERY == 0:
                self._fold()  # the records would take memory
                self.flush()
                progress(number)

    def flush(self) -> None:
        """Write the records appended since the last flush."""
        if not self._pending:
            return
        data = memoryview(b"".join(self._pending))
        self._pending.clear()
        while data:
            try:
                written = os.write(self._file, data)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            self.size += written
            data = data[written:]
        self.keyframe_offset = self._chain.snapshot_at

    def close(self) -> None:
        """Flush, sync the recording to disk, and close it."""
        try:
            self.flush()
            os.fsync(self._file)
        finally:
            file, self._file = self._file, -1  # its number may soon be that of another file
            os.close(file)

    def _put(self, line: bytes) -> None:
        line += b"\n"
        self._pending.append(line)
        self._chain.add(line)

"""Write a recording as it happens."""

import errno
import fcntl
import os
from pathlib import Path

from msgspec.structs import replace

from lab.recording.cluster_state import ClusterState
from lab.recording.digest_chain import KEYFRAME_EVERY, Chain
from lab.recording.reader import RecordStore
from lab.recording.records import End, Header, Keyframe, Record, encode

__all__ = ["BeingWrittenError", "Writer", "open_exclusive"]


class BeingWrittenError(OSError):
    """Another run is writing to this file."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EBUSY, "it is being written by another run", str(path))


def open_exclusive(path: Path) -> int:
    """Open the file for writing, without truncating it, and lock it against other writers while it is open.

    Raises OSError, or BeingWrittenError if another run has it.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        if isinstance(error, BlockingIOError):
            raise BeingWrittenError(path) from None
        raise
    return file


class Writer:
    """Append records to a file, and a keyframe every thousand; ``cluster`` is the state after the last one.

    ``append`` collects records, ``flush`` passes all of them to the operating system in one write: after it, no
    crash of the process loses them. ``size`` is the number of bytes flushed, ``keyframe_offset`` the offset of the
    last flushed keyframe, or 0. Raises OSError if the file cannot be written, BeingWrittenError if another run has
    it.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self.cluster = ClusterState.of(header)
        self.size = 0
        self.keyframe_offset = 0
        self._chain = Chain(header)
        self._pending: list[bytes] = []
        self._file = open_exclusive(path)
        os.ftruncate(self._file, 0)  # only after the lock is held
        self.append(header)

    @property
    def count(self) -> int:
        """Number of records appended, flushed or not."""
        return self._chain.count

    @property
    def length(self) -> int:
        """Number of bytes appended, flushed or not."""
        return self._chain.size

    def append(self, record: Record, line: bytes | None = None) -> None:
        """Add a record; ``line`` is its encoded form, if the caller has it. An End gets its digest here."""
        if isinstance(record, End):
            record, line = replace(record, digest=self._chain.digest), None
        self._put(encode(record) if line is None else line)
        self.cluster.apply(record)
        if self._chain.is_keyframe_due:
            keyframe = Keyframe(self.cluster.at_us, self.cluster.snapshot(), self._chain.digest)
            self._put(encode(keyframe), is_keyframe=True)
            self.cluster.apply(keyframe)

    def copy(self, store: RecordStore, last: int, cluster: ClusterState) -> None:
        """Copy the records of another recording up to ``last``, byte for byte.

        ``cluster`` is the state after them; the writer takes ownership of it.
        """
        keyframe = store.keyframe_before(last)
        for number in range(1, last + 1):
            self._put(store.raw(number), is_keyframe=number == keyframe)
            if number % KEYFRAME_EVERY == 0:
                self.flush()
        self.cluster = cluster

    def flush(self) -> None:
        """Write the records appended since the last flush."""
        if not self._pending:
            return
        data = memoryview(b"".join(self._pending))
        self._pending.clear()
        while data:
            written = os.write(self._file, data)
            self.size += written
            data = data[written:]
        self.keyframe_offset = self._chain.keyframe_at

    def close(self) -> None:
        """Flush, sync the recording to disk, and close it."""
        try:
            self.flush()
            os.fsync(self._file)
        finally:
            os.close(self._file)

    def _put(self, line: bytes, is_keyframe: bool = False) -> None:
        line += b"\n"
        self._pending.append(line)
        self._chain.add(line, is_keyframe)

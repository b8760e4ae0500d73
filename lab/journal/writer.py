"""Writing a recording as it happens."""

import errno
import fcntl
import os
from pathlib import Path

from lab.journal.cluster import Cluster
from lab.journal.reader import Lines
from lab.journal.records import Header, Keyframe, Record, encode

__all__ = ["KEYFRAME_EVERY", "BeingWrittenError", "Writer", "open_alone"]

KEYFRAME_EVERY = 1000


class BeingWrittenError(OSError):
    """Another run records to this file now."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EBUSY, "it is being written by another run", str(path))


def open_alone(path: Path) -> int:
    """Open the file to write to it, as it stands, and nobody else may as long as it is open. OSError."""
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
    """Appends records to a file, and a keyframe every thousand; ``cluster`` is the state after the last one.

    Of hundreds of nodes a keyframe is large, and they come less often: they are never more than half of the file.

    ``append`` collects, ``flush`` hands all to the operating system in one write: after it, no crash of the
    process loses them. ``size`` is the number of bytes flushed, ``keyframe_offset`` where the last flushed
    keyframe begins, or 0. OSError where the file cannot be written, BeingWrittenError where another run does.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self.cluster = Cluster.of(header)
        self.count = 0
        self.size = 0
        self.keyframe_offset = 0
        self._appended = 0
        self._keyframe_at = 0
        self._keyframe_size = 0
        self._pending: list[bytes] = []
        self._file = open_alone(path)
        os.ftruncate(self._file, 0)  # only now that it is ours
        self.append(header)

    @property
    def length(self) -> int:
        """The number of bytes appended, flushed or not."""
        return self._appended

    def append(self, record: Record, line: bytes | None = None) -> None:
        """Add a record; ``line`` is its encoded form, where the caller has it."""
        self._put(record, encode(record) if line is None else line)
        if self.count % KEYFRAME_EVERY == 0 and self._appended - self._keyframe_at >= 2 * self._keyframe_size:
            self._keyframe_at = self._appended
            keyframe = Keyframe(self.cluster.at_us, self.cluster.snapshot())
            self._put(keyframe, encode(keyframe))
            self._keyframe_size = self._appended - self._keyframe_at

    def copy(self, lines: Lines, last: int, cluster: Cluster) -> None:
        """Begin with the records of another recording, up to ``last``, as they stand there.

        ``cluster`` is the state after them, and is the writer's own from then on.
        """
        keyframe = lines.keyframe_before(last)
        for number in range(1, last + 1):
            line = lines.raw(number)
            if number == keyframe:
                self._keyframe_at, self._keyframe_size = self._appended, len(line) + 1
            self._pending += (line, b"\n")
            self._appended += len(line) + 1
            if number % KEYFRAME_EVERY == 0:
                self.flush()
        self.count = last + 1
        self.cluster = cluster

    def flush(self) -> None:
        """Write what was appended since the last flush."""
        if not self._pending:
            return
        data = memoryview(b"".join(self._pending))
        self._pending.clear()
        while data:
            written = os.write(self._file, data)
            self.size += written
            data = data[written:]
        self.keyframe_offset = self._keyframe_at

    def close(self) -> None:
        """Flush, put the recording on disk, and close it."""
        try:
            self.flush()
            os.fsync(self._file)
        finally:
            os.close(self._file)

    def _put(self, record: Record, line: bytes) -> None:
        self._pending += (line, b"\n")
        self._appended += len(line) + 1
        self.cluster.apply(record)
        self.count += 1

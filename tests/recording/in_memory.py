"""A recording in memory, for tests that search in it."""

from collections.abc import Iterable

from lab.recording.reader import RecordStore
from lab.recording.records import Header, Record, encode

__all__ = ["MemoryLines"]


class MemoryLines(RecordStore):
    """The header, followed by these records."""

    def __init__(self, header: Header, records: Iterable[Record]) -> None:
        super().__init__(header)
        self._bytes = b""
        for record in (header, *records):
            self._bytes += encode(record) + b"\n"
            self.offsets.append(len(self._bytes))

    def _read(self, start: int, end: int) -> bytes:
        return self._bytes[start:end]

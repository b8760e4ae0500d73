"""Convert a recording of an earlier format to the present one.

Records keep their numbers, and keyframes their places, so branches and bookmarks that name a record stay right.
"""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from lab.durable import replacing
from lab.recording.reader import NotARecordingError, RecordStore
from lab.recording.records import FORMAT
from lab.recording.writer import Writer, open_exclusive


def convert_recording(store: RecordStore, path: Path, progress: Callable[[int], None] = lambda done: None) -> None:
    """Write the recording in the present format to this file, which gets all of it or is left as it was.

    ``progress`` is called with the number of records done, every thousand. Raises NotARecordingError for a
    recording that cannot be converted, OSError, or BeingWrittenError if a run writes to the file.
    """
    header = store.header
    if header.format == FORMAT:
        raise NotARecordingError(f"it has format {FORMAT} already")
    if header.exercise is not None:
        raise NotARecordingError(
            f"it is an attempt at the exercise {header.exercise.name}, and its digests hold for format "
            f"{header.format} only; it can be opened and graded as it is"
        )
    if path.exists():
        os.close(open_exclusive(path))  # it may be written by a run
    with replacing(path) as hidden:
        writer = Writer(hidden, replace(header, format=FORMAT))
        with contextlib.closing(writer):
            writer.convert(store, len(store) - 1, progress)
        for number, why in store.damage.items():
            raise NotARecordingError(f"line {number + 1} cannot be read ({why}): mend or remove it first")

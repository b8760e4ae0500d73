"""Files that are replaced: Ctrl-C at any line leaves the old or the new one, and nothing beside it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType

import pytest

from lab.durable import write_durably
from lab.recording.conversion import convert_recording
from lab.recording.reader import open_recording

# where Ctrl-C strikes between the opening of a file and its ``with``, Python closes it, and says so
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
FILES = ("lab/durable.py", "lab/recording/conversion.py")
FIRST_FORMAT = Path(__file__).parent / "recording" / "first_format"
TraceFunction = Callable[[FrameType, str, object], "TraceFunction"]


@contextmanager
def _ctrl_c_at(line: int) -> Iterator[None]:
    """Raise KeyboardInterrupt at this line of the files, counted as they are executed."""
    left = line

    def trace(frame: FrameType, event: str, argument: object) -> TraceFunction:
        nonlocal left
        if event == "line" and frame.f_code.co_filename.endswith(FILES):
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def _interrupted(write: Callable[[], None], folder: Path, contents: Callable[[], bytes]) -> set[bytes]:
    """Interrupt at each line in turn, until none is left; return the contents that were found afterwards."""
    found, line = set(), 0
    while True:
        line += 1
        try:
            with _ctrl_c_at(line):
                write()
        except KeyboardInterrupt:
            assert [*folder.iterdir()] == [folder / "file"]
            found.add(contents())
        else:
            assert line > 5
            return found


def test_a_file_is_replaced_or_left(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    found = _interrupted(lambda: write_durably(path, b"new"), tmp_path, path.read_bytes)
    assert found == {b"old", b"new"}
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_recording_is_converted_or_left(tmp_path: Path) -> None:
    path, source = tmp_path / "file", min(FIRST_FORMAT.glob("*.jsonl"), key=lambda file: file.stat().st_size)
    path.write_bytes(b"old")
    with closing(open_recording(source)) as store:
        found = _interrupted(lambda: convert_recording(store, path), tmp_path, path.read_bytes)
    assert b"old" in found
    assert len(found) <= 2

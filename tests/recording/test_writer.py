"""A recording has one writer at a time."""

from pathlib import Path

import pytest

from lab.protocols import Bully
from lab.recording.reader import open_recording
from lab.recording.records import End
from lab.recording.writer import BeingWrittenError, Writer, open_exclusive
from tests.harness import simulated_header


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    """The second is refused and changes nothing; when the first has closed the file, another may write."""
    path = tmp_path / "run.jsonl"
    first = Writer(path, simulated_header(Bully, (1, 2)))
    first.flush()
    written = path.read_bytes()
    with pytest.raises(BeingWrittenError, match=r"it is being written by another run: .*run\.jsonl"):
        Writer(path, simulated_header(Bully, (1, 2, 3)))
    assert path.read_bytes() == written != b""
    first.append(End(5, "enough"))
    first.close()
    assert len(open_recording(path)) == 2
    Writer(path, simulated_header(Bully, (1, 2, 3))).close()
    assert open_recording(path).header.nodes == (1, 2, 3)


def test_opening_leaves_the_file_unchanged(tmp_path: Path) -> None:
    """``open_exclusive`` truncates nothing, and unlocks when it is closed."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"something")
    for _ in range(2):
        with open(open_exclusive(path), "wb"):
            assert path.read_bytes() == b"something"

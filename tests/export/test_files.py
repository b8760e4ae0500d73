"""The exported file is complete, or does not exist."""

import os
from pathlib import Path

import pytest

from lab.export.excerpt import Excerpt, ExportOptions, read_excerpt
from lab.export.formats import FORMATS, Format, write_file
from lab.recording.reader import FileRecords
from tests.export.windows import RECORDINGS
from tests.profile import sampled

RECORDING = RECORDINGS / "scenarios" / "two-coordinators-invite-each-other.jsonl"
SVG = FORMATS[0]


class _StoppedError(Exception):
    """The export was cancelled."""


def _read() -> Excerpt:
    return read_excerpt(FileRecords(RECORDING), ExportOptions(until_us=2_000_000))


@pytest.mark.parametrize("each", sampled(FORMATS, 3), ids=lambda each: each.name)
def test_a_late_cancellation_leaves_no_file(each: Format, tmp_path: Path) -> None:
    """The last chance to cancel is right before the file is put in place."""
    result: list[str] = []

    def progress(output: str) -> None:
        result.append(output)
        if output == "writing run …":
            assert [path.name for path in tmp_path.iterdir()] == [".run.1"]
            assert (tmp_path / ".run.1").stat().st_size > 0
            raise _StoppedError

    excerpt = read_excerpt(FileRecords(RECORDING), ExportOptions(until_us=2_000_000), progress)
    with pytest.raises(_StoppedError):
        write_file(each, excerpt, tmp_path / "run")
    assert result[-1] == "writing run …"
    assert list(tmp_path.iterdir()) == []


def test_the_file_has_default_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The umask of the process is not changed."""
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda mask: pytest.fail(f"umask({mask:o})"))
        write_file(SVG, _read(), tmp_path / "run.svg")
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert (tmp_path / "run.svg").stat().st_mode & 0o777 == 0o640


def test_other_files_in_the_folder_are_kept(tmp_path: Path) -> None:
    """Even those with the name of a temporary file."""
    (tmp_path / ".run.svg.1").write_text("mine")
    size = write_file(SVG, _read(), tmp_path / "run.svg")
    assert size == (tmp_path / "run.svg").stat().st_size
    assert (tmp_path / ".run.svg.1").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"run.svg", ".run.svg.1"}

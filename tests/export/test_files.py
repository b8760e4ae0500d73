"""The file that is exported to is there with all that is in it, or not at all."""

import os
from pathlib import Path

import pytest

from lab.export.excerpt import Excerpt, Wanted, excerpt_of
from lab.export.files import write_file
from lab.export.formats import FORMATS, Format
from lab.recording.reader import FileRecords
from tests.export.cutting import RECORDINGS

RECORDING = RECORDINGS / "scenarios" / "two-coordinators-invite-each-other.jsonl"
SVG = FORMATS[0]


class _StoppedError(Exception):
    """Nobody waits for the file any more."""


def _read() -> Excerpt:
    return excerpt_of(FileRecords(RECORDING), Wanted(until_us=2_000_000))


@pytest.mark.parametrize("each", FORMATS, ids=lambda each: each.name)
def test_stopped_after_it_was_drawn_nothing_is_written(each: Format, tmp_path: Path) -> None:
    """The last time that it can be stopped is right before the file is put in its place."""
    told: list[str] = []

    def tell(said: str) -> None:
        told.append(said)
        if said == "writing run …":
            assert [path.name for path in tmp_path.iterdir()] == [".run.1"]
            assert (tmp_path / ".run.1").stat().st_size > 0
            raise _StoppedError

    excerpt = excerpt_of(FileRecords(RECORDING), Wanted(until_us=2_000_000), tell)
    with pytest.raises(_StoppedError):
        write_file(each, excerpt, tmp_path / "run")
    assert told[-1] == "writing run …"
    assert list(tmp_path.iterdir()) == []


def test_it_may_be_read_by_whom_other_new_files_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the whole process makes files with is left alone."""
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda mask: pytest.fail(f"umask({mask:o})"))
        write_file(SVG, _read(), tmp_path / "run.svg")
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert (tmp_path / "run.svg").stat().st_mode & 0o777 == 0o640


def test_files_that_are_beside_it_stay(tmp_path: Path) -> None:
    """Also those that are called as one that is being written."""
    (tmp_path / ".run.svg.1").write_text("mine")
    size = write_file(SVG, _read(), tmp_path / "run.svg")
    assert size == (tmp_path / "run.svg").stat().st_size
    assert (tmp_path / ".run.svg.1").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"run.svg", ".run.svg.1"}

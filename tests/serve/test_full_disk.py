"""A full disk: complete lines are kept, a torn line is recognized, and writing continues later."""

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.serve.data_folder import ServerLog, read_log
from lab.serve.gradebook import Measured, Seal, SealBook


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Limit the size of all files while this lasts."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))


def _texts(log: Path) -> list[str]:
    return [line.text for line in read_log(log)]


def test_a_torn_log_line_spoils_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The next one begins on a new line; standard error reports the loss."""
    path = tmp_path / "log"
    log = ServerLog(path)
    log.write("log-in", "first")
    with room_for(path.stat().st_size + 20):
        log.write("log-in", "lost")
        log.write("log-in", "lost, too")
    log.write("log-in", "again")
    log.close()
    assert _texts(path) == ["first", "again"]
    assert capsys.readouterr().err.count("\n") == 1


def test_a_log_that_cannot_be_rotated_continues_in_its_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And in no other file that reuses the old file descriptor."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("lab.serve.data_folder._LARGEST", 200)
    log = ServerLog(tmp_path / "log")
    with monkeypatch.context() as patch:
        patch.setattr("os.open", full)
        log.write("log-in", "x" * 250)
    with (tmp_path / "victim").open("wb") as victim:
        log.write("log-in", "a secret")
        log.write("log-in", "in the new file")
        assert os.fstat(victim.fileno()).st_size == 0
    log.close()
    assert _texts(tmp_path / "log") == ["x" * 250, "a secret", "in the new file"]


def test_a_torn_seal_is_no_seal(tmp_path: Path) -> None:
    """It is an error, and the next seal replaces it: the chain continues."""
    path = tmp_path / "seals"
    book = SealBook(path)
    book.append(_seal("anna"))
    with room_for(path.stat().st_size + 50), pytest.raises(OSError, match="No space left"):
        book.append(_seal("ben"))
    book.append(_seal("carla"))
    report = SealBook(path).read()
    assert (list(report.seals), report.problem) == (["anna", "carla"], "")


def _seal(student: str) -> Seal:
    return Seal(student, student, "2026-01-01T00:00:00+00:00", Measured(1, "a" * 64), witnessed=True)

"""The parser's tables are kept between processes, in a folder of the user's own; without it all works as well."""

import hashlib
from pathlib import Path

import pytest
from lark import Lark

from lab.script import grammar
from lab.script.vocabulary import vocabulary

LINE = "at 2s kill 3"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for caches, in which there is nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def _parse_anew() -> str:
    grammar._parser.cache_clear()
    return str(grammar.read(LINE, "start", vocabulary(), None))


def _tables(folder: Path) -> list[Path]:
    return [*(folder / "lab" / "grammars").iterdir()]


def test_they_are_written_once_and_read(folder: Path) -> None:
    """For this user only."""
    first = _parse_anew()
    (path,) = _tables(folder)
    assert path.parent.stat().st_mode & 0o077 == 0
    written = path.stat().st_mtime_ns
    assert _parse_anew() == first
    assert path.stat().st_mtime_ns == written


def test_a_flipped_bit_is_found(folder: Path) -> None:
    """What differs from what was written is never loaded."""
    first = _parse_anew()
    (path,) = _tables(folder)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    assert _parse_anew() == first
    assert path.read_bytes() != damaged


@pytest.mark.parametrize("keep", [0, 10, 64, 65, 70, 5000, -1])
def test_a_torn_file_is_replaced(folder: Path, keep: int) -> None:
    """As when a process was killed while it wrote."""
    first = _parse_anew()
    (path,) = _tables(folder)
    whole = path.read_bytes()
    path.write_bytes(whole[:keep])
    assert _parse_anew() == first
    repaired = path.read_bytes()
    assert hashlib.sha256(repaired[32:]).digest() == repaired[:32]


def test_what_others_may_have_written_is_not_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading it would execute their code."""
    first = _parse_anew()
    (path,) = _tables(folder)
    path.parent.chmod(0o770)
    monkeypatch.setattr(Lark, "load", None)
    written = path.stat().st_mtime_ns
    assert _parse_anew() == first
    assert path.stat().st_mtime_ns == written


def test_there_need_be_no_folder(folder: Path) -> None:
    """A file is in its place."""
    (folder / "lab").write_text("")
    assert _parse_anew()


def test_the_oldest_are_deleted(folder: Path) -> None:
    """Each protocol of the user's own may have words of its own."""
    tables = folder / "lab" / "grammars"
    tables.mkdir(mode=0o700, parents=True)
    for number in range(40):
        (tables / f"{number:02}").write_text("")
    _parse_anew()
    assert len(_tables(folder)) == 20

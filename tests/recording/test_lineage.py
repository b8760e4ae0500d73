"""The family of recordings: which are branches of which, as their headers say."""

from pathlib import Path

from msgspec.structs import replace

from lab.protocols import Bully
from lab.recording.lineage import Twig, ancestors_of, family_of
from lab.recording.records import End, Parent
from lab.recording.writer import Writer
from tests.harness import simulated_header


def _write(path: Path, run: str, parent: Parent | None = None, why: str = "done") -> Path:
    """A recording with a header, and an end where there is a reason."""
    writer = Writer(path, replace(simulated_header(Bully, (1, 2)), run=run, parent=parent))
    if why:
        writer.append(End(1, why))
    writer.close()
    return path


def _told(twigs: list[Twig]) -> list[object]:
    """(file, why it ended or None, branches) of each."""
    return [(twig.path.name, twig.kin and twig.kin.ending, _told(twig.branches)) for twig in twigs]


def test_the_tree(tmp_path: Path) -> None:
    """Branches below their parents, in the order of their places; and what ended otherwise, or not at all."""
    _write(tmp_path / "b.jsonl", "root")
    _write(tmp_path / "c.jsonl", "late", Parent("b.jsonl", "root", 90, 9))
    _write(tmp_path / "d.jsonl", "soon", Parent("b.jsonl", "root", 20, 2), why="")
    _write(tmp_path / "a.jsonl", "twice", Parent("c.jsonl", "late", 95, 9), why="signal")
    _write(tmp_path / "e.jsonl", "alone")
    assert _told(family_of(tmp_path.glob("*"))) == [
        ("b.jsonl", "done", [("d.jsonl", "", []), ("c.jsonl", "done", [("a.jsonl", "signal", [])])]),
        ("e.jsonl", "done", []),
    ]


def test_a_parent_that_is_gone_is_missing(tmp_path: Path) -> None:
    """Its branches stand together below its name, wherever it was."""
    _write(tmp_path / "b.jsonl", "one", Parent("gone.jsonl", "root", 90, 9))
    _write(tmp_path / "a.jsonl", "other", Parent(str(tmp_path / "gone.jsonl"), "root", 5, 9))
    assert _told(family_of(tmp_path.glob("*"))) == [
        ("gone.jsonl", None, [("a.jsonl", "done", []), ("b.jsonl", "done", [])])
    ]


def test_a_parent_that_was_overwritten_is_missing(tmp_path: Path) -> None:
    """The file is there, but it holds another run, of which this is no branch."""
    _write(tmp_path / "a.jsonl", "new")
    _write(tmp_path / "b.jsonl", "branch", Parent("a.jsonl", "old", 90, 9))
    assert _told(family_of(tmp_path.glob("*"))) == [
        ("a.jsonl", "done", []),
        ("a.jsonl", None, [("b.jsonl", "done", [])]),
    ]


def test_a_parent_elsewhere_is_found(tmp_path: Path) -> None:
    """It need not be among the files given, and its own parent need not either."""
    (tmp_path / "other").mkdir()
    _write(tmp_path / "other" / "x.jsonl", "x")
    _write(tmp_path / "other" / "y.jsonl", "y", Parent("x.jsonl", "x", 3, 1))
    _write(tmp_path / "a.jsonl", "a", Parent(str(tmp_path / "other" / "y.jsonl"), "y", 5, 9))
    told: list[object] = [("x.jsonl", "done", [("y.jsonl", "done", [("a.jsonl", "done", [])])])]
    assert _told(family_of(tmp_path.glob("*.jsonl"))) == told


def test_what_is_no_recording_is_left_out(tmp_path: Path) -> None:
    """Empty files, other JSON, pictures, folders; a torn recording is one."""
    (tmp_path / "empty").touch()
    (tmp_path / "object").write_text("{}\n")
    (tmp_path / "picture").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()
    torn = _write(tmp_path / "torn.jsonl", "torn")
    torn.write_bytes(torn.read_bytes()[:-5])
    assert _told(family_of(tmp_path.glob("*"))) == [("torn.jsonl", "", [])]


def test_a_header_alone(tmp_path: Path) -> None:
    """There is no last line besides it."""
    _write(tmp_path / "a.jsonl", "short", why="")
    assert _told(family_of(tmp_path.glob("*"))) == [("a.jsonl", "", [])]


def test_ancestors(tmp_path: Path) -> None:
    """The parent, and its parent, as far as they can be read; two that name each other end."""
    _write(tmp_path / "c.jsonl", "c", Parent("b.jsonl", "b", 1, 1))
    _write(tmp_path / "b.jsonl", "b", Parent("a.jsonl", "a", 1, 1))
    assert ancestors_of([tmp_path / "c.jsonl"]) == {tmp_path / "b.jsonl", tmp_path / "a.jsonl"}
    _write(tmp_path / "a.jsonl", "a", Parent("c.jsonl", "c", 1, 1))
    assert len(ancestors_of([tmp_path / "c.jsonl"])) == 3

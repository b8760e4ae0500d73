"""The lineage of recordings, by their headers."""

from pathlib import Path

from msgspec.structs import replace

from lab.protocols import Bully
from lab.recording.lineage import LineageTree, ancestors_of, lineage_of
from lab.recording.records import End, Parent
from lab.recording.writer import Writer
from tests.harness import simulated_header


def _write(path: Path, run: str, parent: Parent | None = None, why: str = "done") -> Path:
    """Write a recording with a header and, if there is a reason, an end."""
    writer = Writer(path, replace(simulated_header(Bully, (1, 2)), run=run, parent=parent))
    if why:
        writer.append(End(1, why))
    writer.close()
    return path


def _outline(trees: list[LineageTree]) -> list[object]:
    """Return (file, ending or None, branches) for each tree."""
    return [(tree.path.name, tree.info and tree.info.ending, _outline(tree.branches)) for tree in trees]


def test_the_tree(tmp_path: Path) -> None:
    """Branches below their parents, in the order of their branch points, with their endings."""
    _write(tmp_path / "b.jsonl", "root")
    _write(tmp_path / "c.jsonl", "late", Parent("b.jsonl", "root", 90, 9))
    _write(tmp_path / "d.jsonl", "soon", Parent("b.jsonl", "root", 20, 2), why="")
    _write(tmp_path / "a.jsonl", "twice", Parent("c.jsonl", "late", 95, 9), why="signal")
    _write(tmp_path / "e.jsonl", "alone")
    assert _outline(lineage_of(tmp_path.glob("*"))) == [
        ("b.jsonl", "done", [("d.jsonl", "", []), ("c.jsonl", "done", [("a.jsonl", "signal", [])])]),
        ("e.jsonl", "done", []),
    ]


def test_a_parent_that_is_gone_is_missing(tmp_path: Path) -> None:
    """Its branches stand together below its name."""
    _write(tmp_path / "b.jsonl", "one", Parent("gone.jsonl", "root", 90, 9))
    _write(tmp_path / "a.jsonl", "other", Parent(str(tmp_path / "gone.jsonl"), "root", 5, 9))
    assert _outline(lineage_of(tmp_path.glob("*"))) == [
        ("gone.jsonl", None, [("a.jsonl", "done", []), ("b.jsonl", "done", [])])
    ]


def test_a_parent_that_was_overwritten_is_missing(tmp_path: Path) -> None:
    """The file exists, but holds another run."""
    _write(tmp_path / "a.jsonl", "new")
    _write(tmp_path / "b.jsonl", "branch", Parent("a.jsonl", "old", 90, 9))
    assert _outline(lineage_of(tmp_path.glob("*"))) == [
        ("a.jsonl", "done", []),
        ("a.jsonl", None, [("b.jsonl", "done", [])]),
    ]


def test_a_parent_elsewhere_is_found(tmp_path: Path) -> None:
    """Neither it nor its own parent need be among the files given."""
    (tmp_path / "other").mkdir()
    _write(tmp_path / "other" / "x.jsonl", "x")
    _write(tmp_path / "other" / "y.jsonl", "y", Parent("x.jsonl", "x", 3, 1))
    _write(tmp_path / "a.jsonl", "a", Parent(str(tmp_path / "other" / "y.jsonl"), "y", 5, 9))
    expected: list[object] = [("x.jsonl", "done", [("y.jsonl", "done", [("a.jsonl", "done", [])])])]
    assert _outline(lineage_of(tmp_path.glob("*.jsonl"))) == expected


def test_other_files_are_left_out(tmp_path: Path) -> None:
    """Empty files, other JSON, pictures, folders; a torn recording is included."""
    (tmp_path / "empty").touch()
    (tmp_path / "object").write_text("{}\n")
    (tmp_path / "picture").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()
    torn = _write(tmp_path / "torn.jsonl", "torn")
    torn.write_bytes(torn.read_bytes()[:-5])
    assert _outline(lineage_of(tmp_path.glob("*"))) == [("torn.jsonl", "", [])]


def test_a_header_alone(tmp_path: Path) -> None:
    """It is the last line too."""
    _write(tmp_path / "a.jsonl", "short", why="")
    assert _outline(lineage_of(tmp_path.glob("*"))) == [("a.jsonl", "", [])]


def test_ancestors(tmp_path: Path) -> None:
    """The parent and its parent, as far as they can be read; a cycle ends."""
    _write(tmp_path / "c.jsonl", "c", Parent("b.jsonl", "b", 1, 1))
    _write(tmp_path / "b.jsonl", "b", Parent("a.jsonl", "a", 1, 1))
    assert ancestors_of([tmp_path / "c.jsonl"]) == {tmp_path / "b.jsonl", tmp_path / "a.jsonl"}
    _write(tmp_path / "a.jsonl", "a", Parent("c.jsonl", "c", 1, 1))
    assert len(ancestors_of([tmp_path / "c.jsonl"])) == 3

"""Bookmarks: stored next to the recording, shared by all who have it open, and never lost through a bad file."""

import threading
from pathlib import Path

import msgspec
import pytest

from lab.analysis.bookmarks import Bookmark, Bookmarks, bookmarks_file
from lab.recording.reader import open_recording
from lab.recording.records import Header, Parent, encode
from tests.tui.recorded import SHIPPED


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A copy of a recording, in a folder of its own."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(SHIPPED.read_bytes())
    return path


def _header(path: Path) -> Header:
    lines = open_recording(path)
    lines.close()
    return lines.header


def _of(path: Path) -> Bookmarks:
    return Bookmarks(_header(path), path)


def _noted(path: Path) -> list[tuple[int, str]]:
    return [(each.record, each.note) for each in _of(path).all]


def test_bookmarks_are_restored_in_the_order_of_records(recording: Path) -> None:
    """With their times; and the file is readable."""
    bookmarks = _of(recording)
    assert (bookmarks.all, bookmarks.trouble) == ([], "")
    bookmarks.put(170, 6_050_000, "two lead")
    bookmarks.put(20, 300_000, "5 ⟶ 4: “why”?")
    again = _of(recording)
    assert again.all == [Bookmark(20, 300_000, "5 ⟶ 4: “why”?"), Bookmark(170, 6_050_000, "two lead")]
    assert again.at(170) == Bookmark(170, 6_050_000, "two lead")
    assert again.at(171) is None
    first, *lines = bookmarks_file(recording).read_text("utf-8").splitlines()
    assert msgspec.json.decode(first) == {"bookmarks": 1, "run": _header(recording).run}
    assert lines[1] == '{"record":170,"at_us":6050000,"note":"two lead"}'
    assert [path.name for path in recording.parent.iterdir() if path != recording] == ["run.jsonl.bookmarks"]


def test_a_note_can_be_replaced_and_removed(recording: Path) -> None:
    bookmarks = _of(recording)
    bookmarks.put(5, 1, "first")
    bookmarks.put(5, 1, "second")
    bookmarks.put(9, 2, "")
    assert _noted(recording) == [(5, "second"), (9, "")]
    bookmarks.remove(5)
    bookmarks.remove(77)
    assert _noted(recording) == [(9, "")]
    assert list(bookmarks.places.records) == [9]


def test_the_next_and_the_previous_one(recording: Path) -> None:
    bookmarks = _of(recording)
    for record in (10, 20, 30):
        bookmarks.put(record, record, "")
    near = bookmarks.near
    assert [near(number, True) for number in (0, 10, 29, 30)] == [10, 20, 30, None]
    assert [near(number, False) for number in (10, 11, 30, 99)] == [None, 10, 20, 30]


def test_two_interfaces_keep_each_others_bookmarks(recording: Path) -> None:
    """Each adds to the current content of the file, and then sees the other's."""
    one, other = _of(recording), _of(recording)
    one.put(1, 1, "one")
    other.put(2, 2, "other")
    assert [each.note for each in other.all] == ["one", "other"]
    one.remove(1)
    assert _noted(recording) == [(2, "other")]
    assert [each.note for each in one.all] == ["other"]
    other.read()
    assert [each.note for each in other.all] == ["other"]


def test_many_interfaces_keep_each_others_bookmarks(recording: Path) -> None:
    def note(first: int) -> None:
        bookmarks = _of(recording)
        for record in range(first, first + 20):
            bookmarks.put(record, record, str(record))

    threads = [threading.Thread(target=note, args=(100 * place,)) for place in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [100 * place + offset for place in range(1, 5) for offset in range(20)]
    assert [record for record, _ in _noted(recording)] == expected


def test_unreadable_lines_are_reported_and_kept(recording: Path) -> None:
    bookmarks = _of(recording)
    bookmarks.put(3, 3, "mine")
    file = bookmarks_file(recording)
    others = [b'{"record":4,"at_us":4,"no', b"\xff\xfe", b'{"record":-1,"at_us":0,"note":""}', b"[" * 5000]
    file.write_bytes(file.read_bytes() + b"\n".join(others) + b"\n")
    again = _of(recording)
    assert [each.note for each in again.all] == ["mine"]
    assert again.trouble == (
        "run.jsonl.bookmarks has 4 lines that cannot be read as bookmarks; they are left as they are"
    )
    again.put(8, 8, "more")
    assert file.read_bytes().splitlines()[3:] == others
    assert _noted(recording) == [(3, "mine"), (8, "more")]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is not a file of bookmarks"),
        (b"shopping list\n- eggs\n", "is not a file of bookmarks"),
        (b"\xff\x00\xff", "is not a file of bookmarks"),
        (b'{"bookmarks":2,"run":"x"}\n', "is not a file of bookmarks that this version can read"),
        (b'{"bookmarks":1,"run":"another"}\n{"record":1,"at_us":1,"note":"theirs"}\n', "belongs to another run"),
    ],
)
def test_a_foreign_file_is_reported_and_not_touched(recording: Path, content: bytes, why: str) -> None:
    """Bookmarks last as long as the interface."""
    file = bookmarks_file(recording)
    file.write_bytes(content)
    bookmarks = _of(recording)
    assert bookmarks.trouble == f"run.jsonl.bookmarks {why}, so it is left as it is"
    bookmarks.put(7, 7, "kept here")
    assert bookmarks.trouble == f"run.jsonl.bookmarks {why}"
    bookmarks.read()
    assert [each.note for each in bookmarks.all] == ["kept here"]
    assert file.read_bytes() == content
    assert _noted(recording) == []


def test_without_write_access_they_last_as_long_as_the_interface(recording: Path) -> None:
    """They are written with the next one that can be."""
    in_the_way = recording.with_name(".run.jsonl.bookmarks.new")
    in_the_way.mkdir()
    bookmarks = _of(recording)
    bookmarks.put(7, 7, "kept here")
    assert bookmarks.trouble == "run.jsonl.bookmarks cannot be written: Is a directory"
    bookmarks.read()
    assert [each.note for each in bookmarks.all] == ["kept here"]
    assert _noted(recording) == []
    in_the_way.rmdir()
    bookmarks.put(8, 8, "written")
    assert bookmarks.trouble == ""
    assert _noted(recording) == [(7, "kept here"), (8, "written")]


def test_without_a_recording_they_last_as_long_as_the_interface(recording: Path) -> None:
    bookmarks = Bookmarks(_header(recording), None)
    assert bookmarks.trouble == ""
    bookmarks.put(7, 7, "kept here")
    assert bookmarks.trouble == "the file of this run's recording is not known here"
    assert [each.note for each in bookmarks.all] == ["kept here"]


def _branch(parent: Path, name: str, record: int) -> Path:
    """Write a recording that names the other one as its parent."""
    header = _header(parent)
    own = msgspec.structs.replace(header, run=name, parent=Parent(parent.name, header.run, record, 0))
    path = parent.with_name(f"{name}.jsonl")
    path.write_bytes(encode(own) + b"\n")
    return path


def test_a_branch_inherits_bookmarks_up_to_its_branch_point(recording: Path) -> None:
    """Changes affect the branch alone."""
    parents = _of(recording)
    for record in (10, 20, 30):
        parents.put(record, record, f"parent's {record}")
    branch = _branch(recording, "branch", 25)
    _of(branch).put(22, 22, "branch's 22")
    tree = _branch(branch, "twig", 20)
    assert _noted(branch) == [(10, "parent's 10"), (20, "parent's 20"), (22, "branch's 22")]
    assert _noted(tree) == [(10, "parent's 10"), (20, "parent's 20")]
    mine = _of(tree)
    assert all(each.inherited for each in mine.all)
    mine.put(10, 10, "mine")
    mine.remove(20)
    assert _noted(tree) == [(10, "mine"), (20, "parent's 20")]
    assert _noted(recording) == [(10, "parent's 10"), (20, "parent's 20"), (30, "parent's 30")]


def test_a_cycle_of_parents_ends(recording: Path) -> None:
    """So does a chain whose parent is missing, or holds another run."""
    header = _header(recording)
    _of(recording).put(3, 3, "own")
    own = msgspec.structs.replace(header, parent=Parent(recording.name, header.run, 9, 0))
    assert [each.note for each in Bookmarks(own, recording).all] == ["own"]
    for parent in (Parent("gone.jsonl", header.run, 9, 0), Parent(recording.name, "another", 9, 0)):
        child = msgspec.structs.replace(header, run="child", parent=parent)
        assert Bookmarks(child, recording.with_name("child.jsonl")).all == []

"""Files of strangers: what is no regular file is refused without waiting, what is too large without reading it."""

import ast
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import psutil
import pytest

from lab.foreign_file import (
    RefusedFileError,
    TOMLError,
    open_foreign,
    parse_toml,
    read_foreign,
    read_foreign_text,
)
from lab.recording.reader import NotARecordingError, open_recording
from tests.recording.samples import eventful_lines

ROOT = Path(__file__).parent.parent


def reason(path: Path, largest: int = 100, follow_links: bool = True) -> str:
    """Return why the file is refused."""
    with pytest.raises(RefusedFileError) as raised:
        open_foreign(path, largest, follow_links)
    assert raised.value.filename == str(path)
    return str(raised.value.strerror)


def test_a_file_is_read(tmp_path: Path) -> None:
    """As bytes, or as text of any system."""
    path = tmp_path / "x"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\n")
    assert read_foreign(path, 12) == path.read_bytes()
    assert read_foreign_text(path) == "one\ntwo\n"


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    """A pipe would be waited for, and a device would act."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(tmp_path / "socket"))
    assert reason(tmp_path / "pipe") == "a pipe, not a regular file"
    assert reason(tmp_path / "socket") == "a socket, not a regular file"
    assert reason(Path("/dev/null")) == "a device, not a regular file"
    assert reason(tmp_path) == "Is a directory"


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    """What was opened is checked again."""
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    before = os.stat(tmp_path / "file")
    with patch.object(os, "stat", lambda path, follow_symlinks: before):
        assert reason(tmp_path / "pipe") == "a pipe, not a regular file"


def test_a_link_is_followed_where_the_user_named_it(tmp_path: Path) -> None:
    """And nowhere else, whatever it points to."""
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    for target in ("file", "pipe", "missing"):
        (tmp_path / f"to-{target}").symlink_to(target)
    assert read_foreign(tmp_path / "to-file") == b"x"
    assert reason(tmp_path / "to-pipe") == "a pipe, not a regular file"
    for target in ("file", "pipe", "missing"):
        refused = reason(tmp_path / f"to-{target}", follow_links=False)
        assert refused == "a symbolic link, not a file itself"


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """Also if it grows, or if the system gives its size as 0."""
    path = tmp_path / "large"
    path.touch()
    os.truncate(path, 3 << 20)
    assert reason(path, (3 << 20) - 1) == "larger than 2 MB, the most that such a file may have"
    assert len(read_foreign(path, 3 << 20)) == 3 << 20
    assert reason(path, 2 << 20) == "larger than 2 MB, the most that such a file may have"
    with pytest.raises(RefusedFileError, match="larger than"):
        read_foreign(Path("/proc/self/status"), 10)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\x00")
    with pytest.raises(RefusedFileError, match="not a text file"):
        read_foreign_text(tmp_path / "bytes")


# recordings


def sparse(path: Path, begin: bytes = b"", size: int = 5 << 30) -> Path:
    """Make a file that begins so, with a hole behind it."""
    path.write_bytes(begin)
    os.truncate(path, size)
    return path


@pytest.mark.parametrize(
    ("begin", "refused"),
    [
        (b"", "it has no header line (its first line is longer than 1 MB)"),
        (eventful_lines()[0] + b"\n", "line 2 is longer than 64 MB"),
        (b"".join(line + b"\n" for line in eventful_lines()), f"line {len(eventful_lines()) + 1} is longer than"),
    ],
    ids=["no header", "a header", "a recording"],
)
def test_a_large_file_with_a_hole_costs_little(tmp_path: Path, begin: bytes, refused: str) -> None:
    """It is refused by a process that never has much more memory than it began with."""
    began = psutil.Process().memory_info().rss >> 10
    path = sparse(tmp_path / "hole.jsonl", begin)
    child = os.fork()
    if not child:
        try:
            open_recording(path)
        except NotARecordingError as error:
            os._exit(0 if refused in str(error) else 1)
        os._exit(2)
    _, status, usage = os.wait4(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert usage.ru_maxrss < began + (150 << 10)


def test_a_file_of_newlines_costs_little(tmp_path: Path) -> None:
    """Each line would need a place in the index."""
    path = tmp_path / "lines.jsonl"
    path.write_bytes(eventful_lines()[0] + b"\n" * (1 << 22))
    with pytest.raises(NotARecordingError, match="too many lines of a few characters"):
        open_recording(path)


def test_the_largest_recording_is_bounded(tmp_path: Path) -> None:
    path = sparse(tmp_path / "x.jsonl", size=(16 << 30) + 1)
    with pytest.raises(NotARecordingError, match="larger than 16 GB, the most that such a file may have"):
        open_recording(path)


def test_keyframes_are_found_across_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is made piece by piece; here, a piece ends at every byte of a keyframe's first characters."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in eventful_lines()))
    whole = open_recording(path)
    assert len(whole.keyframes) > 3
    at = whole.offsets[whole.keyframes[1]]
    monkeypatch.delattr("mmap.MADV_DONTNEED")  # only whole pages can be given back
    for piece in range(at - 25, at + 25):
        monkeypatch.setattr("lab.recording.reader._PIECE", piece)
        found = open_recording(path)
        assert (found.offsets, found.keyframes) == (whole.offsets, whole.keyframes), piece


# every reader


OWN_FILES = {
    "lab/exercises/program_grading.py": "recordings of its own runs, in a private folder",
    "lab/worlds/loading/programs.py": "an interpreter that is installed",
    "lab/exercises/handout.py": "a teacher's own exercises; the build of the package loads it alone",
    "lab/worlds/loading/confinement.py": "Python's folders, to allow them",
    "lab/cli/check_programs.py": "recordings of its own runs, in a private folder",
    "lab/cli/home.py": "the shipped scenarios",
    "lab/cli/program.py": "the null device",
    "lab/guide/html_site.py": "pictures of the package",
    "lab/export/html_page.py": "templates of the package",
    "lab/lectures/presentation.py": "what the server or the teacher's command wrote, in the server's data folder",
    "lab/lectures/slides.py": "templates of the package",
    "lab/export/film_files.py": "a film that was just encoded",
    "lab/guide/contents.py": "pages of the package",
    "lab/script/grammar.py": "the grammar of the package",
    "lab/script/parser_tables.py": "what the user wrote, in their own folder, with a digest",
    "lab/serve/web_site.py": "templates of the package",
    "lab/worlds/campaign/cluster.py": "the source of the package",
    "lab/worlds/fork_server.py": "the null device",
    "lab/foreign_file.py": "the gate",
    "lab/durable.py": "folders and locks of its own, and files that it writes",
    "lab/analysis/bookmarks.py": "the folder to lock, and the file that it writes",
    "lab/serve/cluster_pool.py": "what the server's own host wrote, in its private folder",
    "lab/serve/data_folder.py": "what the server itself wrote, in its private folder",
    "lab/serve/gradebook.py": "the seals, which the server itself wrote, in its private folder",
    "lab/worlds/host/feed.py": "the recording that this process writes",
    "lab/worlds/host/runs.py": "what a host of this user wrote, in its private folder",
    "lab/worlds/live/stable_storage.py": "what the node itself wrote, in the private folder of its run",
    "lab/worlds/mutation/mutation_campaign.py": "what this process wrote, in its private folder",
}
"""The modules that open files without the gate, and which files."""


_MAY_OPEN = re.compile(r"\b(open|read_text|read_bytes|copyfile)\s*\(")


def openings(path: Path) -> Iterator[int]:
    """Yield the lines on which the module opens a file that it may read."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text if _MAY_OPEN.search(text) else "")):  # parsing takes much longer
        if isinstance(node, ast.Call):
            method = getattr(node.func, "attr", getattr(node.func, "id", ""))
            name = ast.unparse(node.func) if method == "open" else method
            mode = next((each.value for each in node.args if isinstance(each, ast.Constant)), "")
            opens = mode not in ("w", "wb", "x") if name in ("open", "os.open") else mode in ("r", "rb", "r+b")
            if method in ("read_text", "read_bytes", "copyfile") or (method == "open" and opens):
                yield node.lineno


def test_every_other_file_is_opened_here() -> None:
    """Except for files that the program itself brings or wrote."""
    shipped = ROOT / "lab" / "exercises" / "library"
    modules = [path for path in sorted((ROOT / "lab").rglob("*.py")) if shipped not in path.parents]
    found = {str(path.relative_to(ROOT)) for path in modules if any(openings(path))}
    assert found - OWN_FILES.keys() == set()
    assert OWN_FILES.keys() - found == set(), "these open nothing any more"


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("a = 1\nb = ", "Invalid value", (2, 0)),
        ("a = 1\nb = “x”", "Invalid value: these quotes are curly; write straight ones", (2, 5)),
        ("a = 1\n\nb = [1", "Unclosed array", (3, 0)),
        ("a = 1\na b = 2", "Expected '=' after a key in a key/value pair", (2, 3)),
        ("a = " + "9" * 5000, "a number has too many digits", (0, 0)),
        ("a = " + "[" * 5000, "it is nested too deeply", (0, 0)),
    ],
)
def test_a_text_that_is_not_toml_is_refused_at_its_place(text: str, reason: str, place: tuple[int, int]) -> None:
    with pytest.raises(TOMLError, match=reason) as raised:
        parse_toml(text)
    assert (raised.value.line, raised.value.column) == place

"""What the teacher does about one student: comments, removal, an archive of the data, erasure."""

import asyncio
import errno
import os
import shutil
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

import lab.serve.class_records
import lab.serve.comments
from lab.exercises.attempts import recording_of
from lab.exercises.teacher import Comment, ServerAdminError
from lab.foreign_file import RefusedFileError
from lab.serve.admin_requests import ArchiveStudent, EraseStudent
from lab.serve.admin_server import change_records
from lab.serve.class_records import ClassRecords
from lab.serve.comments import CommentBook
from lab.serve.data_folder import DataFolder, ServerLog, ServerLogLine, read_log
from lab.serve.gradebook import SealBook, Sealer, seal_problems
from lab.serve.server_context import ServerContext
from lab.serve.student_lists import ListError, ListFile
from tests.cli.invocation import Lab
from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server, new_key
from tests.serve.web_client import WebClient
from tests.tui.terminal_screen import TerminalScreen
from tests.waiting import wait_for

_EXERCISE = "two-coordinators"


class Teacher:
    """Runs ``lab serve`` commands on a data folder."""

    def __init__(self, folder: Path, data: Path) -> None:
        (folder / "home").mkdir(exist_ok=True)
        self.lab = Lab(folder, folder / "home")
        self._data = ("--data", str(data))

    def __call__(self, *words: str) -> str:
        """Run a command that must succeed; return its output."""
        called = self.lab("serve", *words, *self._data)
        assert (called.status, called.err) == (0, "")
        return called.out

    def no(self, *words: str) -> str:
        """Return the line with which a command is refused."""
        return self.lab("serve", *words, *self._data).refused()


@pytest.fixture
def lone(tmp_path: Path, school: School) -> Iterator[Server]:
    """A server of one test, for browsers, too."""
    with Server(tmp_path / "data", "--web", "0", class_file=school.class_file) as server:
        yield server


def _leave(screen: TerminalScreen) -> None:
    screen.type("q")
    screen.sees("leave the exercise?")
    screen.type("2\r")
    screen.sees("has ended")


def test_a_comment_is_shown_until_it_is_read(lone: Server, school: School, tmp_path: Path) -> None:
    """In the list and in the exercise; it stays with the exercise's description, and only its text is shown."""
    teacher = Teacher(tmp_path, lone.data)
    anna = Client(lone, school.anna)
    with anna.terminal("start", _EXERCISE) as terminal:
        screen = TerminalScreen(terminal)
        screen.sees("5 leads")
        printed = teacher("comment", "anna", _EXERCISE, "look at \x1b]0;x\x07 node 4")
        assert printed == f"commented on attempt 1 at {_EXERCISE} of anna\n"
        screen.sees("attempt 1: look at \\x1b]0;x\\x07 node 4  (Esc dismisses)")
        _leave(screen)
        screen.sees("attempt 1: look at", "1x  comment", "(Esc dismisses)")
        terminal.type("q")
        assert terminal.status() == 0
    status = teacher("status")
    assert "1 comment unread" in next(line for line in status.splitlines() if line.startswith("anna"))
    book = CommentBook(lone.data / "comments.json")
    with anna.terminal() as terminal:
        screen = TerminalScreen(terminal)
        screen.sees("attempt 1: look at", "1x  comment")
        terminal.type("\x1b")
        wait_for(lambda: all(comment.read for comment in book.of("anna")), "it is read")
        wait_for(lambda: "Esc dismisses" not in screen.text() and "  comment" not in screen.text(), "it is hidden")
        terminal.type("\x1b[B")
        screen.sees("your teacher on attempt 1, ", "look at \\x1b]0;x\\x07 node 4")
        terminal.type("q")
        assert terminal.status() == 0
    assert "unread" not in teacher("status")
    assert lone.logged("comment", f"on attempt 1 at {_EXERCISE}: look at", "anna")
    for words, error in (
        (("ben", _EXERCISE, "x"), f"ben has no attempt at {_EXERCISE}; there are no attempts yet"),
        (("anna", "two-cordinators", "x"), "no attempt at two-cordinators; did you mean two-coordinators?"),
        (("anna", _EXERCISE, "x", "--attempt", "7"), f"no attempt 7 at {_EXERCISE}; there are 1"),
        (("anna", _EXERCISE, " "), "the comment is empty; write a text, in quotes"),
        (("anna", _EXERCISE, "x" * 601), "601 characters; a comment has at most 600"),
        (("../ben", _EXERCISE, "x"), "unknown student ../ben"),
    ):
        assert error in teacher.no("comment", *words)


def test_a_removed_student_is_logged_out_and_cannot_return(lone: Server, school: School, tmp_path: Path) -> None:
    """By key, over an open connection, by browser, or with a code, until readmitted; the work is kept."""
    teacher, anna = Teacher(tmp_path, lone.data), Client(lone, school.anna)
    browser = WebClient(lone, WebClient(lone).log_in(lone.invite("anna")).token)
    assert 'id="terminal"' in browser.get().text
    code = lone.invite("anna")
    with anna.terminal("start", _EXERCISE) as terminal:
        TerminalScreen(terminal).sees("5 leads")
        assert teacher("remove", "anna", "--yes").startswith("removed anna; the work is kept")
        assert terminal.status() != 0
        terminal.shows("your teacher has removed you from the class; ask your teacher to readmit you")
    assert lone.logged("run ended", student="anna")
    assert lone.logged("removed", student="anna")
    assert "removed" in next(line for line in teacher("status").splitlines() if line.startswith("anna"))
    assert "your teacher has removed you from the class" in anna.run("status").stderr
    assert lone.logged("refused", "a key of anna, who was removed")
    assert teacher.no("invite", "anna").endswith("anna was removed; first: lab serve readmit anna")
    other = new_key(tmp_path / "other")
    assert "removed you" in Client(lone, other, user=code).run("status").stderr
    assert "removed you" in browser.get().text
    assert teacher("remove", "anna", "--yes") == "anna is removed already\n"
    assert Client(lone, school.ben).run("status").returncode == 0
    assert teacher("readmit", "anna") == "readmitted anna\n"
    assert anna.run("status").stdout.startswith("anna: 0 sessions")
    assert Client(lone, other, user=code).run("status").returncode == 0
    assert teacher.no("readmit", "anna").startswith("anna is not removed; lab serve status")
    assert recording_of(lone.data / "students" / "anna", _EXERCISE, 1).exists()


def test_an_open_connection_admits_no_removed_student(lone: Server, school: School, tmp_path: Path) -> None:
    """A client may keep its connection, and open a session later."""
    control = tmp_path / "mux"
    options = ("-o", f"ControlPath={control}")
    anna = Client(lone, school.anna, *options)
    master = Client(lone, school.anna, "-M", "-N", *options).begin()
    try:
        wait_for(control.exists, "the connection is open")
        assert anna.run("status").returncode == 0
        Teacher(tmp_path, lone.data)("remove", "anna", "--yes")
        assert anna.run("status").returncode != 0
        assert lone.logged("refused", "removed by the teacher", "anna")
    finally:
        master.kill()
        master.communicate()


@pytest.fixture(scope="module")
def worked_data(school: School, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of a server on which anna and ben have each made an attempt, and anna has a code and a browser."""
    data = tmp_path_factory.mktemp("worked") / "data"
    with Server(data, "--web", "0", class_file=school.class_file) as server:
        for name, key in (("anna", school.anna), ("ben", school.ben)):
            with Client(server, key).terminal("start", _EXERCISE) as terminal:
                screen = TerminalScreen(terminal)
                screen.sees("5 leads")
                _leave(screen)
                server.logged("sealed", student=name)
                terminal.type("q")
                assert terminal.status() == 0
        WebClient(server).log_in(server.invite("anna"))
        server.invite("anna")
        assert server.end() == 0
    return data


@pytest.fixture
def worked(worked_data: Path, school: School, tmp_path: Path) -> Iterator[Server]:
    """A server that goes on with a copy of these data."""
    data = shutil.copytree(worked_data, tmp_path / "data")
    with Server(data, "--web", "0", class_file=school.class_file) as server:
        yield server


def test_an_archive_has_all_that_is_stored_about_a_student(worked: Server, tmp_path: Path) -> None:
    """And nothing of another; links in the folder are not followed."""
    teacher = Teacher(tmp_path, worked.data)
    teacher("comment", "anna", _EXERCISE, "well done")
    home = worked.data / "students" / "anna"
    (home / "link").symlink_to("/etc/passwd")
    os.mkfifo(home / "pipe")
    assert teacher("archive", "anna", "--yes", "--to", "a.zip").endswith(f"of anna to {tmp_path / 'a.zip'}\n")
    assert (tmp_path / "a.zip").stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        files = {name.removeprefix("anna/"): archive.read(name) for name in archive.namelist()}
    recording = recording_of(home, _EXERCISE, 1)
    assert files[f"folder/attempts/{recording.name}"] == recording.read_bytes()
    assert files["folder/progress.json"] == (home / "progress.json").read_bytes()
    assert not {"folder/link", "folder/pipe"} & files.keys()
    (comment,) = msgspec.json.decode(files["comments.json"], type=list[Comment])
    assert comment.text == "well done"
    assert b'"event":"log-in"' in files["log.jsonl"]
    assert files["seals.jsonl"].count(b"\n") == 1
    assert files["lists.txt"].count(b"browsers: ") == 1
    assert files["lists.txt"].count(b"invites.json: ") == 2
    assert not any(b'"ben"' in contents for contents in files.values())
    assert worked.logged("archived", "a.zip", "anna")
    assert teacher.no("archive", "anna", "--yes", "--to", "a.zip") == "a.zip exists; name another file: --to FILE"
    assert "cannot be written: No such file" in teacher.no("archive", "anna", "--yes", "--to", "gone/a.zip")


def test_an_erased_student_is_nowhere(worked: Server, school: School, tmp_path: Path) -> None:
    """While the server runs; grades and seals of the others stay valid, and the key may come back anew."""
    teacher = Teacher(tmp_path, worked.data)
    teacher("comment", "anna", _EXERCISE, "well done")
    extensions = (f'[[extension]]\nstudent = "{name}"\ndays = 2\n' for name in ("anna", "ben"))
    (worked.data / "course.valid.toml").write_text("\n".join(extensions))
    with Client(worked, school.ben).terminal() as terminal:
        TerminalScreen(terminal).sees("lab exercises")
        teacher("notify", "ben", "anna is faster")
        with Client(worked, school.anna).terminal() as of_anna:
            TerminalScreen(of_anna).sees("lab exercises")
            assert teacher("erase", "anna", "--yes").startswith("erased anna; not changed are your own files")
            of_anna.shows("your teacher has deleted all that was stored about you here")
            assert of_anna.status() != 0
        terminal.type("q")
        assert terminal.status() == 0
    worked.logged("erased")
    assert (worked.data / "course.valid.toml").read_text().strip() == '[[extension]]\nstudent = "ben"\ndays = 2'
    paths = [path for path in worked.data.rglob("*") if path.is_file()]
    assert not [path for path in paths if "anna" in str(path.relative_to(worked.data))]
    assert [path.name for path in paths if b"anna" in path.read_bytes()] == []
    assert "(erased) is faster" in worked.logged("message")["text"]
    report = SealBook(worked.data / "seals").read()
    assert ([seal.student for seal in report.seals.values()], report.problem) == (["ben"], "")
    assert "1 attempt of 1 student graded" in teacher("export")
    assert Client(worked, school.anna).run("exercises").returncode == 0  # the teacher's list still has the key
    with Client(worked, school.ben).terminal("start", _EXERCISE) as terminal:
        screen = TerminalScreen(terminal)
        screen.sees("5 leads")
        _leave(screen)
        wait_for(lambda: len(SealBook(worked.data / "seals").read().heads) == 2, "the next seal")
        terminal.type("q")
    assert SealBook(worked.data / "seals").read().problem == ""
    assert "2 attempts of 1 student graded" in teacher("export")


def test_all_of_it_works_without_a_server(worked: Server, school: School, tmp_path: Path) -> None:
    """On the data folder, under its lock."""
    assert worked.end() == 0
    teacher = Teacher(tmp_path, worked.data)
    assert teacher("comment", "anna", _EXERCISE, "well done").startswith("commented on attempt 1")
    assert teacher("remove", "anna", "--yes").startswith("removed anna")
    assert teacher("archive", "anna", "--yes").endswith(f"of anna to {tmp_path / 'anna.zip'}\n")
    assert teacher("readmit", "anna") == "readmitted anna\n"
    assert teacher("erase", "anna", "--yes").startswith("erased anna")
    assert b"anna" not in (worked.data / "log").read_bytes()
    assert "1 attempt of 1 student graded" in teacher("export")
    assert "unknown student anna" in teacher.no("erase", "anna", "--yes")
    with DataFolder(worked.data).held():
        assert "a server already runs in" in teacher.no("remove", "ben", "--yes")


def test_nothing_is_done_without_a_confirmation(tmp_path: Path) -> None:
    """A script confirms with an option."""
    (tmp_path / "data" / "students" / "anna").mkdir(parents=True)
    teacher = Teacher(tmp_path, tmp_path / "data")
    assert teacher.no("remove", "anna").endswith("Add --yes to confirm it")
    assert teacher.no("erase", "anna").endswith("are deleted for good. Add --yes to confirm it")
    assert teacher.no("archive", "anna").endswith("Add --yes to confirm it")
    assert (tmp_path / "data" / "students" / "anna").exists()
    assert not (tmp_path / "data" / "removed").exists()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[ClassRecords]:
    """The records of a folder without a server, in which anna and ben each have a sealed recording."""
    folder = DataFolder(tmp_path / "data")
    log, book = ServerLog(folder.log), SealBook(folder.seals)
    for name in ("anna", "ben"):
        recording = recording_of(folder.student_path(name), _EXERCISE, 1)
        recording.write_text(name)
        asyncio.run(Sealer(folder, book, log).seal(recording, name))
    yield ClassRecords(folder, log, book)
    log.close()


def test_edited_seals_refuse_an_erasure(tmp_path: Path, alone: ClassRecords) -> None:
    """The last one is gone, which only the log shows; nothing is erased then."""
    seals = tmp_path / "data" / "seals"
    seals.write_bytes(seals.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(ServerAdminError, match="lacks 1 of the seals in the log, so nothing was erased"):
        alone.apply(EraseStudent("anna"))
    assert (tmp_path / "data" / "students" / "anna").exists()
    assert b'"event":"sealed"' in (tmp_path / "data" / "log").read_bytes()


def test_an_archive_names_what_it_leaves_out(
    tmp_path: Path, alone: ClassRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And does not mind a file that vanishes while it is written."""
    path = recording_of(tmp_path / "data" / "students" / "anna", _EXERCISE, 2)
    path.write_text("x")

    def read(file: Path, largest: int, follow_links: bool) -> bytes:
        if file == path:
            raise RefusedFileError(errno.EFBIG, "larger than 64 MB", path)
        raise FileNotFoundError(file)

    monkeypatch.setattr(lab.serve.class_records, "read_foreign", read)
    alone.apply(ArchiveStudent("anna", str(tmp_path / "a.zip")))
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        (name,) = [name for name in archive.namelist() if "folder/" in name]
        assert name.endswith(f"{path.name}.left-out")
        assert archive.read(name) == b"larger than 64 MB\n"


def test_comments_are_read_again_only_when_they_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report asks for those of each student; the commands of the teacher change them beside the server."""
    reads = []

    def read(path: Path) -> bytes:
        reads.append(path)
        return path.read_bytes()

    book, other = (CommentBook(tmp_path / "comments.json") for _ in range(2))
    assert book.of("anna") == ()
    first = other.add("anna", _EXERCISE, 1, "one")
    monkeypatch.setattr(lab.serve.comments, "read_foreign", read)
    assert [book.of(name) for name in ("anna", "ben", "anna")] == [(first,), (), (first,)]
    assert len(reads) == 1
    book.mark_read("anna", (1,))
    assert [each.read != "" for each in other.of("anna")] == [True]
    other.forget("anna")
    assert book.of("anna") == ()


def test_a_comment_without_a_date_is_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The teacher's log says so, once; the others are shown, and the file keeps it."""
    folder = DataFolder(tmp_path / "data")
    log = ServerLog(folder.log)
    book = CommentBook(folder.comments, log)
    book.add("anna", _EXERCISE, 1, "one")
    kept = book.add("anna", _EXERCISE, 2, "two")
    folder.comments.write_text(folder.comments.read_text().replace(book.of("anna")[0].at, "yesterday", 1))
    assert [book.of("anna") for _ in range(2)] == [(kept,)] * 2
    (line,) = [line for line in read_log(folder.log) if line.event == "unreadable"]
    assert line.student == "anna"
    assert "comment 1: at = 'yesterday' is no date, such as 2026-12-04T23:59:00+00:00" in line.text
    assert "the student does not see it" in capsys.readouterr().out
    book.mark_read("anna", (kept.serial,))
    assert "yesterday" in folder.comments.read_text()
    log.close()


def test_what_is_logged_while_the_log_is_rewritten_is_kept(tmp_path: Path) -> None:
    """And changed as the other lines are."""
    log = ServerLog(tmp_path / "log")
    for text in ("of anna", "of ben"):
        log.write("message", text)

    def erased(line: ServerLogLine) -> ServerLogLine | None:
        if line.text == "of ben":
            log.write("message", "of anna, meanwhile")
            log.write("message", "of zoe, meanwhile")
        return None if "anna" in line.text else line

    log.rewrite(erased)
    log.write("message", "after it")
    assert [line.text for line in read_log(tmp_path / "log")] == ["of ben", "of zoe, meanwhile", "after it"]
    log.close()


def test_the_server_does_not_wait_for_an_erasure(tmp_path: Path) -> None:
    """The log is rewritten in a thread; what ends meanwhile is sealed afterwards, in an unbroken chain."""
    folder = DataFolder(tmp_path / "data")
    log, seals = ServerLog(folder.log), SealBook(folder.seals)
    recordings = {name: recording_of(folder.student_path(name), _EXERCISE, 1) for name in ("anna", "ben", "zoe")}
    for path in recordings.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a run\n")
    records, sealer = ClassRecords(folder, log, seals), Sealer(folder, seals, log)
    is_rewriting, may_go_on = threading.Event(), threading.Event()
    rewrite = log.rewrite

    def wait_and_rewrite(change: Callable[[ServerLogLine], ServerLogLine | None]) -> None:
        is_rewriting.set()
        assert may_go_on.wait(60)
        rewrite(change)

    log.rewrite = wait_and_rewrite  # type: ignore[method-assign]
    context = cast(
        ServerContext,
        SimpleNamespace(
            records=records,
            sealer=sealer,
            admission=SimpleNamespace(names=lambda: {"anna"}, browsers=SimpleNamespace(forget_student=str)),
            hub=SimpleNamespace(renew_notices=str),
            end_sessions=_end_no_sessions,
        ),
    )

    async def erase() -> None:
        await sealer.seal(recordings["ben"], "ben")
        erasure = asyncio.create_task(change_records(context, EraseStudent("anna")))
        assert await asyncio.to_thread(is_rewriting.wait, 60)
        sealing = asyncio.create_task(sealer.seal(recordings["zoe"], "zoe"))
        may_go_on.set()
        assert (await erasure).startswith("erased anna")
        await sealing

    asyncio.run(erase())
    report = seals.read()
    assert ([seal.student for seal in report.seals.values()], report.problem) == (["ben", "zoe"], "")
    assert list(seal_problems(folder.path, report)) == []
    log.close()


async def _end_no_sessions(student: str, why: str) -> None:
    """Nobody is logged in."""


@pytest.mark.parametrize("word", ["remove", "readmit", "archive", "erase"])
def test_a_damaged_file_of_codes_is_reported(tmp_path: Path, word: str) -> None:
    (tmp_path / "data" / "students" / "anna").mkdir(parents=True)
    (tmp_path / "data" / "invites.json").write_text("{")
    error = Teacher(tmp_path, tmp_path / "data").no(word, "anna", *["--yes"] * (word != "readmit"))
    assert "invites.json is damaged; repair it, or move it away" in error


def test_a_damaged_file_of_comments_is_reported(tmp_path: Path) -> None:
    """And left as it is."""
    home = tmp_path / "data" / "students" / "anna"
    (home / "attempts").mkdir(parents=True)
    recording_of(home, _EXERCISE, 1).touch()
    (tmp_path / "data" / "comments.json").write_text("{")
    error = Teacher(tmp_path, tmp_path / "data").no("comment", "anna", _EXERCISE, "x")
    assert "comments.json cannot be read" in error
    assert "repair it, or move it away" in error
    assert (tmp_path / "data" / "comments.json").read_text() == "{"


def test_a_list_with_a_mistake_or_gone_is_announced_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the teacher started the server: those on the list come in with the version before, or not at all."""

    def read(text: str, file: str) -> dict[str, str]:
        if "garbage" in text:
            raise ListError(f"{file}:1: garbage")
        return dict.fromkeys(text.split(), "anna")

    log, path = ServerLog(tmp_path / "log"), tmp_path / "class.keys"
    listed = ListFile(path, read, log)
    path.write_text("key\n")
    assert listed.students() == {"key": "anna"}
    path.write_text("garbage and more\n")
    assert [listed.students() for _ in range(2)] == [{"key": "anna"}] * 2
    printed = capsys.readouterr().out
    assert printed.count("class.keys:1: garbage; students are those of the version before it") == 1
    path.unlink()
    assert [listed.students() for _ in range(2)] == [{}, {}]
    assert capsys.readouterr().out.count("is gone, and with it the students that it lists") == 1
    log.close()

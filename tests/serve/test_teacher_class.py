"""The teacher and a class that is on, with OpenSSH's client: how it stands, messages, what is sealed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from lab.exercises.teacher import ClassReport, Student
from lab.serve.admin_connection import AdminConnection
from lab.serve.folder import DataFolder
from lab.serve.seals import SealBook
from tests.cli.invocation import Lab
from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server
from tests.waiting import wait_for

_EXERCISE = "two-coordinators"


class TeacherTerminal:
    """What a teacher types, beside a server."""

    def __init__(self, lab: Lab, server: Server) -> None:
        self._lab = lab
        self._data = ["--data", str(server.data)]

    def __call__(self, *words: str) -> str:
        """``lab serve COMMANDS``, which does what it is told; what it prints."""
        called = self._lab("serve", *words, *self._data)
        assert (called.status, called.err) == (0, "")
        return called.out

    def no(self, *words: str) -> str:
        """The line with which it says no."""
        return self._lab("serve", *words, *self._data).refused()

    def student(self, name: str) -> Student:
        """How one of them stands."""
        report = msgspec.json.decode(self("status", "--json"), type=ClassReport)
        return next(each for each in report.students if each.name == name)


@pytest.fixture
def teacher(server: Server, tmp_path: Path) -> TeacherTerminal:
    """With folders of its own."""
    (tmp_path / "home").mkdir()
    return TeacherTerminal(Lab(tmp_path, tmp_path / "home"), server)


def test_status_tells_how_each_student_stands(server: Server, school: School, teacher: TeacherTerminal) -> None:
    """Who is on, at which exercise, the tasks, and since when nothing was solved; those who are not on, too."""
    anna = Client(server, school.anna)
    with anna.terminal("start", _EXERCISE) as terminal:
        terminal.shows("attempt 1")
        student = wait_for(lambda: (found := teacher.student("anna")).tasks and found, "the attempt is noted")
        assert student
        assert (student.exercise, student.attempt, student.done) == (_EXERCISE, 1, 0)
        assert (student.points, student.solved, student.keys) == (0, 0, False)
        assert student.stuck_s is not None
        assert 0 <= student.stuck_s < 60
        assert Path(student.socket).exists()
        said = teacher("status").splitlines()
        assert said[0] == f"port {server.port}: 1 session, 1 cluster"
        assert said[2].split()[:4] == ["anna", *said[2].split()[1:3], _EXERCISE]
        assert said[3].split()[0] == "ben"
        assert teacher.student("ben").since == ""
        terminal.type("q")
        terminal.shows("leave the exercise?")
        before = len(terminal.output)
        terminal.type("2")
        terminal.shows("light or dark", before)
        terminal.type("q")
        assert terminal.status() == 0
    assert teacher.student("anna").stuck_s is None


def test_the_server_seals_what_a_run_recorded(
    server: Server, school: School, teacher: TeacherTerminal, tmp_path: Path
) -> None:
    """At the end of the run, and before the end is logged; it is what export grades."""
    folder = DataFolder(server.data)
    with Client(server, school.ben).terminal("start", _EXERCISE) as terminal:
        terminal.shows("attempt 1")
        assert not any("/ben/" in file for file in SealBook(folder.seals).read().seals)
        terminal.type("q")
        terminal.shows("leave the exercise?")
        terminal.type("2")
        server.logged("run ended", student="ben")
        terminal.type("q")
    seal = SealBook(folder.seals).read().seals[f"students/ben/attempts/{_EXERCISE}-001.jsonl"]
    assert (seal.student, seal.witnessed) == ("ben", True)
    assert server.logged("sealed", student="ben")["text"].endswith(seal.file)
    assert "graded" in teacher("export", "--csv", str(tmp_path / "grades.csv"))


def test_a_message_stays_until_it_is_put_away(server: Server, school: School, teacher: TeacherTerminal) -> None:
    """To one in the list, to all in an exercise; what would steer a terminal is shown as text."""
    with Client(server, school.anna).terminal() as terminal:
        terminal.shows("begins an attempt")
        assert teacher("tell", "anna", "look at node 3\x1b]0;x\x07") == "told anna\n"
        terminal.shows("your teacher: look at node 3")
        assert b"\x1b]0;x" not in terminal.output
        terminal.shows("(Esc dismisses)")
        assert teacher("tell", "--all", "five minutes to go") == "told anna\n"
        terminal.shows("your teacher: five minutes to go")
        assert teacher.no("tell", "ben", "hello") == "ben is not logged in; see lab serve status"
        assert teacher.no("tell", "hello") == (
            'say to whom: lab serve tell NAME… "TEXT", or lab serve tell --all "TEXT"'
        )
        assert teacher.no("tell", "anna", "x" * 300).startswith("300 letters: 280 is the most")
        before = len(terminal.output)
        terminal.type("\x1b")
        terminal.shows("light or dark", before)
        terminal.type("q")
        assert terminal.status() == 0
    assert server.logged("message")["text"] == "to all: five minutes to go"


def test_the_log_tells_what_students_did(server: Server, school: School, teacher: TeacherTerminal) -> None:
    """Who logged in and attempted what, in readable lines; with every command, from the recordings."""
    with Client(server, school.anna).terminal("start", _EXERCISE) as terminal:
        terminal.shows("attempt ")
        server.logged("run", f"{_EXERCISE}, attempt", "anna")
        terminal.type(":pause 5\r")
        terminal.shows("pause 5: ")
        terminal.type("\x03")
        terminal.status()
    said = teacher("log", "anna", "--commands").splitlines()
    assert all(line.split()[2] == "anna" for line in said)
    (given,) = [line for line in said if line.split()[3] == "command"]
    assert given.split(maxsplit=4)[4].startswith(f"{_EXERCISE}-")
    assert "pause 5" in given
    assert any(f"{_EXERCISE}, attempt" in line for line in said if line.split()[3] == "run")
    assert not any("sealed" in line for line in teacher("log").splitlines())
    assert teacher.no("log", "anne").startswith("there is no student 'anne' here; did you mean anna?")


def test_two_threads_on_one_line_get_their_own_answers(server: Server) -> None:
    """The screen looks at the votes while the teacher closes them."""
    with AdminConnection(DataFolder(server.data)) as line, ThreadPoolExecutor(4) as threads:
        reports = [threads.submit(line.report) for _ in range(60)]
        told = [threads.submit(line.notify, (), "look here") for _ in range(60)]
        assert {each.result().port for each in reports} == {server.port}
        assert [each.result() for each in told] == [[]] * 60

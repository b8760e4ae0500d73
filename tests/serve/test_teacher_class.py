"""The teacher's commands with students logged in by OpenSSH's client: status, messages, seals."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from lab.cli.serve_class import ClassDocument
from lab.exercises.exercise_reader import all_exercises
from lab.exercises.teacher import Student
from lab.serve.admin_client import AdminConnection
from lab.serve.data_folder import DataFolder
from lab.serve.gradebook import SealBook
from tests.cli.invocation import Lab
from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server
from tests.waiting import wait_for

_EXERCISE = "two-coordinators"


class TeacherTerminal:
    """Runs the teacher's commands beside a server."""

    def __init__(self, lab: Lab, server: Server) -> None:
        self._lab = lab
        self._data = ["--data", str(server.data)]

    def __call__(self, *words: str) -> str:
        """Run ``lab serve COMMANDS``, which must succeed; return its output."""
        called = self._lab("serve", *words, *self._data)
        assert (called.status, called.err) == (0, "")
        return called.out

    def no(self, *words: str) -> str:
        """Return the line with which the command is refused."""
        return self._lab("serve", *words, *self._data).refused()

    def student(self, name: str) -> Student:
        """Return the report on one student."""
        report = msgspec.json.decode(self("status", "--json"), type=ClassDocument)
        return next(each for each in report.students if each.name == name)


@pytest.fixture
def teacher(server: Server, tmp_path: Path) -> TeacherTerminal:
    (tmp_path / "home").mkdir()
    return TeacherTerminal(Lab(tmp_path, tmp_path / "home"), server)


def test_status_shows_each_student_s_progress(server: Server, school: School, teacher: TeacherTerminal) -> None:
    """Students who are logged in, their exercise, tasks and time without progress; and the other students."""
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
        lines = teacher("status").splitlines()
        assert lines[0] == f"port {server.port}: 1 session, 1 cluster"
        # what a student can earn here: nobody hands in a file over SSH
        served = [each for each in all_exercises() if not each.starting_files]
        assert f" points of {sum(each.points for each in served)} " in lines[1]
        assert served != all_exercises()
        words = lines[2].split()
        assert [words[0], words[1], *words[4:7]] == ["anna", "working", "○" * student.tasks, _EXERCISE, "1"]
        assert student.states == ("open",) * student.tasks
        assert (student.latest, student.latest_attempt) == (_EXERCISE, 1)
        assert lines[3].split()[0] == "ben"
        assert teacher.student("ben").since == ""
        terminal.type("q")
        terminal.shows("leave the exercise?")
        before = len(terminal.output)
        terminal.type("2")
        terminal.type("\r")
        terminal.shows("light or dark", before)
        terminal.type("q")
        assert terminal.status() == 0
    assert teacher.student("anna").stuck_s is None


def test_the_server_seals_the_recording_of_a_run(
    server: Server, school: School, teacher: TeacherTerminal, tmp_path: Path
) -> None:
    """At the end of the run, before the end is logged; export grades it."""
    folder = DataFolder(server.data)
    with Client(server, school.ben).terminal("start", _EXERCISE) as terminal:
        terminal.shows("attempt 1")
        assert not any("/ben/" in file for file in SealBook(folder.seals).read().seals)
        terminal.type("q")
        terminal.shows("leave the exercise?")
        terminal.type("2")
        terminal.type("\r")
        server.logged("run ended", student="ben")
        terminal.type("q")
    seal = SealBook(folder.seals).read().seals[f"students/ben/attempts/{_EXERCISE}-001.jsonl"]
    assert (seal.student, seal.witnessed) == ("ben", True)
    assert server.logged("sealed", student="ben")["text"].endswith(seal.file)
    assert "graded" in teacher("export", "--csv", str(tmp_path / "grades.csv"))


def test_a_message_stays_until_it_is_dismissed(server: Server, school: School, teacher: TeacherTerminal) -> None:
    """In the list or in an exercise; escape sequences are shown as text."""
    with Client(server, school.anna).terminal() as terminal:
        terminal.shows("begins an attempt")
        assert teacher("notify", "anna", "look at node 3\x1b]0;x\x07") == "notified anna\n"
        terminal.shows("your teacher: look at node 3")
        assert b"\x1b]0;x" not in terminal.output
        terminal.shows("(Esc dismisses)")
        assert teacher("notify", "--all", "five minutes to go") == "notified anna\n"
        terminal.shows("your teacher: five minutes to go")
        assert teacher.no("notify", "ben", "hello") == "ben is not logged in; see lab serve status"
        assert teacher.no("notify", "hello") == (
            'name the recipients: lab serve notify NAME… "TEXT", or lab serve notify --all "TEXT"'
        )
        assert teacher.no("notify", "anna", "x" * 300).startswith("300 characters; at most 280")
        before = len(terminal.output)
        terminal.type("\x1b")
        terminal.shows("light or dark", before)
        terminal.type("q")
        assert terminal.status() == 0
    assert server.logged("message")["text"] == "to all: five minutes to go"


def test_the_log_shows_what_students_did(server: Server, school: School, teacher: TeacherTerminal) -> None:
    """Log-ins and attempts, in readable lines; with every command, from the recordings."""
    with Client(server, school.anna).terminal("start", _EXERCISE) as terminal:
        terminal.shows("attempt ")
        server.logged("run", f"{_EXERCISE}, attempt", "anna")
        terminal.type(":pause 5\r")
        terminal.shows("pause 5: ")
        terminal.type("\x03")
        terminal.status()
    lines = teacher("log", "anna", "--commands").splitlines()
    assert all(line.split()[2] == "anna" for line in lines)
    (command,) = [line for line in lines if line.split()[3] == "command"]
    assert command.split(maxsplit=4)[4].startswith(f"{_EXERCISE}-")
    assert "pause 5" in command
    assert any(f"{_EXERCISE}, attempt" in line for line in lines if line.split()[3] == "run")
    assert not any("sealed" in line for line in teacher("log").splitlines())
    assert teacher.no("log", "anne").startswith("unknown student 'anne'; did you mean anna?")


def test_two_threads_on_one_connection_get_their_own_replies(server: Server) -> None:
    """The screen polls the votes while the teacher closes them."""
    with AdminConnection(DataFolder(server.data)) as line, ThreadPoolExecutor(4) as threads:
        reports = [threads.submit(line.report) for _ in range(60)]
        replies = [threads.submit(line.notify, (), "look here") for _ in range(60)]
        assert {each.result().port for each in reports} == {server.port}
        assert [each.result() for each in replies] == [[]] * 60

"""The teacher's screens in terminals of their own, and what students with OpenSSH's client see."""

import tempfile
from pathlib import Path

from lab.recording.reader import open_recording
from lab.recording.records import Captioned, Commanded
from tests.lectures.lecture_files import write_lecture
from tests.serve.conftest import School, Teacher
from tests.serve.lab_server import Client, Server
from tests.serve.web_client import WebClient
from tests.tui.terminal import Terminal
from tests.tui.terminal_screen import TerminalScreen

_EXERCISE = "two-coordinators"


def _leave_attempt(terminal: Terminal) -> None:
    before = len(terminal.output)
    terminal.type("q")
    terminal.shows("leave the exercise?", before)
    terminal.type("2")
    terminal.type("\r")
    terminal.shows("light or dark", before)
    terminal.type("q")
    assert terminal.status() == 0


def test_the_class_and_a_student_s_cluster_are_watched(server: Server, school: School, teacher: Teacher) -> None:
    """One line per student, updated; Enter shows a cluster as a viewer, and q goes back."""
    with Client(server, school.anna).terminal("start", _EXERCISE) as student, teacher("watch") as watch:
        student.shows("attempt 1")
        TerminalScreen(watch).sees("lab class", "1 of 2 students logged in", "working", "○○", f"{_EXERCISE} 1")
        watch.type("\r")
        watch.shows("viewer")
        watch.shows(f"anna, {_EXERCISE} 1")
        before = len(watch.output)
        watch.type("q")
        watch.shows("lab class", before)
        assert b"controls this cluster" not in student.output
        watch.type("q")
        assert watch.status() == 0
        watch.is_as_before()
        _leave_attempt(student)


def test_the_teacher_takes_control_and_the_student_knows(server: Server, school: School, teacher: Teacher) -> None:
    """A line says so while it lasts, also in the recording; the student's own keys keep working."""
    with Client(server, school.anna).terminal("start", _EXERCISE) as student, teacher("watch") as watch:
        student.shows("5 leads")
        watch.shows(_EXERCISE)
        watch.type("t")
        student.shows("your teacher also controls this cluster; your keys still work")
        watch.shows(f"anna, {_EXERCISE}")
        watch.type(":pause 5\r")
        watch.shows("pause 5: ")
        student.type(":resume 5\r")
        student.shows("resume 5: ")
        watch.type("q")
        server.logged("control", "releases", "anna")
        watch.type("q")
        assert watch.status() == 0
        _leave_attempt(student)
    recording = sorted((server.data / "students" / "anna" / "attempts").glob("*.jsonl"))[-1]
    lines = open_recording(recording)
    texts = [record.text for record in lines.records() if isinstance(record, Commanded | Captioned)]
    lines.close()
    assert texts[-3:] == ["your teacher took control of this cluster, too", "pause 5", "resume 5"]


def test_a_lecture_left_with_ctrl_c_has_not_failed(server: Server, teacher: Teacher, tmp_path: Path) -> None:
    """Given from the screen of the class; one that has failed says how to see the reason."""
    path = write_lecture(tmp_path)
    with teacher("watch") as terminal:
        watch = TerminalScreen(terminal)
        watch.sees("2 students logged in")
        watch.type("l")
        watch.sees("lecture: what to run?")
        watch.type(f"{path}\r")
        watch.sees("1/3  Only a text")
        watch.type("\x03")
        watch.sees("leave the lecture?")
        watch.type("\x03")
        watch.sees("you are back from the lecture")
        write_lecture(tmp_path, 'stop = "when 4 leads"', 'stop = "when 1 leads"')
        watch.type("l")
        watch.sees("lecture: what to run?")
        watch.type(f"{path}\r")
        watch.sees("for the reason run: lab serve lecture", "pause.md --data")
        watch.type("q")
        assert terminal.status() == 0


def test_a_message_is_sent_from_the_screen(server: Server, school: School, teacher: Teacher) -> None:
    """To the selected student, or to all."""
    with Client(server, school.ben).terminal() as student, teacher("watch") as watch:
        student.shows("begins an attempt")
        watch.shows("1 of 2 students logged in")
        watch.type("l")
        watch.shows("lecture: what to run?")
        watch.type("bullx\r")
        watch.shows("did you mean bully?")
        watch.type("m")
        watch.shows("a message to ben")
        watch.type("well done\r")
        student.shows("your teacher: well done")
        watch.type("M")
        watch.shows("a message to all who are logged in")
        watch.type("back to the list\r")
        student.shows("your teacher: back to the list")
        watch.type("q")
        assert watch.status() == 0
        student.type("q")
        assert student.status() == 0


_HOSTILE = ("\x1b]0;owned\x07", "\x9b2Jowned", "\u202edenwo", "[red]owned", "x" * 200, "=owned", "a\nowned")


def test_hostile_names_do_nothing_on_the_teacher_s_screens(tmp_path: Path, school: School) -> None:
    """User names of strangers, folders in a copied data folder, and the address that a proxy reports."""
    data = tmp_path / "data"
    for name in _HOSTILE:
        (data / "students" / name / "attempts").mkdir(parents=True)
        (data / "students" / name / "attempts" / f"{name}.jsonl"[-60:]).write_text("no recording")
    with (
        Server(data, "--web", "0", class_file=school.class_file) as server,
        tempfile.TemporaryDirectory(prefix="lab-") as sockets,
    ):
        for name in _HOSTILE:
            Client(server, school.stranger, user=name.replace("\n", " ")).run("status")
        WebClient(server, X_Forwarded_For="fe80::1%\u009b2Jowned").log_in("owned")
        teacher = Teacher(server, tmp_path, sockets)
        with teacher("watch") as watch:
            watch.shows("0 of 2 students logged in")
            watch.shows("anna")
            watch.type("q")
            assert watch.status() == 0
            assert b"owned" not in watch.output
        for command in ("status", "log", "export"):
            with teacher(command) as terminal:
                terminal.status()
                for name in _HOSTILE[:3]:
                    assert name.encode() not in terminal.output
        assert "owned" not in {line.get("address", "") for line in server.log()}


def _leave_lecture(terminal: Terminal) -> None:
    before = len(terminal.output)
    terminal.type("q")
    terminal.shows("light or dark", before)
    terminal.type("q")
    assert terminal.status() == 0, terminal.last()


def test_a_lecture_is_shown_to_the_class(server: Server, school: School, teacher: Teacher) -> None:
    """Students who are logged in are notified and join with a key; those who log in see it at once.

    Each has a cursor in time of their own.
    """
    with Client(server, school.anna).terminal() as anna:
        anna.shows("begins an attempt")
        with teacher("lecture", "bully", "--sim") as lecture:
            lecture.shows("5 leads")
            anna.shows("your teacher shows bully")
            assert b"lecture: bully" not in anna.output
            anna.type("\x07")
            anna.shows("viewer")
            anna.shows("lecture: bully")
            with Client(server, school.ben).terminal() as ben:
                ben.shows("lecture: bully")
                lecture.type(":kill 5\r")
                anna.shows("4 leads")
                ben.shows("4 leads")
                ben.type(",")  # into the past; the others stay where they are
                ben.type("k")
                ben.shows("it is your teacher's cluster; you can move in time, but send no commands")
                lecture.type(":restart 5\r")
                lecture.shows("restart 5: ")
                lecture.type("q")
                assert lecture.status() == 0, lecture.last()
                server.logged("lecture", "over")
                _leave_lecture(ben)
        _leave_lecture(anna)


def test_the_class_votes_and_sees_the_tally(server: Server, school: School, teacher: Teacher) -> None:
    """Each student has one vote, the last one before the close; the teacher sees the votes arrive."""
    with Client(server, school.anna).terminal() as anna, Client(server, school.ben).terminal() as ben:
        anna.shows("begins an attempt")
        ben.shows("begins an attempt")
        with teacher("lecture", "bully", "--sim") as lecture:
            lecture.shows("5 leads")
            lecture.type(':ask "who leads next?" | 4 | 3\r')
            anna.shows("your teacher asks the class")
            ben.shows("who leads next?")
            anna.type("1")
            anna.type("\r")
            anna.shows("your answer: 4")
            lecture.shows("1 answer")
            ben.type("2")
            ben.type("\r")
            lecture.shows("2 answers")
            lecture.type("\r")
            lecture.shows("Enter again closes the vote")
            lecture.type("\r")
            anna.shows("who leads next?  2 answers: 4: 1, 3: 1")
            ben.shows("who leads next?  2 answers: 4: 1, 3: 1")
            before = len(lecture.output)
            lecture.type(":ask nothing\r")
            lecture.shows("write a question and 2 to 9 choices", before)
            lecture.type("q")
            assert lecture.status() == 0, lecture.last()
        assert server.logged("tally")["text"] == "who leads next?: 4 1, 3 1"

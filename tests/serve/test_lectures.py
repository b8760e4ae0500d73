"""A lecture from a file, given on a server: the teacher in one terminal, students with OpenSSH's client."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.lectures.presentation import read_progress
from tests.lectures.lecture_files import write_lecture
from tests.serve.conftest import School, Teacher
from tests.serve.lab_server import Client, Server
from tests.tui.terminal import Terminal
from tests.tui.terminal_screen import TerminalScreen
from tests.waiting import wait_for

_NEXT, _BACK, _F3, _CTRL_G, _F2 = "\x1b[6~", "\x1b[5~", "\x1bOR", "\x07", "\x1bOQ"


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A lecture of three steps: a text, a run that stops, with a question, and the next stop."""
    return str(write_lecture(tmp_path))


@pytest.fixture
def own_server(school: School, tmp_path: Path) -> Iterator[Server]:
    """A server without lectures of the past."""
    with Server(tmp_path / "data", "--log-ins", "1000", class_file=school.class_file) as serving:
        yield serving


def _logged_in(terminal: Terminal) -> TerminalScreen:
    screen = TerminalScreen(terminal)
    screen.sees("begins an attempt")
    return screen


@contextmanager
def _student(server: Server, key: Path) -> Iterator[TerminalScreen]:
    """Log a student in: who comes later than a lecture is shown it at once."""
    with Client(server, key).terminal() as terminal:
        yield _logged_in(terminal)


def _end(lecture: TerminalScreen, choice: str) -> None:
    lecture.type("q")
    lecture.sees("leave the lecture?")
    lecture.type(choice)
    lecture.type("\r")
    assert lecture.terminal.status() == 0, lecture.terminal.last()


def test_the_class_is_where_the_teacher_is(server: Server, school: School, teacher: Teacher, file: str) -> None:
    """Each stop, from whichever step; who logs in late sees the present one. The notes are the teacher's alone."""
    with _student(server, school.anna) as anna, teacher("lecture", file) as giving:
        lecture = TerminalScreen(giving)
        lecture.sees("1/3  Only a text", "0 of 1 student follow")
        anna.sees("your teacher shows A pause")
        anna.type(_CTRL_G)
        anna.sees("1/3  Only a text", "Silence proves nothing.", "following")
        lecture.sees("1 of 1 student follow")
        lecture.type(_F2)
        lecture.sees("A minute, at most.")
        lecture.type(_NEXT)
        anna.sees("2/3  The coordinator is paused")
        with Client(server, school.ben).terminal() as other:
            ben = TerminalScreen(other)
            ben.sees("2/3  The coordinator is paused")
            for student in (anna, ben):
                student.sees("Nobody has noticed", "5 paused")
            lecture.type(_F3)
            lecture.sees("go to a step")
            lecture.type("3")
            lecture.type("\r")
            for student in (anna, ben):
                student.sees("3/3  Two coordinators", "4 leads")
            lecture.type(_BACK)
            for student in (anna, ben):
                student.sees("2/3  The coordinator is paused", "Nobody has noticed")
            _end(lecture, "2")
            anna.sees("the lecture is over")
        assert b"A minute, at most." not in anna.terminal.output + other.output
    assert server.logged("lecture", "over")


def test_the_class_votes_and_sees_the_answer(server: Server, school: School, teacher: Teacher, file: str) -> None:
    """The question, the votes and the answer stand with the step; who is elsewhere has them in a line."""
    with Client(server, school.anna).terminal() as one, Client(server, school.ben).terminal() as other:
        anna, ben = _logged_in(one), _logged_in(other)
        with teacher("lecture", file, "--step", "2") as giving:
            lecture = TerminalScreen(giving)
            lecture.sees("2/3", "0 of 2 students follow")
            anna.type(_CTRL_G)
            anna.sees("2/3")
            assert "Who leads now?" not in anna.text()
            lecture.sees("Nobody has noticed")
            lecture.type(_NEXT)
            anna.sees("your teacher asks the class", "Who leads now?", "4 and 5")
            anna.type("2")
            anna.type("\r")
            anna.sees("your answer: 4 and 5")
            ben.sees("your teacher asks the class")
            ben.type("1")
            ben.type("\r")
            lecture.sees("vote of the class", "2 answers")
            assert "the answer:" not in anna.text() + ben.text()
            lecture.type(_NEXT)
            lecture.sees("Enter again closes the vote")
            lecture.type(_NEXT)
            lecture.sees("the answer: only 5", "longer than a second")
            anna.sees("✓ only 5", "1  you", "the answer: only 5", "longer than a second")
            ben.sees("only 5: 1, 4 and 5: 1; the answer is only 5")
            lecture.type(_NEXT)
            anna.sees("3/3  Two coordinators")
            _end(lecture, "2")
    assert server.logged("tally")["text"] == "Who leads now?: only 5 1, 4 and 5 1"


@pytest.mark.soak
def test_a_student_looks_around_and_follows_again(
    server: Server, school: School, teacher: Teacher, file: str
) -> None:
    """In what was shown, no further, without moving anybody; a key leads back."""
    with _student(server, school.anna) as anna, teacher("lecture", file) as giving:
        lecture = TerminalScreen(giving)
        anna.sees("your teacher shows A pause")
        anna.type(_CTRL_G)
        anna.sees("1/3")
        lecture.sees("1 of 1 student follow")
        lecture.type(_NEXT)
        anna.sees("2/3", "Nobody has noticed")
        anna.type("\x1b[H")  # the start of the run
        lecture.sees("0 of 1 student follow")
        anna.sees("Ctrl+G follows again", "record 0")
        anna.type("\x1b[F")
        anna.sees("Nobody has noticed")
        anna.type(_NEXT)
        anna.sees("this is the last step that was shown")
        anna.type("k")
        anna.sees("this run takes no commands: this is a recording")
        lecture.type(_F3)
        lecture.sees("go to a step")
        lecture.type("3")
        lecture.type("\r")
        lecture.sees("3/3")
        assert "2/3" in anna.text()
        anna.type(_CTRL_G)
        anna.sees("3/3", "4 leads", "following")
        lecture.sees("1 of 1 student follow")
        _end(lecture, "2")


def test_an_interrupted_lecture_goes_on_at_its_step(
    own_server: Server, school: School, tmp_path: Path, file: str
) -> None:
    """The teacher's terminal is closed, or left for later; the recordings are not simulated again."""
    with tempfile.TemporaryDirectory(prefix="lab-") as sockets, Client(own_server, school.anna).terminal() as one:
        teacher, anna = Teacher(own_server, tmp_path / "teacher", sockets), _logged_in(one)
        with teacher("lecture", file) as giving:
            lecture = TerminalScreen(giving)
            anna.sees("your teacher shows A pause")
            anna.type(_CTRL_G)
            anna.sees("1/3")
            lecture.sees("1/3")
            lecture.type(_NEXT)
            anna.sees("2/3")
            (folder,) = (own_server.data / "lectures").iterdir()
            wait_for(lambda: read_progress(folder).position.place == 1, "the step is stored")
            giving.hang_up()
            anna.sees("the lecture is interrupted: wait for your teacher")
        own_server.logged("lecture", "interrupted")
        with teacher("lecture", file) as giving:
            lecture = TerminalScreen(giving)
            lecture.sees("2/3", "1 of 1 student follow")
            lecture.type(_F3)
            lecture.sees("go to a step")
            lecture.type("3")
            lecture.type("\r")
            anna.sees("3/3", "following")
            _end(lecture, "1")
            giving.shows("the same command goes on with step 3")
        with teacher("lecture", file) as giving:
            lecture = TerminalScreen(giving)
            lecture.sees("3/3")
            _end(lecture, "1")
        assert [each.name for each in (own_server.data / "lectures").iterdir()] == [folder.name]
        text = Path(file).read_text("utf-8")
        Path(file).write_text(text.replace("Five nodes.", "These nodes."), "utf-8")
        with teacher("lecture", file) as giving:
            lecture = TerminalScreen(giving)
            lecture.sees("3/3", "the lecture has changed; it goes on at step 3, Two coordinators")
            _end(lecture, "2")
        assert len(list((own_server.data / "lectures").iterdir())) == 2
        with teacher("lecture", file) as giving:  # it was over: another one begins
            _end_after(TerminalScreen(giving), "1/3")
        assert len(list((own_server.data / "lectures").iterdir())) == 3


@pytest.mark.soak
def test_a_vote_outlives_the_teachers_terminal(
    own_server: Server, school: School, tmp_path: Path, file: str
) -> None:
    """With its votes: who has voted is not asked again, who logs in is asked over the lecture."""
    with tempfile.TemporaryDirectory(prefix="lab-") as sockets, Client(own_server, school.anna).terminal() as one:
        teacher, anna = Teacher(own_server, tmp_path / "teacher", sockets), _logged_in(one)
        with teacher("lecture", file, "--step", "2") as giving:
            lecture = TerminalScreen(giving)
            anna.sees("your teacher shows A pause")
            anna.type(_CTRL_G)
            anna.sees("2/3")
            lecture.sees("Nobody has noticed")
            lecture.type(_NEXT)
            anna.sees("your teacher asks the class")
            anna.type("2")
            anna.type("\r")
            lecture.sees("vote of the class", "1 answer")
            giving.hang_up()
            anna.sees("the lecture is interrupted: wait for your teacher")
        own_server.logged("lecture", "interrupted")
        with teacher("lecture", file) as giving:
            lecture = TerminalScreen(giving)
            lecture.sees("the vote of step 2 is still open, with 1 answer")
            with Client(own_server, school.ben).terminal() as other:
                ben = TerminalScreen(other)
                ben.sees("your teacher asks the class", "2/3")
                ben.type("1")
                ben.type("\r")
                ben.sees("your answer: only 5")
                assert "your teacher asks" not in anna.text()
                lecture.type(_CTRL_G)
                lecture.sees("vote of the class", "2 answers")
                lecture.type(_NEXT)
                lecture.sees("Enter again closes the vote")
                lecture.type(_NEXT)
                lecture.sees("the answer: only 5")
                for student in (anna, ben):
                    student.sees("✓ only 5", "1  you")
            lecture.type(_NEXT)
            _end_after(lecture, "3/3")


def _end_after(lecture: TerminalScreen, text: str) -> None:
    lecture.sees(text)
    _end(lecture, "2")


def test_a_lecture_outlives_the_server(school: School, tmp_path: Path, file: str) -> None:
    """The teacher's screen says what is lost, and shows the step to the next server's class."""
    data = tmp_path / "data"
    with (
        tempfile.TemporaryDirectory(prefix="lab-") as sockets,
        Server(data, class_file=school.class_file) as first,
        Teacher(first, tmp_path / "teacher", sockets)("lecture", file, "--step", "2") as giving,
    ):
        lecture = TerminalScreen(giving)
        lecture.sees("2/3", "0 of 0 students follow")
        first.end()
        lecture.sees("the server has gone", "an open vote is lost")
        with Server(data, class_file=school.class_file) as second:
            lecture.sees("the server is back")
            with Client(second, school.anna).terminal() as one:
                TerminalScreen(one).sees("2/3  The coordinator is paused")
                lecture.sees("1 of 1 student follow")
                _end(lecture, "2")


@pytest.mark.soak
def test_a_lecture_is_read_afterwards(own_server: Server, school: School, tmp_path: Path, file: str) -> None:
    """As far as it was shown, with the answers."""
    with tempfile.TemporaryDirectory(prefix="lab-") as sockets:
        with Teacher(own_server, tmp_path / "teacher", sockets)("lecture", file, "--step", "2") as giving:
            _end_after(TerminalScreen(giving), "2/3")
        with Client(own_server, school.anna).terminal() as one:
            anna = _logged_in(one)
            anna.sees("F3 lectures")
            anna.type(_F3)
            anna.sees("what was shown of a lecture", "A pause")
            anna.type("\r")
            anna.sees("1/3  Only a text")
            anna.type(_NEXT)
            anna.sees("2/3", "Who leads now?", "The answer: only 5")
            anna.type(_NEXT)
            anna.sees("Nobody has noticed")
            anna.type(_NEXT)
            anna.sees("this is the last step that was shown")
            anna.type("q")
            anna.sees("light or dark")
            anna.type("q")
            assert one.status() == 0


def test_a_student_branches_off_a_lecture(server: Server, school: School, teacher: Teacher, file: str) -> None:
    """A cluster of their own from where the lecture stands; q goes back to it, and ends the cluster."""
    with _student(server, school.anna) as anna, teacher("lecture", file) as giving:
        lecture = TerminalScreen(giving)
        anna.sees("your teacher shows A pause")
        anna.type(_CTRL_G)
        anna.sees("1/3")
        lecture.sees("1/3")
        lecture.type(_NEXT)
        anna.sees("2/3", "Nobody has noticed")
        anna.type("b")
        anna.sees("branch of record", "time is frozen")
        anna.enter_command("kill 4")
        anna.sees("kill 4: ", "✖ killed")
        assert server.logged("branch", "pause, run 1, record", "anna")
        branches = server.data / "students" / "anna" / "branches"
        assert len(list(branches.glob("*.jsonl"))) == 1
        lecture.type(_F3)
        lecture.sees("go to a step")
        lecture.type("3")
        lecture.type("\r")
        lecture.sees("3/3", "4 leads")
        assert "branch of record" in anna.text(), "the lecture does not interrupt it"
        anna.type("q")
        anna.sees("3/3  Two coordinators", "following")
        _end(lecture, "2")


def test_what_cannot_be_given_is_refused(server: Server, teacher: Teacher, tmp_path: Path, file: str) -> None:
    """Before any run is simulated, with what to do instead."""
    broken = tmp_path / "broken.md"
    broken.write_text("# A title\n", "utf-8")
    for words, text in (
        ((file, "--sim"), "simulated already"),
        ((file, "--step", "9"), "the steps 1 to 3"),
        (("bully", "--step", "2"), "bully has no steps"),
        ((str(broken),), "broken.md:1: there are no steps"),
        (("nothing.md",), "No such file"),
        (("buly",), "did you mean bully"),
        (("nosuch",), "or a lecture: lab lecture list"),
    ):
        with teacher("lecture", *words) as refused:
            assert refused.status() == 2
            refused.shows(text)
    assert not list((server.data / "lectures").glob("*broken*"))
    with teacher("lecture", file) as first:
        lecture = TerminalScreen(first)
        lecture.sees("1/3")
        with teacher("lecture", file) as second:
            second.shows("already in progress: A pause")
            assert second.status() == 2
        _end(lecture, "2")

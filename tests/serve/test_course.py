"""A server with a course: students see groups and deadlines, edits arrive at once, and changes are logged."""

from pathlib import Path

import pytest

from lab.exercises.course import CourseError
from lab.exercises.exercise_reader import find_exercise
from lab.serve.course_file import CourseFile, store_course
from lab.serve.data_folder import DataFolder, ServerLog
from tests.cli.invocation import Lab
from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server
from tests.tui.terminal_screen import TerminalScreen

_COURSE = """\
title = "Distributed algorithms"
[late]
days = 2
cost = 10
[[group]]
name = "Warm up"
weight = 1
exercises = ["two-coordinators"]
deadline = 2099-12-04T23:59:00Z
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A course file outside the data folder."""
    path = tmp_path / "algorithms.toml"
    path.write_text(_COURSE)
    return path


def test_students_see_the_course_as_it_is_now(tmp_path: Path, school: School, file: Path) -> None:
    """With groups, deadlines and late days; an edit with a mistake changes nothing but the log."""
    with Server(tmp_path / "data", "--course", str(file), class_file=school.class_file) as server:
        course = server.data / "course.toml"
        assert course.read_text() == _COURSE
        assert server.logged("course", "group Warm up added")
        with Client(server, school.anna).terminal() as terminal:
            screen = TerminalScreen(terminal)
            screen.sees("Distributed algorithms · anna", "2 late days")
            screen.sees("WARM UP · due ", "0 of 5 points")
            screen.sees("(not in the course)")
            course.write_text(_COURSE.replace("weight = 1", "weight = 0"))
            assert "course.toml:7: weight: expected a whole number" in server.logged("unreadable")["text"]
            extended = _COURSE.replace("Warm up", "First\x1b]0;owned\x07").replace("\x1b", "\\u001b")
            extended = extended.replace("\x07", "\\u0007") + '[[extension]]\nstudent = "anna"\ndays = 3\n'
            course.write_text(extended)
            screen.sees("FIRST\\X1B]0;OWNED\\X07", "(extended)")
            assert b"\x1b]0;" not in terminal.output
            terminal.type("q")
            assert terminal.status() == 0
        assert server.logged("course", "extension: anna, all groups, 3 days")
        assert server.logged("course", "group Warm up removed")
    # a change while no server runs is logged by the next one, which needs no option
    course.write_text(_COURSE.replace("days = 2", "days = 4"))
    with Server(tmp_path / "data", class_file=school.class_file) as server:
        assert server.logged("course", "late days: 2 at 10 % each, now 4 at 10 % each")


def test_a_server_does_not_start_with_a_mistake_in_the_course(tmp_path: Path, file: Path) -> None:
    """Whether it is named or in the data folder."""
    (tmp_path / "home").mkdir()
    lab = Lab(tmp_path, tmp_path / "home")
    file.write_text(_COURSE.replace("two-coordinators", "two-cordinators"))
    words = ("serve", "--port", "0", "--listen", "127.0.0.1", "--data", "data")
    error = "toml:8: unknown exercise two-cordinators; did you mean two-coordinators?"
    assert error in lab(*words, "--course", "algorithms.toml").err
    assert not (tmp_path / "data" / "course.toml").exists()
    (tmp_path / "data" / "course.toml").write_text(file.read_text())
    assert error in lab(*words).err
    assert error in lab("serve", "course", "--data", "data").refused()
    assert error in lab("serve", "export", "--data", "data").refused()
    assert "there is no course; write " in lab("serve", "course", "--data", "new").refused()
    assert "--grades: there is no course" in lab("serve", "export", "--grades", "g", "--data", "new").refused()


def test_a_course_is_printed_with_each_deadline(tmp_path: Path, file: Path) -> None:
    """For one student with the extensions."""
    (tmp_path / "home").mkdir()
    lab = Lab(tmp_path, tmp_path / "home")
    file.write_text(f'{_COURSE}[[extension]]\nstudent = "anna"\ndays = 3\n')
    printed = lab("serve", "course", "algorithms.toml").out
    assert "Distributed algorithms: 2 late days of each student, 10 % each" in printed
    assert "extension: anna, all groups, 3 days" in printed
    assert "(extended)" in lab("serve", "course", "algorithms.toml", "--student", "anna").out
    words = ("serve", "course", "algorithms.toml", "--student")
    assert "extension" not in lab(*words, "ben").out  # there is no class yet
    (tmp_path / "class" / "students" / "benjamin").mkdir(parents=True)
    assert (
        "unknown student 'benjamim'; did you mean benjamin?"
        in lab(*words, "benjamim", "--data", "class").refused()
    )
    called = lab(*words, "anna", "--data", "class")
    assert (called.status, "an extension for 'anna', who is not in the class; lab serve" in called.err) == (
        0,
        True,
    )
    (tmp_path / "class" / "students" / "anna").mkdir()
    assert lab(*words, "anna", "--data", "class").err == ""
    error = lab(*words, "zoe", "--data", "class").refused()
    assert "unknown student 'zoe'; lab serve status lists the class" in error


@pytest.mark.parametrize("text", ["", "x = " + "9" * 5000, _COURSE.replace("2099-", "9999-")])
def test_a_file_that_is_no_course_changes_nothing(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An editor may empty the file before it writes it; only when it is deleted, there is no course any more.

    That is said once, and not at every start of the server after it.
    """
    folder = DataFolder(tmp_path / "data")
    folder.course.write_text(_COURSE)
    log = ServerLog(folder.log)
    course = CourseFile(folder, {"two-coordinators": find_exercise("two-coordinators")}, log)
    folder.course.write_text(text)
    assert not course.update()
    assert course.course.title == "Distributed algorithms"
    folder.course.unlink()
    assert course.update()
    assert course.course.groups == ()
    assert folder.valid_course.read_text() == _COURSE
    assert "is gone: there is no course" in capsys.readouterr().out
    again = CourseFile(folder, {"two-coordinators": find_exercise("two-coordinators")}, log)
    assert (again.course.groups, capsys.readouterr().out) == ((), "")
    log.close()


def test_a_server_begins_with_the_version_before_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may have crashed meanwhile, and a service starts again unattended. Without such a version it does not."""
    folder, exercises = DataFolder(tmp_path / "data"), {"two-coordinators": find_exercise("two-coordinators")}
    folder.course.write_text(_COURSE)
    log = ServerLog(folder.log)
    CourseFile(folder, exercises, log)
    folder.course.write_text("title = ")
    assert CourseFile(folder, exercises, log).course.title == "Distributed algorithms"
    assert "students see the version before it" in capsys.readouterr().out
    folder.valid_course.unlink()
    with pytest.raises(CourseError, match=r"course\.toml:1"):
        CourseFile(folder, exercises, log)
    log.close()


def test_changes_made_in_the_data_folder_are_not_overwritten(tmp_path: Path) -> None:
    """The teacher starts the server again with the same command, after an extension."""
    folder, exercises = DataFolder(tmp_path / "data"), {"two-coordinators": find_exercise("two-coordinators")}
    file = tmp_path / "algorithms.toml"
    file.write_text(_COURSE)
    store_course(folder, file, exercises)
    store_course(folder, file, exercises)
    folder.course.write_text(f"{_COURSE}\n# an extension\n")
    with pytest.raises(CourseError, match="leave out --course to go on with it"):
        store_course(folder, file, exercises)
    folder.course.unlink()
    store_course(folder, file, exercises)
    assert folder.course.read_text() == _COURSE

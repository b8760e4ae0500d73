"""An exercise over SSH, from the list to the solution, with keys, in a terminal, with OpenSSH's client."""

import os
import signal
from pathlib import Path

import msgspec

from lab.exercises.exercise_reader import SHIPPED
from lab.exercises.grading import grade_recording
from lab.exercises.handout import write_handout
from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server
from tests.tui.terminal_screen import TerminalScreen

_NAME = "two-coordinators"
_TITLE = "One pause, two coordinators"


def _recordings(server: Server, student: str) -> list[Path]:
    return sorted((server.data / "students" / student / "attempts").glob(f"{_NAME}-*.jsonl"))


def test_an_exercise_is_solved_with_keys_and_stays_solved(server: Server, school: School) -> None:
    """It is shown as solved at once and at the next log-in, and the grader gives its recording the same points."""
    anna = Client(server, school.anna)
    with anna.terminal() as terminal:
        screen = TerminalScreen(terminal)
        screen.sees("lab exercises", "anna", _TITLE)
        screen.type("one pause")
        screen.sees("teaches A1.1 (one coordinator)")
        screen.type("\r")
        screen.sees("★ 5 leads", "attempt 1", "you may: pause, resume")
        screen.enter_command("answer 1 only 5")
        screen.sees("you answered: only 5")
        screen.type("5p")
        screen.sees("5 of 5 points")
        os.kill(terminal.pid, signal.SIGKILL)
    server.logged("session ended", student="anna")
    points = next(line for line in anna.run("exercises").stdout.splitlines() if _NAME in line)
    assert " 5 of  5 " in points
    with anna.terminal() as terminal:
        screen = TerminalScreen(terminal)
        screen.sees("1 of ", "resume attempt 1", "solved")
        screen.type("q")
        assert terminal.status() == 0
    (recording,) = _recordings(server, "anna")
    graded = grade_recording(recording)
    assert (graded.refused, sum(result.points for result in graded.results)) == ("", 5)
    progress = msgspec.json.decode((server.data / "students" / "anna" / "progress.json").read_bytes())
    assert progress["standings"][_NAME]["first_solved"]


def test_a_dropped_connection_costs_nothing_of_an_attempt(server: Server, school: School) -> None:
    """The cluster keeps running, and the next log-in continues it, with the answers given."""
    ben = Client(server, school.ben)
    with ben.terminal("start", _NAME) as terminal:
        screen = TerminalScreen(terminal)
        screen.sees("★ 5 leads", "attempt 1")
        screen.enter_command("answer 1 only 5")
        screen.sees("you answered: only 5")
        os.kill(terminal.pid, signal.SIGKILL)
    server.logged("session ended", student="ben")
    assert "0 sessions, a cluster: bully, 5 nodes" in ben.run("status").stdout
    with ben.terminal() as terminal:
        screen = TerminalScreen(terminal)
        screen.sees("resume attempt 1")
        screen.type("\r")
        screen.sees("you answered: only 5", "attempt 1")
        screen.type("5p")
        screen.sees("5 of 5 points")
        assert len(_recordings(server, "ben")) == 1
        screen.type("q")
        screen.sees("All tasks are decided.")
        screen.type("\r")
        screen.sees("lab exercises", "✓ solved")
        screen.type("q")
        assert terminal.status() == 0


def test_start_begins_an_exercise_and_a_wrong_name_is_reported(server: Server, school: School) -> None:
    """Unknown exercises, and those not for the server, are refused."""
    anna = Client(server, school.anna)
    for words, error in (
        (("start", "two-coordinator"), "did you mean two-coordinators?"),
        (("start", "mend-the-ring"), "unknown exercise mend-the-ring on this server"),
        (("start", "../../etc"), "unknown exercise ../../etc on this server"),
        (("start",), "usage: start NAME"),
    ):
        done = anna.run(*words)
        assert done.returncode == 2
        assert error in done.stdout
    assert "needs a terminal" in anna.run("start", _NAME).stdout


def test_a_student_already_logged_in_may_take_over(server: Server, school: School) -> None:
    """The other session, whose connection may be dead, ends with a message; the cluster is the same."""
    ben = Client(server, school.ben)
    with ben.terminal("start", _NAME) as first:
        TerminalScreen(first).sees("★ 5 leads")
        recordings = _recordings(server, "ben")
        with ben.terminal() as second:
            second.shows("you are already logged in, since")
            second.type("x")
            assert second.status() == 1
        assert "1 session, a cluster" in ben.run("status").stdout
        with ben.terminal() as third:
            third.shows("you are already logged in, since")
            third.type("\r")
            first.shows("lab: you continued in another session")
            screen = TerminalScreen(third)
            screen.sees("resume attempt")
            screen.type("\r")
            screen.sees("★ 5 leads")
            assert _recordings(server, "ben") == recordings
            assert server.logged("taken over", student="ben")
            first.status()
            first.is_as_before()


def test_the_students_edition_is_served_too(school: School, tmp_path: Path) -> None:
    """The server mentions it. In a session, within its limit of memory, answers are judged and explained."""
    write_handout(SHIPPED / _NAME, tmp_path / "given" / _NAME)
    options = ("--exercises", str(tmp_path / "given"))
    with Server(tmp_path / "data", *options, class_file=school.class_file) as serving:
        assert "the exercises are the students' edition, without some explanations" in serving.output()
        with Client(serving, school.anna).terminal("start", _NAME) as terminal:
            screen = TerminalScreen(terminal)
            screen.sees("★ 5 leads", "attempt 1")
            screen.enter_command("answer 1 only 4")
            screen.sees("you answered: only 4")
            screen.type("5p")
            screen.sees("4 of 5 points", "correct is only 5", "a paused node is as silent as")

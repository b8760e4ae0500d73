"""The exercises' solutions, typed over SSH at live clusters, earn all points; wrong scripts earn none.

A wrong script of one exercise always, all of them in the profile ``soak``, which takes a quarter of an hour.
"""

import contextlib
from collections.abc import Sequence

import pytest

from lab.exercises.attempts import recording_of
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import SHIPPED, drawn_for, find_exercise, names
from lab.exercises.exercise_validation import fill_script, read_commands
from lab.exercises.grading import grade_recording
from lab.serve.data_folder import read_nonce
from tests.profile import SOAK
from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server
from tests.tui.terminal_screen import TerminalScreen
from tests.waiting import wait_for

pytestmark = pytest.mark.live

_QUICK = "first-election"
_ALL = [name for name in names() if (SHIPPED / name / "solution.script").exists()]
_WITHIN_S = 60.0
_WRONG_WITHIN_S = 5.0
"""So long it is waited for full marks before the attempt is handed in as it is."""


@pytest.mark.soak
@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", _ALL)
def test_a_solution_earns_all_points_live(server: Server, school: School, name: str) -> None:
    """In the interface and from the grader, except tasks for the teacher."""
    exercise = drawn_for(find_exercise(name), "anna", read_nonce(server.data))
    client = Client(server, school.anna)
    solution = (exercise.folder / "solution.script").read_text("utf-8")
    lines = read_commands(exercise, fill_script(exercise, solution))
    assert _points(server, client, "anna", exercise, lines, _WITHIN_S) == exercise.points


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", _ALL if SOAK else [_QUICK])
def test_a_wrong_script_earns_nothing_live(server: Server, school: School, name: str) -> None:
    """The first of its wrong scripts."""
    exercise = drawn_for(find_exercise(name), "ben", read_nonce(server.data))
    client = Client(server, school.ben)
    wrong = min(exercise.folder.glob("wrong-*.script"))
    lines = read_commands(exercise, fill_script(exercise, wrong.read_text("utf-8")))
    assert _points(server, client, "ben", exercise, lines, _WRONG_WITHIN_S) == 0


def _points(
    server: Server, client: Client, student: str, exercise: Exercise, lines: Sequence[str], within_s: float
) -> int:
    """Return the grader's points for the recording."""
    with client.terminal("start", exercise.name) as terminal:
        screen = TerminalScreen(terminal)
        screen.sees(f"0 of {exercise.points} points", "attempt 1")
        for line in lines:
            screen.enter_command(line)
        with contextlib.suppress(AssertionError):  # some tasks are judged at the end alone
            wait_for(lambda: f"{exercise.points} of {exercise.points} points" in screen.text(), "", within_s, 0.1)
        screen.enter_command("hand-in")
        screen.sees("The run ends and the open tasks are judged")
        screen.type("\r")
        screen.sees("the run is over")
        terminal.type("\x03")
        terminal.status()
    recording = recording_of(server.data / "students" / student, exercise.name, 1)
    graded = grade_recording(recording, nonce=read_nonce(server.data))
    assert graded.refused == ""
    return sum(result.points for result in graded.results)

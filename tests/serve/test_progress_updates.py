"""A student's progress is updated from recordings, also where no session saw the result."""

import os
import shutil
import signal
from pathlib import Path

from lab.exercises.attempts import StudentFolder, recording_of
from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server
from tests.tui.terminal_screen import TerminalScreen
from tests.waiting import wait_for

_NAME = "two-coordinators"


def _has_points(client: Client, points: int) -> bool:
    (line,) = (line for line in client.run("exercises").stdout.splitlines() if line.startswith(f"  {_NAME} "))
    return f" {points} of  5 " in line


def test_results_after_a_dropped_connection_are_stored(tmp_path: Path, school: School) -> None:
    """The cluster kept running, and executed the commands given."""
    with Server(tmp_path / "data", "--linger", "8s", class_file=school.class_file) as server:
        anna = Client(server, school.anna)
        with anna.terminal("start", _NAME) as terminal:
            screen = TerminalScreen(terminal)
            screen.sees("★ 5 leads", "attempt 1")
            screen.enter_command("at 4s: pause 5")
            screen.sees("at 4s: pause 5")
            os.kill(terminal.pid, signal.SIGKILL)
            server.logged("session ended")
        assert _has_points(anna, 0)
        server.logged("run ended")
        folder = server.data / "students" / "anna"
        wait_for(lambda: StudentFolder(folder, "anna").progress_of(_NAME).points == 4, "the points are noted")
        assert _has_points(anna, 4)


def test_results_left_by_a_killed_server_are_stored_at_the_next_start(
    tmp_path: Path, school: School, solved: Path
) -> None:
    """Before the student's session shows anything; unreadable recordings are logged."""
    data = tmp_path / "data"
    home = data / "students" / "anna"
    recording = recording_of(home, _NAME, 1)
    recording.parent.mkdir(parents=True)
    shutil.copyfile(solved, recording)
    recording_of(home, _NAME, 2).touch()
    with Server(data, class_file=school.class_file) as server:
        anna = Client(server, school.anna)
        with anna.terminal() as terminal:
            TerminalScreen(terminal).sees("lab exercises", "anna", "1 of ", "solved")
            terminal.type("q")
            assert terminal.status() == 0
        assert _has_points(anna, 5)
        server.logged("fault", f"{_NAME}-002.jsonl", student="anna")

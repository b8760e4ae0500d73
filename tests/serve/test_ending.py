"""However the server ends, no process is left, and the recordings are kept."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from lab.recording.reader import open_recording
from lab.serve.data_folder import RunningServer
from tests.cli.invocation import Lab
from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server, alive
from tests.tui.terminal_screen import TerminalScreen
from tests.waiting import WAIT_S, wait_for

_NAME = "two-coordinators"


def test_ctrl_c_ends_everything_in_order(tmp_path: Path, school: School) -> None:
    """Each session is told why and restores its terminal; recordings are complete, and the folder is free."""
    with Server(tmp_path / "data", class_file=school.class_file, fresh=True) as server:
        anna, ben = Client(server, school.anna), Client(server, school.ben)
        with anna.terminal("start", _NAME) as first, ben.terminal("start", _NAME) as second:
            for terminal in (first, second):
                terminal.shows("5 leads")
            running = server.processes()
            assert server.end(signal.SIGINT) == 0
            for terminal in (first, second):
                terminal.shows("lab: the server is shutting down; your progress is saved")
                terminal.status()
                terminal.is_as_before()
        assert not alive(running)
        assert "the server has stopped" in server.output()
    assert not (tmp_path / "data" / "server.json").exists()
    recordings = list((tmp_path / "data" / "students").glob("*/attempts/*.jsonl"))
    assert len(recordings) == 2
    for each in recordings:
        assert b'"end"' in each.read_bytes().splitlines()[-1]


@pytest.fixture
def stdin() -> Iterator[int]:
    """Return a descriptor of a terminal."""
    ours, its = os.openpty()
    yield its
    os.close(its)
    os.close(ours)


def test_ctrl_c_in_a_terminal_is_confirmed_while_students_are_logged_in(
    tmp_path: Path, school: School, stdin: int
) -> None:
    """It may be the wrong window. When nobody is there, the server ends at once."""
    question = "lab: 1 student is logged in: press Ctrl-C again to end the server; what was done is kept"
    with (
        Server(tmp_path / "data", class_file=school.class_file, fresh=True, stdin=stdin) as server,
        Client(server, school.anna).terminal("start", _NAME) as terminal,
    ):
        terminal.shows("5 leads")
        server.process.send_signal(signal.SIGINT)
        wait_for(lambda: question in server.output(), "it asks", WAIT_S)
        assert server.process.poll() is None
        assert server.end(signal.SIGINT) == 0
        terminal.shows("lab: the server is shutting down; your progress is saved")
        terminal.status()
    with Server(tmp_path / "data", class_file=school.class_file, fresh=True, stdin=stdin) as server:
        assert server.end(signal.SIGINT) == 0
        assert "logged in:" not in server.output()


def test_kill_9_leaves_no_process_behind(tmp_path: Path, school: School) -> None:
    """Sessions, hosts, nodes and fork server see a pipe or a terminal close.

    The next server starts normally, and progress is kept.
    """
    data = tmp_path / "data"
    with Server(data, class_file=school.class_file, fresh=True) as server:
        terminals = []
        for key in (school.anna, school.ben):
            terminals.append(Client(server, key).terminal("start", _NAME))
            terminals[-1].shows("5 leads")
        screen = TerminalScreen(terminals[0])
        screen.enter_command("answer 1 only 5")
        screen.sees("you answered: only 5")
        screen.type("5p")
        screen.sees("5 of 5 points")
        running = server.processes()
        assert len(running) >= 2 + 2 + 2 * 7, "the server, its fork_server, two sessions, two clusters"
        server.process.kill()
        wait_for(lambda: not alive(running), "nothing is left")
        for terminal in terminals:
            terminal.status()
            terminal.__exit__()
    for recording in data.glob("students/*/attempts/*.jsonl"):
        lines = open_recording(recording)
        assert sum(1 for _ in lines.records()) > 50
        lines.close()
    sockets = Path(msgspec.json.decode((data / "server.json").read_bytes(), type=RunningServer).sockets)
    assert sockets.is_dir()
    with Server(data, class_file=school.class_file) as again:
        assert not sockets.exists(), "what was left of the one before is gone"
        rows = [line.split() for line in Client(again, school.anna).run("exercises").stdout.splitlines()]
        assert [_NAME, "5", "of", "5"] in [row[:4] for row in rows]


def test_a_server_whose_fork_server_is_killed_ends(tmp_path: Path, school: School) -> None:
    """It could start nothing more; sessions and clusters end with it, and it says so."""
    with Server(tmp_path / "data", class_file=school.class_file, fresh=True) as server:
        with Client(server, school.anna).terminal("start", _NAME) as terminal:
            terminal.shows("5 leads")
            running = server.processes()
            fork_server = next(each for each in running if each.ppid() == server.process.pid)
            fork_server.kill()
            assert server.process.wait(WAIT_S) == 1
            terminal.status()
        wait_for(lambda: not alive(running), "nothing is left")
        server.logged("fault", "the fork server has ended")


def test_a_second_server_on_the_same_folder_is_refused(tmp_path: Path, school: School) -> None:
    """The two would not know of each other's clusters."""
    (tmp_path / "home").mkdir()
    second = Lab(tmp_path, tmp_path / "home")
    with Server(tmp_path / "data", class_file=school.class_file):
        done = second("serve", "--port", "0", "--data", str(tmp_path / "data"))
    assert done.status == 2
    assert "a server already runs in" in done.err.splitlines()[-1]


@pytest.mark.serve
def test_a_process_that_ends_by_itself_loses_no_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark's figures are returned when its server has ended, with processes that were just ending, too."""
    child = subprocess.Popen(["sleep", "60"])
    gone = psutil.Process(child.pid)
    with Server(tmp_path / "data"):
        monkeypatch.setattr(Server, "processes", lambda _: [gone])
        child.kill()
        child.wait()

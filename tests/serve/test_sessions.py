"""A session at a terminal: its size, its folder, and a cluster that survives it."""

import fcntl
import os
import signal
import struct
import termios
from pathlib import Path

import pytest

from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server
from tests.tui.terminal import Terminal
from tests.waiting import wait_for


def _resize(terminal: Terminal, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _attempts(server: Server, student: str) -> list[Path]:
    return sorted((server.data / "students" / student / "attempts").glob("*.jsonl"))


def test_a_resize_reaches_the_session(anna: Client, server: Server) -> None:
    """The screen is redrawn at its new size; an excessive size is limited."""
    with anna.terminal() as terminal:
        terminal.shows("lab exercises")
        assert server.size_inside() == (120, 40)
        before = len(terminal.output)
        _resize(terminal, 90, 30)
        wait_for(lambda: server.size_inside() == (90, 30), "the session has the new size")
        terminal.shows("\x1b[30;1H", before)
        _resize(terminal, 9999, 9999)
        wait_for(lambda: server.size_inside() == (500, 200), "the session has the largest size")
        _resize(terminal, 1, 1)
        wait_for(lambda: server.size_inside() == (20, 5), "the session has the least size")
        _resize(terminal, 120, 40)
        terminal.type("q")
        assert terminal.status() == 0
        terminal.is_as_before()


def test_ctrl_c_ends_the_session_and_restores_the_terminal(anna: Client, server: Server) -> None:
    """The key goes to the session, not to the server."""
    with anna.terminal() as terminal:
        terminal.shows("lab exercises")
        terminal.type("\x03")
        assert terminal.status() == 128 + signal.SIGINT
        terminal.is_as_before()
    assert server.process.poll() is None


def test_an_abandoned_cluster_ends(tmp_path: Path, school: School) -> None:
    """After a while, with a complete recording; nothing else is left."""
    with Server(tmp_path / "data", "--linger", "300ms", class_file=school.class_file) as server:
        with Client(server, school.anna).terminal("start", "two-coordinators") as terminal:
            terminal.shows("5 leads")
            os.kill(terminal.pid, signal.SIGKILL)
            server.logged("run ended")
        wait_for(lambda: len(server.processes()) == 2, "the server and its zygote are all that is left")
        (recording,) = _attempts(server, "anna")
        assert b'"end"' in recording.read_bytes().splitlines()[-1]


def test_an_idle_session_ends(tmp_path: Path, school: School) -> None:
    """With a line that says why."""
    serving = Server(tmp_path / "data", "--idle", "4s", class_file=school.class_file)
    with serving as server, Client(server, school.anna).terminal() as terminal:
        terminal.shows("\x1b[?1049h")
        terminal.shows("lab: no key was pressed for 4s; connect again to continue")
        terminal.status()
        terminal.is_as_before()


def test_the_number_of_sessions_is_limited(tmp_path: Path, school: School) -> None:
    """A further student is refused until another one leaves."""
    with Server(tmp_path / "data", "--sessions", "1", class_file=school.class_file) as server:
        anna, ben = Client(server, school.anna), Client(server, school.ben)
        with anna.terminal() as first:
            first.shows("lab exercises")
            with ben.terminal() as second:
                second.shows("lab: the server is full, with 1 session; try again later")
                assert second.status() == 1
            server.logged("refused", "the server is full", "ben")
            first.type("q")
            assert first.status() == 0
        server.logged("session ended", student="anna")
        with ben.terminal() as again:
            again.shows("lab exercises")
            again.type("q")
            assert again.status() == 0


def test_the_terminal_of_a_killed_session_is_restored(anna: Client, server: Server) -> None:
    """By the server."""
    with anna.terminal() as terminal:
        terminal.shows("lab exercises")
        server.session().kill()
        assert terminal.status() == 128 + signal.SIGKILL
        terminal.is_as_before()


def test_a_session_inherits_no_descriptors(anna: Client, server: Server) -> None:
    """It has its terminal, its control socket, and what the interface opened."""
    with anna.terminal() as terminal:
        terminal.shows("lab exercises")
        session = server.session()
        opened = [os.readlink(each) for each in Path(f"/proc/{session.pid}/fd").iterdir()]
        assert len([each for each in opened if "/dev/pts/" in each]) >= 3
        assert not [each for each in opened if each.startswith(str(server.data)) and "/students/" not in each]
        assert not [each for each in opened if "ptmx" in each]
        assert os.getsid(session.pid) == session.pid
        assert session.cwd() == str(server.data / "students" / "anna")
        terminal.type("q")
        terminal.status()


def test_a_client_that_reads_nothing_costs_bounded_memory(server: Server, school: School) -> None:
    """The server reads no more from the session than fits the client's window; then it continues."""
    with Client(server, school.anna).terminal() as terminal:
        terminal.shows("lab exercises")
        os.kill(terminal.pid, signal.SIGSTOP)
        assert server.flood() < 24 << 20
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.type("q")
        assert terminal.status() == 0


@pytest.mark.parametrize("key", ["\x1a", "\x1c"])
def test_no_key_leads_to_a_shell(anna: Client, key: str) -> None:
    r"""Ctrl-Z and Ctrl-\ do not suspend or kill anything."""
    with anna.terminal() as terminal:
        terminal.shows("lab exercises")
        terminal.type(key)
        terminal.type("q")
        assert terminal.status() == 0

"""Input of one student affects no other student, and reaches nothing outside the student's folder."""

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lab.recording.reader import open_recording
from lab.recording.records import Commanded
from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server
from tests.tui.terminal_screen import TerminalScreen
from tests.waiting import wait_for

_NAME = "two-coordinators"
_MIB = 1 << 20
_PASTE, _PASTED = "\x1b[200~", "\x1b[201~"


@pytest.fixture(scope="module")
def server(school: School, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on which each test has its own attempt."""
    folder = tmp_path_factory.mktemp("serve")
    options = ("--log-ins", "1000", "--linger", "1ms")
    with Server(folder / "data", *options, class_file=school.class_file) as serving:
        yield serving


@pytest.fixture
def screen(server: Server, school: School) -> Iterator[TerminalScreen]:
    """Anna's terminal, with an attempt in progress."""
    anna = Client(server, school.anna)
    with anna.terminal("start", _NAME) as terminal:
        screen = TerminalScreen(terminal)
        screen.sees("★ 5 leads", "you may: pause, resume")
        yield screen
        screen.type("\x03")
        terminal.status()
    wait_for(lambda: "no cluster" in anna.run("status").stdout, "the attempt has ended", every_s=0.1)


def _outside(server: Server) -> set[Path]:
    """Return all files of the server outside anna's folder."""
    own = server.data / "students" / "anna"
    return {each for each in server.data.rglob("*") if own not in each.parents}


def test_no_command_of_the_interface_names_a_file(server: Server, screen: TerminalScreen) -> None:
    """Commands that write or open files are not available: nothing but the attempt is written."""
    before = _outside(server)
    for word in ("export", "export ../../x.svg", "write", "branch", "branches", "compare ../../../etc/passwd"):
        screen.enter_command(word)
        screen.sees(f"{word.split()[0]} is not on the server")
    for line, error in (
        ("run /etc/passwd", "unknown word 'run'"),
        ("write ../../x", "write is not on the server"),
        ("script /etc/passwd", "script takes no words after it"),
        ("!id", "unknown word '!id'"),
        ("open /etc/passwd", "open takes no words after it"),
    ):
        screen.enter_command(line)
        screen.sees(error)
    assert _outside(server) == before


def test_bookmarks_captions_and_searches_are_only_text(server: Server, screen: TerminalScreen) -> None:
    """Even if they look like a path."""
    before = _outside(server)
    screen.enter_command("bookmark ../../../tmp/lab-out")
    screen.enter_command("say ../../../tmp/lab-out")
    screen.sees("is not expected here")
    screen.enter_command("answer 1 ../../../tmp/lab-out")
    screen.sees("../../../tmp/lab-out is none of the choices")
    screen.type("/")
    screen.sees("search: text, node:3")
    screen.type("../../etc/passwd\r")
    screen.sees("../../etc/passwd")
    assert _outside(server) == before
    assert not list(Path("/tmp").glob("lab-out*"))


def test_pasting_a_megabyte_does_no_harm(server: Server, school: School, screen: TerminalScreen) -> None:
    """The student who pastes waits; the server and all others continue; memory is bounded."""
    session = server.session()
    master = screen.terminal.master
    screen.type(":")

    def paste() -> None:
        os.write(master, _PASTE.encode())
        for _ in range(_MIB // 4096):
            os.write(master, b"x" * 4096)

    pasting = threading.Thread(target=paste, daemon=True)
    pasting.start()
    with Client(server, school.ben).terminal() as other:
        TerminalScreen(other).sees("lab exercises", "ben")
        other.type("q")
        assert other.status() == 0
    assert session.memory_full_info().uss < 100 * _MIB
    assert psutil.Process(server.process.pid).memory_full_info().uss < 100 * _MIB
    os.kill(screen.terminal.pid, 9)
    pasting.join(5)


def test_a_long_answer_is_truncated_or_refused(screen: TerminalScreen) -> None:
    """No command line is longer than a command may be."""
    screen.type(":")
    screen.type(f"{_PASTE}answer 1 {'y' * 20_000}{_PASTED}")
    screen.type("\r")
    screen.enter_command("answer 1 none")
    screen.sees("you answered: none")


def test_escape_sequences_in_answers_and_notes_do_nothing(server: Server, screen: TerminalScreen) -> None:
    """Not in the student's terminal, the recording, or the teacher's output."""
    foreign = "\x1b]0;owned\x07\x9b2Jx\x1b[31m"
    screen.enter_command("answer 1 only 4")
    screen.sees("you answered: only 4")
    for line in (f"say {foreign}note", f"mark {foreign}", f"bookmark {foreign}b"):
        screen.type(":")
        screen.type(f"{_PASTE}{line}{_PASTED}\r")
    screen.enter_command("say afterwards")
    screen.sees("afterwards")
    assert b"\x1b]0;owned" not in screen.terminal.output
    assert b"\x9b2J" not in screen.terminal.output
    (recording, *_) = sorted((server.data / "students" / "anna" / "attempts").glob("*.jsonl"))[::-1]
    lines = open_recording(recording)
    texts = [record.text for record in lines.records() if isinstance(record, Commanded)]
    lines.close()
    assert not [text for text in texts if any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text)]
    assert b"\x1b" not in (server.data / "log").read_bytes()


def test_students_cannot_reach_each_other_s_clusters(
    server: Server, school: School, screen: TerminalScreen
) -> None:
    """Neither by a session nor by a command."""
    ben = Client(server, school.ben)
    assert "anna" not in ben.run("status").stdout
    for words in (("status", "anna"), ("exercises", "anna"), ("attach", "anna"), ("start", "../anna")):
        assert "anna:" not in ben.run(*words).stdout
    with ben.terminal() as terminal:
        other = TerminalScreen(terminal)
        assert "go on with" not in other.sees("lab exercises", "ben")
        terminal.type("q")
        terminal.status()


@pytest.mark.skipif(os.getuid() != 0, reason="to mount a small disk takes root")
def test_a_full_disk_does_not_end_the_server(tmp_path: Path, school: School) -> None:
    """Students are informed, and once there is space everything continues normally."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(disk)], check=True)
    try:
        with Server(disk / "data", class_file=school.class_file) as server:
            anna = Client(server, school.anna)
            with anna.terminal("start", _NAME) as terminal:
                screen = TerminalScreen(terminal)
                screen.sees("★ 5 leads")
                filler = disk / "filler"
                _fill(filler)
                screen.sees("the run is over")
                assert "anna: 1 session" in anna.run("status").stdout
                filler.unlink()
                screen.type(":again\r")
                screen.sees("attempt 2", "★ 5 leads")
                screen.type("\x03")
                terminal.status()
            assert server.process.poll() is None
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _fill(path: Path) -> None:
    """Fill the disk."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)

"""What a student types, pastes or writes costs nobody else anything, and leads nowhere out of the own folder."""

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
from tests.serve.terminal_screen import Watched
from tests.waiting import wait_for

_NAME = "two-coordinators"
_MIB = 1 << 20
_PASTE, _PASTED = "\x1b[200~", "\x1b[201~"


@pytest.fixture(scope="module")
def server(school: School, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One on which each test has an attempt of its own, as none outlives its session."""
    folder = tmp_path_factory.mktemp("serve")
    options = ("--log-ins", "1000", "--linger", "1ms")
    with Server(folder / "data", *options, class_file=school.class_file) as serving:
        yield serving


@pytest.fixture
def screen(server: Server, school: School) -> Iterator[Watched]:
    """Anna's, with an attempt that goes on."""
    anna = Client(server, school.anna)
    with anna.terminal("start", _NAME) as terminal:
        screen = Watched(terminal)
        screen.sees("★ 5 leads", "you may: pause, resume")
        yield screen
        screen.type("\x03")
        terminal.status()
    wait_for(lambda: "no cluster" in anna.run("status").stdout, "the attempt has ended", every_s=0.1)


def _outside(server: Server) -> set[Path]:
    """All files of the server but for those in anna's folder."""
    own = server.data / "students" / "anna"
    return {each for each in server.data.rglob("*") if own not in each.parents}


def test_no_word_of_the_interface_names_a_file(server: Server, screen: Watched) -> None:
    """What writes or opens files where lab is installed is not there: nothing is written but the attempt."""
    before = _outside(server)
    for word in ("export", "export ../../x.svg", "write", "branch", "branches", "compare ../../../etc/passwd"):
        screen.say(word)
        screen.sees(f"{word.split()[0]} is not on the server")
    for line in ("run /etc/passwd", "write ../../x", "script /etc/passwd", "!id", "open /etc/passwd"):
        screen.say(line)
        screen.sees(line.split()[0], "pause, resume")
    assert _outside(server) == before


def test_notes_and_searches_stay_in_the_folder(server: Server, screen: Watched) -> None:
    """A bookmark's text, a caption and what is sought in the log are words, whatever they look like."""
    before = _outside(server)
    screen.say("bookmark ../../../tmp/lab-out")
    screen.say("say ../../../tmp/lab-out")
    screen.sees("../../../tmp/lab-out")
    screen.say("answer 1 ../../../tmp/lab-out")
    screen.sees("you answered: ../../../tmp/lab-out")
    screen.type("/")
    screen.sees("search: text, node:3")
    screen.type("../../etc/passwd\r")
    screen.sees("../../etc/passwd")
    assert _outside(server) == before
    assert not list(Path("/tmp").glob("lab-out*"))


def test_a_megabyte_is_pasted_without_harm(server: Server, school: School, screen: Watched) -> None:
    """The one who pastes waits; the server, and everybody else, go on; memory is bounded."""
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
        Watched(other).sees("lab exercises", "ben")
        other.type("q")
        assert other.status() == 0
    assert session.memory_full_info().uss < 100 * _MIB
    assert psutil.Process(server.process.pid).memory_full_info().uss < 100 * _MIB
    os.kill(screen.terminal.pid, 9)
    pasting.join(5)


def test_what_is_pasted_into_an_answer_is_cut_or_refused(screen: Watched) -> None:
    """Nothing of a command line is longer than any command."""
    screen.type(":")
    screen.type(f"{_PASTE}answer 1 {'y' * 20_000}{_PASTED}")
    screen.type("\r")
    screen.say("answer 1 short")
    screen.sees("you answered: short")


def test_escape_sequences_in_answers_and_notes_do_nothing(server: Server, screen: Watched) -> None:
    """Neither in the student's own terminal, nor in the recording, nor in what the teacher prints of it."""
    foreign = "\x1b]0;owned\x07\x9b2Jx\x1b[31m"
    screen.say("answer 1 begin")
    screen.sees("you answered: begin")
    for line in (f"say {foreign}note", f"mark {foreign}", f"bookmark {foreign}b"):
        screen.type(":")
        screen.type(f"{_PASTE}{line}{_PASTED}\r")
    screen.say("say afterwards")
    screen.sees("afterwards")
    assert b"\x1b]0;owned" not in screen.terminal.output
    assert b"\x9b2J" not in screen.terminal.output
    (recording, *_) = sorted((server.data / "students" / "anna" / "attempts").glob("*.jsonl"))[::-1]
    lines = open_recording(recording)
    texts = [record.text for record in lines.records() if isinstance(record, Commanded)]
    lines.close()
    assert not [text for text in texts if any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text)]
    assert b"\x1b" not in (server.data / "log").read_bytes()


def test_a_students_cluster_is_no_other_students(server: Server, school: School, screen: Watched) -> None:
    """Ben is offered nothing of anna's, neither by a session nor by a word."""
    ben = Client(server, school.ben)
    assert "anna" not in ben.run("status").stdout
    for words in (("status", "anna"), ("exercises", "anna"), ("attach", "anna"), ("start", "../anna")):
        assert "anna:" not in ben.run(*words).stdout
    with ben.terminal() as terminal:
        other = Watched(terminal)
        assert "go on with" not in other.sees("lab exercises", "ben")
        terminal.type("q")
        terminal.status()


@pytest.mark.skipif(os.getuid() != 0, reason="to mount a small disk takes root")
def test_a_disk_that_is_full_ends_no_server(tmp_path: Path, school: School) -> None:
    """Students are told, and once there is room it goes on as if nothing had been."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(disk)], check=True)
    try:
        with Server(disk / "data", class_file=school.class_file) as server:
            anna = Client(server, school.anna)
            with anna.terminal("start", _NAME) as terminal:
                screen = Watched(terminal)
                screen.sees("★ 5 leads")
                filler = disk / "filler"
                _fill(filler)
                screen.sees("the run is over")
                assert "anna: 1 session" in anna.run("status").stdout
                filler.unlink()
                screen.type("R")
                screen.sees("attempt 2", "★ 5 leads")
                screen.type("\x03")
                terminal.status()
            assert server.process.poll() is None
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _fill(path: Path) -> None:
    """Take all the room that there is."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)

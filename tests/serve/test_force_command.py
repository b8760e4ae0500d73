"""Without a server of ours: the machine's own OpenSSH, whose ``ForceCommand`` is ``lab exercise start``."""

import getpass
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from tests.serve.lab_server import ROOT, new_key
from tests.serve.terminal_screen import Watched
from tests.tui.terminal import Terminal
from tests.waiting import wait_for

_SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")

pytestmark = pytest.mark.skipif(_SSHD is None, reason="it takes OpenSSH's server: apt-get install openssh-server")


class Door(Struct):
    """The machine's own sshd: where it listens, the key that opens it, where attempts are kept."""

    port: int
    key: Path
    home: Path

    def words(self, *words: str) -> list[str]:
        """The command line that connects with these words."""
        options = ("IdentitiesOnly=yes", "UserKnownHostsFile=/dev/null", "StrictHostKeyChecking=no")
        said = [word for option in options for word in ("-o", option)]
        return ["ssh", "-F", "none", "-p", str(self.port), "-i", str(self.key), *said, "127.0.0.1", *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Connect without a terminal, and wait for the end."""
        return subprocess.run(
            self.words(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """It runs as whoever runs the tests, and lets in nobody else."""
    folder = tmp_path_factory.mktemp("sshd")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    host_key, key = new_key(folder / "host"), new_key(folder / "anna")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    lab = shlex.join([sys.executable, "-m", "lab", "exercise", "start", "--student", "anna"])
    config = folder / "sshd_config"
    config.write_text(
        f"""Port {port}
ListenAddress 127.0.0.1
HostKey {host_key}
PidFile none
AuthorizedKeysFile {key}.pub
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
AllowUsers {getpass.getuser()}

ForceCommand cd {ROOT} && exec {lab} --home {folder / "home"}
PermitTTY yes
DisableForwarding yes
PermitUserRC no
"""
    )
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen([_SSHD or "sshd", "-D", "-e", "-f", str(config)], stderr=said)
    try:
        wait_for(lambda: b"Server listening" in (folder / "said").read_bytes(), "sshd listens")
        yield Door(port, key, folder / "home")
    finally:
        process.terminate()
        process.wait(10)


def test_an_exercise_is_begun_through_the_machines_own_ssh(door: Door) -> None:
    """The list, an attempt with its cluster, the first step of it; what was recorded is in the folder."""
    run = "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"
    ssh, *rest = door.words()
    with Terminal("-c", run, ssh, "-t", *rest) as terminal:
        screen = Watched(terminal)
        screen.sees("lab exercises", "anna", "One pause, two coordinators")
        screen.type("one pause")
        screen.sees("teaches A1.1, assumption 9, B1")
        screen.type("\r")
        screen.sees("5 leads", "attempt 1", "you may: pause, resume")
        screen.say("answer 1 4 and 5")
        screen.sees("you answered: 4 and 5")
        screen.type("5p")
        screen.sees("5 of 5 points")
        screen.type("q")
        screen.sees("solved")
        screen.type("\x1b")  # the list is still one of what was sought
        screen.sees("FIRST STEPS", "A first election")
        screen.type("q")
        assert terminal.status() == 0
    assert (door.home / "attempts" / "two-coordinators-001.jsonl").is_file()


@pytest.mark.parametrize("words", [("id",), ("/bin/sh", "-c", "id"), ("$(id)",)])
def test_nothing_else_is_run(door: Door, words: tuple[str, ...]) -> None:
    """Whatever is asked for, lab is what comes; without a terminal it says that it needs one."""
    done = door.run(*words)
    assert done.returncode != 0
    assert "uid=" not in done.stdout
    assert "terminal" in done.stderr


def test_there_are_no_files_to_be_had(door: Door) -> None:
    """The subsystem is there, and what it gets is lab."""
    done = door.run("-s", "sftp")
    assert done.returncode == 2
    assert done.stdout == ""


def test_nothing_is_forwarded(door: Door, tmp_path: Path) -> None:
    """Neither there, nor from there."""
    with socket.create_server(("127.0.0.1", 0)) as target:
        words = door.words()
        words[1:1] = ["-W", f"127.0.0.1:{target.getsockname()[1]}"]
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
        )
        assert "open failed" in done.stderr
    words = door.words()
    words[1:1] = ["-o", "ExitOnForwardFailure=yes", "-R", f"{tmp_path}/socket:127.0.0.1:9"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert "forwarding failed" in done.stderr.lower()
    assert not (tmp_path / "socket").exists()

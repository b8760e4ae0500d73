"""Without our server: the system's OpenSSH, with ``lab exercise start`` as its ``ForceCommand``."""

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

from tests.serve.lab_server import ROOT, new_key, run_ssh
from tests.tui.terminal import Terminal
from tests.tui.terminal_screen import TerminalScreen
from tests.waiting import WAIT_S, wait_for

_SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")

pytestmark = [
    pytest.mark.serve,
    pytest.mark.skipif(_SSHD is None, reason="it takes OpenSSH's server: apt-get install openssh-server"),
]


class SystemSSH(Struct):
    """The system's sshd: its port, the accepted key, and the folder of attempts."""

    port: int
    key: Path
    home: Path

    def words(self, *words: str) -> list[str]:
        """Return the command line that connects with these words."""
        options = ("IdentitiesOnly=yes", "UserKnownHostsFile=/dev/null", "StrictHostKeyChecking=no")
        flags = [word for option in options for word in ("-o", option)]
        return ["ssh", "-F", "none", "-p", str(self.port), "-i", str(self.key), *flags, "127.0.0.1", *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Connect without a terminal, and wait for the end."""
        return run_ssh(self.words(*words))


@pytest.fixture(scope="module")
def system_ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SystemSSH]:
    """An sshd that runs as the user of the tests and accepts no other."""
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
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen([_SSHD or "sshd", "-D", "-e", "-f", str(config)], stderr=output)
    try:
        wait_for(lambda: b"Server listening" in (folder / "output").read_bytes(), "sshd listens")
        yield SystemSSH(port, key, folder / "home")
    finally:
        process.terminate()
        process.wait(WAIT_S)


def test_an_exercise_is_started_through_the_system_s_ssh(system_ssh: SystemSSH) -> None:
    """The list, an attempt with its cluster, and its first step; the recording is in the folder."""
    run = "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"
    ssh, *rest = system_ssh.words()
    with Terminal("-c", run, ssh, "-t", *rest) as terminal:
        screen = TerminalScreen(terminal)
        screen.sees("lab exercises", "anna", "One pause, two coordinators")
        screen.type("one pause")
        screen.sees("teaches A1.1 (one coordinator)")
        screen.type("\r")
        screen.sees("5 leads", "attempt 1", "you may: pause, resume")
        screen.enter_command("answer 1 only 5")
        screen.sees("you answered: only 5")
        screen.type("5p")
        screen.sees("5 of 5 points")
        screen.type("q")
        screen.sees("All tasks are decided.")
        screen.type("\r")
        screen.sees("solved")
        screen.type("\x1b")  # the list is still one of what was sought
        screen.sees("FIRST STEPS", "A first election")
        screen.type("q")
        assert terminal.status() == 0
    assert (system_ssh.home / "attempts" / "two-coordinators-001.jsonl").is_file()


@pytest.mark.parametrize("words", [("id",), ("/bin/sh", "-c", "id"), ("$(id)",)])
def test_no_other_command_is_executed(system_ssh: SystemSSH, words: tuple[str, ...]) -> None:
    """Every request runs lab; without a terminal it says that it needs one."""
    done = system_ssh.run(*words)
    assert done.returncode != 0
    assert "uid=" not in done.stdout
    assert "terminal" in done.stderr


def test_no_files_can_be_copied(system_ssh: SystemSSH) -> None:
    """The subsystem exists, but runs lab."""
    done = system_ssh.run("-s", "sftp")
    assert done.returncode == 2
    assert done.stdout == ""


def test_nothing_is_forwarded(system_ssh: SystemSSH, tmp_path: Path) -> None:
    """In neither direction."""
    with socket.create_server(("127.0.0.1", 0)) as target:
        words = system_ssh.words()
        words[1:1] = ["-W", f"127.0.0.1:{target.getsockname()[1]}"]
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT_S, check=False
        )
        assert "open failed" in done.stderr
    words = system_ssh.words()
    words[1:1] = ["-o", "ExitOnForwardFailure=yes", "-R", f"{tmp_path}/socket:127.0.0.1:9"]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert "forwarding failed" in done.stderr.lower()
    assert not (tmp_path / "socket").exists()

"""A server in its own process, and OpenSSH's client for it."""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
import psutil

from lab.serve.data_folder import DataFolder
from lab.serve.student_lists import Invitations
from tests.forked_hosts import ForkedProcess
from tests.serve.forked_servers import fork_server_process
from tests.tui.terminal import Terminal
from tests.waiting import WAIT_S, wait_for

__all__ = ["ROOT", "Client", "Server", "alive", "connected", "new_key", "run_ssh"]

ROOT = Path(__file__).parents[2]
_MARK = "LAB_TEST_SERVER"
_CAN_BE_FORKED = Path("/proc/self/comm").exists()
"""Whether processes can be given a name, which tells those of a forked server."""


def new_key(path: Path, kind: str = "ed25519") -> Path:
    """Create a key pair without a passphrase."""
    assert shutil.which("ssh-keygen"), "these tests need OpenSSH's client: apt-get install openssh-client"
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "nobody", "-f", str(path)], check=True)
    return path


class Server:
    """``lab serve`` on a free port of loopback; with ``fresh``, in interpreters of its own, as users start it.

    ``stdin``: the standard input of a fresh one.
    """

    def __init__(
        self,
        data: Path,
        *options: str,
        class_file: Path | None = None,
        fresh: bool = False,
        stdin: int = subprocess.DEVNULL,
    ) -> None:
        self.data = data
        self._mark = os.urandom(6).hex()
        listed = [] if class_file is None else ["--class", str(class_file)]
        self._printed = data.parent / f"{data.name}.out"
        words = ["serve", "--port", "0", "--listen", "127.0.0.1", "--data", str(data), *listed, *options]
        environment = {**os.environ, _MARK: self._mark, "LANG": "C.UTF-8"}
        self.process: subprocess.Popen[bytes] | ForkedProcess
        with self._printed.open("wb") as output:
            if fresh or not _CAN_BE_FORKED:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "lab", *words],
                    cwd=ROOT,
                    stdin=stdin,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    env=environment,
                )
            else:
                self.process = fork_server_process(words, ROOT, environment, output.fileno(), self._mark)
        wait_for(
            lambda: "Ctrl-C stops the server" in self.output() or self.process.poll() is not None,
            "it serves",
            WAIT_S,
        )
        assert self.process.poll() is None, self.output()
        self.port = int(re.findall(r"port (\d+)", self.output())[0])

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.end()
        for each in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):  # it has ended since
                each.kill()

    def output(self) -> str:
        """Return what the server has printed."""
        return self._printed.read_text("utf-8")

    def page(self) -> str:
        """Return the address for browsers."""
        return str(re.findall(r"http://\S+", self.output())[0])

    def invite(self, student: str) -> str:
        """Create an invitation, as the command does; return the code."""
        ((_, code),) = Invitations(DataFolder(self.data).invites).invite([student], 30)
        return code

    def invite_by_command(self, *words: str) -> str:
        """Create an invitation on the command line; return the code."""
        done = subprocess.run(
            [sys.executable, "-m", "lab", "serve", "invite", *words, "--data", str(self.data)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"ssh -p {self.port} " in done.stdout
        assert ("or, in a browser: http://" in done.stdout) == ("or, in a browser: " in self.output())
        return done.stdout.split()[4].partition("@")[0]

    def end(self, number: int = signal.SIGINT) -> int:
        """Send a signal; return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(WAIT_S)

    def log(self) -> list[dict[str, str]]:
        """Return the lines of the log."""
        lines = (self.data / "log").read_bytes().splitlines()
        return [msgspec.json.decode(line, type=dict[str, str]) for line in lines]

    def logged(self, event: str, text: str = "", student: str = "") -> dict[str, str]:
        """Wait for a line of the log with this event, text and student; return the last one."""

        def found() -> list[dict[str, str]]:
            kind = [line for line in self.log() if line["event"] == event and text in line.get("text", "")]
            return [line for line in kind if student in line.get("student", "")]

        return wait_for(found, f"{event} {text} in the log", WAIT_S)[-1]

    def processes(self) -> list[psutil.Process]:
        """Return the server's live processes: those with its mark, and the fork server's children."""
        marked = [each for each in psutil.process_iter() if self._is_marked(each)]
        found = {child.pid: child for each in marked for child in _tree(each)}
        return alive(found.values())

    def session(self) -> psutil.Process:
        """Return the process of a session."""
        return self.sessions()[0]

    def sessions(self) -> list[psutil.Process]:
        """Return the processes of all sessions."""
        return [each for each in self.processes() if _input(each).startswith("/dev/pts/")]

    def inside(self) -> Path:
        """Return the terminal of the session."""
        return Path(_input(self.session()))

    def size_inside(self) -> tuple[int, int]:
        """Return (columns, rows) of the session's terminal, as the kernel reports them to it."""
        with self.inside().open("rb", buffering=0) as slave:
            rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(slave, termios.TIOCGWINSZ, bytes(8)))
        return columns, rows

    def flood(self) -> int:
        """Write to that terminal until it blocks; return how many bytes were written, at most 64 MiB."""
        terminal = os.open(self.inside(), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        taken, since_s = 0, time.monotonic()
        try:
            while taken < 64 << 20 and time.monotonic() < since_s + 0.7:
                with contextlib.suppress(BlockingIOError):
                    taken += os.write(terminal, b"x" * 4096)
                    since_s = time.monotonic()
        finally:
            os.close(terminal)
        return taken

    def _is_marked(self, process: psutil.Process) -> bool:
        try:
            return process.name() == self._mark or process.environ().get(_MARK) == self._mark
        except (psutil.Error, OSError):
            return False


def alive(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Filter out processes that have ended, and zombies."""
    return [each for each in processes if _is_alive(each)]


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:  # it has ended since
        return False


def _input(process: psutil.Process) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{process.pid}/fd/0")
    return ""


def _tree(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def run_ssh(words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run this command line without a terminal; wait for the end."""
    return subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT_S, check=False
    )


class Client:
    """OpenSSH's client, with one key and no user configuration."""

    def __init__(self, server: Server, key: Path | None, *options: str, user: str = "whoever") -> None:
        self.server = server
        keys = ["-o", "IdentityFile=none"] if key is None else ["-i", str(key)]
        self._command = [
            *("ssh", *options, "-F", "none", "-p", str(server.port), "-l", user, *keys),
            *("-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "LogLevel=INFO"),
            *("-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=no"),
        ]

    def words(self, *words: str) -> list[str]:
        """Return the command line that connects with these words."""
        return [*self._command, "127.0.0.1", *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Connect without a terminal; wait for the end."""
        return run_ssh(self.words(*words))

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """Connect, and do not wait."""
        return subprocess.Popen(
            self.words(*words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def terminal(self, *words: str, environment: dict[str, str] | None = None) -> Terminal:
        """Connect with a terminal."""
        run = "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"
        ssh, *rest = self.words(*words)
        return Terminal("-c", run, ssh, "-t", *rest, environment=environment)


def connected(server: Server) -> socket.socket:
    """Open a TCP connection."""
    return socket.create_connection(("127.0.0.1", server.port), 5)

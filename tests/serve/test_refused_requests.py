"""Requests that are refused: a shell, programs, files, forwarding of any kind, the client's environment."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import asyncssh
import pytest

from tests.serve.conftest import School
from tests.serve.lab_server import ROOT, Client, Server
from tests.waiting import WAIT_S, wait_for


def test_help_lists_the_commands(anna: Client) -> None:
    done = anna.run("help")
    assert done.returncode == 0
    assert "status" in done.stdout


@pytest.mark.parametrize("command", ["id", "/bin/sh -c id", "help; id", "$(id)", "scp -t /tmp/x", "x" * 5000])
def test_unknown_commands_are_refused(server: Server, anna: Client, command: str) -> None:
    """With exit status 2, and a line that lists the commands."""
    done = anna.run(command)
    assert done.returncode == 2
    assert "uid=" not in done.stdout
    assert "available are: help" in done.stdout
    assert server.logged("refused", command[:40])


def test_a_mistyped_command_is_recognized(anna: Client) -> None:
    assert "did you mean status?" in anna.run("statsu").stdout


def test_without_a_terminal_the_student_gets_advice(anna: Client) -> None:
    """And no shell."""
    done = anna.run()
    assert done.returncode == 1
    assert "connect with ssh -t" in done.stdout


@pytest.mark.parametrize("subsystem", ["sftp", "netconf", "../../bin/sh"])
def test_there_is_no_subsystem(server: Server, school: School, subsystem: str) -> None:
    """No sftp, which scp uses, too."""
    done = Client(server, school.anna, "-s").run(subsystem)
    assert "subsystem request failed" in done.stderr
    assert server.logged("refused", f"subsystem {subsystem}")


def test_files_cannot_be_copied(server: Server, school: School, tmp_path: Path) -> None:
    """By either protocol of scp."""
    for old in ([], ["-O"]):
        done = subprocess.run(
            [
                *("scp", *old, "-F", "none", "-P", str(server.port), "-i", str(school.anna)),
                *("-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=no"),
                *("127.0.0.1:/etc/passwd", str(tmp_path / "got")),
            ],
            capture_output=True,
            timeout=WAIT_S,
            check=False,
        )
        assert done.returncode != 0
    assert not (tmp_path / "got").exists()


def test_nothing_is_forwarded_to_elsewhere(server: Server, school: School) -> None:
    """By -W, or by a listener of the client's (-L, -D): its connections are closed."""
    with socket.create_server(("127.0.0.1", 0)) as target, _free_port() as local:
        port, own = target.getsockname()[1], local.getsockname()[1]
        local.close()
        assert "open failed" in Client(server, school.anna, "-W", f"127.0.0.1:{port}").run().stderr
        going = Client(server, school.anna, "-N", "-L", f"127.0.0.1:{own}:127.0.0.1:{port}").begin()
        _is_closed_through(own)
        going.kill()
        going.communicate()
        target.setblocking(False)
        with pytest.raises(BlockingIOError):
            target.accept()
    assert server.logged("refused", f"forwarding to 127.0.0.1:{port}")


def test_nothing_listens_on_the_server_for_a_client(server: Server, school: School, tmp_path: Path) -> None:
    """With -R, on a port or a Unix socket."""
    for where in ("0:127.0.0.1:9", f"{tmp_path}/socket:127.0.0.1:9"):
        done = Client(server, school.anna, "-o", "ExitOnForwardFailure=yes", "-R", where).run("help")
        assert "remote port forwarding failed" in done.stderr.lower()
    assert server.logged("refused", f"listening on {tmp_path}/socket"[:60])
    assert not (tmp_path / "socket").exists()


def test_no_unix_socket_of_the_server_can_be_reached(server: Server, school: School) -> None:
    """Not even the feed of the student's own cluster."""
    admin = next(Path("/tmp").glob("lab-serve-*/admin.sock"), Path("/tmp/admin.sock"))
    with _free_port() as local:
        own = local.getsockname()[1]
        local.close()
        going = Client(server, school.anna, "-N", "-L", f"127.0.0.1:{own}:{admin}").begin()
        _is_closed_through(own)
        going.kill()
        going.communicate()
    assert server.logged("refused", f"forwarding to {admin}"[:60])


def test_there_is_no_agent_nor_display(server: Server, school: School) -> None:
    """-A and -X are refused, and no socket is created."""
    agent = subprocess.run(["ssh-agent", "-s"], capture_output=True, text=True, check=True).stdout
    found = dict(part.split("=", 1) for line in agent.splitlines() for part in line.split(";")[:1] if "=" in part)
    try:
        done = subprocess.run(
            Client(server, school.anna, "-A", "-o", f"IdentityAgent={found['SSH_AUTH_SOCK']}", "-v").words("help"),
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        assert "Requesting authentication agent forwarding" in done.stderr
        assert done.stdout.startswith("Connect")
        assert not list(Path("/tmp").glob(f"ssh-*/agent.{server.process.pid}"))
    finally:
        os.kill(int(found["SSH_AGENT_PID"]), 15)


def test_there_is_no_tunnel(server: Server, school: School) -> None:
    """-w of either kind needs root in OpenSSH's client, so asyncssh sends the request."""

    async def ask() -> None:
        async with asyncssh.connect(
            "127.0.0.1", server.port, client_keys=[str(school.anna)], known_hosts=None, config=None
        ) as connection:
            for kind in (b"\x00\x00\x00\x01", b"\x00\x00\x00\x02"):
                channel = connection.create_tuntap_channel()
                with pytest.raises(asyncssh.ChannelOpenError):
                    await channel._open(b"tun@openssh.com", kind, b"\x7f\xff\xff\xff")

    asyncio.run(ask())
    assert server.logged("refused", "a tun device")
    assert server.logged("refused", "a tap device")


@pytest.mark.parametrize("kind", ["forwarding", "subsystem"])
def test_a_client_that_is_refused_too_often_is_disconnected(server: Server, school: School, kind: str) -> None:
    """A client can send thousands of requests per second; others must not wait for the replies."""

    async def ask() -> int:
        asked = 0
        async with asyncssh.connect(
            "127.0.0.1", server.port, client_keys=[str(school.ben)], known_hosts=None, config=None
        ) as connection:
            while not connection.is_closed() and asked < 1000:
                asked += 1
                with contextlib.suppress(asyncssh.ChannelOpenError):
                    if kind == "forwarding":
                        await connection.open_connection("127.0.0.1", 1)
                    else:
                        await connection.create_process(subsystem="sftp")
        return asked

    assert asyncio.run(ask()) < 200
    assert server.process.poll() is None


def test_the_environment_of_the_client_stays_with_the_client(server: Server, school: School) -> None:
    """No variable is passed on, except a valid TERM."""
    given = {"LD_PRELOAD": "/x.so", "PYTHONPATH": "/x", "HOME": "/x", "XDG_CONFIG_HOME": "/x", "LANG": "C"}
    options = [word for name, value in given.items() for word in ("-o", f"SetEnv={name}={value}")]
    with Client(server, school.ben, *options).terminal(environment={"TERM": "../../x"}) as terminal:
        terminal.shows("○")  # which is not ASCII
        assert server.logged("session", "../../x 120x40")
        terminal.type("q")
        assert terminal.status() == 0
    assert (server.data / "students" / "ben" / "settings.json").is_file()


def test_a_child_has_only_the_given_environment(tmp_path: Path) -> None:
    """Also the given folder, limits and file permissions."""
    code = f"""
import os, resource, subprocess
from lab.serve.child import apply_environment
from lab.serve.children import ChildEnvironment
apply_environment(ChildEnvironment({{"TERM": "xterm"}}, {str(tmp_path)!r}, 1 << 30, 1 << 20, 3))
print(dict(os.environ), os.getcwd(), oct(os.umask(0)), os.nice(0))
print([resource.getrlimit(each)[0] for each in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_AS)])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    before = os.nice(0)
    assert done.stdout.splitlines() == [
        f"{{'TERM': 'xterm'}} {tmp_path} 0o77 {before + 3}",
        f"[0, {1 << 20}, {1 << 30}]",
    ]


def _free_port() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def _is_closed_through(port: int) -> None:
    """Return whether a connection through the client's listener is closed at once."""

    def connection() -> list[socket.socket]:
        with contextlib.suppress(OSError):
            return [socket.create_connection(("127.0.0.1", port), 1)]
        return []

    (through,) = wait_for(connection, "the client listens")
    with through:
        through.settimeout(WAIT_S)
        assert through.recv(1) == b""

"""``lab serve`` on the command line: errors, status, and codes."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import msgspec
import pytest

from lab.cli.serve import host_for_students
from tests.cli.invocation import Lab
from tests.documents import fitting
from tests.serve.conftest import School
from tests.serve.lab_server import ROOT, Client, Server


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    (tmp_path / "home").mkdir()
    command = Lab(tmp_path, tmp_path / "home")
    yield command
    assert command.left() == []


def _line(lab: Lab, *words: str) -> str:
    """Return the one line of an error; warnings may precede it."""
    called = lab("serve", *words)
    assert (called.status, called.out) == (2, "")
    *warnings, line = called.err.splitlines()
    assert all("warning" in each for each in warnings)
    return line.removeprefix("lab: ")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--port", "x"), "--port x: write a whole number, from 0 to 65535"),
        (("--port", "70000"), "--port 70000: write a whole number, from 0 to 65535"),
        (("--web", "x"), "--web x: write a whole number, from 0 to 65535"),
        (("--class", "gone"), "--class gone: No such file or directory; name a file of public keys, one per line"),
        (
            ("--class", "bad"),
            "bad:1: xx is not a kind of key; options are refused; expected KIND KEY NAME, as in ",
        ),
        (("--nodes", "0"), "--nodes 0: write a whole number, from 1 to 64"),
        (("--idle", "soon"), "--idle: 'soon' is not a duration"),
        (("--listen", "203.0.113.7", "--port", "0"), "--listen 203.0.113.7 is not an address of this machine; "),
        (("--data", "bad"), "--data bad: "),
        (
            ("invite", "a/b"),
            "'a/b' is not a valid student name: a letter (a-z) or digit, then letters, digits, dots",
        ),
        (("invite", "guest-1"), "'guest-1' is not a valid student name: "),
        (("invite", "anna", "--days", "0"), "--days 0: write a whole number, from 1 to 3650"),
        (("--host", "a b"), "--host a b: write a host name or address, such as lab.example.org"),
        (("--host", "-oProxyCommand=x"), "--host -oProxyCommand=x: write a host name or address"),
        (("--host", "0.0.0.0"), "--host 0.0.0.0: write a host name or address"),
        (("invite", "anna", "--host", "x;id"), "--host x;id: write a host name or address"),
        (("status",), "no server runs in "),
    ],
)
def test_a_usage_error_is_one_line(lab: Lab, words: tuple[str, ...], error: str) -> None:
    """Got, expected, next step."""
    (lab.folder / "bad").write_text("xx yy zz\n")
    assert _line(lab, *words).startswith(error)


def test_a_port_in_use_is_reported(lab: Lab) -> None:
    """And nothing is left behind."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = _line(lab, "--listen", "127.0.0.1", "--port", port)
        web = _line(lab, "--listen", "127.0.0.1", "--port", "0", "--web", port)
    assert line == f"--port {port} is in use; name another, or 0 for a free one"
    assert web == f"--web {port} is in use; name another, or 0 for a free one"


@pytest.mark.parametrize("library", ["asyncssh", "aiohttp"])
def test_a_missing_extra_is_reported(tmp_path: Path, library: str) -> None:
    code = (
        f"import sys; sys.modules['{library}'] = None; sys.argv = ['lab', 'serve']; "
        "from lab.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path)},
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"lab: lab serve requires {library}, which is not installed: pip install 'coordinator-lab[serve]'\n"
    )


def test_status_lists_logged_in_students(server: Server, school: School, lab: Lab) -> None:
    """Only a user who may read the data folder may ask."""
    with Client(server, school.anna).terminal("start", "two-coordinators") as terminal:
        terminal.shows("5 leads")
        called = lab("serve", "status", "--data", str(server.data))
        assert called.out.splitlines()[0] == f"port {server.port}: 1 session, 1 cluster"
        (row,) = (line for line in called.out.splitlines() if line.strip().startswith("anna"))
        assert "two-coordinators" in row
        document = fitting("serve-status", lab("serve", "status", "--data", str(server.data), "--json").out)
        assert [each["name"] for each in document["students"] if each["exercise"]] == ["anna"]
        terminal.type("\x03")
        terminal.status()
    (admin,) = Path(msgspec.json.decode((server.data / "server.json").read_bytes())["sockets"]).glob("admin.sock")
    assert admin.stat().st_mode & 0o777 == 0o600
    assert admin.parent.stat().st_mode & 0o777 == 0o700


def test_the_server_prints_how_students_connect(server: Server) -> None:
    """The exact command, and the fingerprint of its key."""
    text = server.output()
    assert f"students connect with:         ssh -p {server.port} 127.0.0.1" in text
    assert f"with a code, the first time:   ssh -p {server.port} CODE@127.0.0.1" in text
    assert "host key: SHA256:" in text
    assert "the class has 2 students" in text


@pytest.mark.serve
def test_the_name_given_by_host_is_printed(tmp_path: Path, lab: Lab) -> None:
    """At the start and with each code; the browser's address is that of a proxy, if only the machine is served."""
    with Server(tmp_path / "data", "--host", "lab.example.org", "--web", "0") as server:
        assert f"ssh -p {server.port} lab.example.org\n" in server.output()
        assert f"ssh -p {server.port} CODE@lab.example.org\n" in server.output()
        assert "in a browser:              https://lab.example.org/\n" in server.output()
        printed = lab("serve", "invite", "anna", "--data", str(server.data)).out
        assert re.search(rf"anna +ssh -p {server.port} \S+@lab\.example\.org\n", printed)
        assert "or, in a browser: https://lab.example.org/\n" in printed
        printed = lab("serve", "invite", "anna", "--host", "10.0.0.7", "--data", str(server.data)).out
        assert re.search(rf"anna +ssh -p {server.port} \S+@10\.0\.0\.7\n", printed)


def test_the_name_is_by_default_an_address_that_students_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the machine's own name, which other machines cannot look up; with --listen ADDRESS it is that."""
    monkeypatch.setattr("socket.gethostname", lambda: "buildbox")
    assert host_for_students("", "192.0.2.7") == "192.0.2.7"
    for everywhere in ("", "0.0.0.0", "::"):
        name = host_for_students("", everywhere)
        assert name == "buildbox" or not ip_address(name).is_unspecified
    monkeypatch.setattr("socket.socket.getsockname", lambda _: ("198.51.100.4", 1))
    monkeypatch.setattr("socket.socket.connect", lambda *_: None)
    assert host_for_students("", "") == "198.51.100.4"


def test_the_server_imports_no_interface() -> None:
    """It has deadlines, and shares its process with nothing that draws or runs nodes."""
    code = "import sys, lab.serve.server; print(sorted({'textual', 'trio', 'lark'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

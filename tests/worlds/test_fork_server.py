"""A fork server: it forks, signals and reports, and leaves no child behind."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence

import psutil
import pytest

from lab.worlds.fork_server import (
    Fork,
    Forked,
    ForkServer,
    NotForked,
    ProcessChange,
    Ready,
    Report,
    Signal,
    decode_report,
    detach,
)
from lab.worlds.json_lines import Channel
from tests.waiting import wait_for


class Jobs(ForkServer[str]):
    """A fork server with some kinds of children."""

    ended_by = (signal.SIGHUP, signal.SIGKILL)
    patience_s = 0.2

    def run_child(self, job: str, descriptors: Sequence[int]) -> int:
        """Do as ``job`` says; the first descriptor is a socket."""
        detach(*descriptors)
        if job == "write":
            os.write(0, b"written")
            return 3
        if job == "raise":
            raise OSError("a child that fails")
        if job == "deaf":
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.write(0, b"waiting")
        while True:
            signal.pause()


class Client:
    """The other side of a fork server."""

    def __init__(self, serve: str = "serve") -> None:
        self._ours, its = socket.socketpair()
        self._ours.settimeout(30)
        with its:
            call = [sys.executable, "-c", f"import tests.worlds.test_fork_server as test; test.{serve}()"]
            self.process = subprocess.Popen(call, stdin=its.fileno(), stderr=subprocess.DEVNULL)
        self.channel = Channel(self._ours)
        self._reports: list[Report] = []

    def report(self) -> Report:
        """Return the next report."""
        while not self._reports:
            self._reports += map(decode_report, self.channel.receive())
        return self._reports.pop(0)

    def fork(self, job: str) -> tuple[int, socket.socket]:
        """Fork a child; return its process id, and a socket that it has."""
        ours, its = socket.socketpair()
        with its:
            self.channel.send_files(Fork(7, job), [its.fileno()] * 3)
        forked = self.report()
        assert isinstance(forked, Forked)
        assert forked.serial == 7
        return forked.pid, ours

    def close(self) -> None:
        self._ours.close()
        self.process.wait(30)


def serve() -> None:
    """Run the fork server on standard input."""
    Jobs(socket.socket(fileno=os.dup(0)), str).run()


def serve_full() -> None:
    """Like ``serve``, but the first fork fails."""
    fork = os.fork

    def fail() -> int:
        os.fork = fork
        raise BlockingIOError(11, "no more processes")

    os.fork = fail
    serve()


@pytest.fixture
def client() -> Iterator[Client]:
    """A fork server that is ready."""
    client = Client()
    assert client.report() == Ready()
    yield client
    client.close()


def test_children_end_with_a_status(client: Client) -> None:
    """A child that fails reports the traceback at its standard error."""
    for job, status, output in (("write", 3, b"written"), ("raise", 1, b"Traceback")):
        pid, files = client.fork(job)
        with files:
            assert client.report() == ProcessChange(pid, "ended", status)
            assert files.recv(100).startswith(output)


def test_signals_and_their_effects(client: Client) -> None:
    """They reach children only, and a signal to one that has ended nobody."""
    pid, files = client.fork("wait")
    with files:
        assert files.recv(10) == b"waiting"
        for number, what in ((signal.SIGSTOP, "stopped"), (signal.SIGCONT, "continued")):
            client.channel.send(Signal(pid, number))
            assert client.report() == ProcessChange(pid, what)  # type: ignore[arg-type]
        client.channel.send(Signal(os.getpid(), signal.SIGKILL))
        client.channel.send(Signal(pid, signal.SIGKILL))
        assert client.report() == ProcessChange(pid, "ended", -signal.SIGKILL)
        client.channel.send(Signal(pid, signal.SIGKILL))
    client.fork("write")[1].close()


def test_it_ends_its_children(client: Client) -> None:
    """Also a stopped one, and one that ignores the first signal."""
    children = [client.fork(job) for job in ("wait", "deaf", "wait")]
    for _, files in children:
        assert files.recv(10) == b"waiting"
    client.channel.send(Signal(children[2][0], signal.SIGSTOP))
    assert client.report() == ProcessChange(children[2][0], "stopped")
    processes = [psutil.Process(pid) for pid, _ in children]
    client.close()
    wait_for(lambda: not any(each.is_running() for each in processes), "the children's end")
    for _, files in children:
        files.close()


def test_a_failed_fork_is_reported() -> None:
    """And a later one may succeed."""
    client = Client("serve_full")
    assert client.report() == Ready()
    client.channel.send(Fork(1, "write"))
    assert client.report() == NotForked(1, "[Errno 11] no more processes")
    client.fork("write")[1].close()
    client.close()

"""A class on ``lab serve``: OpenSSH clients at terminals, each with a live cluster of five, pressing random keys.

    python -m tests.benchmarks serving        thirty of them
    CLASS=8 python -m tests.benchmarks serving

The time from a key to its echo is that from writing it to the client's terminal to reading the resulting screen
from there. It includes both ends of the connection, the server, the session and its drawing.
"""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import psutil

from tests.benchmarks.figures import Figure, median, p95
from tests.serve.lab_server import Client, Server, alive, new_key
from tests.waiting import wait_for

__all__ = ["measure"]

_STUDENTS = 30
_WORKS_S = 30.0
_STARTS_WITHIN_S = 180.0
_PAUSE_S = (0.5, 1.5)
"""Between two keys of a student: from, to."""
_VIEWS = "DLaiI"
_MEASURED = 0.7
"""So many of the keys select a node, and are measured; the others turn to another view."""
_TAIL = 64
_MIB = 1 << 20


def measure(folder: Path, short: bool) -> list[Figure]:
    """Log all in at once, then press random keys for a while."""
    count = 2 if short else int(os.environ.get("CLASS", _STUDENTS))
    keys = [new_key(folder / f"student-{number}") for number in range(1, count + 1)]
    listed = folder / "class"
    listed.write_text("".join(f"{_public(key)} {key.name}\n" for key in keys))
    with Server(folder / "data", "--log-ins", "1000", class_file=listed, fresh=True) as server:
        students = [_Student(Client(server, key).words("start", "two-coordinators"), key.name) for key in keys]
        try:
            return [*_measured(server, students, 2.0 if short else _WORKS_S), _killed(server)]
        finally:
            for student in students:
                student.leave()


def _measured(server: Server, students: "Sequence[_Student]", works_s: float) -> list[Figure]:
    _read_until(students, lambda: all(each.has_cluster for each in students), _STARTS_WITHIN_S)
    processes = server.processes()
    sessions = [each for each in processes if _has_terminal(each)]
    clusters = [each for each in processes if each not in sessions and each.pid != server.process.pid]
    before_s = [_cpu_s(each) for each in ([*sessions], [*clusters], [psutil.Process(server.process.pid)])]
    shown = sum(each.shown for each in students)
    began_s = time.monotonic()
    ends_s = began_s + works_s
    _read_until(students, lambda: time.monotonic() > ends_s, works_s + 1, works=True)
    took_s = time.monotonic() - began_s
    after_s = [_cpu_s(each) for each in ([*sessions], [*clusters], [psutil.Process(server.process.pid)])]
    # a tick of the processor's clock is ten milliseconds, and a server may need less
    spent = [max(0.01, after - before) / took_s * 100 for before, after in zip(before_s, after_s, strict=True)]
    echoes_ms = [echo * 1000 for each in students for echo in each.echoes_s]
    lost = sum(each.awaits is not None for each in students)
    count = len(students)
    output = f"{count} students, {len(echoes_ms)} keys in {took_s:.0f} s, {lost} without an echo by the end"
    bytes_s = (sum(each.shown for each in students) - shown) / took_s / count
    return [
        Figure("key to echo over SSH, median", median(echoes_ms), "ms", 100, "less", output),
        Figure("key to echo over SSH, 95th percentile", p95(echoes_ms), "ms", 200, "less"),
        Figure("key to echo over SSH, worst", max(echoes_ms), "ms", 1000, "less"),
        Figure(
            "log-in to first screen, last of all at once", max(each.listed_s for each in students), "s", 10, "less"
        ),
        Figure(
            "log-in to cluster, last of all at once", max(each.clustered_s for each in students), "s", 30, "less"
        ),
        Figure("CPU of a session", spent[0] / count, "%", 3, "less", f"{bytes_s / 1024:.1f} KiB/s to each client"),
        Figure("CPU of a cluster", spent[1] / count, "%", 3, "less", "host and five nodes"),
        Figure("CPU of the server", spent[2], "%", 30, "less"),
        Figure("private memory of a session", _memory_mib(sessions) / count, "MiB", 40, "less"),
        Figure(
            "private memory of a cluster", _memory_mib(clusters) / count, "MiB", 40, "less", "fork server included"
        ),
    ]


def _killed(server: Server) -> Figure:
    """Kill the server with all its processes."""
    running = server.processes()
    began_s = time.monotonic()
    server.process.kill()
    wait_for(lambda: not alive(running), "nothing is left", 30)
    took_s = time.monotonic() - began_s
    return Figure("kill -9 of the server to the end of all", took_s, "s", 3, "less", f"{len(running)} processes")


class _Student:
    """A client at a terminal of 120 by 40. ``awaits`` is the missing echo, and since when."""

    def __init__(self, words: list[str], name: str) -> None:
        self.began_s = time.monotonic()
        self.listed_s = self.clustered_s = 0.0
        self.echoes_s: list[float] = []
        self.awaits: tuple[bytes, float] | None = None
        self.shown = 0
        self._draw = Random(name)
        self._node = 0
        self._tail = b""
        self._next_s = 0.0
        self._pid, self.fd = pty.fork()
        if self._pid == 0:
            ssh, *rest = words
            os.environ["TERM"] = "xterm-256color"
            os.execvp(ssh, [ssh, "-t", *rest])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

    @property
    def has_cluster(self) -> bool:
        return self.clustered_s > 0

    def read(self) -> None:
        data = os.read(self.fd, 1 << 16)
        now_s = time.monotonic()
        self.shown += len(data)
        seen = self._tail + data
        self._tail = seen[-_TAIL:]
        if not self.listed_s and b"lab exercises" in seen:
            self.listed_s = now_s - self.began_s
        if not self.clustered_s and b"5 leads" in seen:
            self.clustered_s = now_s - self.began_s
        if self.awaits is not None and self.awaits[0] in seen:
            self.echoes_s.append(now_s - self.awaits[1])
            self.awaits = None

    def work(self) -> None:
        """Press a key, if it is time to and the one before has been echoed."""
        now_s = time.monotonic()
        if self.awaits is not None or now_s < self._next_s:
            return
        self._next_s = now_s + self._draw.uniform(*_PAUSE_S)
        if self._draw.random() < _MEASURED:
            self._node = self._node % 5 + 1
            self.awaits = (f"node {self._node} selected".encode(), now_s)
            self._tail = b""
            os.write(self.fd, str(self._node).encode())
        else:
            os.write(self.fd, self._draw.choice(_VIEWS).encode())

    def leave(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self.fd)


def _read_until(
    students: Sequence[_Student], over: Callable[[], bool], within_s: float, works: bool = False
) -> None:
    by_fd = {each.fd: each for each in students}
    ends_s = time.monotonic() + within_s
    while not over():
        if time.monotonic() > ends_s:
            missing = sum(not each.has_cluster for each in students)
            raise TimeoutError(f"not within {within_s:.0f} s; {missing} have no cluster")
        for fd in select.select(list(by_fd), [], [], 0.005)[0]:
            by_fd[fd].read()
        if works:
            for each in students:
                each.work()


def _public(key: Path) -> str:
    return " ".join(key.with_suffix(".pub").read_text().split()[:2])


def _cpu_s(processes: Sequence[psutil.Process]) -> float:
    spent_s = 0.0
    for each in processes:
        with contextlib.suppress(psutil.Error):
            times = each.cpu_times()
            spent_s += times.user + times.system
    return spent_s


def _memory_mib(processes: Sequence[psutil.Process]) -> float:
    taken = 0
    for each in processes:
        with contextlib.suppress(psutil.Error):  # one that noted what an attempt came to has ended
            taken += each.memory_full_info().uss
    return taken / _MIB


def _has_terminal(process: psutil.Process) -> bool:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{process.pid}/fd/0").startswith("/dev/pts/")
    return False

"""Servers without the cost of their imports: each is a fork of a process that has done them, one for all tests.

A server and its fork server have their own processes, sessions and folders, as with ``python -m lab serve``. So
has what a teacher starts beside them, on a terminal. Two seconds of processor time are saved for each. Run as a
program, the module is the process that forks.
"""

import contextlib
import functools
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from msgspec import Struct

from tests.forked_hosts import ForkedProcess, ProcessForker

__all__ = ["fork_server_process", "fork_shell"]


class _Job(Struct, frozen=True):
    words: tuple[str, ...]
    folder: str
    environment: dict[str, str]
    name: str
    has_terminal: bool = False


@functools.cache
def _forker() -> ProcessForker:
    # read when libraries are imported; see ``start_fork_server``
    libraries = {"LANG": "C.UTF-8", "TEXTUAL_ANIMATIONS": "none", "MALLOC_ARENA_MAX": "2"}
    return ProcessForker(__name__, os.environ | libraries)


def fork_server_process(
    words: Sequence[str], folder: Path, environment: dict[str, str], output: int, name: str
) -> ForkedProcess:
    """Run ``lab`` with these words in a process that is called ``name``, as are those forked from it."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        pid = _forker().fork(_Job(tuple(words), str(folder), environment, name), (nothing, output, output))
    finally:
        os.close(nothing)
    return ForkedProcess(_forker(), pid)


def fork_shell(
    words: Sequence[str], folder: Path, environment: dict[str, str], files: tuple[int, int, int], name: str
) -> ForkedProcess:
    """Run ``lab`` with these words under a shell on a terminal; see ``Terminal``."""
    pid = _forker().fork(_Job(tuple(words), str(folder), environment, name, has_terminal=True), files)
    return ForkedProcess(_forker(), pid)


# the process that forks


def _serve() -> None:
    import lab.cli.serve
    import lab.cli.serve_class
    import lab.cli.serve_lecture
    import lab.serve.child
    import lab.serve.server
    from lab.cli import main
    from lab.exercises.exercise_reader import SHIPPED, all_exercises
    from lab.worlds.fork_server import ForkServer, detach, exit_with
    from tests.tui import shell

    shipped = all_exercises()

    def read_exercises(folder: Path) -> Any:
        return shipped if folder == SHIPPED else all_exercises(folder)

    def start_fork_server(exercises: Path) -> tuple[socket.socket, _Child]:
        ours, its = socket.socketpair()
        pid = os.fork()
        if not pid:
            exit_with(lambda: run_fork_server(its, exercises))
        its.close()
        return ours, _Child(pid)

    def run_fork_server(server: socket.socket, exercises: Path) -> int:
        detach(server.detach(), os.open(os.devnull, os.O_WRONLY), 2)
        sys.argv = ["lab.serve.child", str(exercises)]
        return lab.serve.child.main()

    class Servers(ForkServer[_Job]):
        def run_child(self, job: _Job, descriptors: Sequence[int]) -> int:
            if job.has_terminal:
                terminal, reports, until = descriptors
                detach(terminal, terminal, terminal, reports, until)
            else:
                detach(*descriptors)
            os.chdir(job.folder)
            os.environ.clear()
            os.environ.update(job.environment)
            Path("/proc/self/comm").write_text(job.name)
            sys.argv = ["lab", *job.words]
            if job.has_terminal:
                shell.main(3, 4, lambda: exit_with(run_on_terminal))
            else:
                run()
            return 0

    def run() -> NoReturn:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        main()
        raise AssertionError("it ends by SystemExit")

    def run_on_terminal() -> None:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        # those of the process that forks are no terminals
        for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
            file = os.fdopen(number, mode, 1, "utf-8", "backslashreplace", closefd=False)
            vars(sys).update({name: file, f"__{name}__": file})
        try:
            run()
        finally:
            threading._shutdown()  # type: ignore[attr-defined]

    for module in (lab.serve.server, lab.serve.child):
        module.all_exercises = read_exercises  # type: ignore[attr-defined]
    lab.serve.server.start_fork_server = start_fork_server  # type: ignore[assignment, attr-defined]
    gc.collect()
    gc.freeze()
    Servers(socket.socket(fileno=int(sys.argv[1])), _Job).run()


class _Child:
    """The part of ``subprocess.Popen`` that a server uses of its fork server."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def wait(self, timeout: float | None = None) -> int:
        ends_s = time.monotonic() + (timeout or 1e9)
        while time.monotonic() < ends_s:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        raise subprocess.TimeoutExpired("fork server", timeout or 0)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)


if __name__ == "__main__":
    _serve()

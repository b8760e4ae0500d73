"""Calls of ``lab`` without the cost of its imports: each is a fork of a process that has done them.

A call has its own process, as with ``python -m lab``: folder, environment, descriptors, signals and exit status
are its own, and no call sees the effects of another. The host of a run is a fork of its call in turn, and so are
the workers of a campaign: a call has at most the thread of its progress line, which sleeps then. A user's protocol
is taken to do the same when it is executed again: to try that takes two interpreters with other hash seeds.
``Lab.fresh`` and ``Lab.begin`` start workers, and execute protocols twice, as for users. Tests use ``ForkServer``;
run as a program, the module is the server.
"""

import atexit
import ctypes
import functools
import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import typer

import lab
from lab.cli import check, main
from lab.cli.program import app
from lab.exercises.exercise_reader import all_exercises
from lab.protocols import PROTOCOLS
from lab.script.parse import parse
from lab.worlds.campaign import workers
from lab.worlds.launch import ForkedHost, HostProcess
from lab.worlds.mutation import mutation_campaign

__all__ = ["ForkServer"]

_LARGEST_CALL = 1 << 16
_LEAST_WAIT_S = 90
_NEW_MOUNT_NAMESPACE = 0x20000
"""CLONE_NEWNS of Linux."""


class ForkServer:
    """The process that forks. It ends with the tests."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                cwd=Path(__file__).parents[2],
                env=environment,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self._end)

    def call(
        self,
        words: tuple[str, ...],
        folder: Path,
        environment: Mapping[str, str],
        limit_s: int,
        mount: tuple[str, ...] = (),
    ) -> tuple[int, bytes, bytes]:
        """Return the exit status, standard output and standard error.

        If there is a command ``mount``, it is run first, in a mount namespace of the call's own.
        """
        call = json.dumps([words, str(folder), dict(environment), limit_s, mount]).encode()
        assert len(call) < _LARGEST_CALL
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            socket.send_fds(self._socket, [call], [out.fileno(), err.fileno()])
            status = int(self._socket.recv(100))
            out.seek(0)
            err.seek(0)
            return status, out.read(), err.read()

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()


def _serve(control: socket.socket) -> None:
    """Fork for each call and report its exit status; in a fork, return to run the call."""
    while True:
        call, descriptors, _, _ = socket.recv_fds(control, _LARGEST_CALL, 2)
        if not call:
            sys.exit()
        pid = os.fork()
        if not pid:
            break
        for each in descriptors:
            os.close(each)
        control.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
    words, folder, environment, limit_s, mount = json.loads(call)
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
    signal.alarm(max(3 * limit_s, _LEAST_WAIT_S))  # on a busy machine, it waits as well
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, each in enumerate([nothing, *descriptors]):
        os.dup2(each, number)
        os.close(each)
    if mount:
        _mount(mount)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = folder
    sys.argv = ["lab", *words]


def _mount(command: list[str]) -> None:
    """Run the command in a new mount namespace, which this process then has."""
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_MOUNT_NAMESPACE):
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(command, check=True)


def _warm_up() -> None:
    """Import what commands import, except for the interface, and do once what each call would do again.

    That is to build the options of all commands and a parser for the words of each protocol, and to load the
    protocols of the exercises.
    """
    for module in pkgutil.walk_packages(lab.__path__, "lab."):
        if not module.name.startswith("lab.tui.") and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    importlib.import_module("typer.rich_utils")  # at the first help
    typer.main.get_group = functools.cache(typer.main.get_group)
    typer.main.get_group(app)
    for protocol in (None, *PROTOCOLS.values()):
        parse("heal", protocol)
    all_exercises()
    gc.freeze()  # or each fork would look through all that at its end
    HostProcess._start_process = ForkedHost._start_process  # type: ignore[assignment, method-assign]
    workers.start_method = "fork"
    for caller in (check, mutation_campaign):
        vars(caller)["require_repeatable"] = lambda *given: None
    os.register_at_fork(after_in_child=_default_sigterm)  # a worker is ended by it; a call has a handler


def _default_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run() -> int:
    """Run the call as the interpreter runs a program; return its exit status."""
    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(status: int) -> NoReturn:
    """End the process without tearing down all modules: in a fork that copies most of the memory."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


if __name__ == "__main__":
    _warm_up()
    with socket.socket(fileno=int(sys.argv[1])) as ours:
        _serve(ours)
    _end(_run())

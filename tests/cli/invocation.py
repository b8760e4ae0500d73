"""Calls of ``lab`` in a process of its own, with its own folders for hosts and recordings.

Most calls are forks of a ``ForkServer``.
"""

import contextlib
import functools
import io
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import msgspec
import psutil
import pytest
import typer

from lab.analysis.elections import agreed_coordinator
from lab.cli import main
from lab.cli.program import COMMANDS, load_command
from lab.recording.reader import open_recording
from lab.recording.records import End, Process
from lab.worlds.host.runs import RunInfo
from tests.cli.fork_server import ForkServer
from tests.waiting import WAIT_S, wait_for
from tests.worlds.live import Tail, is_gone

__all__ = ["ROOT", "SHIPPED", "Called", "Lab", "Running", "build_options_once"]

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "recordings" / "two-coordinators.jsonl"

_LIMIT_S = 60
_PROGRESS = re.compile(r"^[^:\n]+: ([^:\n]+ in )?\d+:\d\d(, .*)?\n", re.MULTILINE)
"""A line of progress, which calls that take longer than usual print."""
_NOT_OURS = ("COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS", "PYTHONUNBUFFERED")


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_OURS}
    return kept | {"NO_COLOR": "1", "COLUMNS": "120", "PYTHONPATH": str(ROOT)}


@functools.cache
def _warm() -> ForkServer:
    return ForkServer(_environment())


def build_options_once(patch: pytest.MonkeyPatch) -> None:
    """Keep the options of all commands, which ``lab`` builds in each call: that takes longer than most calls."""
    patch.setattr(typer.main, "get_group", _get_group())


@functools.cache
def _get_group() -> Callable[..., object]:
    for name in COMMANDS:
        load_command(name)
    return functools.cache(typer.main.get_group)


class Called(msgspec.Struct, frozen=True):
    """The result of a call."""

    status: int
    out: str
    err: str

    def refused(self) -> str:
        """Return the error line of a usage error, which must be the only output."""
        assert (self.status, self.out) == (2, ""), self
        return self.line()

    def line(self) -> str:
        """Return the only line on standard error."""
        assert self.err.startswith("lab: ")
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1, self.err
        return self.err.removeprefix("lab: ").rstrip("\n")


class Lab:
    """The ``lab`` command. ``folder`` is its working directory, ``home`` a short path for its data.

    The command ``mount`` is run before each call, in a mount namespace of the call's own.
    """

    def __init__(
        self, folder: Path, home: Path, command: tuple[str, ...] = (), mount: tuple[str, ...] = ()
    ) -> None:
        self.folder = folder
        self._mount = mount
        self.runtime = home / "r"
        self.data = home / "d"
        self.runtime.mkdir()
        self.data.mkdir()
        self._may_be_warm = not command
        self._command = command or (sys.executable, "-m", "lab")
        self._environment = _environment() | {
            "XDG_RUNTIME_DIR": str(self.runtime),
            "XDG_DATA_HOME": str(self.data),
            "PYTHONPATH": "" if command else str(ROOT),
        }

    @property
    def recordings(self) -> Path:
        """The folder of runs without ``--record``."""
        return self.data / "lab" / "recordings"

    def __call__(
        self, *words: str, environment: Mapping[str, str] | None = None, limit_s: int = _LIMIT_S
    ) -> Called:
        """Call it without a terminal and wait. With variables that imports read, it runs in a fresh process.

        A call that is not in a fresh process ends by a signal after ``limit_s`` seconds of computing, or when it
        waits for far longer.
        """
        given = dict(environment or {})
        if self._may_be_warm and given.keys() <= {"COLUMNS", "XDG_DATA_HOME"}:
            status, out, err = _warm().call(words, self.folder, self._environment | given, limit_s, self._mount)
            return Called(status, out.decode(), _PROGRESS.sub("", err.decode()))
        return self.fresh(*words, environment=environment)

    def fresh(self, *words: str, environment: Mapping[str, str] | None = None) -> Called:
        """Call it in a fresh process, as a user does."""
        done = subprocess.run(
            [*self._command, *words],
            cwd=self.folder,
            env=self._environment | dict(environment or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=3 * _LIMIT_S,
            check=False,
        )
        return Called(done.returncode, done.stdout.decode(), done.stderr.decode())

    def interrupted(
        self, *words: str, when: bytes, environment: Mapping[str, str] | None = None
    ) -> tuple[Called, int]:
        """Call it on a terminal, and press Ctrl-C once its progress line matches the pattern ``when``.

        Return also the id of its process. The call's ``err`` is what was written to the terminal.
        """
        return self._on_terminal(words, when, environment)

    def on_terminal(
        self, *words: str, environment: Mapping[str, str] | None = None, with_output: bool = False
    ) -> Called:
        """Call it with standard error on a terminal; ``err`` is what was written to that.

        With ``with_output``, that includes standard output.
        """
        return self._on_terminal(words, None, environment, with_output)[0]

    def _on_terminal(
        self,
        words: tuple[str, ...],
        when: bytes | None,
        environment: Mapping[str, str] | None,
        with_output: bool = False,
    ) -> tuple[Called, int]:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [*self._command, *words],
            cwd=self.folder,
            env=self._environment | {"TERM": "xterm"} | dict(environment or {}),
            stdin=slave,
            stdout=slave if with_output else subprocess.PIPE,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        seen = b""
        with contextlib.suppress(OSError):
            while when is None or not re.search(when, seen):
                seen += os.read(master, 4096)
        if when is not None:
            os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(OSError):  # at its end
            while more := os.read(master, 4096):
                seen += more
        out = process.communicate(timeout=WAIT_S)[0]
        os.close(master)
        return Called(process.returncode, (out or b"").decode(), seen.decode()), process.pid

    def within(self, *words: str) -> Called:
        """Call it in this process: for calls that end before they start anything, by the dozen."""
        out, err = io.StringIO(), io.StringIO()
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            for name in os.environ.keys() - self._environment.keys():
                patch.delenv(name)
            for name, value in self._environment.items():
                patch.setenv(name, value)
            patch.chdir(self.folder)
            patch.setattr(sys, "argv", ["lab", *words])
            build_options_once(patch)
            with pytest.raises(SystemExit) as end:
                main()
        assert isinstance(end.value.code, int), end.value
        return Called(end.value.code, out.getvalue(), err.getvalue())

    def into(self, place: str, *words: str, environment: Mapping[str, str] | None = None) -> Called:
        """Call it with its output to ``place``; if that is empty, to a closed pipe."""
        reading, writing = os.pipe()
        os.close(reading)
        if place:
            os.close(writing)
            writing = os.open(place, os.O_WRONLY)
        try:
            done = subprocess.run(
                [*self._command, *words],
                cwd=self.folder,
                env=self._environment | dict(environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=subprocess.PIPE,
                timeout=3 * _LIMIT_S,
                check=False,
            )
        finally:
            os.close(writing)
        return Called(done.returncode, "", done.stderr.decode())

    def start(self, *words: str) -> "Running":
        """Start ``lab run bully --headless`` with these arguments."""
        return Running(self, self.begin("run", "bully", "--headless", *words))

    def until(self, condition: Callable[[Tail], object], what: str, *words: str) -> Called:
        """Call ``lab run --headless`` with these words, and end it by Ctrl-C once its recording is as wanted."""
        path = self.folder / "until.jsonl"
        run = Running(self, self.begin("run", "--headless", "--for", "2m", "--record", str(path), *words))
        with run:
            wait_for(lambda: path.exists() and path.stat().st_size, "the recording has begun")
            tail = Tail(path)
            wait_for(lambda: tail.read().records and condition(tail), what)
            run.process.send_signal(signal.SIGINT)
            done = run.ended()
        assert done.status == 130, done
        return done

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """Call it without a terminal, and do not wait."""
        return subprocess.Popen(
            [*self._command, *words],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def published(self) -> dict[str, RunInfo]:
        """Return the active hosts by the names of their runs."""
        infos = {}
        for path in (self.runtime / "lab").glob("*/run.json"):
            info = msgspec.json.decode(path.read_bytes(), type=RunInfo)
            infos[info.run] = info
        return infos

    def left(self) -> list[Path]:
        """Return the contents of the folder of active hosts."""
        return sorted(self.runtime.glob("lab/*"))


class Running:
    """An active headless run. At the end of a ``with`` block it is ended, and nothing of it may be left."""

    def __init__(self, lab: Lab, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._lab = lab
        self._info: RunInfo | None = None

    def __enter__(self) -> "Running":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM if kind is None else signal.SIGKILL)
        if not self.process.stdout or not self.process.stdout.closed:
            self.process.communicate(timeout=3 * _LIMIT_S)
        if self._info is not None and kind is None:
            assert is_gone(self._info.pid) == []

    @property
    def info(self) -> RunInfo:
        """The information published by the host, once it is ready."""
        if self._info is None:
            self._info = wait_for(self._published, "the run is published")
            assert self._info is not None
        return self._info

    def _published(self) -> RunInfo | None:
        for info in self._lab.published().values():
            with contextlib.suppress(psutil.NoSuchProcess):
                if psutil.Process(info.pid).ppid() == self.process.pid:
                    return info
        return None

    def settled(self, coordinator: int) -> None:
        """Wait until all running nodes are Normal under this coordinator."""
        tail = Tail(Path(self.info.recording))
        wait_for(
            lambda: tail.read().of(Process) and agreed_coordinator(tail.cluster.nodes) == coordinator,
            f"all are Normal under {coordinator}",
        )

    def ended(self) -> Called:
        """Wait for its end."""
        out, err = self.process.communicate(timeout=3 * _LIMIT_S)
        return Called(self.process.returncode, out.decode(), _PROGRESS.sub("", err.decode()))

    def reason(self) -> str:
        """Return the recorded reason of the run's end; empty without one."""
        with contextlib.closing(open_recording(Path(self.info.recording))) as lines:
            return next((record.why for record in lines.records() if isinstance(record, End)), "")

"""A sandbox: a confined child process that executes a stranger's protocol, while its judge stays here.

A child loads the file, and has one node: inputs go to it over a socket, steps come back. No two incarnations of a
run share a child, so nodes can talk to each other by messages alone, and nothing outlives a crash but what is in
stable storage. A child is used again in the next run.

A child that dies, is silent for too long, or sends something else than a reply fails its node. No child outlives
this process: its socket ends with it.
"""

import contextlib
import os
import select
import shutil
import signal
import socket
import tempfile
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

from lab.foreign_file import LARGEST_TEXT, read_foreign
from lab.kernel import Fired, Input, Message, Step, Timing
from lab.text import sanitize
from lab.worlds.json_lines import GARBAGE, Channel, TooLongError, to_line
from lab.worlds.loading.sandbox_messages import (
    Confined,
    Create,
    Describe,
    Described,
    Failed,
    Fed,
    Feed,
    Load,
    Loaded,
    Refused,
    SandboxReply,
    SandboxRequest,
    decode_reply,
)
from lab.worlds.loading.sandbox_server import SandboxChild, SandboxJob, sandbox_server
from lab.worlds.loading.user_module import TargetError, program_path

_START_S, _ANSWER_S = 20.0, 5.0
"""How long the child may take to start and to load the file, and for one step: far more than it ever needs."""
_MOST_REPLIES = 4 << 20
_PER_STEP, _PER_STEP_AND_NODE = 2000, 100
"""How many bytes a child may reply for one incarnation: so many, and more with every step."""
_MOST_FILES = 100


class SandboxError(Exception):
    """The child did something else than it was asked for, or nothing; the text says what."""


class Sandbox:
    """A confined child that has loaded a file. ``missing``: what of the confinement is not in force.

    ``node`` is whose child it is. Raises TargetError.
    """

    def __init__(self, origin: "Origin", budget: "Budget") -> None:
        self.node: object = None
        self._budget = budget
        self._owner = os.getpid()
        folder = Path(tempfile.mkdtemp(prefix="lab-sandbox-"))
        try:
            target, original = origin.copy_to(folder / "code")
            ours, its = socket.socketpair()
            ours.settimeout(_ANSWER_S)
            with its:
                child = _start_child(its, folder, origin.file.parent)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._channel = Channel(ours, _MOST_REPLIES)
        self._spare_bytes, self._per_step = _MOST_REPLIES, 0
        self.close = weakref.finalize(self, _end, self._owner, child, ours, folder)
        try:
            confined = self._receive(_START_S)
            self._send(Load(target, original))
            loaded = self._receive(_START_S)
        except SandboxError as error:
            raise TargetError(f"{origin.file}: in the sandbox, {error}") from None
        if not isinstance(confined, Confined) or not isinstance(loaded, Loaded):
            self.close()
            text = loaded.text if isinstance(loaded, Refused | Failed) else "it was not loaded"
            raise TargetError(sanitize(text.replace(f"{folder / 'code'}/", f"{origin.file.parent}/"), 500))
        self.missing = confined.missing
        self.loaded = loaded

    def describe(self, parameters: dict[str, Any], timing: Timing, nodes: int) -> Described:
        """Return what the protocol declares for such a run. Raises TargetError."""
        try:
            self._send(Describe(parameters, timing, nodes))
            reply = self._receive(_ANSWER_S)
        except SandboxError as error:
            raise TargetError(f"in the sandbox, {error}") from None
        if not isinstance(reply, Described):
            raise TargetError(sanitize(reply.text if isinstance(reply, Failed) else "no description", 500))
        return reply

    def create(self, node: object, request: Create) -> None:
        """Create a node in the child, in place of the last one. Raises SandboxError."""
        self.node = node
        self._spare_bytes = _MOST_REPLIES
        self._per_step = _PER_STEP + _PER_STEP_AND_NODE * len(request.ids)
        self._send(request)

    def feed(self, given: Input, now_us: int, draws: Sequence[float]) -> tuple[Step, tuple[int, Fired] | None]:
        """Return the step of the node, and its next timer. Raises SandboxError."""
        if isinstance(given, Message):
            self._send(Feed(now_us, given, None, tuple(draws)))
        else:
            self._send(Feed(now_us, None, given, tuple(draws)))
        self._spare_bytes += self._per_step
        reply = self._receive(_ANSWER_S)
        if not isinstance(reply, Fed):
            raise SandboxError(reply.text if isinstance(reply, Failed) else "it sent something else than a step")
        return reply.step, None if reply.timer is None else (reply.timer[0], Fired(reply.timer[1]))

    def _send(self, request: SandboxRequest) -> None:
        try:
            self._channel.write(to_line(request))
        except TimeoutError:
            self.close()
            raise SandboxError(f"it did not take its input within {_ANSWER_S:.3g} s") from None
        except OSError:
            raise SandboxError(self._why_ended()) from None

    def _receive(self, within_s: float) -> SandboxReply:
        began_s = time.monotonic()
        lines: list[bytes] = []
        try:
            while not lines:
                left_s = min(within_s, self._budget.left_s) - (time.monotonic() - began_s)
                if not select.select([self._channel], [], [], max(0.0, left_s))[0]:
                    self.close()
                    raise SandboxError(f"it did not reply within {min(within_s, self._budget.left_s):.3g} s")
                lines = self._channel.receive()  # may find nothing: urgent data wakes select alone
            self._spare_bytes -= sum(map(len, lines))
            if self._spare_bytes < 0:
                raise TooLongError("its steps are too large")
            if len(lines) == 1:
                return decode_reply(lines[0])
        except EOFError:
            raise SandboxError(self._why_ended()) from None
        except (TooLongError, TimeoutError, *GARBAGE) as error:
            self.close()
            raise SandboxError(f"it sent what is not a step: {error}") from None
        finally:
            self._budget.left_s -= time.monotonic() - began_s
        self.close()
        raise SandboxError("it sent more than it was asked for")

    def _why_ended(self) -> str:
        status = self.close()
        return (
            f"its process ended by {signal.Signals(-status).name}"
            if status and status < 0
            else "its process ended"
        )

    @property
    def is_alive(self) -> bool:
        """True while the child can be used by this process."""
        return self.close.alive and self._owner == os.getpid()


def _start_child(its: socket.socket, folder: Path, strangers: Path) -> SandboxChild:
    """Start a child that imports what this process does, but nothing from the stranger's own folder."""
    empty = folder / "empty"
    empty.mkdir()
    paths = [path for path in program_path() if Path(path).resolve() != strangers]
    return sandbox_server(paths).fork(its, SandboxJob(str(folder / "code"), str(empty)))


def _end(owner: int, child: SandboxChild, ours: socket.socket, folder: Path) -> int | None:
    """End the child and what it left behind, unless this is a fork of the process that it belongs to.

    Return its exit status, if that is known.
    """
    if owner != os.getpid():
        ours.detach()  # the descriptor may be another file's by now
        return None
    ours.close()
    status = child.end()
    shutil.rmtree(folder, ignore_errors=True)
    return status


class Origin(Struct, frozen=True):
    """The file that children load: ``target`` is the whole protocol, of which the file may be a layer.

    ``siblings``: the file may import the modules beside it. ``original`` is the target of the faulty protocol that
    the file repairs, if it does. ``budget_s`` limits the real time spent waiting for the children, all together.
    With a ``secret``, the file does not learn the seeds of its runs, from which it could compute their faults.
    """

    target: str
    file: Path
    siblings: bool = True
    original: str = ""
    budget_s: float = float("inf")
    secret: str = ""

    def node_seed(self, seed: int) -> int:
        """Return the seed of the nodes' random numbers in the run with this seed."""
        return Random(f"{self.secret}/{seed}").getrandbits(48) if self.secret else seed

    def copy_to(self, folder: Path) -> tuple[str, str]:
        """Copy the files into a new folder; return the targets there. Raises TargetError."""
        folder.mkdir()
        files = sorted(self.file.parent.glob("*.py")) if self.siblings else []
        files = [path for path in files if path != self.file and path.is_file() and not path.is_symlink()]
        if len(files) > _MOST_FILES:
            raise TargetError(f"{self.file}: beside it are {len(files)} modules; a sandbox takes {_MOST_FILES}")
        original = ""
        try:
            for path in (self.file, *files):
                _copy(path, folder, follow_links=False)  # a link may lead to a solution
            if self.original:
                file, _, name = self.original.rpartition(":")
                original = f"{_copy(Path(file), folder / 'original', follow_links=True)}:{name}"
        except OSError as error:
            raise TargetError(f"{error.filename}: {error.strerror}; name a Python file") from None
        return self.target.replace(str(self.file), str(folder / self.file.name)), original


def _copy(path: Path, folder: Path, follow_links: bool) -> Path:
    """Copy the file into a folder; return the copy. Raises OSError."""
    data = read_foreign(path, LARGEST_TEXT, follow_links)
    folder.mkdir(exist_ok=True)
    copy = folder / path.name
    copy.write_bytes(data)
    return copy


class Budget(Struct):
    """The real time that may still be spent waiting, in seconds."""

    left_s: float


class SandboxPool:
    """The children of this process that have loaded the same file: one for each incarnation of the present run.

    Runs follow one another: when one begins, the children of the last one are free.
    """

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self._budget = Budget(origin.budget_s)
        self._free = [Sandbox(origin, self._budget)]
        self._taken: list[Sandbox] = []
        self._run: weakref.ref[object] | None = None
        self.loaded, self.missing = self._free[0].loaded, self._free[0].missing

    def prepare(self, run: object) -> None:
        """Have a child at hand, so that the start of a node does not take the time of a process's. It may fail."""
        self._begin(run)
        with contextlib.suppress(SandboxError):
            self._free.append(self._any())

    def start(self, node: object, run: object, request: Create) -> Sandbox:
        """Create the node in a child that has had no part in its run; return the child. Raises SandboxError."""
        self._begin(run)
        sandbox = self._any()
        self._taken.append(sandbox)
        sandbox.create(node, request)
        return sandbox

    def _begin(self, run: object) -> None:
        """Free the children of the last run, if this is another."""
        if self._run is None or self._run() is not run:
            self._free += self._taken
            self._taken = []
            self._run = weakref.ref(run)

    def _any(self) -> Sandbox:
        while self._free:
            if (sandbox := self._free.pop()).is_alive:
                return sandbox
        try:
            return Sandbox(self.origin, self._budget)
        except TargetError as error:
            raise SandboxError(str(error)) from None

    def describe(self, parameters: dict[str, Any], timing: Timing, nodes: int) -> Described:
        """Return what the protocol declares for such a run. Raises TargetError."""
        try:
            sandbox = self._any()
        except SandboxError as error:
            raise TargetError(str(error)) from None
        self._free.append(sandbox)
        return sandbox.describe(parameters, timing, nodes)

    def close(self) -> None:
        """End all children."""
        for sandbox in (*self._free, *self._taken):
            sandbox.close()

"""All clusters, at most one for each student. The server owns them, so they survive dropped connections.

After a student's last session ends, the cluster stays for a while, and the next session finds it as it is.

The configuration of a run comes from a student's process, and is not trusted. It must equal the one that the
server builds for this exercise and student, down to the name of the recording. So only a teacher's protocol file
is ever executed, and nothing is written outside the student's folder, nor over an earlier recording.
"""

import asyncio
import os
import re
import signal
import socket
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
from msgspec.structs import replace

from lab.exercises.attempts import attempt_config, recording_of
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import drawn_for
from lab.recording.records import ExerciseAttempt
from lab.serve.children import Child, ChildEnvironment, Children, HostWork
from lab.serve.data_folder import ServerLog
from lab.serve.limits import Limits
from lab.worlds.host.runs import RunInfo
from lab.worlds.json_lines import to_line
from lab.worlds.launch import HostFailedError, HostRefusedError, read_ready
from lab.worlds.loading.config import HostReady, RunConfig

T = TypeVar("T")

_START_WITHIN_S = 30.0
_END_WITHIN_S = 5.0
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,39}")
_MOST_ATTEMPTS = 9999


class ClusterProcess:
    """A running host. ``info`` is what it published about itself; ``attempt`` is its exercise attempt, if any."""

    def __init__(
        self, child: Child, owner: asyncio.StreamWriter, log: IO[bytes], attempt: ExerciseAttempt | None
    ) -> None:
        self.child = child
        self.attempt = attempt
        self.info: RunInfo
        self.ready: HostReady
        self._owner = owner
        self._log = log

    @property
    def label(self) -> str:
        """The name of the run in the log."""
        of = self.attempt
        return self.info.protocol if of is None else f"{of.name}, attempt {of.attempt}"

    @classmethod
    async def start(cls, children: Children, config: RunConfig, environment: ChildEnvironment) -> "ClusterProcess":
        """Start a host, and wait until it serves its feed. Raises HostFailedError."""
        log = tempfile.TemporaryFile()  # noqa: SIM115 - open while the host runs
        ours, its = socket.socketpair()
        reader, owner = await asyncio.open_unix_connection(sock=ours)
        try:
            with its:
                files = its.fileno(), its.fileno(), log.fileno()
                child = await children.fork(environment, files, HostWork())
        except BaseException as error:
            owner.close()
            log.close()
            if isinstance(error, OSError):
                raise HostFailedError(f"the host did not start: {error}") from None
            raise
        cluster = cls(child, owner, log, config.exercise)
        try:
            cluster.ready = await cluster._await_ready(config, reader)
        except BaseException:
            await cluster.end()
            raise
        published = Path(cluster.ready.socket).parent / "run.json"
        cluster.info = msgspec.json.decode(published.read_bytes(), type=RunInfo)
        return cluster

    async def end(self) -> str:
        """End the run and wait until the host has exited. Return why it failed, or an empty text."""
        self._owner.close()  # the host notices that its owner has gone
        try:
            await asyncio.wait_for(asyncio.shield(self.child.ended), _END_WITHIN_S)
        except TimeoutError:
            self.child.kill(signal.SIGKILL)
        status = await self.child.ended
        output = self._host_output()
        self._log.close()
        if status == -signal.SIGKILL:
            return "the host was killed; its recording up to then is kept"
        return f"the host ended with status {status}:\n{output}" if status else ""

    async def _await_ready(self, config: RunConfig, reader: asyncio.StreamReader) -> HostReady:
        self._owner.write(to_line(config))
        try:
            line = await asyncio.wait_for(reader.readline(), _START_WITHIN_S)
        except TimeoutError:
            raise HostFailedError(f"the host did not start within {_START_WITHIN_S:.0f} s") from None
        except ConnectionError:
            line = b""
        if not line:
            raise HostFailedError(f"the host did not start:\n{self._host_output()}")
        return read_ready(line)

    def _host_output(self) -> str:
        return os.pread(self._log.fileno(), 4000, 0).decode("utf-8", "replace").strip()


class ClusterPool:
    """Starts and ends clusters.

    ``exercises`` are those that may be attempted, by name; they are drawn for each student, with the ``nonce`` of
    the course. ``environment_for`` returns the environment of a student's host. ``seal`` is called with the
    recording and the student of each run that has ended. A start or an end that has begun is completed, even if
    the session that requested it ends.
    """

    def __init__(
        self,
        children: Children,
        exercises: Mapping[str, Exercise],
        limits: Limits,
        log: ServerLog,
        environment_for: Callable[[str], ChildEnvironment],
        seal: Callable[[Path, str], Awaitable[None]] | None = None,
        nonce: bytes = b"",
    ) -> None:
        self._children = children
        self._exercises = exercises
        self._nonce = nonce
        self._limits = limits
        self._log = log
        self._environment_for = environment_for
        self._seal = seal
        self._clusters: dict[str, ClusterProcess] = {}
        self._starting = 0
        self._present: set[str] = set()
        self._lingering: dict[str, asyncio.TimerHandle] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def count(self) -> int:
        return len(self._clusters)

    async def start(self, student: str, config: RunConfig) -> HostReady:
        """Start the student's cluster; a running one ends first.

        Raises HostFailedError, or HostRefusedError if it may not run.
        """
        return await asyncio.shield(self._keep_task(self._start(student, config)))

    async def end(self, student: str) -> str:
        """End the student's cluster, if there is one; return why it failed, if it did."""
        return await asyncio.shield(self._keep_task(self._end_locked(student)))

    def running(self, student: str) -> RunInfo | None:
        """Return the student's cluster, if there is one."""
        return self._clusters[student].info if student in self._clusters else None

    def all(self) -> dict[str, ClusterProcess]:
        """Return every cluster, by student."""
        return dict(self._clusters)

    def student_entered(self, student: str) -> None:
        """Keep the student's cluster: a session has begun."""
        self._present.add(student)
        self._cancel_linger(student)

    def student_left(self, student: str) -> None:
        """Schedule the cluster's end: the student's last session has ended."""
        self._present.discard(student)
        if student in self._clusters:
            self._lingering[student] = asyncio.get_running_loop().call_later(
                self._limits.linger_s, lambda: self._keep_task(self._end_locked(student))
            )

    async def end_all(self) -> None:
        await asyncio.gather(*(self.end(student) for student in list(self._clusters)))

    async def _start(self, student: str, config: RunConfig) -> HostReady:
        async with self._locks.setdefault(student, asyncio.Lock()):
            environment = self._environment_for(student)
            home = Path(environment.folder)
            if fault := refusal_reason(config, student, home, self._exercises, self._limits, self._nonce):
                self._log.write("run refused", f"{config.protocol}: {fault}", student=student)
                raise HostRefusedError(fault)
            await self._end(student)
            cluster = await self._begin(student, config, environment)
        self._log.write(
            "run", f"{cluster.label}: {cluster.info.protocol}, {len(config.nodes)} nodes", student=student
        )
        if student not in self._present:
            self.student_left(student)  # the session ended during the start
        return cluster.ready

    async def _begin(self, student: str, config: RunConfig, environment: ChildEnvironment) -> ClusterProcess:
        self._starting += 1
        try:
            if len(self._clusters) + self._starting > self._limits.clusters and not await self._evict_one():
                raise HostFailedError("the server has reached its limit of clusters; try again later")
            cluster = await ClusterProcess.start(self._children, config, environment)
            self._clusters[student] = cluster
        finally:
            self._starting -= 1
        self._keep_task(self._await_end(student, cluster))
        return cluster

    async def _end_locked(self, student: str) -> str:
        async with self._locks.setdefault(student, asyncio.Lock()):
            return await self._end(student)

    async def _end(self, student: str) -> str:
        cluster = self._clusters.pop(student, None)
        self._cancel_linger(student)
        if cluster is None:
            return ""
        failed = await cluster.end()
        if self._seal is not None:
            await self._seal(Path(cluster.info.recording), student)
        self._log.write("run ended", f"{cluster.label}{failed and f': {failed}'}", student=student)
        return failed

    async def _evict_one(self) -> bool:
        """End the cluster that has been without a session longest; return whether there was one."""
        longest = next(iter(self._lingering), None)
        if longest is not None:
            self._cancel_linger(longest)  # no other caller may choose it now
            await self.end(longest)
        return longest is not None

    async def _await_end(self, student: str, cluster: ClusterProcess) -> None:
        await asyncio.shield(cluster.child.ended)
        if self._clusters.get(student) is cluster:  # it ended unasked, or was killed
            await self._end_locked(student)

    def _cancel_linger(self, student: str) -> None:
        if (timer := self._lingering.pop(student, None)) is not None:
            timer.cancel()

    def _keep_task(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop keeps weak references only
        task.add_done_callback(self._tasks.discard)
        return task


def refusal_reason(
    config: RunConfig,
    student: str,
    home: Path,
    exercises: Mapping[str, Exercise],
    limits: Limits,
    nonce: bytes = b"",
) -> str:
    """Return why this run is refused, for the student; empty if it is allowed.

    The exercise is drawn for the student, with the ``nonce`` of the course.
    """
    attempt = config.exercise
    exercise = None if attempt is None else exercises.get(attempt.name)
    if attempt is None or exercise is None or exercise.starting_file is not None:
        return "this server runs only the exercises in the list"
    if len(config.nodes) > limits.nodes:
        return f"{len(config.nodes)} nodes: the limit is {limits.nodes}; tell your teacher"
    if not 1 <= attempt.attempt <= _MOST_ATTEMPTS:
        return f"the limit of {_MOST_ATTEMPTS} attempts is reached; tell your teacher"
    recording = recording_of(home, exercise.name, attempt.attempt)
    drawn = drawn_for(exercise, student, nonce)
    expected = replace(attempt_config(drawn, student, attempt.attempt, recording), run=config.run)
    if not _RUN.fullmatch(config.run) or msgspec.json.encode(config) != msgspec.json.encode(expected):
        return f"not a valid attempt of yours at {exercise.name}"
    if recording.exists():
        return f"attempt {attempt.attempt} at {exercise.name} already exists"
    return ""

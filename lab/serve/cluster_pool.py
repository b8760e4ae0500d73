"""All clusters, at most one for each student. The server owns them, so they survive dropped connections.

After a student's last session ends, the cluster stays for a while, and the next session finds it as it is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from lab.exercises.exercise import Exercise
from lab.serve.children import Children
from lab.serve.cluster_process import ClusterProcess
from lab.serve.fork_protocol import ChildEnvironment
from lab.serve.limits import Limits
from lab.serve.runcheck import refusal_reason
from lab.serve.server_log import ServerLog
from lab.worlds.config import HostReady, RunConfig
from lab.worlds.host.launch import HostFailedError, HostRefusedError
from lab.worlds.runs import RunInfo

__all__ = ["ClusterPool"]

T = TypeVar("T")


class ClusterPool:
    """Starts and ends clusters. ``exercises`` are those that may be attempted, by name.

    ``environment_for`` returns the environment of a student's host. ``seal`` is called with the recording and the
    student of each run that has ended. A start or an end that has begun is completed, even if the session that
    requested it ends.
    """

    def __init__(
        self,
        children: Children,
        exercises: Mapping[str, Exercise],
        limits: Limits,
        log: ServerLog,
        environment_for: Callable[[str], ChildEnvironment],
        seal: Callable[[Path, str], Awaitable[None]] | None = None,
    ) -> None:
        self._children = children
        self._exercises = exercises
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
            if fault := refusal_reason(config, student, Path(environment.folder), self._exercises, self._limits):
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

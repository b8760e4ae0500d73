"""All clusters, one for each student at most. They are the server's: a connection that drops ends none.

When a student's last session has gone, the cluster stays for a while, and the next session has it as it is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from lab.exercises.exercise import Exercise
from lab.serve.children import Children
from lab.serve.cluster import ClusterProcess
from lab.serve.limits import Limits
from lab.serve.log import Log
from lab.serve.orders import Room
from lab.serve.runcheck import fault_of
from lab.worlds.config import Ready, RunConfig
from lab.worlds.host.launch import HostFailedError, HostRefusedError
from lab.worlds.runs import RunInfo

__all__ = ["ClusterPool"]

T = TypeVar("T")


class ClusterPool:
    """``room_of`` says what a student's host lives in; ``exercises`` are those that may be attempted, by name.
    ``seal`` is given the recording and the student of each run that has ended.

    What is begun here is finished, also where the session that asked for it goes in the middle.
    """

    def __init__(
        self,
        children: Children,
        exercises: Mapping[str, Exercise],
        limits: Limits,
        log: Log,
        room_of: Callable[[str], Room],
        seal: Callable[[Path, str], Awaitable[None]] | None = None,
    ) -> None:
        self._children = children
        self._exercises = exercises
        self._limits = limits
        self._log = log
        self._room_of = room_of
        self._seal = seal
        self._clusters: dict[str, ClusterProcess] = {}
        self._starting = 0
        self._present: set[str] = set()
        self._lingering: dict[str, asyncio.TimerHandle] = {}
        self._alone: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._clusters)

    async def start(self, student: str, config: RunConfig) -> Ready:
        """Start the student's cluster; one that went on ends. HostFailedError; HostRefusedError: it may not be."""
        return await asyncio.shield(self._kept(self._start(student, config)))

    async def end(self, student: str) -> str:
        """End the student's cluster, if there is one, and wait for that; why it had failed, if it had."""
        return await asyncio.shield(self._kept(self._end_alone(student)))

    def running(self, student: str) -> RunInfo | None:
        """The student's cluster."""
        return self._clusters[student].info if student in self._clusters else None

    def all(self) -> dict[str, ClusterProcess]:
        """Every cluster, by its student."""
        return dict(self._clusters)

    def come(self, student: str) -> None:
        """The student has a session: the cluster stays."""
        self._present.add(student)
        self._stay(student)

    def leave(self, student: str) -> None:
        """The student's last session has gone: the cluster stays for a while."""
        self._present.discard(student)
        if student in self._clusters:
            self._lingering[student] = asyncio.get_running_loop().call_later(
                self._limits.linger_s, lambda: self._kept(self._end_alone(student))
            )

    async def end_all(self) -> None:
        """End every cluster."""
        await asyncio.gather(*(self.end(student) for student in list(self._clusters)))

    async def _start(self, student: str, config: RunConfig) -> Ready:
        async with self._alone.setdefault(student, asyncio.Lock()):
            room = self._room_of(student)
            if fault := fault_of(config, student, Path(room.folder), self._exercises, self._limits):
                self._log.say("run refused", f"{config.protocol}: {fault}", student=student)
                raise HostRefusedError(fault)
            await self._end(student)
            cluster = await self._begin(student, config, room)
        self._log.say(
            "run", f"{cluster.named}: {cluster.info.protocol}, {len(config.nodes)} nodes", student=student
        )
        if student not in self._present:
            self.leave(student)  # it left while its cluster was started
        return cluster.ready

    async def _begin(self, student: str, config: RunConfig, room: Room) -> ClusterProcess:
        self._starting += 1
        try:
            if len(self._clusters) + self._starting > self._limits.clusters and not await self._make_room():
                raise HostFailedError("there are as many clusters as this machine bears; try again in a while")
            cluster = await ClusterProcess.start(self._children, config, room)
            self._clusters[student] = cluster
        finally:
            self._starting -= 1
        self._kept(self._await_end(student, cluster))
        return cluster

    async def _end_alone(self, student: str) -> str:
        async with self._alone.setdefault(student, asyncio.Lock()):
            return await self._end(student)

    async def _end(self, student: str) -> str:
        cluster = self._clusters.pop(student, None)
        self._stay(student)
        if cluster is None:
            return ""
        failed = await cluster.end()
        if self._seal is not None:
            await self._seal(Path(cluster.info.recording), student)
        self._log.say("run ended", f"{cluster.named}{failed and f': {failed}'}", student=student)
        return failed

    async def _make_room(self) -> bool:
        """End the one that nobody has watched for longest; whether there was one."""
        longest = next(iter(self._lingering), None)
        if longest is not None:
            self._stay(longest)  # it is nobody else's choice from now on
            await self.end(longest)
        return longest is not None

    async def _await_end(self, student: str, cluster: ClusterProcess) -> None:
        await asyncio.shield(cluster.child.ended)
        if self._clusters.get(student) is cluster:  # it ended by itself, or was killed
            await self._end_alone(student)

    def _stay(self, student: str) -> None:
        if (timer := self._lingering.pop(student, None)) is not None:
            timer.cancel()

    def _kept(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop alone would let go of it
        task.add_done_callback(self._tasks.discard)
        return task

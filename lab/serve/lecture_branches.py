"""Clusters of the students' own that branch off a lecture: at most one for each, until it is left.

A student names a lecture, a run and a record; the server builds the configuration. So only what the teacher has
shown can be branched from, and only the teacher's protocols are executed.
"""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from lab.lectures.presentation import PresentationError, read_presentation, read_progress
from lab.recording.reader import NotARecordingError, open_recording
from lab.serve.children import ChildEnvironment, Children
from lab.serve.cluster_pool import ClusterProcess
from lab.serve.data_folder import DataFolder, ServerLog
from lab.serve.limits import Limits
from lab.worlds.launch import HostFailedError, HostRefusedError
from lab.worlds.loading.config import HostReady, RunConfig, branch_config, new_run_name

_FOLDER = "branches"
"""In the student's folder; it has the recording of the last branch."""


class LectureBranches:
    """Starts and ends branches. ``environment_for`` returns the environment of a student's host."""

    def __init__(
        self,
        data: DataFolder,
        children: Children,
        limits: Limits,
        log: ServerLog,
        environment_for: Callable[[str], ChildEnvironment],
    ) -> None:
        self._data = data
        self._children = children
        self._limits = limits
        self._log = log
        self._environment_for = environment_for
        self._clusters: dict[str, ClusterProcess] = {}
        self._starting = 0
        self._ending: set[asyncio.Task[None]] = set()

    async def start(self, student: str, lecture: str, run: int, record: int) -> HostReady:
        """Branch off a run of the lecture in this folder at a record; a running branch ends first.

        Raises HostFailedError, or HostRefusedError if this was not shown.
        """
        await self.end(student)
        await self._end_dead()
        if len(self._clusters) + self._starting >= self._limits.clusters:
            raise HostFailedError("the server has reached its limit of branches; try again later")
        self._starting += 1
        try:
            environment = self._environment_for(student)
            config = await asyncio.to_thread(self._configure, Path(lecture).name, run, record, environment)
            cluster = self._clusters[student] = await ClusterProcess.start(self._children, config, environment)
        finally:
            self._starting -= 1
        self._log.write("branch", f"{Path(lecture).name}, run {run + 1}, record {record}", student=student)
        return cluster.ready

    async def _end_dead(self) -> None:
        """End the branches whose host has ended by itself: they count no more."""
        for student, cluster in list(self._clusters.items()):
            if cluster.child.ended.done():
                await self.end(student)

    async def end(self, student: str) -> None:
        """End the student's branch, if there is one."""
        if (cluster := self._clusters.pop(student, None)) is not None:
            await cluster.end()

    def release(self, student: str) -> None:
        """Begin to end the student's branch: the session has ended."""
        task = asyncio.get_running_loop().create_task(self.end(student))
        self._ending.add(task)  # the loop keeps weak references only
        task.add_done_callback(self._ending.discard)

    async def end_all(self) -> None:
        await asyncio.gather(*(self.end(student) for student in list(self._clusters)))

    def _configure(self, lecture: str, run: int, record: int, environment: ChildEnvironment) -> RunConfig:
        """Return the configuration of the branch; the recording of the last one is deleted."""
        folder = self._data.lectures / lecture
        try:
            presentation, shown = read_presentation(folder), read_progress(folder).position.shown
            if not 0 <= run < len(shown) or not 0 <= record <= shown[run]:
                raise HostRefusedError("your teacher has not shown this yet")
            presented = presentation.runs[run]
            recorded = open_recording(Path(presented.file))
        except (PresentationError, NotARecordingError) as error:
            raise HostFailedError(str(error)) from None
        header = recorded.header
        recorded.close()
        if len(header.nodes) > self._limits.nodes:
            most = self._limits.nodes
            raise HostRefusedError(f"{len(header.nodes)} nodes: the limit is {most}; tell your teacher")
        branches = Path(environment.folder) / _FOLDER
        shutil.rmtree(branches, ignore_errors=True)
        branches.mkdir(mode=0o700)
        name = new_run_name(header.protocol.name)
        recording = branches / f"{name}.jsonl"
        config = branch_config(header, Path(presented.file), record, name, str(recording), frozen=True)
        return replace(config, protocol=presented.protocol)

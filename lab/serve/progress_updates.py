"""Update students' progress from recordings, also where no session observed the end of the run.

A connection may drop during a run, and a server may be killed. So each recording is read once more when its run
has ended, by a low-priority process.
"""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from lab.serve.children import ChildEnvironment, Children, ProgressWork
from lab.serve.data_folder import DataFolder, ServerLog

_WITHIN_S = 5.0
_MARK = ".noted"
"""A file in each student's folder: progress includes all that recordings contained at its modification time."""


class ProgressUpdater:
    """Reads recordings in child processes. ``environment_for`` returns their environment for a student."""

    def __init__(
        self,
        folder: DataFolder,
        children: Children,
        log: ServerLog,
        environment_for: Callable[[str], ChildEnvironment],
    ) -> None:
        self._folder = folder
        self._children = children
        self._log = log
        self._environment_for = environment_for
        self._alone = asyncio.Lock()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def begin(self, student: str, recordings: list[Path]) -> None:
        """Update the student's progress from these recordings, after the updates already started."""
        before = self._tasks.get(student)
        self._tasks[student] = asyncio.create_task(self._note_all(student, recordings, before))

    def begin_missing(self) -> None:
        """Update progress from recordings that a killed server has left."""
        missing: dict[str, list[Path]] = {}
        for student, path in self._folder.recordings():
            mark = self._folder.student_path(student) / _MARK
            if not mark.exists() or mark.stat().st_mtime_ns < path.stat().st_mtime_ns:
                missing.setdefault(student, []).append(path)
        for student, recordings in missing.items():
            self.begin(student, recordings)

    def end(self) -> None:
        """Cancel the rest; the next start does it."""
        for task in self._tasks.values():
            task.cancel()

    async def wait_until_done(self, student: str) -> None:
        """Wait for the student's updates, but not forever: a recording may be large."""
        if (task := self._tasks.get(student)) is not None:
            await asyncio.wait([task], timeout=_WITHIN_S)

    async def _note_all(self, student: str, recordings: list[Path], before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        try:
            for each in recordings:
                with tempfile.TemporaryFile() as output:
                    await self._note(student, each, output)
            (self._folder.student_path(student) / _MARK).touch()
        except OSError as error:
            self._log.write(
                "fault", f"progress is not up to date; the next start updates it: {error}", student=student
            )

    async def _note(self, student: str, recording: Path, output: IO[bytes]) -> None:
        async with self._alone:
            work = ProgressWork(student, str(recording))
            child = await self._children.fork(self._environment_for(student), [output.fileno()] * 3, work)
            status = await child.ended
        if status < 0:
            raise OSError(f"the process that reads {recording} was killed")
        if status:
            output.seek(0)
            *_, why = output.read().decode("utf-8", "replace").splitlines() or [f"status {status}"]
            self._log.write("fault", f"the progress in {recording} is not stored: {why}", student=student)

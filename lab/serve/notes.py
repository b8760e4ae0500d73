"""What attempts came to, for the students' lists, where no session saw it: the recording decides.

A line drops while something is still to come, and a server is killed in the middle. So each recording is read once
more when nothing is written to it any longer, by a process of its own that makes way for everybody.
"""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from lab.serve.children import Children
from lab.serve.folder import DataFolder
from lab.serve.log import Log
from lab.serve.orders import NoteInfo, Room

__all__ = ["Notes"]

_WITHIN_S = 5.0
_MARK = ".noted"
"""A file in each student's folder: what was written to a recording before that has been noted."""


class Notes:
    """``room_of`` says what the process lives in that reads a student's recording."""

    def __init__(self, folder: DataFolder, children: Children, log: Log, room_of: Callable[[str], Room]) -> None:
        self._folder = folder
        self._children = children
        self._log = log
        self._room_of = room_of
        self._alone = asyncio.Lock()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def begin(self, student: str, recordings: list[Path]) -> None:
        """Note what these came to, after those of this student that are begun already."""
        before = self._tasks.get(student)
        self._tasks[student] = asyncio.create_task(self._note_all(student, recordings, before))

    def begin_those_without(self) -> None:
        """Those of a server that was killed."""
        missing: dict[str, list[Path]] = {}
        for student, path in self._folder.recordings():
            mark = self._folder.home(student) / _MARK
            if not mark.exists() or mark.stat().st_mtime_ns < path.stat().st_mtime_ns:
                missing.setdefault(student, []).append(path)
        for student, recordings in missing.items():
            self.begin(student, recordings)

    def end(self) -> None:
        """The next start does what is not done."""
        for task in self._tasks.values():
            task.cancel()

    async def settled(self, student: str) -> None:
        """Wait until the student's list shows what was reached; not for ever, as a recording may be large."""
        if (task := self._tasks.get(student)) is not None:
            await asyncio.wait([task], timeout=_WITHIN_S)

    async def _note_all(self, student: str, recordings: list[Path], before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        try:
            for each in recordings:
                with tempfile.TemporaryFile() as said:
                    await self._note(student, each, said)
            (self._folder.home(student) / _MARK).touch()
        except OSError as error:
            self._log.say("fault", f"the next start notes what attempts came to: {error}", student=student)

    async def _note(self, student: str, recording: Path, said: IO[bytes]) -> None:
        async with self._alone:
            room, note = self._room_of(student), NoteInfo(student, str(recording))
            child = await self._children.fork(room, [said.fileno()] * 3, note)
            status = await child.ended
        if status < 0:
            raise OSError(f"the process that reads {recording} was killed")
        if status:
            said.seek(0)
            *_, why = said.read().decode("utf-8", "replace").splitlines() or [f"status {status}"]
            self._log.say("fault", f"what {recording} came to is not noted: {why}", student=student)

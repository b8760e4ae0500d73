"""The state that all connections of a server share: limits, log, admission, sessions, clusters, and progress.

A connection may drop during a run, and a server may be killed, so that no session observes the end of the run. So
each recording is read once more when its run has ended, by a low-priority process, which updates the student's
progress.
"""

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO

from msgspec import Struct, field

from lab.exercises.attempts import StudentFolder
from lab.exercises.exercise import Exercise
from lab.exercises.teacher import Comments, Notice, PastLectures, ServerAdminError
from lab.serve.admission import Admission
from lab.serve.broadcast_hub import BroadcastHub
from lab.serve.children import ChildEnvironment, Children, ProgressWork
from lab.serve.class_records import ClassRecords
from lab.serve.cluster_pool import ClusterPool
from lab.serve.comments import CommentBook
from lab.serve.course_file import CourseFile
from lab.serve.data_folder import DataFolder, ServerLog
from lab.serve.given_lectures import past_lectures
from lab.serve.gradebook import SealBook, Sealer
from lab.serve.lecture_branches import LectureBranches
from lab.serve.limits import Limits, RateLimit
from lab.units import format_count

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
            work = ProgressWork(student, str(recording), self._folder.nonce())
            child = await self._children.fork(self._environment_for(student), [output.fileno()] * 3, work)
            status = await child.ended
        if status < 0:
            raise OSError(f"the process that reads {recording} was killed")
        if status:
            output.seek(0)
            *_, why = output.read().decode("utf-8", "replace").splitlines() or [f"status {status}"]
            self._log.write("fault", f"the progress in {recording} is not stored: {why}", student=student)


_PROGRESS_NICE = 15
_MIB = 1 << 20


class ActiveSession(Struct, eq=False):
    """One session. ``end`` ends it, with a reason for the student; ``pressed_s`` is when a key was last pressed.

    ``leaving``: it is already ending. ``over`` is set when it has ended.
    """

    student: str
    address: str
    end: Callable[[str], None]
    began: str
    pressed_s: float
    leaving: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Presence:
    """The sessions in progress, whose students' clusters are kept. ``all_ended`` is set while there are none."""

    def __init__(self, limits: Limits, clusters: ClusterPool) -> None:
        self._limits = limits
        self._clusters = clusters
        self._sessions: list[ActiveSession] = []
        self.all_ended = asyncio.Event()
        self.all_ended.set()

    def refusal_reason(self) -> str:
        """Return why no further session may begin; empty if one may."""
        if len(self._sessions) >= self._limits.sessions:
            return f"the server is full, with {format_count(len(self._sessions), 'session')}; try again later"
        return ""

    def enter(self, student: str, address: str, now_s: float, end: Callable[[str], None]) -> ActiveSession:
        """Register a session that begins."""
        began = datetime.now(UTC).isoformat(timespec="seconds")
        session = ActiveSession(student, address, end, began, now_s)
        self._sessions.append(session)
        self.all_ended.clear()
        self._clusters.student_entered(student)
        return session

    def leave(self, session: ActiveSession) -> None:
        """Remove a session that has ended."""
        self._sessions.remove(session)
        session.over.set()
        if not self._sessions:
            self.all_ended.set()
        if not self.of(session.student):
            self._clusters.student_left(session.student)

    def of(self, student: str) -> list[ActiveSession]:
        """Return the student's sessions."""
        return [each for each in self._sessions if each.student == student]

    def all(self) -> list[ActiveSession]:
        return list(self._sessions)


class ServerContext:
    """The shared state of one server."""

    def __init__(
        self,
        folder: DataFolder,
        sockets: Path,
        limits: Limits,
        log: ServerLog,
        admission: Admission,
        children: Children,
        exercises: Sequence[Exercise],
        lectures_at_once: bool = False,
    ) -> None:
        self.exercises = {each.name: each for each in exercises}
        self.limits = limits
        self.log = log
        self.admission = admission
        self.children = children
        self.port = 0
        self.web_port = 0
        seals = SealBook(folder.seals)
        self.sealer = Sealer(folder, seals, log)
        self.comments = CommentBook(folder.comments, log)
        self.records = ClassRecords(folder, log, seals)
        nonce = folder.nonce()
        self.clusters = ClusterPool(
            children, self.exercises, limits, log, self.environment, self._on_run_ended, nonce=nonce
        )
        self.branches = LectureBranches(folder, children, limits, log, self.environment)
        self.progress_updater = ProgressUpdater(
            folder, children, log, partial(self.environment, nice=_PROGRESS_NICE)
        )
        self.presence = Presence(limits, self.clusters)
        self.logins = RateLimit(limits.logins_per_minute, time.monotonic)
        self.new_guests = RateLimit(limits.guests_per_minute, time.monotonic)
        self.folder = folder
        self.course = CourseFile(folder, self.exercises, log)
        self.hub = BroadcastHub(log, lectures_at_once, self._persistent_notices)
        self._sockets = sockets
        self._numbers: dict[str, int] = {}

    def student_folder(self, student: str) -> StudentFolder:
        """Return the student's folder, with the student's progress."""
        return StudentFolder(self.folder.student_path(student), student)

    def watch_files(self) -> None:
        """Read the files again that the teacher has edited, and show what changed."""
        if self.course.update():
            self.hub.renew_notices()

    def _persistent_notices(self, student: str) -> list[Notice]:
        notices: list[Notice] = [self.course.course.schedule_for(student)]
        with contextlib.suppress(ServerAdminError):  # the teacher's next comment reports it
            notices.append(Comments(self.comments.of(student)))
        notices.append(PastLectures(past_lectures(self.folder)))
        return notices

    async def end_sessions(self, student: str, why: str) -> None:
        """End the student's sessions and cluster, and wait until they have ended."""
        for session in self.presence.of(student):
            session.end(why)
            await session.over.wait()
        await self.clusters.end(student)
        await self.progress_updater.wait_until_done(student)

    async def _on_run_ended(self, recording: Path, student: str) -> None:
        """Seal the recording, and begin to update the student's progress from it."""
        await self.sealer.seal(recording, student)
        self.progress_updater.begin(student, [recording])

    def environment(self, student: str, terminal: str = "dumb", nice: int = 0) -> ChildEnvironment:
        """Return the environment of a child that works for this student, at this terminal."""
        home = str(self.folder.student_path(student))
        # numbered, because the path of a Unix socket is limited to about a hundred characters
        sockets = self._sockets / str(self._numbers.setdefault(student, len(self._numbers)))
        sockets.mkdir(mode=0o700, exist_ok=True)
        environment = {
            "HOME": home,
            "LANG": "C.UTF-8",
            "PATH": "/usr/bin:/bin",
            "TERM": terminal,
            "XDG_CACHE_HOME": f"{home}/.cache",
            "XDG_CONFIG_HOME": f"{home}/.config",
            "XDG_DATA_HOME": f"{home}/.data",
            "XDG_RUNTIME_DIR": str(sockets),
            "XDG_STATE_HOME": f"{home}/.state",
            **{name: os.environ[name] for name in ("TZ",) if name in os.environ},  # deadlines are shown in it
        }
        limits = self.limits
        return ChildEnvironment(environment, home, limits.memory_mib * _MIB, limits.recording_mib * _MIB, nice)

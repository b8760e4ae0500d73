"""The state that all connections of a server share: limits, log, admission, sessions, clusters."""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from lab.exercises.exercise import Exercise
from lab.exercises.student_folder import StudentFolder
from lab.serve.admission import Admission
from lab.serve.broadcast_hub import BroadcastHub
from lab.serve.children import ChildEnvironment, Children
from lab.serve.cluster_pool import ClusterPool
from lab.serve.data_folder import DataFolder, ServerLog
from lab.serve.gradebook import SealBook, Sealer
from lab.serve.limits import Limits, RateLimit
from lab.serve.progress_updates import ProgressUpdater
from lab.units import format_count

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
        self.sealer = Sealer(folder, SealBook(folder.seals), log)
        self.clusters = ClusterPool(children, self.exercises, limits, log, self.environment, self._on_run_ended)
        self.progress_updater = ProgressUpdater(
            folder, children, log, partial(self.environment, nice=_PROGRESS_NICE)
        )
        self.presence = Presence(limits, self.clusters)
        self.logins = RateLimit(limits.logins_per_minute, time.monotonic)
        self.refusals = RateLimit(limits.refusals_per_minute, time.monotonic)
        self.folder = folder
        self.hub = BroadcastHub(log, lectures_at_once)
        self._sockets = sockets
        self._numbers: dict[str, int] = {}

    def student_folder(self, student: str) -> StudentFolder:
        """Return the student's folder, with the student's progress."""
        return StudentFolder(self.folder.student_path(student), student)

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
        }
        limits = self.limits
        return ChildEnvironment(environment, home, limits.memory_mib * _MIB, limits.recording_mib * _MIB, nice)

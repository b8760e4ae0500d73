"""What every connection shares: the limits, the log, who may come in, who is on, and what they run."""

import time
from collections.abc import Sequence
from pathlib import Path

from lab.exercises.exercise import Exercise
from lab.exercises.home import Home
from lab.serve.admission import Admission
from lab.serve.border import terminal_name
from lab.serve.children import Children
from lab.serve.clusters import ClusterPool
from lab.serve.desk import Desk
from lab.serve.folder import DataFolder
from lab.serve.limits import Limits
from lab.serve.log import Log
from lab.serve.notes import Notes
from lab.serve.orders import Room, SessionInfo
from lab.serve.presence import Presence
from lab.serve.rates import Rate
from lab.serve.seals import SealBook, Sealer

__all__ = ["House"]

_SESSION_NICE = 5
"""Drawing makes way for the clusters, whose timers it would make late, and for the server."""
_NOTE_NICE = 15
_MIB = 1 << 20


class House:
    """One server's."""

    def __init__(
        self,
        folder: DataFolder,
        sockets: Path,
        limits: Limits,
        log: Log,
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
        self.clusters = ClusterPool(
            children,
            self.exercises,
            limits,
            log,
            lambda student: self._room(student, "dumb", 0),
            self._keep,
        )
        self.notes = Notes(folder, children, log, lambda student: self._room(student, "dumb", _NOTE_NICE))
        self.presence = Presence(limits, self.clusters.come, self.clusters.leave)
        self.logins = Rate(limits.logins_per_minute, time.monotonic)
        self.refusals = Rate(limits.refusals_per_minute, time.monotonic)
        self.folder = folder
        self.desk = Desk(log, lectures_at_once)
        self._sockets = sockets
        self._numbers: dict[str, int] = {}

    def home_of(self, student: str) -> Home:
        """The student's folder, and how far the student has come."""
        return Home(self.folder.home(student), student)

    def session_of(self, student: str, first: str) -> SessionInfo:
        """What a session of this student is told that begins with this exercise, or with the list."""
        return SessionInfo(student, str(self.folder.home(student)), first)

    def session_room(self, student: str, terminal: str) -> Room:
        """What a session of this student lives in, at a terminal that the client calls so."""
        return self._room(student, terminal_name(terminal), _SESSION_NICE)

    async def _keep(self, recording: Path, student: str) -> None:
        """Nothing more is written to this."""
        await self.sealer.seal(recording, student)
        self.notes.begin(student, [recording])

    def _room(self, student: str, terminal: str, nice: int) -> Room:
        home = str(self.folder.home(student))
        # numbered, as the path of a Unix socket may have about a hundred characters
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
        return Room(environment, home, self.limits.memory_mib * _MIB, self.limits.recording_mib * _MIB, nice)

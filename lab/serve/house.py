"""What every connection shares: the limits, the log, who may come in, who is on, and what they run."""

import time
from pathlib import Path

from lab.serve.admission import Admission
from lab.serve.border import terminal_name
from lab.serve.children import Children
from lab.serve.clusters import Clusters
from lab.serve.folder import DataFolder
from lab.serve.limits import Limits
from lab.serve.log import Log
from lab.serve.orders import Room, SessionInfo
from lab.serve.presence import Attendance, Presence
from lab.serve.rates import Rate

__all__ = ["House"]

_SESSION_NICE = 5
"""Drawing makes way for the clusters, whose timers it would make late, and for the server."""
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
    ) -> None:
        self.limits = limits
        self.log = log
        self.admission = admission
        self.children = children
        self.port = 0
        self.clusters = Clusters(children, limits, log, lambda student: self._room(student, "dumb", 0))
        self.presence = Presence(limits, self.clusters.come, self.clusters.leave)
        self.logins = Rate(limits.logins_per_minute, time.monotonic)
        self.refusals = Rate(limits.refusals_per_minute, time.monotonic)
        self._folder = folder
        self._sockets = sockets
        self._numbers: dict[str, int] = {}

    def session_of(self, student: str) -> SessionInfo:
        """What a session of this student is told."""
        return SessionInfo(student, str(self._folder.home(student)))

    def session_room(self, student: str, terminal: str) -> Room:
        """What a session of this student lives in, at a terminal that the client calls so."""
        return self._room(student, terminal_name(terminal), _SESSION_NICE)

    def attendance(self) -> list[Attendance]:
        """Who is on."""
        now_s = time.monotonic()
        return [
            Attendance(
                each.student,
                each.address,
                each.began,
                round(now_s - each.pressed_s, 1),
                "" if (run := self.clusters.running(each.student)) is None else run.protocol,
            )
            for each in self.presence.all()
        ]

    def _room(self, student: str, terminal: str, nice: int) -> Room:
        home = str(self._folder.home(student))
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

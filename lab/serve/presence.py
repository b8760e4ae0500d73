"""The sessions in progress, their students, and the limit on their number."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct, field

from lab.serve.limits import Limits
from lab.units import format_count

__all__ = ["ActiveSession", "Presence"]


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
    """The sessions in progress. ``all_ended`` is set while there are none.

    ``on_enter`` is called when a session begins, ``on_leave`` when a student's last session has ended.
    """

    def __init__(self, limits: Limits, on_enter: Callable[[str], None], on_leave: Callable[[str], None]) -> None:
        self._limits = limits
        self._on_enter = on_enter
        self._on_leave = on_leave
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
        session = ActiveSession(student, address, end, datetime.now(UTC).isoformat(timespec="seconds"), now_s)
        self._sessions.append(session)
        self.all_ended.clear()
        self._on_enter(student)
        return session

    def leave(self, session: ActiveSession) -> None:
        """Remove a session that has ended."""
        self._sessions.remove(session)
        session.over.set()
        if not self._sessions:
            self.all_ended.set()
        if not self.of(session.student):
            self._on_leave(session.student)

    def of(self, student: str) -> list[ActiveSession]:
        """Return the student's sessions."""
        return [each for each in self._sessions if each.student == student]

    def all(self) -> list[ActiveSession]:
        return list(self._sessions)

"""Who is on: the sessions that are going on, whose they are, and the limits on how many."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct, field

from lab.serve.limits import Limits

__all__ = ["Presence", "Present"]


class Present(Struct, eq=False):
    """One session. ``end`` ends it, with a line for the student; ``pressed_s`` is when he last pressed a key.

    ``leaving``: it ends by itself, as the student has left or it was told to. ``over`` is set when it has ended.
    """

    student: str
    address: str
    end: Callable[[str], None]
    began: str
    pressed_s: float
    leaving: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Presence:
    """``left`` is called when a student's last session has ended, ``came`` when one begins.

    ``nobody`` is set while there are no sessions.
    """

    def __init__(self, limits: Limits, came: Callable[[str], None], left: Callable[[str], None]) -> None:
        self._limits = limits
        self._came = came
        self._left = left
        self._sessions: list[Present] = []
        self.nobody = asyncio.Event()
        self.nobody.set()

    def fault_of(self) -> str:
        """Why there can be no further session; nothing where there can."""
        if len(self._sessions) >= self._limits.sessions:
            return f"there are as many sessions as this server bears, {len(self._sessions)}; try again in a while"
        return ""

    def enter(self, student: str, address: str, now_s: float, end: Callable[[str], None]) -> Present:
        """A session begins."""
        present = Present(student, address, end, datetime.now(UTC).isoformat(timespec="seconds"), now_s)
        self._sessions.append(present)
        self.nobody.clear()
        self._came(student)
        return present

    def leave(self, present: Present) -> None:
        """It has ended."""
        self._sessions.remove(present)
        present.over.set()
        if not self._sessions:
            self.nobody.set()
        if not self.of(present.student):
            self._left(present.student)

    def of(self, student: str) -> list[Present]:
        """The student's sessions."""
        return [each for each in self._sessions if each.student == student]

    def all(self) -> list[Present]:
        """All sessions."""
        return list(self._sessions)

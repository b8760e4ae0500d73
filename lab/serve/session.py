"""A session: what a student sees after the log-in. It runs in a process of its own, at a terminal of its own."""

import socket
from collections.abc import Sequence
from pathlib import Path

from lab.exercises.exercise import Exercise
from lab.exercises.home import Home
from lab.serve.orders import SessionInfo
from lab.serve.portal import Portal
from lab.tui.classroom.main import show_classroom

__all__ = ["run_session"]


def run_session(info: SessionInfo, control: socket.socket, exercises: Sequence[Exercise]) -> int:
    """Show the exercises; the exit status of the session.

    An attempt that was not ended in it goes on without it, and the next session of this student offers it again.
    """
    home = Home(Path(info.home), info.student)
    portal = Portal(control)
    return show_classroom(home, portal, exercises, info.first, portal)

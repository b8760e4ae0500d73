"""A session: the interface that a student sees after log-in, in its own process, at its own terminal."""

import socket
from collections.abc import Sequence
from pathlib import Path

from lab.exercises.exercise import Exercise
from lab.exercises.student_folder import StudentFolder
from lab.serve.fork_protocol import SessionInfo
from lab.serve.session_control import ControlClient
from lab.tui.apps.student_app import show_student


def run_session(info: SessionInfo, control: socket.socket, exercises: Sequence[Exercise]) -> int:
    """Show the exercises; return the exit status of the session.

    An attempt that was not ended in this session continues, and the student's next session offers it again.
    """
    home = StudentFolder(Path(info.home), info.student)
    portal = ControlClient(control)
    return show_student(home, portal, exercises, portal, info.first)

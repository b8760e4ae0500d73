"""The server's fork server, and what its children do: ``python -m lab.serve.child EXERCISES``.

It has imported what sessions and hosts need. A session with its own interpreter costs half a second of CPU time
and 26 MiB; a forked one starts at once.
"""

import fcntl
import gc
import os
import resource
import signal
import socket
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

import lab.worlds.host.host
import lab.worlds.live.live_host
import lab.worlds.simulated.execution
import lab.worlds.simulated.simulated_host  # noqa: F401 - a host imports these late
from lab.exercises.attempts import StudentFolder, record_progress
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import all_exercises
from lab.output import print_remark
from lab.recording.reader import NotARecordingError
from lab.serve.children import ChildEnvironment, ChildJob, HostWork, ProgressWork, SessionWork
from lab.serve.session_control import ControlClient
from lab.tui.apps.student_app import show_student
from lab.worlds.__main__ import main as run_host
from lab.worlds.fork_server import ForkServer, detach, silence

_FILES = 128
"""A session needs less than half of these; a host has a connection to each node and to each viewer."""
_CONTROL = 3


class _Server(ForkServer[ChildJob]):
    """Its children are sessions, hosts and short-lived readers of recordings."""

    ended_by = (signal.SIGHUP, signal.SIGKILL)

    def __init__(self, server: socket.socket, exercises: Sequence[Exercise]) -> None:
        super().__init__(server, ChildJob)
        self._exercises = exercises

    def run_child(self, job: ChildJob, descriptors: Sequence[int]) -> int:
        work = job.work
        if isinstance(work, SessionWork):
            terminal, control = descriptors
            detach(terminal, terminal, terminal, control)
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # a hang-up of the terminal then ends this process
        else:
            detach(*descriptors)
        apply_environment(job.environment)
        match work:
            case SessionWork():
                return self._show_session(work)
            case ProgressWork():
                return self._store_progress(work)
            case HostWork():
                return run_host()

    def _show_session(self, work: SessionWork) -> int:
        """Show the exercises until the student leaves.

        An attempt that was not ended in this session continues, and the student's next session offers it again.
        """
        home = StudentFolder(Path(work.home), work.student, work.nonce)
        with socket.socket(fileno=_CONTROL) as control:
            server = ControlClient(control)
            return show_student(home, server, self._exercises, server, work.first)

    def _store_progress(self, work: ProgressWork) -> int:
        folder = StudentFolder(Path.cwd(), work.student, work.nonce)
        try:
            record_progress(folder, Path(work.recording), {each.name: each for each in self._exercises})
        except (NotARecordingError, OSError) as error:
            print_remark(str(error))
            return 1
        return 0


def apply_environment(environment: ChildEnvironment) -> None:
    """Set environment variables, folder and resource limits."""
    os.umask(0o077)
    os.chdir(environment.folder)
    os.environ.clear()
    os.environ.update(environment.environment)
    for limit, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_FSIZE, environment.file_bytes),
        (resource.RLIMIT_AS, environment.memory_bytes),
    ):
        resource.setrlimit(limit, (most, most))
    os.nice(environment.nice)


def main() -> int:
    """Serve on the socket that is standard input, with the exercises in the folder given as argument."""
    server = socket.socket(fileno=os.dup(0))
    silence(0)
    exercises = all_exercises(Path(sys.argv[1]))
    gc.collect()
    gc.freeze()
    _Server(server, exercises).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The start of a forked child: its descriptors, limits and environment, then its work."""

import fcntl
import os
import resource
import signal
import socket
import sys
import termios
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from lab.exercises.exercise import Exercise
from lab.exercises.student_folder import StudentFolder, record_progress
from lab.recording.reader import NotARecordingError
from lab.serve.fork_protocol import ChildEnvironment, ForkChild, ProgressInfo, SessionInfo, Work

_FILES = 128
"""A session needs less than half of these; a host has a connection to each node and to each viewer."""
_CONTROL = 3


def run_child(request: ForkChild, descriptors: list[int], exercises: Sequence[Exercise]) -> NoReturn:
    """Do the requested work in this process, and exit with its status."""
    status = 1
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if isinstance(request.work, SessionInfo):
            terminal, control = descriptors
            _install_descriptors([terminal, terminal, terminal, control])
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # a hang-up of the terminal then ends this process
        else:
            _install_descriptors(descriptors)
        apply_environment(request.environment)
        status = _run_work(request.work, exercises)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _install_descriptors(descriptors: list[int]) -> None:
    """Make these descriptors 0, 1, 2 …, and close all others, inherited from the fork server."""
    duplicates = [fcntl.fcntl(each, fcntl.F_DUPFD, len(descriptors)) for each in descriptors]
    for number, descriptor in enumerate(duplicates):
        os.dup2(descriptor, number)
    os.closerange(len(descriptors), 1 << 12)


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


def _run_work(work: Work, exercises: Sequence[Exercise]) -> int:
    if isinstance(work, SessionInfo):
        return _session(work, exercises)
    return _note(work, exercises) if isinstance(work, ProgressInfo) else _host(work.world)


def _session(info: SessionInfo, exercises: Sequence[Exercise]) -> int:
    from lab.serve.session import run_session  # noqa: PLC0415 - only the fork server has imported it

    with socket.socket(fileno=_CONTROL) as control:
        return run_session(info, control, exercises)


def _note(info: ProgressInfo, exercises: Sequence[Exercise]) -> int:
    try:
        record_progress(
            StudentFolder(Path.cwd(), info.student), Path(info.recording), {each.name: each for each in exercises}
        )
    except (NotARecordingError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _host(world: str) -> int:
    if world == "live":
        from lab.worlds.live.__main__ import main as run_live  # noqa: PLC0415

        return run_live()
    from lab.worlds.simulated.__main__ import main as run_simulated  # noqa: PLC0415

    return run_simulated()

"""The first steps of a child of the zygote: a session of its own, its bounds, its environment; then its work."""

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
from lab.exercises.home import Home
from lab.exercises.noting import note_recording
from lab.recording.reader import NotARecordingError
from lab.serve.orders import Fork, NoteInfo, Room, SessionInfo, Work

__all__ = ["be_child", "move_in"]

_FILES = 128
"""A session needs less than half of that; a host has a connection to each of its nodes, and to all who look on."""
_CONTROL = 3


def be_child(order: Fork, descriptors: list[int], exercises: Sequence[Exercise]) -> NoReturn:
    """Be what was ordered, with these exercises, and end with it."""
    status = 1
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if isinstance(order.work, SessionInfo):
            terminal, control = descriptors
            _take([terminal, terminal, terminal, control])
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # a terminal that hangs up ends whoever controls it
        else:
            _take(descriptors)
        move_in(order.room)
        status = _do(order.work, exercises)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _take(descriptors: list[int]) -> None:
    """Have these as 0, 1, 2 …, and no others: none of the zygote's, nor of another child."""
    above = [fcntl.fcntl(each, fcntl.F_DUPFD, len(descriptors)) for each in descriptors]
    for number, descriptor in enumerate(above):
        os.dup2(descriptor, number)
    os.closerange(len(descriptors), 1 << 12)


def move_in(room: Room) -> None:
    """Have its environment, its folder and its bounds, and no others."""
    os.umask(0o077)
    os.chdir(room.folder)
    os.environ.clear()
    os.environ.update(room.environment)
    for limit, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_FSIZE, room.file_bytes),
        (resource.RLIMIT_AS, room.memory_bytes),
    ):
        resource.setrlimit(limit, (most, most))
    os.nice(room.nice)


def _do(work: Work, exercises: Sequence[Exercise]) -> int:
    if isinstance(work, SessionInfo):
        return _session(work, exercises)
    return _note(work, exercises) if isinstance(work, NoteInfo) else _host(work.world)


def _session(info: SessionInfo, exercises: Sequence[Exercise]) -> int:
    from lab.serve.session import run_session  # noqa: PLC0415 - the zygote has it; the server has not

    with socket.socket(fileno=_CONTROL) as control:
        return run_session(info, control, exercises)


def _note(info: NoteInfo, exercises: Sequence[Exercise]) -> int:
    try:
        note_recording(
            Home(Path.cwd(), info.student), Path(info.recording), {each.name: each for each in exercises}
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

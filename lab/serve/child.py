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
from typing import NoReturn

from lab.exercises.exercise import Exercise
from lab.serve.orders import Fork, Room, SessionInfo

__all__ = ["be_child"]

_FILES = 128
_CONTROL = 3


def be_child(order: Fork, descriptors: list[int], exercises: Sequence[Exercise]) -> NoReturn:
    """Be the session, with these exercises, or the host that was ordered, and end with it."""
    status = 1
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if order.session is None:
            _take(descriptors)
            _move_in(order.room)
            status = _host(order.world)
        else:
            terminal, control = descriptors
            _take([terminal, terminal, terminal, control])
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # a terminal that hangs up ends whoever controls it
            _move_in(order.room)
            status = _session(order.session, exercises)
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


def _move_in(room: Room) -> None:
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


def _session(info: SessionInfo, exercises: Sequence[Exercise]) -> int:
    from lab.serve.session import run_session  # noqa: PLC0415 - the zygote has it; the server has not

    with socket.socket(fileno=_CONTROL) as control:
        return run_session(info, control, exercises)


def _host(world: str) -> int:
    if world == "live":
        from lab.worlds.live.__main__ import main as run_live  # noqa: PLC0415

        return run_live()
    from lab.worlds.simulated.__main__ import main as run_simulated  # noqa: PLC0415

    return run_simulated()

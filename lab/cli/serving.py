"""``lab serve``: from the options to the server, and what it says in the terminal where it was started."""

import errno
import os
import socket
import sys
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lab.cli.errors import UsageError
from lab.cli.exercises import mistakes_told
from lab.cli.settings import positive, whole_number
from lab.cli.terminal import print_wrapped
from lab.exercises.library import SHIPPED, names
from lab.places import server_folder
from lab.serve.border import NAME_RULE, is_name
from lab.serve.folder import DataFolder, FolderError, Running
from lab.serve.invites import InvitationError, Invitations
from lab.serve.limits import Limits
from lab.serve.listfile import ListError
from lab.units import count_of

if TYPE_CHECKING:
    from lab.serve.server import ListenError, Listening

__all__ = ["data_folder", "limits_of", "print_invitations", "run_server"]

_PORT = 2222
_LAST_PORT = 65535
_LONGEST_DAYS = 3650


def limits_of(nodes: str, sessions: str, log_ins: str, idle: str, linger: str, recording: str) -> Limits:
    """The limits that the options name; the others are as usual. UsageError."""
    most = whole_number("--sessions", sessions, 1, 1000)
    return Limits(
        nodes=whole_number("--nodes", nodes, 1, 64),
        sessions=most,
        clusters=most,
        logins_per_minute=whole_number("--log-ins", log_ins, 1, 1_000_000),
        idle_s=positive("idle", idle) / 1e6,
        linger_s=positive("linger", linger) / 1e6,
        recording_mib=whole_number("--recording", recording, 1, 1 << 20),
    )


def run_server(
    port: str,
    web: str,
    address: str,
    class_file: Path | None,
    is_open: bool,
    data: Path | None,
    exercises: Path | None,
    limits: Limits,
    lecture: bool,
) -> int:
    """Serve until Ctrl-C; the exit status. UsageError."""
    number = whole_number("--port", port, 0, _LAST_PORT)
    web_number = whole_number("--web", web, 0, _LAST_PORT) if web else None
    need_extra()
    from lab.serve.keylist import read_keys  # noqa: PLC0415 - it needs asyncssh
    from lab.serve.server import ListenError, ServeOptions, serve  # noqa: PLC0415

    folder = data_folder(data)
    try:
        students = set() if class_file is None else set(read_keys(_read(class_file), str(class_file)).values())
    except ListError as error:
        raise UsageError(str(error)) from None
    if os.getuid() == 0:
        print(
            "lab: warning: it runs as root, and needs no right of root's: start it as another user",
            file=sys.stderr,
        )
    options = ServeOptions(address, number, web_number, class_file, is_open, limits, _set_by(exercises), lecture)

    def say(listening: "Listening") -> None:
        _say(listening, options.address, folder, students, is_open)

    try:
        with mistakes_told():
            status = serve(folder, options, say)
    except FolderError as error:
        raise UsageError(str(error)) from None
    except ListenError as error:
        if (told := _listening_fault(error, address)) is None:
            raise error.reason from None
        raise UsageError(told) from None
    print("lab: the server has ended")
    return status


def print_invitations(names: list[str], days: str, data: Path | None) -> int:
    """Make a code for each, and print them; without names, print whose codes wait. UsageError."""
    for name in names:
        if not is_name(name):
            raise UsageError(f"{name!r} cannot be a student's name: {NAME_RULE}")
    folder = data_folder(data)
    invitations = Invitations(folder.invites)
    most = whole_number("--days", days, 1, _LONGEST_DAYS)
    try:
        if names:
            _print_codes(invitations.invite(list(dict.fromkeys(names)), most), folder.found())
        else:
            _print_waiting(invitations.waiting())
    except InvitationError:
        raise UsageError(f"{folder.invites} cannot be read; mend it, or move it away") from None
    return 0


def _print_codes(made: list[tuple[str, str]], running: Running | None) -> None:
    host, port = socket.gethostname(), _PORT if running is None else running.port
    for name, code in made:
        print(f"{name:20} ssh -p {port} {code}@{host}")
        if running is not None and running.web:
            print(f"{'':20} or, in a browser: {_url(host, running.web)}")
    if running is None:
        said = f"lab: no server runs yet; {port} is the port of lab serve, unless you give it another one"
        print(said, file=sys.stderr)


def _print_waiting(waiting: dict[str, datetime]) -> None:
    for name, until in waiting.items():
        print(f"{name:20} has a code that was not used yet, until {until.astimezone():%Y-%m-%d}")
    if not waiting:
        print("no code waits to be used; lab serve invite NAME… makes some")


def _say(listening: "Listening", address: str, folder: DataFolder, students: set[str], is_open: bool) -> None:
    host = address or socket.gethostname()
    print(f"lab: serving on port {listening.port} of {address or 'all addresses'}; data in {folder.path}")
    print(f"     host key: {listening.fingerprint}")
    print(f"     students connect with:         ssh -p {listening.port} {host}")
    print(f"     with a code, the first time:   ssh -p {listening.port} CODE@{host}")
    if listening.web_port:
        print(f"     or, in a browser:              {_url(host, listening.web_port)}")
    if is_open:
        print_wrapped("     OPEN: anybody who can reach this port comes in, as a guest, without any key")
    elif students:
        print(f"     the class has {count_of(len(students), 'student')}")
    elif waiting := Invitations(folder.invites).waiting():
        print(f"     {count_of(len(waiting), 'code')} not used yet: lab serve invite says whose")
    elif not folder.keys.exists():
        print("     nobody can come in yet: lab serve invite NAME… makes codes")
    print("     lab serve status says who is on; Ctrl-C ends it", flush=True)


def need_extra() -> None:
    """UsageError where what a server needs is not installed."""
    for library in ("asyncssh", "aiohttp"):
        if find_spec(library) is None:
            raise UsageError(
                f"lab serve needs {library}, which is not installed: pip install 'coordinator-lab[serve]'"
            )


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def data_folder(data: Path | None) -> DataFolder:
    """The server's folder. UsageError."""
    try:
        return DataFolder(server_folder() if data is None else data)
    except FolderError as error:
        raise UsageError(str(error)) from None


def _set_by(exercises: Path | None) -> Path:
    if exercises is not None and not names(exercises):
        raise UsageError(f"--exercises {exercises} has no exercises in it: folders with an exercise.toml")
    return SHIPPED if exercises is None else exercises.resolve()


def _read(class_file: Path) -> str:
    try:
        return class_file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"--class {class_file}: {said}; name a file of public keys, a line each") from None


def _listening_fault(error: "ListenError", address: str) -> str | None:
    """What is wrong with where it should listen; None: it is something else."""
    number = error.reason.errno
    if number == errno.EADDRINUSE:
        return f"{error.option} {error.port} is in use; name another, or 0 for a free one"
    if number in (errno.EACCES, errno.EPERM) and error.port < 1024:
        return f"{error.option} {error.port} is for root alone; name one above 1023"
    if isinstance(error.reason, socket.gaierror) or number == errno.EADDRNOTAVAIL:
        return f"--listen {address} is no address of this machine; leave it out for all"
    return None

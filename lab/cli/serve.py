"""``lab serve``: serve the laboratory to a class over SSH."""

import contextlib
import errno
import os
import re
import socket
import sys
from datetime import datetime
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct
from typer import Argument, Option

from lab.cli.documents import Document, Json, print_json
from lab.cli.options import spread_options, whole_number
from lab.cli.program import app
from lab.cli.terminal import UsageError, print_wrapped
from lab.exercises.exercise_reader import SHIPPED, find_exercise, names
from lab.foreign_file import read_foreign_text
from lab.output import print_error, print_line
from lab.places import server_folder
from lab.serve.data_folder import DataFolder, RunningServer
from lab.serve.limits import Limits, help_of
from lab.serve.student_lists import NAME_RULE, InvitationError, Invitations, is_name, names_in
from lab.text import sanitize
from lab.units import format_count
from lab.worlds.loading.settings import positive

if TYPE_CHECKING:
    from lab.serve.server import ListenError, Listening

_PORT = 2222
_LAST_PORT = 65535
_LONGEST_DAYS = 3650
_ALL_ADDRESSES = ("", "0.0.0.0", "::")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_ELSEWHERE = ("192.0.2.1", 9)
"""An address reserved for documentation: every route to it leaves this machine."""
_HOST = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")

group = typer.Typer()
app.add_typer(
    group,
    name="serve",
    help="Serve the laboratory to a class, over SSH and in browsers.\n\n"
    "Each student connects with any ssh client, or with a browser (--web), and gets the "
    "exercises and a private cluster. Students get no shell, no access to files and no port "
    "forwarding. The server runs until Ctrl-C.",
    epilog="""Examples:\n
    lab serve --class class.keys   (public keys as in authorized_keys; the comment is the student's name)\n
    lab serve --host lab.example.org   (the name that students connect to)\n
    lab serve invite anna ben   (one-time codes to register a key or a browser)\n
    lab serve --web 8080 --listen 127.0.0.1   (behind: caddy reverse-proxy --from HOST --to 127.0.0.1:8080)\n
    lab serve status""",
)

Data = Annotated[
    Path | None,
    Option(
        "--data",
        metavar="DIR",
        help="Folder of the server: keys, invitations, student folders, log. Default: in lab's data folder.",
    ),
]


class ServerOptions(Struct, frozen=True):
    """The options of ``lab serve``."""

    port: Annotated[str, Option(metavar="PORT", help="Port for SSH; 0 picks a free one.")] = "2222"
    web: Annotated[
        str,
        Option(
            metavar="PORT",
            help="Also serve browsers on this port, over plain HTTP. On an untrusted network, put a TLS proxy in "
            "front of it.",
        ),
    ] = ""
    listen: Annotated[str, Option(metavar="ADDRESS", help="Listen on this address only. Default: on all.")] = ""
    host: Annotated[
        str,
        Option(
            metavar="NAME",
            help="Host name or address that students connect to, printed in their commands. Default: this "
            "machine's address on the network.",
        ),
    ] = ""
    class_file: Annotated[
        Path | None,
        Option(
            "--class",
            metavar="FILE",
            help="Admit the students in this file: one public key per line, with the student's name as the "
            "comment. A comment USER@HOST names the student USER; if two keys have the same USER, the second is "
            "USER-2.",
        ),
    ] = None
    course: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Use this course from now on: groups of exercises with weights and deadlines, late days, "
            "extensions. It is copied to course.toml in the data folder, where you can edit it while the server "
            "runs.",
        ),
    ] = None
    open_: Annotated[bool, Option("--open", help="Admit everyone, as a guest: no key and no code is needed.")] = (
        False
    )
    exercises: Annotated[
        Path | None, Option(metavar="DIR", help="Use the exercises in this folder instead of the built-in ones.")
    ] = None
    lecture: Annotated[
        bool,
        Option("--lecture", help="Open lectures on every screen. Default: each student joins with Ctrl+G."),
    ] = False
    data: Data = None
    nodes: Annotated[str, Option(metavar="NUMBER", help=help_of("nodes"))] = "9"
    sessions: Annotated[str, Option(metavar="NUMBER", help=help_of("sessions"))] = "40"
    log_ins: Annotated[str, Option("--log-ins", metavar="NUMBER", help=help_of("logins_per_minute"))] = "20"
    idle: Annotated[str, Option(metavar="TIME", help=help_of("idle_s"))] = "60m"
    linger: Annotated[str, Option(metavar="TIME", help=help_of("linger_s"))] = "5m"
    recording: Annotated[str, Option(metavar="MIB", help=help_of("recording_mib"))] = "64"

    def limits(self) -> Limits:
        """Return the limits that are given; the others have their defaults."""
        most = whole_number("--sessions", self.sessions, 1, 1000)
        return Limits(
            nodes=whole_number("--nodes", self.nodes, 1, 64),
            sessions=most,
            clusters=most,
            logins_per_minute=whole_number("--log-ins", self.log_ins, 1, 1_000_000),
            idle_s=positive("idle", self.idle) / 1e6,
            linger_s=positive("linger", self.linger) / 1e6,
            recording_mib=whole_number("--recording", self.recording, 1, 1 << 20),
        )


@group.callback(invoke_without_command=True)
@spread_options
def serve_now(options: ServerOptions, context: typer.Context) -> int:
    """Serve if there is no subcommand (the group has the help)."""
    if context.invoked_subcommand is not None:
        return 0
    limits = options.limits()
    port = whole_number("--port", options.port, 0, _LAST_PORT)
    web_port = whole_number("--web", options.web, 0, _LAST_PORT) if options.web else None
    host = host_for_students(options.host, options.listen)
    _require_extra()
    from lab.serve.admission import parse_keys  # noqa: PLC0415 - it needs asyncssh
    from lab.serve.server import ListenError, ServeOptions, serve  # noqa: PLC0415

    folder = data_folder(options.data)
    students: set[str] = set()
    if options.class_file is not None:
        keys = parse_keys(_read(options.class_file), str(options.class_file))
        students = {key.comment if key.is_named else key.fingerprint for key in keys}
    if os.getuid() == 0:
        print_error("warning: the server runs as root without need; start it as another user")

    exercises = _exercise_folder(options.exercises)
    is_student_edition = find_exercise(names(exercises)[0], exercises).edition == "student"

    def announce(listening: "Listening") -> None:
        _announce(listening, options, host, folder, students, is_student_edition)

    def ask(logged_in: int) -> None:
        who = "1 student is" if logged_in == 1 else f"{logged_in} students are"
        print_error(f"{who} logged in: press Ctrl-C again to end the server; what was done is kept")

    try:
        status = serve(
            folder,
            ServeOptions(
                options.listen,
                host,
                port,
                web_port,
                options.class_file,
                options.open_,
                limits,
                exercises,
                options.lecture,
                options.course,
            ),
            announce,
            ask if sys.stdin.isatty() else None,
        )
    except ListenError as error:
        if (message := _describe_listen_error(error, options.listen)) is None:
            raise error.reason from None
        raise UsageError(message) from None
    print_line("lab: the server has stopped")
    return status


class InvitedStudent(Struct, frozen=True):
    """A student with an unused code, valid ``until`` then (UTC, ISO 8601).

    The ``code``, and how to connect with it, are known only when it is created; ``url``: if the server has a page.
    """

    name: str
    until: str
    code: str | None = None
    ssh: str | None = None
    url: str | None = None


class InviteDocument(Document, frozen=True):
    """The codes that were created; without names, those that are unused."""

    students: tuple[InvitedStudent, ...]


@group.command()
def invite(
    names: Annotated[
        list[str] | None,
        Argument(
            metavar="[NAME…]",
            help="The students' names. Without names, those who have not used theirs are listed.",
        ),
    ] = None,
    days: Annotated[str, Option(metavar="NUMBER", help="Number of days for which the codes are valid.")] = "14",
    host: Annotated[
        str,
        Option(
            metavar="NAME",
            help="Host name or address that students connect to. Default: the one of the running server.",
        ),
    ] = "",
    data: Data = None,
    json: Json = False,
) -> int:
    """Create one-time codes for students.

    The first time, a student connects with the code as the user name: ssh -p 2222 CODE@HOST. This registers the
    student's public key, so later log-ins need no code. If the server runs with --web, its page also accepts the
    code, and registers the browser.
    """
    for name in names or ():
        if not is_name(name):
            raise UsageError(f"{name!r} is not a valid student name: {NAME_RULE}")
    folder = data_folder(data)
    invitations = Invitations(folder.invites)
    most = whole_number("--days", days, 1, _LONGEST_DAYS)
    try:
        if names:
            if removed := [name for name in names if name in names_in(folder.removed, 0)]:
                raise UsageError(f"{removed[0]} was removed; first: lab serve readmit {removed[0]}")
            running = folder.running_server()
            shown = host_for_students(host or (running.host if running else ""), "")
            made = invitations.invite(list(dict.fromkeys(names)), most)
            if json:
                print_json(_describe_codes(made, invitations.waiting(), shown, running))
            else:
                _print_codes(made, shown, running, folder)
        elif json:
            waiting = invitations.waiting().items()
            print_json(InviteDocument(tuple(InvitedStudent(name, until.isoformat()) for name, until in waiting)))
        else:
            _print_waiting(invitations.waiting())
    except InvitationError:
        raise UsageError(f"{folder.invites} is damaged; repair it, or move it away") from None
    return 0


def _describe_codes(
    made: list[tuple[str, str]], waiting: dict[str, datetime], host: str, running: RunningServer | None
) -> InviteDocument:
    port = _PORT if running is None else running.port
    url = None if running is None or not running.web else _url(host, running.web, running.listen)
    students = (
        InvitedStudent(name, waiting[name].isoformat(), code, f"ssh -p {port} {code}@{host}", url)
        for name, code in made
    )
    return InviteDocument(tuple(students))


def _print_codes(
    made: list[tuple[str, str]], host: str, running: RunningServer | None, folder: DataFolder
) -> None:
    port = _PORT if running is None else running.port
    for name, code in made:
        print_line(f"{name:20} ssh -p {port} {code}@{host}")
        if running is not None and running.web:
            print_line(f"{'':20} or, in a browser: {_url(host, running.web, running.listen)}")
    if running is None:
        print_error(
            f"no server is running with the data in {folder.path} (--data), so these codes connect to none yet; "
            f"{port} is the default port of lab serve"
        )


def _print_waiting(waiting: dict[str, datetime]) -> None:
    for name, until in waiting.items():
        print_line(f"{name:20} has an unused code, valid until {until.astimezone():%Y-%m-%d}")
    if not waiting:
        print_line("no unused codes; create some: lab serve invite NAME…")


def _announce(
    listening: "Listening",
    options: ServerOptions,
    host: str,
    folder: DataFolder,
    students: set[str],
    is_student_edition: bool,
) -> None:
    addresses = options.listen or "all addresses"
    print_line(f"lab: serving on port {listening.port} of {addresses}; data in {folder.path}")
    print_line(f"     host key: {listening.fingerprint}")
    print_line(f"     students connect with:         ssh -p {listening.port} {host}")
    print_line(f"     with a code, the first time:   ssh -p {listening.port} CODE@{host}")
    if listening.web_port:
        print_line(f"     or, in a browser:              {_url(host, listening.web_port, options.listen)}")
    if options.open_:
        print_wrapped("     OPEN: anyone who can reach this port is admitted as a guest, without a key")
    elif students:
        print_line(f"     the class has {format_count(len(students), 'student')}")
    elif waiting := Invitations(folder.invites).waiting():
        print_line(f"     {format_count(len(waiting), 'unused code')}: lab serve invite{folder.option} lists them")
    elif not folder.keys.exists():
        print_line(f"     nobody can connect yet; create codes: lab serve invite NAME…{folder.option}")
    if is_student_edition:
        print_wrapped(
            "     the exercises are the students' edition, without some explanations; for all, install from the "
            "source code: LAB_EDITION=teacher pip install '.[serve]'"
        )
    print_line("     lab serve status shows who is logged in; Ctrl-C stops the server")
    sys.stdout.flush()


def _require_extra() -> None:
    """Raise UsageError if a library of the extra ``serve`` is missing."""
    for library in ("asyncssh", "aiohttp"):
        if find_spec(library) is None:
            raise UsageError(
                f"lab serve requires {library}, which is not installed: pip install 'coordinator-lab[serve]'"
            )


def host_for_students(host: str, listen: str) -> str:
    """Return the name that students connect to. Raises UsageError."""
    if host:
        if not (_HOST.fullmatch(host) or _is_address(host)):
            raise UsageError(f"--host {sanitize(host, 40)}: write a host name or address, such as lab.example.org")
        return host
    return _own_address() if listen in _ALL_ADDRESSES else listen


def _is_address(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return not ip_address(text).is_unspecified and "%" not in text
    return False


def _own_address() -> str:
    """Return this machine's address on the network; its name, if it is on none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)  # sends nothing, but selects the interface
        except OSError:
            return socket.gethostname()
        return str(probe.getsockname()[0])


def _url(host: str, port: int, listen: str) -> str:
    """Return the address for browsers. Behind loopback, a proxy with a certificate receives them."""
    if listen in _LOOPBACK and host not in _LOOPBACK:
        return f"https://{host}/"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def data_folder(data: Path | None) -> DataFolder:
    """Return the server's folder."""
    return DataFolder(server_folder() if data is None else data)


def _exercise_folder(exercises: Path | None) -> Path:
    if exercises is not None and not names(exercises):
        raise UsageError(f"--exercises {exercises} contains no exercises: folders with an exercise.toml")
    return SHIPPED if exercises is None else exercises.resolve()


def _read(class_file: Path) -> str:
    try:
        return read_foreign_text(class_file)
    except OSError as error:
        message = f"--class {class_file}: {error.strerror}; name a file of public keys, one per line"
        raise UsageError(message) from None


def _describe_listen_error(error: "ListenError", address: str) -> str | None:
    """Return what is wrong with the address or port; None for any other error."""
    number = error.reason.errno
    if number == errno.EADDRINUSE:
        return f"{error.option} {error.port} is in use; name another, or 0 for a free one"
    if number in (errno.EACCES, errno.EPERM) and error.port < 1024:
        return f"{error.option} {error.port} is reserved for root; name one above 1023"
    if isinstance(error.reason, socket.gaierror) or number == errno.EADDRNOTAVAIL:
        return f"--listen {address} is not an address of this machine; leave it out to listen on all"
    return None

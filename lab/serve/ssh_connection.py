"""One SSH connection, from the client's first byte to its channels: terminal sessions, and the lab's own commands.

A client logs in with a public key; if the server is open, also without one. The user name is an invitation code,
or ignored. A refused client is told why by a keyboard-interactive challenge without a question. Clients try that
method after their last key, so a client whose third key is the right one never sees it.

Clients offer their keys one after the other. So an unknown key is no reason to cut a connection, nor to limit its
address; a connection is cut after too many requests, of any kind. One that ends without a log-in is logged once.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import asyncssh
from asyncssh import DISC_BY_APPLICATION, DISC_NO_MORE_AUTH_METHODS_AVAILABLE, DISC_TOO_MANY_CONNECTIONS
from msgspec import Struct

from lab.serve.limits import HalfOpen
from lab.serve.server_context import ServerContext
from lab.serve.student_lists import REMOVED, InvitationError, is_code, is_mistyped_code
from lab.serve.terminal_session import REFUSED, TerminalSession, size_of
from lab.text import did_you_mean, sanitize
from lab.units import format_count

_Challenge = bool | tuple[str, str, str, list[tuple[str, bool]]]
_MOST_CHANNELS = 4
_MOST_DENIED = 100
_MOST_LISTED = 4
_NO_TERMINAL = "lab: the laboratory needs a terminal: connect with ssh -t; for other commands see ssh HOST help"
_USAGE_ERROR = 2


class SSHConnection(asyncssh.SSHServer):
    """A connection. ``half_open`` holds the connections that have not logged in.

    ``welcome`` is for the first session or command: what became of the student's code.
    """

    def __init__(self, context: ServerContext, half_open: "HalfOpen[SSHConnection]") -> None:
        self.address = ""
        self.context = context
        self._half_open = half_open
        self._connection: asyncssh.SSHServerConnection
        self.student = ""
        self._user = ""
        self._key: asyncssh.SSHKey | None = None
        self._requests = 0
        self._unknown_keys: list[str] = []
        self._removed = ""
        """The student whose key was offered, if the teacher has removed them."""
        self._was_refused = False
        self._challenge_sent = False
        self._denied = 0
        self.welcome = ""
        self.channels: list[SSHChannel] = []
        self._held = False
        self._unused_timer: asyncio.TimerHandle | None = None
        self._was_unused = True

    # connection

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self.address = str(conn.get_extra_info("peername", ("?",))[0])
        # asyncssh counts no failures; all methods, and requests without one, report theirs here
        self._send_failure = conn.send_userauth_failure
        setattr(conn, "send_userauth_failure", self._on_failure)  # noqa: B010
        # asyncssh respects only the client's window, which a client may declare unlimited
        setattr(conn, "pause_writing", lambda: self._hold(True))  # noqa: B010
        setattr(conn, "resume_writing", lambda: self._hold(False))  # noqa: B010
        self._half_open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._half_open.discard(self)
        if self._unused_timer is not None:
            self._unused_timer.cancel()
        if self.student or self._was_refused:
            return
        if self._requests:
            self._log_requests()
        elif exc is not None:
            self.log("gone", f"before the log-in: {exc}", "connections")

    def evict(self) -> None:
        """Close the connection, because another one needs its place."""
        self._log_refused("too many connections without a log-in: the oldest is closed")
        self._connection.abort()

    def disconnect(self, why: str, code: int = DISC_BY_APPLICATION) -> None:
        self._connection.disconnect(code, why)

    def _hold(self, held: bool) -> None:
        self._held = held
        for channel in self.channels:
            channel.hold("connection", held)

    # authentication

    def begin_auth(self, username: str) -> bool:
        self._user = username
        self._half_open.begin_log_in(self)
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Return whether the key's holder may log in; the client has not yet proved that it holds the key."""
        if not self.context.admission.may_admit(username, key):
            if self.context.admission.is_removed(username, key):
                self._removed = self.context.admission.identify(username, key) or ""
            else:
                self._unknown_keys.append(key.get_fingerprint())
            return False
        self._key = key  # the last key accepted before the log-in is the one that the client proves to hold
        return self._may_continue()  # a client may ask about the same key again and again

    def kbdint_auth_supported(self) -> bool:
        """Accept once: to admit a client without a key if the server is open, else to tell it the reason."""
        return not self._challenge_sent

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> _Challenge:
        """Admit the client if the server is open; else return the reason for the refusal, without a question."""
        self._challenge_sent = True
        if self.context.admission.is_open:
            self._key = None
            return True
        return ("", f"lab: {self._advice(username)}", "", [])

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> bool:
        return False

    def auth_completed(self) -> None:
        """Admit the student, or disconnect. The client has proved that it holds its key, if it has one."""
        self._half_open.discard(self)
        student = self.context.admission.identify(self._user, self._key)
        budget = self.context.new_guests if student is None else self.context.logins
        if budget.is_exceeded(student or self.address):
            self._log_refused(f"too many log-ins of {student or 'new guests'}")
            self.disconnect("too many log-ins; try again in a minute", DISC_TOO_MANY_CONNECTIONS)
            return
        try:
            admitted = self.context.admission.admit(self._user, self._key)
        except InvitationError as error:
            self._log_refused(f"{self._describe_user()}: {error}")
            self.disconnect(str(error))
            return
        except OSError as error:
            self.log("fault", f"the log-in could not be stored: {error}")
            self.disconnect("the server cannot write to its disk; tell your teacher")
            return
        self.student = admitted.student
        by = "no key" if self._key is None else f"key {self._key.get_fingerprint()}"
        self.log("log-in", f"{self._describe_user()}, {by}")
        if admitted.welcome:
            self.context.log.announce("enrolled", f"registered {by}", student=self.student, address=self.address)
            self.welcome = f"lab: {admitted.welcome}"
            self.context.hub.greet(self.student, admitted.welcome)
        self._schedule_unused_check()

    def _on_failure(self, partial_success: bool) -> None:
        """Refuse a request: an unknown key, a wrong signature, another method or none."""
        if self._may_continue():
            self._send_failure(partial_success)

    def _may_continue(self) -> bool:
        """Count a request; disconnect a client that makes too many."""
        if self._was_refused:
            return False
        self._requests += 1
        if self._requests < self.context.limits.requests_per_connection:
            return True
        keys = format_count(len(self._unknown_keys), "key")
        why = f"{keys} refused; specify the right one: ssh -o IdentitiesOnly=yes -i FILE"
        self._log_requests(f"; cut after {self._requests} requests")
        self.disconnect(why if self._unknown_keys else "too many requests", DISC_NO_MORE_AUTH_METHODS_AVAILABLE)
        return False

    def _log_requests(self, end: str = "") -> None:
        """Log the requests of a client that has not logged in, in one line."""
        keys = self._unknown_keys
        if is_code(self._user) and (fault := self.context.admission.code_problem(self._user)):
            what, kind = f": {fault}", "connections with wrong codes"
        elif self._key is not None:
            what = f", no valid signature of key {self._key.get_fingerprint()}"
            kind = "connections without a valid signature"
        elif self._removed:
            what, kind = f", a key of {self._removed}, who was removed", "connections of removed students"
        elif keys:
            what = f", {format_count(len(keys), 'unknown key')}: {', '.join(keys[:_MOST_LISTED])}"
            kind = "connections with unknown keys"
        else:
            what, kind = ", no key", "connections without a key"
        self._log_refused(f"{self._describe_user()}{what}{end}", kind)

    def _describe_user(self) -> str:
        """Return the user name for the log, which holds no codes."""
        is_near = is_mistyped_code(self._user)
        return "a code" if is_near or is_code(self._user) else f"user {sanitize(self._user, 40)}"

    def _log_refused(self, text: str, kind: str = "connections") -> None:
        self._was_refused = True
        self.log("refused", text, kind)

    def _advice(self, user: str) -> str:
        if self._removed:
            return REMOVED
        if is_code(user) and (fault := self.context.admission.code_problem(user)):
            return fault
        if is_mistyped_code(user):
            return "a code has four groups of four letters, and this has not: check it for a typing error"
        if not self._unknown_keys:
            return "log-in needs an SSH key, and this client has none; create one with ssh-keygen, then try again"
        return (
            "your key is unknown; ask your teacher for a code, "
            f"and connect once with it: ssh -p {self.context.port} CODE@HOST"
        )

    # sessions

    def session_requested(self) -> "SSHChannel | bool":
        """Open a channel for any purpose, unless there are too many."""
        if not self.student:
            return False
        if self.student in self.context.admission.removed.names():
            return self.deny("removed by the teacher")
        if len(self.channels) >= _MOST_CHANNELS:
            return self.deny("too many channels")
        channel = SSHChannel(self)
        channel.hold("connection", self._held)
        self.channels.append(channel)
        return channel

    def _schedule_unused_check(self) -> None:
        self._unused_timer = asyncio.get_running_loop().call_later(
            self.context.limits.unused_s, self._check_unused
        )

    def _check_unused(self) -> None:
        """Close an unused connection; after a session, allow time for its last output to arrive."""
        is_unused = not any(channel.is_in_use for channel in self.channels)
        if is_unused and self._was_unused:
            self.log("refused", "a connection without a session", "connections")
            self.disconnect("this server offers only the laboratory: omit -N")
            return
        self._was_unused = is_unused
        self._schedule_unused_check()

    # refused requests

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        return self.deny(f"forwarding to {sanitize(dest_host, 80)}:{dest_port}")  # -L, -D, -W, -J

    def server_requested(self, listen_host: str, listen_port: int) -> bool:
        return self.deny(f"listening on port {listen_port}")  # -R

    def unix_connection_requested(self, dest_path: str) -> bool:
        return self.deny(f"forwarding to {sanitize(dest_path, 80)}")

    def unix_server_requested(self, listen_path: str) -> bool:
        return self.deny(f"listening on {sanitize(listen_path, 80)}")

    def tun_requested(self, unit: int | None) -> bool:
        return self.deny("a tun device")  # -w

    def tap_requested(self, unit: int | None) -> bool:
        return self.deny("a tap device")

    def deny(self, what: str) -> bool:
        """Refuse this; disconnect a client that does not stop asking."""
        self.log("refused", what)
        self._denied += 1
        if self._denied >= _MOST_DENIED:
            self.disconnect("this server offers only the laboratory: omit -L, -R, -D and the like")
        return False

    def log(self, event: str, text: str, kind: str = "requests") -> None:
        self.context.log.write(event, text, student=self.student, address=self.address, kind=kind)


class SSHChannel(asyncssh.SSHServerSession[bytes]):
    """A channel of a connection whose student has logged in."""

    def __init__(self, connection: SSHConnection) -> None:
        self._connection = connection
        self._context = connection.context
        self._session = TerminalSession(connection.context, connection.student, connection.address)
        self._channel: asyncssh.SSHServerChannel[bytes]
        self._terminal: str | None = None
        self._command: str | None = None

    @property
    def is_in_use(self) -> bool:
        return self._session.is_active

    @property
    def _line_end(self) -> str:
        return "\n" if self._terminal is None else "\r\n"

    # requests of the client

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._channel = chan

    def pty_requested(self, term_type: str, term_size: tuple[int, int, int, int], term_modes: object) -> bool:
        self._terminal = term_type
        self._session.resize(size_of(*term_size[:2]))
        return True

    def shell_requested(self) -> bool:
        return True  # the laboratory itself is the shell

    def exec_requested(self, command: str) -> bool:
        self._command = command  # one of the lab's own; no shell executes it
        return True

    def subsystem_requested(self, subsystem: str) -> bool:
        return self._connection.deny(f"subsystem {subsystem}")

    def session_started(self) -> None:
        """Begin the session, or answer the command: the client's requests are complete."""
        welcome, self._connection.welcome = self._connection.welcome, ""
        first = first_exercise(self._command, self._context)
        if first is None:
            text, status = run_command(self._command or "", self._context, self._connection.student)
            self._connection.log("refused" if status else "ssh command", self._command or "")
            self._print(text, status, welcome)
        elif self._terminal is None:
            self._print(_NO_TERMINAL, REFUSED, welcome)
        else:
            self._write_welcome(welcome)  # the terminal shows it again after the session
            self._session.begin(self._channel, self._terminal, first)

    # data

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        self._session.resize(size_of(width, height))

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        self._session.type(data)

    def pause_writing(self) -> None:
        self.hold("window", True)

    def resume_writing(self) -> None:
        self.hold("window", False)

    def hold(self, why: str, held: bool) -> None:
        """Hold back output while any reason is in force."""
        self._session.hold(why, held)

    def eof_received(self) -> bool:
        return True  # the session stays open

    def connection_lost(self, exc: Exception | None) -> None:
        self._session.hang_up()
        self._connection.channels.remove(self)

    def _write_welcome(self, welcome: str) -> None:
        """Write it to standard error: scripts read a command's output."""
        if welcome:
            with contextlib.suppress(OSError):
                self._channel.write_stderr((welcome + self._line_end).encode())

    def _print(self, text: str, status: int, welcome: str) -> None:
        self._write_welcome(welcome)
        with contextlib.suppress(OSError):
            lines = map(sanitize, text.split("\n"))
            self._channel.write((self._line_end.join(lines) + self._line_end).encode())
            self._channel.exit(status)


# commands after ssh HOST: the lab's own, in one table; nothing else is executed


class SSHCommandError(Exception):
    """Wrong arguments of a command, described for the student."""


class SSHCommand(Struct, frozen=True):
    """A command. ``run`` gets the server's context, the student and the arguments; it returns the output.

    It raises SSHCommandError.
    """

    help: str
    run: Callable[[ServerContext, str, list[str]], str]


def _help(context: ServerContext, student: str, arguments: list[str]) -> str:
    rows = "\n".join(f"  {name:10} {command.help}" for name, command in COMMANDS.items())
    return f"Connect without a command for the laboratory itself. Commands after ssh HOST:\n{rows}"


def _status(context: ServerContext, student: str, arguments: list[str]) -> str:
    sessions = len(context.presence.of(student))
    run = context.clusters.running(student)
    cluster = (
        "no cluster" if run is None else f"a cluster: {run.protocol}, {len(run.nodes)} nodes, since {run.began}"
    )
    return f"{student}: {format_count(sessions, 'session')}, {cluster}"


def _exercises(context: ServerContext, student: str, arguments: list[str]) -> str:
    home = context.student_folder(student)
    width = max((len(name) for name in context.exercises), default=0)
    rows = []
    for exercise in context.exercises.values():
        if exercise.is_on_server:
            points = f"{home.progress_of(exercise.name).points:2} of {exercise.points:2}"
            rows.append(f"  {exercise.name:{width}}  {points}  {sanitize(exercise.title, 60)}")
    return "\n".join(["Your points; start an exercise with ssh -t HOST start NAME:", *rows])


def _start(context: ServerContext, student: str, arguments: list[str]) -> str:
    """Refuse: a valid name begins a session and never gets here."""
    if len(arguments) != 1:
        raise SSHCommandError("usage: start NAME; ssh HOST exercises lists the exercises")
    meant = did_you_mean(arguments[0], list(context.exercises)) or "; ssh HOST exercises lists the exercises"
    raise SSHCommandError(f"unknown exercise {sanitize(arguments[0], 40)} on this server{meant}")


COMMANDS: dict[str, SSHCommand] = {
    "help": SSHCommand("list these commands", _help),
    "exercises": SSHCommand("list the exercises, and your points", _exercises),
    "start": SSHCommand("start NAME: attempt this exercise; needs ssh -t", _start),
    "status": SSHCommand("show your sessions and your cluster", _status),
}


def run_command(command: str, context: ServerContext, student: str) -> tuple[str, int]:
    """Run a command and return (its output, its exit status)."""
    first, *rest = command.split() or ["help"]
    if first not in COMMANDS:
        meant = did_you_mean(first, list(COMMANDS))
        known = ", ".join(COMMANDS)
        return f"lab: unknown command {sanitize(first, 40)}; available are: {known}{meant}", _USAGE_ERROR
    try:
        return COMMANDS[first].run(context, student, rest), 0
    except SSHCommandError as error:
        return f"lab: {error}", _USAGE_ERROR


def first_exercise(command: str | None, context: ServerContext) -> str | None:
    """Return the exercise that a session begins with, empty for the list; None if the command wants no session."""
    if command is None:
        return ""
    word, _, name = " ".join(command.split()).partition(" ")
    exercise = context.exercises.get(name) if word == "start" else None
    return None if exercise is None or exercise.starting_file is not None else name

"""The server: it listens for SSH and browsers, and ends everything that it has started.

Host key, limits and fork server come first; then the ports are opened, and the server reports where it listens.
"""

import asyncio
import contextlib
import logging
import math
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from socket import socket

import asyncssh
from msgspec import Struct

from lab.durable import write_durably
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import all_exercises
from lab.serve.admin_server import serve_admin
from lab.serve.admission import Admission
from lab.serve.children import Children, start_fork_server
from lab.serve.course_file import store_course
from lab.serve.data_folder import TALLY_S, DataFolder, RunningServer, ServerLog
from lab.serve.limits import HalfOpen, Limits
from lab.serve.server_context import Presence, ServerContext
from lab.serve.ssh_connection import SSHConnection
from lab.serve.web_site import Site, open_site

_KEEPALIVE_S = 15
_END_WITHIN_S = 5.0
_WATCH_S = 1.0
_ASKED_FOR_S = 10.0
"""How often the files are looked at that the teacher may edit."""
_WHY = "the server is shutting down; your progress is saved"


class ListenError(Exception):
    """The server cannot listen on this port, given by this option."""

    def __init__(self, option: str, port: int, reason: OSError) -> None:
        super().__init__(option)
        self.option = option
        self.port = port
        self.reason = reason


class ServeOptions(Struct, frozen=True):
    """The options of a server. ``class_file`` is a list of keys; ``is_open``: anybody may log in.

    ``host`` is the name by which students reach the server. ``web_port`` is the port for browsers, None for none.
    ``exercises`` is the folder of the exercises, ``course`` a course file to use from now on.
    ``lecture``: a lecture is shown to all without asking.
    """

    address: str
    host: str
    port: int
    web_port: int | None
    class_file: Path | None
    is_open: bool
    limits: Limits
    exercises: Path
    lecture: bool
    course: Path | None = None


class Listening(Struct, frozen=True):
    """The ports of the server, and the fingerprint of its host key. ``web_port`` is 0 without browsers."""

    port: int
    web_port: int
    fingerprint: str


def serve(
    folder: DataFolder,
    options: ServeOptions,
    on_listening: Callable[[Listening], None],
    on_interrupt: Callable[[int], None] | None = None,
) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP; return the exit status.

    With ``on_interrupt``, a SIGINT while students are logged in only calls it, with their number, unless another
    one has come in the last 10 s.

    Raises ListenError, FolderError, ExerciseError or CourseError.
    """
    exercises = all_exercises(options.exercises)  # slow, so before clients wait
    with folder.held() as sockets, contextlib.closing(ServerLog(folder.log)) as log:
        folder.keep_exercises(options.exercises)
        if options.course is not None:
            store_course(folder, options.course, {each.name: each for each in exercises})
        _raise_file_limit()
        key = _host_key(folder.host_key)
        fork_server, process = start_fork_server(options.exercises)
        server = _Server(folder, sockets, options, exercises, log, key, on_interrupt)
        return asyncio.run(server.run(fork_server, process, on_listening))


class _Server:
    def __init__(
        self,
        folder: DataFolder,
        sockets: Path,
        options: ServeOptions,
        exercises: Sequence[Exercise],
        log: ServerLog,
        key: asyncssh.SSHKey,
        on_interrupt: Callable[[int], None] | None,
    ) -> None:
        self._folder = folder
        self._sockets = sockets
        self._options = options
        self._exercises = exercises
        self._log = log
        self._key = key
        self._on_interrupt = on_interrupt
        self._asked_s = -math.inf
        self._presence: Presence | None = None
        self._ended = asyncio.Event()
        self._status = 0
        limits = options.limits
        self._half_open = HalfOpen[SSHConnection](limits.half_open, limits.half_open_per_address)

    async def run(
        self, fork_server: socket, process: subprocess.Popen[bytes], on_listening: Callable[[Listening], None]
    ) -> int:
        options = self._options
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
                loop.add_signal_handler(number, self._interrupt if number == signal.SIGINT else self._ended.set)
        children = Children(fork_server, process, self._on_fork_server_lost)
        try:
            admission = Admission(self._folder, options.class_file, options.is_open, self._log)
            admission.names()  # new names of a list are announced now, not at the first log-in
            context = ServerContext(
                self._folder,
                self._sockets,
                options.limits,
                self._log,
                admission,
                children,
                self._exercises,
                options.lecture,
            )
            self._presence = context.presence
            await context.sealer.seal_missing()
            context.progress_updater.begin_missing()
            with _listening_on("--port", options.port):
                listener = await self._listen(context)
            context.port = listener.get_port()
            site = await self._open_site(context)
            here = (os.getpid(), context.port, str(self._sockets), context.web_port, options.address, options.host)
            self._folder.publish(RunningServer(*here))
            admin = await serve_admin(self._sockets, context)
            self._log.write(
                "began", f"port {context.port}" + (f", for browsers {context.web_port}" if site else "")
            )
            on_listening(Listening(context.port, context.web_port, self._key.get_fingerprint()))
            await self._wait_for_end(context)
            listener.close()
            if site is not None:
                site.stop_listening()
            admin.close()
            await self._end(context)
            if site is not None:
                await site.close()
        finally:
            await children.close()
        self._log.write("ended")
        return self._status

    def _interrupt(self) -> None:
        """End the server, unless students are logged in and it is the first time that it is asked to."""
        students = {session.student for session in self._presence.all()} if self._presence is not None else set()
        if not students or self._on_interrupt is None or time.monotonic() < self._asked_s + _ASKED_FOR_S:
            self._ended.set()
        else:
            self._asked_s = time.monotonic()
            self._on_interrupt(len(students))

    async def _wait_for_end(self, context: ServerContext) -> None:
        """Wait for a signal; watch the teacher's files meanwhile, and log the counts of refusals."""
        tallied_s = time.monotonic()
        while not self._ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _WATCH_S)
            context.watch_files()
            if time.monotonic() >= tallied_s + TALLY_S or self._ended.is_set():
                tallied_s = time.monotonic()
                self._log.write_tallies()

    async def _open_site(self, context: ServerContext) -> Site | None:
        port = self._options.web_port
        if port is None:
            return None
        with _listening_on("--web", port):
            site = await open_site(context, self._options.address, port)
        context.web_port = site.port
        return site

    async def _listen(self, context: ServerContext) -> asyncssh.SSHAcceptor:
        for library in ("asyncssh", "aiohttp"):
            logging.getLogger(library).addHandler(_FaultHandler(self._log))
            logging.getLogger(library).propagate = False
        return await asyncssh.listen(
            self._options.address,
            self._options.port,
            server_factory=lambda: SSHConnection(context, self._half_open),
            server_host_keys=[self._key],
            backlog=128,
            config=None,
            encoding=None,
            line_editor=False,
            login_timeout=self._options.limits.login_s,
            keepalive_interval=_KEEPALIVE_S,
            compression_algs=["zlib@openssh.com", "none"],
            server_version="lab",
            gss_host=None,
            host_based_auth=False,
            password_auth=False,
            agent_forwarding=False,
            x11_forwarding=False,
            allow_scp=False,
        )

    async def _end(self, context: ServerContext) -> None:
        """End all sessions, then all clusters."""
        for connection in self._half_open.all():
            connection.disconnect("the server is shutting down")
        for session in context.presence.all():
            session.end(_WHY)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(context.presence.all_ended.wait(), _END_WITHIN_S)
        await context.clusters.end_all()
        await context.branches.end_all()
        context.progress_updater.end()

    def _on_fork_server_lost(self) -> None:
        self._log.write("fault", "the fork server has ended; the server ends, too")
        self._status = 1
        self._ended.set()


class _FaultHandler(logging.Handler):
    """Logs errors in these libraries, or in what they called: there may be no terminal."""

    def __init__(self, log: ServerLog) -> None:
        super().__init__(logging.ERROR)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.write("fault", self.format(record))


@contextlib.contextmanager
def _listening_on(option: str, port: int) -> Iterator[None]:
    """Raise ListenError if listening on this port fails."""
    try:
        yield
    except OSError as error:
        raise ListenError(option, port, error) from error


def _host_key(path: Path) -> asyncssh.SSHKey:
    """Return the server's key, created once: clients recognize the server by it."""
    if not path.exists():
        write_durably(path, asyncssh.generate_private_key("ssh-ed25519").export_private_key())
    return asyncssh.read_private_key(path)


def _raise_file_limit() -> None:
    """Raise the limit on open files: a session needs four here, and a cluster two."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

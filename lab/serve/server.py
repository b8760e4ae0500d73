"""The server: it listens, lets ``Gate`` (and ``web`` for browsers) admit, and ends everything that it began.

Host keys, limits and the zygote come first; then the port is opened, and the server says where it listens.
"""

import asyncio
import contextlib
import logging
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from socket import socket

import asyncssh
from msgspec import Struct

from lab.durable import write_durably
from lab.exercises.exercise import Exercise
from lab.exercises.library import all_exercises
from lab.serve.admin import serve_admin
from lab.serve.admission import Admission
from lab.serve.children import Children, start_zygote
from lab.serve.folder import DataFolder
from lab.serve.gate import Gate
from lab.serve.house import House
from lab.serve.limits import Limits
from lab.serve.log import Log
from lab.serve.rates import HalfOpen
from lab.serve.web.site import Site, open_site

__all__ = ["ListenError", "Listening", "ServeOptions", "serve"]

_KEEPALIVE_S = 15
_END_WITHIN_S = 5.0
_WHY = "the server is being ended; your progress is kept"


class ListenError(Exception):
    """It cannot listen on this port, which is that of an option, for this reason."""

    def __init__(self, option: str, port: int, reason: OSError) -> None:
        super().__init__(option)
        self.option = option
        self.port = port
        self.reason = reason


class ServeOptions(Struct, frozen=True):
    """What the user wants of the server. ``class_file`` is a list of keys; ``is_open``: anybody may come in.

    ``web_port`` is that for browsers, if they are to be served, too. ``exercises`` is the folder that they are in.
    ``lecture``: a lecture is shown to all, unasked.
    """

    address: str
    port: int
    web_port: int | None
    class_file: Path | None
    is_open: bool
    limits: Limits
    exercises: Path
    lecture: bool


class Listening(Struct, frozen=True):
    """Where the server listens, and the fingerprint of its host key. No ``web_port``: not for browsers."""

    port: int
    web_port: int
    fingerprint: str


def serve(folder: DataFolder, options: ServeOptions, say: Callable[[Listening], None]) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP; the exit status.

    ListenError, FolderError, ExerciseError.
    """
    exercises = all_exercises(options.exercises)  # now, as it takes too long once others wait for an answer
    sockets = folder.take()
    log = Log(folder.log)
    try:
        _raise_file_limit()
        key = _host_key(folder.host_key)
        zygote, process = start_zygote(options.exercises)
        server = _Server(folder, sockets, options, exercises, log, key)
        return asyncio.run(server.run(zygote, process, say))
    finally:
        log.close()
        folder.leave(sockets)


class _Server:
    def __init__(
        self,
        folder: DataFolder,
        sockets: Path,
        options: ServeOptions,
        exercises: Sequence[Exercise],
        log: Log,
        key: asyncssh.SSHKey,
    ) -> None:
        self._folder = folder
        self._sockets = sockets
        self._options = options
        self._exercises = exercises
        self._log = log
        self._key = key
        self._ended = asyncio.Event()
        self._status = 0
        limits = options.limits
        self._half_open = HalfOpen[Gate](limits.half_open, limits.half_open_per_address)

    async def run(self, zygote: socket, process: subprocess.Popen[bytes], say: Callable[[Listening], None]) -> int:
        """Serve; the exit status."""
        options = self._options
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                loop.add_signal_handler(number, self._ended.set)
        children = Children(zygote, process, self._lost_zygote)
        try:
            admission = Admission(self._folder, options.class_file, options.is_open, self._log)
            house = House(
                self._folder,
                self._sockets,
                options.limits,
                self._log,
                admission,
                children,
                self._exercises,
                options.lecture,
            )
            await house.sealer.seal_those_without()
            house.notes.begin_those_without()
            with _on("--port", options.port):
                listener = await self._listen(house)
            house.port = listener.get_port()
            site = await self._open_site(house)
            self._folder.tell(house.port, self._sockets, house.web_port)
            admin = await serve_admin(self._sockets, house)
            self._log.say("began", f"port {house.port}" + (f", for browsers {house.web_port}" if site else ""))
            say(Listening(house.port, house.web_port, self._key.get_fingerprint()))
            await self._ended.wait()
            listener.close()
            if site is not None:
                site.stop_listening()
            admin.close()
            await self._end(house)
            if site is not None:
                await site.close()
        finally:
            await children.close()
        self._log.say("ended")
        return self._status

    async def _open_site(self, house: House) -> Site | None:
        port = self._options.web_port
        if port is None:
            return None
        with _on("--web", port):
            site = await open_site(house, self._options.address, port)
        house.web_port = site.port
        return site

    async def _listen(self, house: House) -> asyncssh.SSHAcceptor:
        for library in ("asyncssh", "aiohttp"):
            logging.getLogger(library).addHandler(_Faults(self._log))
            logging.getLogger(library).propagate = False
        return await asyncssh.listen(
            self._options.address,
            self._options.port,
            server_factory=lambda: Gate(house, self._half_open),
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

    async def _end(self, house: House) -> None:
        """End what is going on, in good order: sessions, then clusters."""
        for gate in self._half_open.all():
            gate.leave("the server is being ended")
        for present in house.presence.all():
            present.end(_WHY)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(house.presence.nobody.wait(), _END_WITHIN_S)
        await house.clusters.end_all()
        house.notes.end()

    def _lost_zygote(self) -> None:
        self._log.say("fault", "the process that forks sessions has ended; the server ends, too")
        self._status = 1
        self._ended.set()


class _Faults(logging.Handler):
    """What went wrong inside these libraries, or in what they called: for the log, as no terminal may be there."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.ERROR)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write it down."""
        self._log.say("fault", self.format(record))


@contextlib.contextmanager
def _on(option: str, port: int) -> Iterator[None]:
    """ListenError, where it cannot listen on this port."""
    try:
        yield
    except OSError as error:
        raise ListenError(option, port, error) from error


def _host_key(path: Path) -> asyncssh.SSHKey:
    """The server's own key, made once: students' clients know the server by it."""
    if not path.exists():
        write_durably(path, asyncssh.generate_private_key("ssh-ed25519").export_private_key())
    return asyncssh.read_private_key(path)


def _raise_file_limit() -> None:
    """A session has four open files here, and a cluster two."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

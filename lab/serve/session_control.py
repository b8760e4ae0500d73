"""A session's control socket: the student's cluster, which the server owns, and the teacher's notices.

The session sends requests, the server a reply to each; notices come at any time. Messages are JSON lines.
"""

import asyncio
import queue
import socket
import threading
from collections.abc import Callable

import msgspec
from msgspec import Struct

from lab.exercises.teacher import Notice
from lab.serve.broadcast_hub import BroadcastHub
from lab.serve.cluster_pool import ClusterPool
from lab.worlds.host.launch import HostFailedError, HostRefusedError
from lab.worlds.host.runs import RunInfo
from lab.worlds.loading.config import HostReady, RunConfig
from lab.worlds.processes.json_lines import GARBAGE, LONGEST_LINE, LineBuffer


class StartRun(Struct, frozen=True, tag="start"):
    """Start this run as the student's cluster."""

    config: RunConfig


class EndRun(Struct, frozen=True, tag="end"):
    """End the student's cluster, if there is one."""


class GetRun(Struct, frozen=True, tag="which run"):
    """Describe the student's cluster."""


class CastVote(Struct, frozen=True, tag="vote"):
    """Vote for an option, counted from 0, of the question with this serial."""

    serial: int
    choice: int


ControlRequest = StartRun | EndRun | GetRun | CastVote


class ControlReply(Struct, frozen=True, tag="answer"):
    """A reply; ``failure`` is for the student; ``refused``: the run is not allowed at all."""

    ready: HostReady | None = None
    run: RunInfo | None = None
    failure: str = ""
    refused: bool = False


ServerMessage = ControlReply | Notice
"""Messages from the server to a session."""


_decode_message = msgspec.json.Decoder(ServerMessage).decode


class ControlClient:
    """A client of the server; each method waits for the reply. Several threads may call; one thread reads."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._request_lock = threading.Lock()
        self._replies: queue.SimpleQueue[ControlReply | None] = queue.SimpleQueue()
        self._has_ended = False
        self._callback: Callable[[Notice], object] | None = None
        self._pending_notices: list[Notice] = []
        self._notice_lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def start(self, config: RunConfig) -> HostReady:
        """Start a run, and wait until its host serves its feed; a running one ends first.

        Raises HostFailedError.
        """
        reply = self._request(StartRun(config))
        if reply.ready is None:
            raise (HostRefusedError if reply.refused else HostFailedError)(reply.failure)
        return reply.ready

    def end(self) -> str:
        """End the run, if there is one; return why it failed, if it did."""
        return self._request(EndRun()).failure

    def running(self) -> RunInfo | None:
        """Return the run in progress, which an earlier connection may have started."""
        return self._request(GetRun()).run

    def vote(self, serial: int, choice: int) -> None:
        """Answer the teacher's question with this serial. Raises HostFailedError if the server has gone."""
        self._request(CastVote(serial, choice))

    def listen(self, callback: Callable[[Notice], object]) -> None:
        """Call ``callback`` in another thread with each notice, starting with those that have already arrived."""
        with self._notice_lock:
            self._callback = callback
            for notice in self._pending_notices:
                callback(notice)
            self._pending_notices.clear()

    def _request(self, request: ControlRequest) -> ControlReply:
        with self._request_lock:
            try:
                self._control.sendall(msgspec.json.encode(request) + b"\n")
                reply = None if self._has_ended else self._replies.get()
            except OSError:
                reply = None
        if reply is None:
            raise HostFailedError("the server has ended; connect again later")
        return reply

    def _read(self) -> None:
        buffer = LineBuffer()
        try:
            while data := self._control.recv(65536):
                for line in buffer.feed(data):
                    self._on_message(_decode_message(line))
        except (OSError, *GARBAGE):
            pass
        self._has_ended = True
        self._replies.put(None)

    def _on_message(self, message: ControlReply | Notice) -> None:
        if isinstance(message, ControlReply):
            self._replies.put(message)
            return
        with self._notice_lock:
            if self._callback is None:
                self._pending_notices.append(message)
            else:
                self._callback(message)


_decode_request = msgspec.json.Decoder(ControlRequest).decode


async def serve_control(control: socket.socket, student: str, clusters: ClusterPool, hub: BroadcastHub) -> None:
    """Handle the session's requests until it ends."""
    reader, writer = await asyncio.open_unix_connection(sock=control, limit=LONGEST_LINE)

    def send(message: ControlReply | Notice) -> None:
        writer.write(msgspec.json.encode(message) + b"\n")

    try:
        with hub.subscription(student, send):
            while line := await reader.readline():
                try:
                    request = _decode_request(line)
                    if isinstance(request, CastVote):
                        hub.vote(student, request.serial, request.choice)
                        reply = ControlReply()
                    else:
                        reply = await _reply_to(request, student, clusters)
                except GARBAGE:
                    reply = ControlReply(failure="the server does not understand this request", refused=True)
                send(reply)
                await writer.drain()
    except (ConnectionError, ValueError):
        pass  # the session has ended, or sends an endless line
    finally:
        writer.close()


async def _reply_to(request: StartRun | EndRun | GetRun, student: str, clusters: ClusterPool) -> ControlReply:
    if isinstance(request, StartRun):
        try:
            return ControlReply(ready=await clusters.start(student, request.config))
        except HostFailedError as error:
            return ControlReply(failure=str(error), refused=isinstance(error, HostRefusedError))
        except OSError as error:
            return ControlReply(failure=f"the server failed: {error}; tell your teacher")
    if isinstance(request, EndRun):
        return ControlReply(failure=await clusters.end(student))
    return ControlReply(run=clusters.running(student))

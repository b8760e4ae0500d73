"""A session's side of its control socket: its cluster, which the server owns, and the teacher's notices."""

import queue
import socket
import threading
from collections.abc import Callable

import msgspec

from lab.exercises.teacher import Notice
from lab.serve.control_protocol import (
    CastVote,
    ControlReply,
    ControlRequest,
    EndRun,
    GetRun,
    ServerMessage,
    StartRun,
)
from lab.worlds.config import HostReady, RunConfig
from lab.worlds.host.launch import HostFailedError, HostRefusedError
from lab.worlds.host.line_buffer import GARBAGE, LineBuffer
from lab.worlds.runs import RunInfo

__all__ = ["ControlClient"]

_decode = msgspec.json.Decoder(ServerMessage).decode


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
                    self._on_message(_decode(line))
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

"""A session's control socket: the student's cluster, which the server owns, and the teacher's notices.

The session sends requests, the server a reply to each; notices come at any time.
"""

import asyncio
import queue
import socket
import threading
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct

from lab.exercises.teacher import Notice, ServerAdminError
from lab.serve.broadcast_hub import BroadcastHub
from lab.serve.cluster_pool import ClusterPool
from lab.serve.comments import CommentBook
from lab.serve.lecture_branches import LectureBranches
from lab.worlds.host.runs import RunInfo
from lab.worlds.json_lines import GARBAGE, LONGEST_LINE, Channel, answer_requests, to_line
from lab.worlds.launch import HostFailedError, HostRefusedError
from lab.worlds.loading.config import HostReady, RunConfig


class StartRun(Struct, frozen=True, tag="start"):
    """Start a cluster with this configuration; a running one ends first."""

    config: RunConfig


class EndRun(Struct, frozen=True, tag="end"):
    """End the student's cluster, if there is one."""


class GetRun(Struct, frozen=True, tag="which run"):
    """Describe the student's cluster."""


class CastVote(Struct, frozen=True, tag="vote"):
    """Vote for an option, counted from 0, of the question with this serial."""

    serial: int
    choice: int


class MarkRead(Struct, frozen=True, tag="read"):
    """Note that the student has read the comments with these serials."""

    serials: tuple[int, ...]


class ReportFollowing(Struct, frozen=True, tag="follows"):
    """Note whether the student follows the lecture."""

    follows: bool


class StartBranch(Struct, frozen=True, tag="branch"):
    """Branch off a run of the lecture in this folder at a record; a running branch ends first."""

    lecture: str
    run: int
    record: int


class EndBranch(Struct, frozen=True, tag="end branch"):
    """End the student's branch, if there is one."""


ControlRequest = StartRun | EndRun | GetRun | CastVote | MarkRead | ReportFollowing | StartBranch | EndBranch


class ControlReply(Struct, frozen=True, tag="answer"):
    """A reply; ``failure`` is for the student; ``refused``: the run is not allowed at all."""

    ready: HostReady | None = None
    run: RunInfo | None = None
    failure: str = ""
    refused: bool = False


_MISUNDERSTOOD = ControlReply(failure="the server does not understand this request", refused=True)
_decode_message = msgspec.json.Decoder(ControlReply | Notice).decode


class ControlClient:
    """The session's end; each method waits for the reply. Several threads may call; one thread reads."""

    def __init__(self, control: socket.socket) -> None:
        self._server = Channel(control)
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
        return self._start(StartRun(config))

    def _start(self, request: StartRun | StartBranch) -> HostReady:
        reply = self._request(request)
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

    def mark_read(self, serials: tuple[int, ...]) -> None:
        """Note that the student has read these comments. Raises HostFailedError if the server has gone."""
        self._request(MarkRead(serials))

    def report_following(self, follows: bool) -> None:
        """Report whether the student follows the lecture. Raises HostFailedError if the server has gone."""
        self._request(ReportFollowing(follows))

    def start_branch(self, lecture: str, run: int, record: int) -> HostReady:
        """Branch off a run of a lecture, and wait until its host serves its feed. Raises HostFailedError."""
        return self._start(StartBranch(lecture, run, record))

    def end_branch(self) -> None:
        """End the branch, if there is one. Raises HostFailedError if the server has gone."""
        self._request(EndBranch())

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
                self._server.send(request)
                reply = None if self._has_ended else self._replies.get()
            except OSError:
                reply = None
        if reply is None:
            raise HostFailedError("the server has ended; connect again later")
        return reply

    def _read(self) -> None:
        try:
            while True:
                for line in self._server.receive():
                    self._on_message(_decode_message(line))
        except (EOFError, OSError, *GARBAGE):
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


async def serve_control(
    control: socket.socket,
    student: str,
    clusters: ClusterPool,
    branches: LectureBranches,
    hub: BroadcastHub,
    comments: CommentBook,
) -> None:
    """Handle the session's requests until it ends: the server's end."""
    reader, writer = await asyncio.open_unix_connection(sock=control, limit=LONGEST_LINE)

    async def answer(request: ControlRequest) -> ControlReply:
        match request:
            case StartRun(config):
                return await _start(clusters.start(student, config))
            case StartBranch(lecture, run, record):
                return await _start(branches.start(student, lecture, run, record))
            case EndBranch():
                await branches.end(student)
            case EndRun():
                return ControlReply(failure=await clusters.end(student))
            case GetRun():
                return ControlReply(run=clusters.running(student))
            case CastVote(serial, choice):
                hub.vote(student, serial, choice)
            case ReportFollowing(follows):
                hub.report_following(student, follows)
            case MarkRead(serials):
                try:
                    comments.mark_read(student, serials)
                except (ServerAdminError, OSError) as error:
                    return ControlReply(failure=f"this could not be stored: {error}")
                hub.renew_notices(student)
        return ControlReply()

    try:
        with hub.subscription(student, lambda notice: writer.write(to_line(notice))):
            await answer_requests(reader, writer, ControlRequest, answer, _MISUNDERSTOOD)
    finally:
        branches.release(student)


async def _start(starting: Awaitable[HostReady]) -> ControlReply:
    try:
        return ControlReply(ready=await starting)
    except HostFailedError as error:
        return ControlReply(failure=str(error), refused=isinstance(error, HostRefusedError))
    except OSError as error:
        return ControlReply(failure=f"the server failed: {error}; tell your teacher")

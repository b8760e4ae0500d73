"""The node processes: their incarnations, from the fork to the end, as the fork server reports them."""

import secrets
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct

from lab.kernel import CommandInput, Message
from lab.recording.records import Process
from lab.worlds.control import NodeOperations
from lab.worlds.live.connection import Connection, Hello, Start
from lab.worlds.live.node_process import NodeJob, wipe
from lab.worlds.live.router import NotAStepError, Router
from lab.worlds.processes.fork_server import Fork, Forked, ProcessChange, Signal


class _Incarnation(Struct):
    """One incarnation of a node. ``phase``: forked but not connected, connected, being killed, gone."""

    number: int
    token: str
    phase: Literal["forked", "up", "dying", "gone"] = "forked"
    pid: int = 0
    hello: Connection | None = None
    stopped_us: int | None = None
    resume_wanted: bool = False
    restart_wanted: bool = False
    wipe_wanted: bool = False
    failed: bool = False


class LiveNodes(NodeOperations):
    """The node processes. ``request`` sends to the fork server, ``drain`` reads all that a socket holds."""

    def __init__(
        self,
        ids: tuple[int, ...],
        router: Router,
        safe: Path,
        origin_ns: int,
        port: int,
        now_us: Callable[[], int],
        request: Callable[[Fork[NodeJob] | Signal], None],
        drain: Callable[[Connection], None],
    ) -> None:
        self._ids = ids
        self._router = router
        self._safe = safe
        self._origin_ns = origin_ns
        self._port = port
        self._now_us = now_us
        self._request = request
        self._drain = drain
        self._incarnations: dict[int, _Incarnation] = {}
        self._by_pid: dict[int, int] = {}
        self._started = False

    # reports of the fork server and the processes

    def fork_all(self) -> None:
        """Fork every node; they begin together once all are connected."""
        for node in self._ids:
            self._fork(node)

    def on_forked(self, report: Forked) -> None:
        """Note the pid of a new process."""
        incarnation = self._incarnations[report.serial]
        incarnation.pid = report.pid
        self._by_pid[report.pid] = report.serial
        if incarnation.phase == "dying":
            self._request(Signal(incarnation.pid, signal.SIGKILL))  # it was killed before its pid was known
        self._begin_if_ready()

    def on_hello(self, hello: Hello, connection: Connection) -> bool:
        """Accept a process's connection; return False if it is not an expected node."""
        incarnation = self._incarnations.get(hello.node)
        if (
            incarnation is None
            or incarnation.number != hello.incarnation
            or not _same(incarnation.token, hello.token)
        ):
            return False
        if incarnation.hello is not None or incarnation.phase != "forked":
            return False
        incarnation.hello = connection
        self._begin_if_ready()
        return True

    def on_process_change(self, report: ProcessChange) -> None:
        """Record what the operating system reports about a process."""
        node = self._by_pid.get(report.pid)
        if node is None:
            return
        incarnation = self._incarnations[node]
        if report.what == "ended":
            del self._by_pid[report.pid]
            self._on_ended(node, incarnation)
        elif report.what == "stopped" and incarnation.stopped_us is None and incarnation.phase == "up":
            self._on_stopped(node, incarnation)
        elif report.what == "continued" and incarnation.phase == "up":
            if incarnation.stopped_us is None:
                self._on_stopped(node, incarnation)  # it was stopped too briefly to be seen
            self._on_continued(node, incarnation)

    def fail(self, connection: Connection, error: Exception) -> None:
        """Kill a node that misbehaves (it sent garbage), as failed."""
        incarnation = self._incarnations[connection.node]
        if incarnation.phase == "up" and incarnation.number == connection.incarnation:
            print(f"node {connection.node} sent garbage: {error}", file=sys.stderr)
            incarnation.failed = True
            self.kill(connection.node)

    # operations; see NodeOperations

    def kill(self, node: int) -> bool:
        """Send SIGKILL. Whatever the process still does no longer counts."""
        incarnation = self._incarnations[node]
        if incarnation.phase not in ("forked", "up"):
            restart_was_wanted, incarnation.restart_wanted = incarnation.restart_wanted, False
            return restart_was_wanted
        incarnation.phase = "dying"
        if incarnation.pid:
            self._request(Signal(incarnation.pid, signal.SIGKILL))
        connection = self._router.connections.get(node)
        if connection is not None:
            self._router.disconnect(connection)
        return True

    def pause(self, node: int) -> bool:
        """Send SIGSTOP."""
        connection = self._router.connections.get(node)
        if connection is None or connection.paused:
            return False
        connection.paused = True
        self._request(Signal(connection.pid, signal.SIGSTOP))
        return True

    def resume(self, node: int) -> bool:
        """Send SIGCONT, once the process is seen stopped."""
        connection = self._router.connections.get(node)
        if connection is None or not connection.paused:
            return False
        incarnation = self._incarnations[node]
        if incarnation.resume_wanted:
            return False
        incarnation.resume_wanted = True
        if incarnation.stopped_us is not None:
            self._request(Signal(connection.pid, signal.SIGCONT))
        return True

    def restart(self, node: int) -> bool:
        """Start a new process with the contents of stable storage."""
        incarnation = self._incarnations[node]
        if incarnation.phase == "dying" and not incarnation.restart_wanted:
            incarnation.restart_wanted = True
            return True
        if incarnation.phase == "gone":
            self._fork(node)
            return True
        return False

    def wipe(self, node: int) -> bool:
        incarnation = self._incarnations[node]
        if incarnation.phase == "dying" and not incarnation.restart_wanted:
            incarnation.wipe_wanted = True
            return True
        if incarnation.phase == "gone" and wipe(self._safe, node):
            self._router.record(Process(self._now_us(), node, "wiped", incarnation.number))
            return True
        return False

    def process_state(self, node: int) -> Literal["running", "paused", "down"]:
        connection = self._router.connections.get(node)
        return "down" if connection is None else "paused" if connection.paused else "running"

    def give_command(self, node: int, command: CommandInput) -> None:
        """Write it to the node's socket, where it waits while the node is paused."""
        self._router.give_command(self._router.connections[node], command)

    def forge(self, message: Message) -> None:
        """Write it to the node's socket, where it waits while the node is paused."""
        self._router.deliver(message)

    # the course of an incarnation

    def _fork(self, node: int) -> None:
        before = self._incarnations.get(node)
        incarnation = _Incarnation(before.number + 1 if before else 1, secrets.token_hex(16))
        self._incarnations[node] = incarnation
        job = NodeJob(node, incarnation.number, self._port, incarnation.token, self._origin_ns, str(self._safe))
        self._request(Fork(node, job))

    def _begin_if_ready(self) -> None:
        coming = {
            node: incarnation for node, incarnation in self._incarnations.items() if incarnation.phase == "forked"
        }
        ready = {
            node: incarnation for node, incarnation in coming.items() if incarnation.hello and incarnation.pid
        }
        if not self._started and len(ready) < len(coming):
            return
        self._started = True
        for node, incarnation in ready.items():
            self._begin(node, incarnation)

    def _begin(self, node: int, incarnation: _Incarnation) -> None:
        connection = incarnation.hello
        assert connection is not None
        incarnation.phase = "up"
        connection.pid = incarnation.pid
        self._router.connections[node] = connection
        self._router.record(Process(self._now_us(), node, "started", incarnation.number, incarnation.pid))
        start = Start(incarnation.number, self._router.serials.get(node, 1))
        self._router.start(connection, start)

    def _on_ended(self, node: int, incarnation: _Incarnation) -> None:
        connection = self._router.connections.get(node)
        if connection is not None and incarnation.phase == "up":
            self._drain(connection)  # what it sent before it ended, the traceback included
            view = self._router.cluster.nodes[node]
            incarnation.failed |= bool(view.traceback)
            if self._router.connections.get(node) is connection:
                incarnation.phase = "dying"
                self._router.disconnect(connection, "down")
        incarnation.phase = "gone"
        event: Literal["failed", "killed"] = "failed" if incarnation.failed else "killed"
        self._router.record(Process(self._now_us(), node, event, incarnation.number, incarnation.pid))
        if incarnation.wipe_wanted:
            self.wipe(node)
        if incarnation.restart_wanted:
            self._fork(node)
        self._begin_if_ready()

    def _on_stopped(self, node: int, incarnation: _Incarnation) -> None:
        connection = self._router.connections.get(node)
        if connection is None:
            return
        self._drain(connection)
        connection.paused = True
        incarnation.stopped_us = self._now_us()
        self._router.record(Process(incarnation.stopped_us, node, "paused", incarnation.number, incarnation.pid))
        if incarnation.resume_wanted:
            self._request(Signal(incarnation.pid, signal.SIGCONT))

    def _on_continued(self, node: int, incarnation: _Incarnation) -> None:
        connection = self._router.connections.get(node)
        if connection is None or incarnation.stopped_us is None:
            return
        paused_us = self._now_us() - incarnation.stopped_us
        incarnation.stopped_us = None
        incarnation.resume_wanted = False
        connection.paused = False
        self._router.record(
            Process(self._now_us(), node, "resumed", incarnation.number, incarnation.pid, paused_us=paused_us)
        )
        try:
            self._router.resume(connection)
        except NotAStepError as error:
            self.fail(connection, error)


def _same(ours: str, received: str) -> bool:
    return secrets.compare_digest(ours.encode(), received.encode())

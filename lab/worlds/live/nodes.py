"""The node processes: from the fork to the end of each, as the warm parent reports it."""

import secrets
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct

from lab.kernel import CommandInput, Message
from lab.recording.records import Process
from lab.worlds.handles import NodeHandles
from lab.worlds.live.connection import Connection
from lab.worlds.live.safe_storage import wipe
from lab.worlds.live.switch import NotAStepError, Switch
from lab.worlds.live.wire import Fork, Forked, Hello, Seen, Signal, Start

__all__ = ["LiveNodes"]


class _Life(Struct):
    """One life of a node. ``phase``: forked but not connected, connected, told to die, gone."""

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


class LiveNodes(NodeHandles):
    """``order`` sends to the warm parent, ``drain(connection)`` takes in what a node's socket still holds."""

    def __init__(
        self,
        ids: tuple[int, ...],
        switch: Switch,
        safe: Path,
        origin_ns: int,
        port: int,
        now_us: Callable[[], int],
        order: Callable[[Fork | Signal], None],
        drain: Callable[[Connection], None],
    ) -> None:
        self._ids = ids
        self._switch = switch
        self._safe = safe
        self._origin_ns = origin_ns
        self._port = port
        self._now_us = now_us
        self._order = order
        self._drain = drain
        self._lives: dict[int, _Life] = {}
        self._by_pid: dict[int, int] = {}
        self._started = False

    # what the warm parent and the processes say

    def fork_all(self) -> None:
        """Fork every node; they begin together once all are connected."""
        for node in self._ids:
            self._fork(node)

    def forked(self, report: Forked) -> None:
        """The process is there."""
        incarnation = self._lives[report.node]
        incarnation.pid = report.pid
        self._by_pid[report.pid] = report.node
        if incarnation.phase == "dying":
            self._order(Signal(incarnation.pid, signal.SIGKILL))  # it was killed before it had a number
        self._begin_if_ready()

    def hello(self, hello: Hello, connection: Connection) -> bool:
        """A process reports; False if it is none of ours."""
        incarnation = self._lives.get(hello.node)
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

    def seen(self, report: Seen) -> None:
        """The operating system reports of a process: now it is recorded."""
        node = self._by_pid.get(report.pid)
        if node is None:
            return
        incarnation = self._lives[node]
        if report.what == "ended":
            del self._by_pid[report.pid]
            self._ended(node, incarnation)
        elif report.what == "stopped" and incarnation.stopped_us is None and incarnation.phase == "up":
            self._stopped(node, incarnation)
        elif report.what == "continued" and incarnation.phase == "up":
            if incarnation.stopped_us is None:
                self._stopped(node, incarnation)  # it stood so briefly that it was not seen to
            self._continued(node, incarnation)

    def fail(self, connection: Connection, error: Exception) -> None:
        """The node misbehaves (it sent garbage): end it, as failed."""
        incarnation = self._lives[connection.node]
        if incarnation.phase == "up" and incarnation.number == connection.incarnation:
            print(f"node {connection.node} sent garbage: {error}", file=sys.stderr)
            incarnation.failed = True
            self.kill(connection.node)

    # what Control does to nodes

    def kill(self, node: int) -> bool:
        """SIGKILL. From here on nothing counts that the process may still do."""
        incarnation = self._lives[node]
        if incarnation.phase not in ("forked", "up"):
            restart_was_wanted, incarnation.restart_wanted = incarnation.restart_wanted, False
            return restart_was_wanted
        incarnation.phase = "dying"
        if incarnation.pid:
            self._order(Signal(incarnation.pid, signal.SIGKILL))
        connection = self._switch.connections.get(node)
        if connection is not None:
            self._switch.forget(connection)
        return True

    def pause(self, node: int) -> bool:
        """SIGSTOP."""
        connection = self._switch.connections.get(node)
        if connection is None or connection.standing:
            return False
        connection.standing = True
        self._order(Signal(connection.pid, signal.SIGSTOP))
        return True

    def resume(self, node: int) -> bool:
        """SIGCONT, once the process is seen to stand still."""
        connection = self._switch.connections.get(node)
        if connection is None or not connection.standing:
            return False
        incarnation = self._lives[node]
        if incarnation.resume_wanted:
            return False
        incarnation.resume_wanted = True
        if incarnation.stopped_us is not None:
            self._order(Signal(connection.pid, signal.SIGCONT))
        return True

    def restart(self, node: int) -> bool:
        """A new process with what safe storage held."""
        incarnation = self._lives[node]
        if incarnation.phase == "dying" and not incarnation.restart_wanted:
            incarnation.restart_wanted = True
            return True
        if incarnation.phase == "gone":
            self._fork(node)
            return True
        return False

    def wipe(self, node: int) -> bool:
        """Empty the safe storage of a node that is down."""
        incarnation = self._lives[node]
        if incarnation.phase == "dying" and not incarnation.restart_wanted:
            incarnation.wipe_wanted = True
            return True
        if incarnation.phase == "gone" and wipe(self._safe, node):
            self._switch.record(Process(self._now_us(), node, "wiped", incarnation.number))
            return True
        return False

    def reach(self, node: int) -> Literal["reached", "standing", "down"]:
        """Whether it runs, stands still, or is down."""
        connection = self._switch.connections.get(node)
        return "down" if connection is None else "standing" if connection.standing else "reached"

    def tell(self, node: int, told: CommandInput) -> None:
        """By its socket, where it waits as long as the node stands still."""
        self._switch.tell(self._switch.connections[node], told)

    def forge(self, message: Message) -> None:
        """By its socket, where it waits as long as the node stands still."""
        self._switch.hand_over(message)

    # the course of a life

    def _fork(self, node: int) -> None:
        before = self._lives.get(node)
        incarnation = _Life(before.number + 1 if before else 1, secrets.token_hex(16))
        self._lives[node] = incarnation
        self._order(
            Fork(node, incarnation.number, self._port, incarnation.token, self._origin_ns, str(self._safe))
        )

    def _begin_if_ready(self) -> None:
        coming = {node: incarnation for node, incarnation in self._lives.items() if incarnation.phase == "forked"}
        ready = {
            node: incarnation for node, incarnation in coming.items() if incarnation.hello and incarnation.pid
        }
        if not self._started and len(ready) < len(coming):
            return
        self._started = True
        for node, incarnation in ready.items():
            self._begin(node, incarnation)

    def _begin(self, node: int, incarnation: _Life) -> None:
        connection = incarnation.hello
        assert connection is not None
        incarnation.phase = "up"
        connection.pid = incarnation.pid
        self._switch.connections[node] = connection
        self._switch.record(Process(self._now_us(), node, "started", incarnation.number, incarnation.pid))
        start = Start(incarnation.number, self._switch.serials.get(node, 1))
        self._switch.start(connection, start)

    def _ended(self, node: int, incarnation: _Life) -> None:
        connection = self._switch.connections.get(node)
        if connection is not None and incarnation.phase == "up":
            self._drain(connection)  # what it said before it ended; among it, why
            view = self._switch.cluster.nodes[node]
            incarnation.failed |= bool(view.traceback)
            if self._switch.connections.get(node) is connection:
                incarnation.phase = "dying"
                self._switch.forget(connection, "down")
        incarnation.phase = "gone"
        event: Literal["failed", "killed"] = "failed" if incarnation.failed else "killed"
        self._switch.record(Process(self._now_us(), node, event, incarnation.number, incarnation.pid))
        if incarnation.wipe_wanted:
            self.wipe(node)
        if incarnation.restart_wanted:
            self._fork(node)
        self._begin_if_ready()

    def _stopped(self, node: int, incarnation: _Life) -> None:
        connection = self._switch.connections.get(node)
        if connection is None:
            return
        self._drain(connection)
        connection.standing = True
        incarnation.stopped_us = self._now_us()
        self._switch.record(Process(incarnation.stopped_us, node, "paused", incarnation.number, incarnation.pid))
        if incarnation.resume_wanted:
            self._order(Signal(incarnation.pid, signal.SIGCONT))

    def _continued(self, node: int, incarnation: _Life) -> None:
        connection = self._switch.connections.get(node)
        if connection is None or incarnation.stopped_us is None:
            return
        paused_us = self._now_us() - incarnation.stopped_us
        incarnation.stopped_us = None
        incarnation.resume_wanted = False
        connection.standing = False
        self._switch.record(
            Process(self._now_us(), node, "resumed", incarnation.number, incarnation.pid, paused_us=paused_us)
        )
        try:
            self._switch.release(connection)
        except NotAStepError as error:
            self.fail(connection, error)


def _same(ours: str, said: str) -> bool:
    return secrets.compare_digest(ours.encode(), said.encode())

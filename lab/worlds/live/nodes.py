"""The node processes: from the fork to the end of each, as the warm parent reports it."""

import secrets
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct

from lab.kernel import Message, Told
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
        life = self._lives[report.node]
        life.pid = report.pid
        self._by_pid[report.pid] = report.node
        if life.phase == "dying":
            self._order(Signal(life.pid, signal.SIGKILL))  # it was killed before it had a number
        self._begin_if_ready()

    def hello(self, hello: Hello, connection: Connection) -> bool:
        """A process reports; False if it is none of ours."""
        life = self._lives.get(hello.node)
        if life is None or life.number != hello.life or not _same(life.token, hello.token):
            return False
        if life.hello is not None or life.phase != "forked":
            return False
        life.hello = connection
        self._begin_if_ready()
        return True

    def seen(self, report: Seen) -> None:
        """The operating system reports of a process: now it is recorded."""
        node = self._by_pid.get(report.pid)
        if node is None:
            return
        life = self._lives[node]
        if report.what == "ended":
            del self._by_pid[report.pid]
            self._ended(node, life)
        elif report.what == "stopped" and life.stopped_us is None and life.phase == "up":
            self._stopped(node, life)
        elif report.what == "continued" and life.phase == "up":
            if life.stopped_us is None:
                self._stopped(node, life)  # it stood so briefly that it was not seen to
            self._continued(node, life)

    def fail(self, connection: Connection, error: Exception) -> None:
        """The node misbehaves (it sent garbage): end it, as failed."""
        life = self._lives[connection.node]
        if life.phase == "up" and life.number == connection.life:
            print(f"node {connection.node} sent garbage: {error}", file=sys.stderr)
            life.failed = True
            self.kill(connection.node)

    # what Control does to nodes

    def kill(self, node: int) -> bool:
        """SIGKILL. From here on nothing counts that the process may still do."""
        life = self._lives[node]
        if life.phase not in ("forked", "up"):
            restart_was_wanted, life.restart_wanted = life.restart_wanted, False
            return restart_was_wanted
        life.phase = "dying"
        if life.pid:
            self._order(Signal(life.pid, signal.SIGKILL))
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
        life = self._lives[node]
        if life.resume_wanted:
            return False
        life.resume_wanted = True
        if life.stopped_us is not None:
            self._order(Signal(connection.pid, signal.SIGCONT))
        return True

    def restart(self, node: int) -> bool:
        """A new process with what safe storage held."""
        life = self._lives[node]
        if life.phase == "dying" and not life.restart_wanted:
            life.restart_wanted = True
            return True
        if life.phase == "gone":
            self._fork(node)
            return True
        return False

    def wipe(self, node: int) -> bool:
        """Empty the safe storage of a node that is down."""
        life = self._lives[node]
        if life.phase == "dying" and not life.restart_wanted:
            life.wipe_wanted = True
            return True
        if life.phase == "gone" and wipe(self._safe, node):
            self._switch.record(Process(self._now_us(), node, "wiped", life.number))
            return True
        return False

    def reach(self, node: int) -> Literal["reached", "standing", "down"]:
        """Whether it runs, stands still, or is down."""
        connection = self._switch.connections.get(node)
        return "down" if connection is None else "standing" if connection.standing else "reached"

    def tell(self, node: int, told: Told) -> None:
        """By its socket, where it waits as long as the node stands still."""
        self._switch.tell(self._switch.connections[node], told)

    def forge(self, message: Message) -> None:
        """By its socket, where it waits as long as the node stands still."""
        self._switch.hand_over(message)

    # the course of a life

    def _fork(self, node: int) -> None:
        before = self._lives.get(node)
        life = _Life(before.number + 1 if before else 1, secrets.token_hex(16))
        self._lives[node] = life
        self._order(Fork(node, life.number, self._port, life.token, self._origin_ns, str(self._safe)))

    def _begin_if_ready(self) -> None:
        coming = {node: life for node, life in self._lives.items() if life.phase == "forked"}
        ready = {node: life for node, life in coming.items() if life.hello and life.pid}
        if not self._started and len(ready) < len(coming):
            return
        self._started = True
        for node, life in ready.items():
            self._begin(node, life)

    def _begin(self, node: int, life: _Life) -> None:
        connection = life.hello
        assert connection is not None
        life.phase = "up"
        connection.pid = life.pid
        self._switch.connections[node] = connection
        self._switch.record(Process(self._now_us(), node, "started", life.number, life.pid))
        start = Start(life.number, self._switch.serials.get(node, 1))
        self._switch.start(connection, start)

    def _ended(self, node: int, life: _Life) -> None:
        connection = self._switch.connections.get(node)
        if connection is not None and life.phase == "up":
            self._drain(connection)  # what it said before it ended; among it, why
            view = self._switch.cluster.nodes[node]
            life.failed |= bool(view.traceback)
            if self._switch.connections.get(node) is connection:
                life.phase = "dying"
                self._switch.forget(connection, "down")
        life.phase = "gone"
        event: Literal["failed", "killed"] = "failed" if life.failed else "killed"
        self._switch.record(Process(self._now_us(), node, event, life.number, life.pid))
        if life.wipe_wanted:
            self.wipe(node)
        if life.restart_wanted:
            self._fork(node)
        self._begin_if_ready()

    def _stopped(self, node: int, life: _Life) -> None:
        connection = self._switch.connections.get(node)
        if connection is None:
            return
        self._drain(connection)
        connection.standing = True
        life.stopped_us = self._now_us()
        self._switch.record(Process(life.stopped_us, node, "paused", life.number, life.pid))
        if life.resume_wanted:
            self._order(Signal(life.pid, signal.SIGCONT))

    def _continued(self, node: int, life: _Life) -> None:
        connection = self._switch.connections.get(node)
        if connection is None or life.stopped_us is None:
            return
        paused_us = self._now_us() - life.stopped_us
        life.stopped_us = None
        life.resume_wanted = False
        connection.standing = False
        self._switch.record(Process(self._now_us(), node, "resumed", life.number, life.pid, paused_us=paused_us))
        try:
            self._switch.release(connection)
        except NotAStepError as error:
            self.fail(connection, error)


def _same(ours: str, said: str) -> bool:
    return secrets.compare_digest(ours.encode(), said.encode())

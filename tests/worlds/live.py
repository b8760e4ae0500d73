"""A live run for tests: a real host with real node processes, observed through the growing recording.

    with LiveRun(tmp_path) as run:
        run.settled(5)
        run.order("kill 5")
        run.settled(4)

At the end of the block the run is ended, the recording must re-execute, and no process or folder may be left.
"""

import os
import socket
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import msgspec
import psutil

from lab.analysis.elections import ElectionLog, agreed_coordinator
from lab.kernel import Timing
from lab.places import runs_folder
from lab.protocols import Algorithm, Bully, source_of
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import open_recording
from lab.recording.records import Link, Process, Record, decode
from lab.replay.reexecution import reexecute
from lab.worlds.feed_protocol import Reply
from lab.worlds.launch import FeedClient, HostFailedError, HostProcess
from lab.worlds.loading.config import HostReady, RunConfig
from lab.worlds.loading.program_confinement import ConfinedProgram
from tests.forked_hosts import TestHost
from tests.waiting import WAIT_S, wait_for

__all__ = ["QUICK", "STEADY", "LiveRun", "Tail", "is_gone", "left_of_session", "reexecutes"]

R = TypeVar("R")

QUICK = Timing(16_000, 8_000)
"""T = 40 ms."""
STEADY = Timing(60_000, 30_000)
"""T = 150 ms: no stall of a busy machine is taken for a crash."""


class Tail:
    """A recording while it is written: its ``records`` so far, and the state of the ``cluster`` after them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: list[Record] = []
        self.cluster = ClusterState(())
        self.elections = ElectionLog(self.cluster)
        self._offset = 0

    def read(self) -> "Tail":
        """Take in what is there now."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._offset += len(whole) + len(newline)
        for line in whole.splitlines() if newline else []:
            record = decode(line)
            if not self.records:
                self.cluster = ClusterState.of(record)  # type: ignore[arg-type]
                self.elections = ElectionLog(self.cluster)
            self.records.append(record)
            self.cluster.apply(record)
            self.elections.observe(record)
        return self

    def of(self, kind: type[R], start: int = 0) -> list[R]:
        """Return the records of that kind, from the record ``start`` on."""
        return [record for record in self.records[start:] if isinstance(record, kind)]


class LiveRun:
    """A run in a folder of its own, with the real host; protocols of the tests run in ``launcher``.

    With ``host=HostProcess`` the host has an interpreter of its own, as for users.
    """

    def __init__(
        self,
        folder: Path,
        *,
        nodes: tuple[int, ...] = (1, 2, 3, 4, 5),
        commands: tuple[str, ...] = (),
        script: str = "",
        timing: Timing = QUICK,
        protocol: type[Algorithm] = Bully,
        parameters: dict[str, Any] | None = None,
        link: Link | None = None,
        end_us: int | None = None,
        seed: int = 1,
        module: str = "",
        world: Literal["live", "simulated"] = "live",
        speed: float | None = 1.0,
        host: type[HostProcess] = TestHost,
        confined: ConfinedProgram | None = None,
    ) -> None:
        self.path = folder / "run.jsonl"
        name = f"t{os.getpid()}-{abs(hash(folder)) % 10**8}"
        self.config = RunConfig(
            name,
            protocol.name,
            nodes,
            timing,
            parameters or {},
            link or Link(),
            seed,
            str(self.path),
            commands,
            end_us,
            world,
            speed,
            script=script,
            confined=confined,
        )
        self.protocol = protocol
        own = "lab.worlds" if protocol is Bully else "tests.worlds.launcher"
        self.host = host(self.config, module or own)
        self.session = self.host.process.pid
        self.tail = Tail(self.path)
        self.ready: HostReady
        self._driver: FeedClient | None = None

    def __enter__(self) -> Self:
        self.ready = self.host.ready()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: types.TracebackType | None) -> None:
        self.host.end()
        stderr = self.host.stderr_text()
        self.close()
        if kind is None:
            assert self.host.process.poll() == 0, stderr
            reexecutes(self.path, self.protocol)
            assert is_gone(self.session) == []
            assert not self.folder.exists()

    def close(self) -> None:
        """Close what this process holds of the run; the run ends, if it has not."""
        if self._driver is not None:
            self._driver.close()
        self.host.close()

    @property
    def folder(self) -> Path:
        return runs_folder() / self.config.run

    @property
    def cluster(self) -> ClusterState:
        """The cluster after the last record so far."""
        return self.tail.read().cluster

    @property
    def port(self) -> int:
        """The TCP port that nodes connect to."""
        connections = psutil.Process(self.ready.pid).net_connections("tcp")
        return next(c.laddr.port for c in connections if c.status == psutil.CONN_LISTEN)

    def pid(self, node: int) -> int:
        """Return the pid of the node's process, from the recording."""
        return self.cluster.nodes[node].pid

    def order(self, text: str) -> Reply:
        """Give a command through the feed."""
        if self._driver is None:
            self._driver = FeedClient(self.ready.socket, start="end")
        return self._driver.command(text)

    def until(self, condition: Callable[[ClusterState], bool], what: str, within_s: float = WAIT_S) -> None:
        """Wait until the cluster meets this condition."""
        try:
            wait_for(lambda: condition(self.cluster), what, within_s)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {self.short()}") from None

    def settled(self, coordinator: int) -> None:
        """Wait until all running nodes are Normal under that coordinator."""
        self.until(lambda cluster: agreed_coordinator(cluster.nodes) == coordinator, f"all under {coordinator}")

    def process_is(self, node: int, process: str) -> None:
        """Wait until the recording shows this state of the node's process."""
        self.until(lambda cluster: cluster.nodes[node].process == process, f"node {node} {process}")

    def processes(self, node: int) -> list[Process]:
        """Return all records of the node's process."""
        return [record for record in self.tail.read().of(Process) if record.node == node]

    def connect(self) -> socket.socket:
        """Connect to the nodes' port as a stranger."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S)

    def short(self) -> str:
        """Describe the cluster in a line, for a failure message."""
        return str({n: (v.process, v.state.get("status")) for n, v in self.tail.cluster.nodes.items()})

    def ended(self) -> None:
        """Wait until the host has ended."""
        try:
            self.host.wait(WAIT_S)
        except HostFailedError:
            return


def left_of_session(session: int) -> list[int]:
    """Return the live processes of that session; zombies do not count."""
    return [pid for pid in psutil.pids() if _session_of(pid) == session and _lives(pid)]


def is_gone(session: int, within_s: float = WAIT_S) -> list[int]:
    """Wait until no process of the session is left; return those that are after the time given."""
    try:
        wait_for(lambda: not left_of_session(session), "", within_s, 0.02)
    except AssertionError:
        return left_of_session(session)
    return []


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return 0


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def reexecutes(path: Path, protocol: type[Algorithm] = Bully) -> int:
    """Check that the recording follows from its inputs; return the number of its steps."""
    lines = open_recording(path)
    report = reexecute(lines, protocol, source_of(protocol)[1])
    shown = "\n".join(f"{each.record}: {each.text}" for each in report.differences)
    assert report.holds, f"{path.name} does not re-execute:\n{shown}"
    assert not report.torn
    assert not lines.damage, msgspec.json.encode(lines.damage)
    lines.close()
    return report.steps

"""A live run for tests: a real host with real node processes, watched through the recording as it grows.

    with LiveRun(tmp_path) as run:
        run.settled(5)
        run.order("kill 5")
        run.settled(4)

At the end of the block the run is ended, the recording must re-execute, and nothing may be left.
"""

import os
import socket
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

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
from lab.worlds.config import Ready, RunConfig
from lab.worlds.host.launch import FeedClient, HostFailedError, HostProcess
from lab.worlds.orders import Reply
from tests.waiting import wait_for

__all__ = ["QUICK", "STEADY", "LiveRun", "Tail", "is_gone", "left_of_session", "reexecutes"]

R = TypeVar("R")

QUICK = Timing(16_000, 8_000)
"""T = 40 ms."""
STEADY = Timing(60_000, 30_000)
"""T = 150 ms: no stall of a busy machine is taken for a crash."""


class Tail:
    """A recording that is being written: ``records`` so far, and the ``cluster`` that they add up to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: list[Record] = []
        self.cluster = ClusterState(())
        self.elections = ElectionLog()
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
            self.records.append(record)
            self.cluster.apply(record)
            self.elections.observe(record, self.cluster)
        return self

    def of(self, kind: type[R], start: int = 0) -> list[R]:
        """The records of that kind, from the record ``start`` on."""
        return [record for record in self.records[start:] if isinstance(record, kind)]


class LiveRun:
    """A run in a folder of its own. The host is the real one; for a protocol of the tests, their launcher."""

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
        )
        self.protocol = protocol
        own = "" if protocol is Bully else "tests.worlds.launcher"
        self.host = HostProcess(self.config, module or own)
        self.session = self.host.process.pid
        self.tail = Tail(self.path)
        self.ready: Ready
        self._driver: FeedClient | None = None

    def __enter__(self) -> "LiveRun":
        self.ready = self.host.ready()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: types.TracebackType | None) -> None:
        self.host.end()
        said = self.host.said()
        self.close()
        if kind is None:
            assert self.host.process.poll() == 0, said
            reexecutes(self.path, self.protocol)
            assert is_gone(self.session) == []
            assert not self.folder.exists()

    def close(self) -> None:
        """Close what this process holds of the run; it ends, if it has not."""
        if self._driver is not None:
            self._driver.close()
        self.host.close()

    @property
    def folder(self) -> Path:
        """The run's own folder."""
        return runs_folder() / self.config.run

    @property
    def cluster(self) -> ClusterState:
        """The cluster as the recording has it now."""
        return self.tail.read().cluster

    @property
    def port(self) -> int:
        """The TCP port that nodes connect to."""
        connections = psutil.Process(self.ready.pid).net_connections("tcp")
        return next(c.laddr.port for c in connections if c.status == psutil.CONN_LISTEN)

    def pid(self, node: int) -> int:
        """The number of the node's process, by the recording."""
        return self.cluster.nodes[node].pid

    def order(self, text: str) -> Reply:
        """Give a command through the feed."""
        if self._driver is None:
            self._driver = FeedClient(self.ready.socket, start="end")
        return self._driver.command(text)

    def until(self, condition: Callable[[ClusterState], bool], what: str, within_s: float = 10.0) -> None:
        """Wait until the recording's cluster is so."""
        wait_for(lambda: condition(self.cluster), f"{what}; it is {self.short()}", within_s)

    def settled(self, coordinator: int) -> None:
        """Wait until all running nodes are Normal under that coordinator."""
        self.until(lambda cluster: agreed_coordinator(cluster.nodes) == coordinator, f"all under {coordinator}")

    def process_is(self, node: int, process: str) -> None:
        """Wait until the recording has seen the node's process so."""
        self.until(lambda cluster: cluster.nodes[node].process == process, f"node {node} {process}")

    def processes(self, node: int) -> list[Process]:
        """All records of the node's process."""
        return [record for record in self.tail.read().of(Process) if record.node == node]

    def connect(self) -> socket.socket:
        """A connection to the nodes' port, as a stranger."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def short(self) -> str:
        """The cluster in a line, for whoever reads a failure."""
        return str({n: (v.process, v.state.get("status")) for n, v in self.tail.cluster.nodes.items()})

    def ended(self) -> None:
        """Wait until the host has ended, however it did."""
        try:
            self.host.wait(10)
        except HostFailedError:
            return


def left_of_session(session: int) -> list[int]:
    """The processes of that session that live; zombies do not."""
    return [pid for pid in psutil.pids() if _session_of(pid) == session and _lives(pid)]


def is_gone(session: int, within_s: float = 1.0) -> list[int]:
    """Wait until no process of the session is left; those that are after the time given."""
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
    """The recording must be what its inputs give; how many steps it has."""
    lines = open_recording(path)
    report = reexecute(lines, protocol, source_of(protocol)[1])
    shown = "\n".join(f"{each.record}: {each.text}" for each in report.differences)
    assert report.holds, f"{path.name} does not re-execute:\n{shown}"
    assert not report.torn
    assert not lines.damage, msgspec.json.encode(lines.damage)
    lines.close()
    return report.steps

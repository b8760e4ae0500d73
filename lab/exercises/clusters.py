"""The interface through which an attempt starts its cluster: in this process, or on the server."""

from typing import Protocol

from lab.worlds.config import HostReady, RunConfig
from lab.worlds.host.launch import HostProcess
from lab.worlds.runs import RunInfo

__all__ = ["Clusters", "LocalClusters"]


class Clusters(Protocol):
    """Starts and ends clusters, one at a time. All calls block."""

    def start(self, config: RunConfig) -> HostReady:
        """Start a run, and wait until it serves its feed. A run in progress ends first.

        Raises HostFailedError.
        """

    def end(self) -> str:
        """End the run, and wait for its end; return why it failed, if it did."""

    def running(self) -> RunInfo | None:
        """Return the run in progress, which an earlier session may have started."""


class LocalClusters:
    """Hosts that this process starts, and that end with it."""

    def __init__(self) -> None:
        self._host: HostProcess | None = None

    def start(self, config: RunConfig) -> HostReady:
        self.end()
        self._host = HostProcess(config)
        return self._host.ready()

    def end(self) -> str:
        host, self._host = self._host, None
        if host is None:
            return ""
        failed = host.end()
        host.close()
        return failed

    def running(self) -> RunInfo | None:
        """Return None: no run outlives the process that started it."""
        return None

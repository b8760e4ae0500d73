"""Who starts the cluster of an attempt: this process itself, or the server that it is a session of."""

from typing import Protocol

from lab.worlds.config import Ready, RunConfig
from lab.worlds.host.launch import HostProcess
from lab.worlds.runs import RunInfo

__all__ = ["Clusters", "OwnClusters"]


class Clusters(Protocol):
    """One cluster at a time. All calls block."""

    def start(self, config: RunConfig) -> Ready:
        """Start a run, and wait until it serves its feed; one that went on ends. HostFailedError."""

    def end(self) -> str:
        """End the run, and wait for that; why it had failed, if it had."""

    def running(self) -> RunInfo | None:
        """The run that goes on, perhaps since a session before this one."""


class OwnClusters:
    """Hosts that are started by this process, and end with it."""

    def __init__(self) -> None:
        self._host: HostProcess | None = None

    def start(self, config: RunConfig) -> Ready:
        """See ``Clusters``."""
        self.end()
        self._host = HostProcess(config)
        return self._host.ready()

    def end(self) -> str:
        """See ``Clusters``."""
        host, self._host = self._host, None
        if host is None:
            return ""
        failed = host.end()
        host.close()
        return failed

    def running(self) -> RunInfo | None:
        """None: what this process started it knows, and nothing is left of one before."""
        return None

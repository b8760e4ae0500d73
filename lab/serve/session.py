"""A session: what a student sees after the log-in. It runs in a process of its own, at a terminal of its own."""

import socket
from pathlib import Path

from lab.kernel import Timing
from lab.serve.orders import SessionInfo
from lab.serve.portal import Portal
from lab.tui.main import show_run
from lab.worlds.config import Ready, RunConfig, new_run_name
from lab.worlds.settings import usual_link

__all__ = ["run_session"]

_TIMING = Timing(400_000, 200_000)


def run_session(info: SessionInfo, control: socket.socket) -> int:
    """Show the student's cluster, the one that still runs or a new one; the exit status of the session.

    A session that is hung up leaves the cluster as it is, for the next one.
    """
    portal = Portal(control)

    def ready() -> Ready:
        found = portal.running()
        return portal.start(_config(info)) if found is None else Ready(found.socket, found.pid)

    status = show_run(ready, info.student)
    if status == 0:
        portal.end()
    return status


def _config(info: SessionInfo) -> RunConfig:
    run = new_run_name("bully")
    recording = Path(info.home) / "attempts" / f"{run}.jsonl"
    link = usual_link(_TIMING, simulated=False)
    return RunConfig(run, "bully", (1, 2, 3, 4, 5), _TIMING, {}, link, 1, str(recording))

"""What a session may have run: the configuration comes from a student's process, and is trusted in nothing.

Only protocols that come with the program are run here, a file of the student's own never; and whatever the host
reads or writes lies in the student's folder.
"""

import re
from pathlib import Path

from lab.protocols import PROTOCOLS, TASKS
from lab.serve.limits import Limits
from lab.worlds.config import RunConfig

__all__ = ["fault_of"]

_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,39}")
_LARGEST_ID = 999_999_999


def fault_of(config: RunConfig, home: Path, limits: Limits) -> str:
    """Why this is not run, for the student; nothing where it may be."""
    task, _, election = config.protocol.rpartition(" above ")
    if election not in (PROTOCOLS if task else {**PROTOCOLS, **TASKS}) or (task and task not in TASKS):
        return "only the protocols that come with the program are run here: bully, invitation, …"
    if not 1 <= len(config.nodes) <= limits.nodes:
        return f"{len(config.nodes)} nodes: a cluster here has 1 to {limits.nodes}"
    if len(set(config.nodes)) < len(config.nodes) or not all(0 <= node <= _LARGEST_ID for node in config.nodes):
        return "the nodes' ids are not whole numbers of their own"
    if not _RUN.fullmatch(config.run):
        return "the run's name is no plain word"
    for file in filter(None, (config.recording, config.parent)):
        path = Path(file)
        if path.suffix != ".jsonl" or not path.resolve().is_relative_to(home.resolve()):
            return "the recording does not lie in your folder"
    return ""

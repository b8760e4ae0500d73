"""A recording of groups that split and merge: nodes 1 and 2 are cut off from 3, 4 and 5; 5 is killed."""

from pathlib import Path

from lab.protocols.invitation import InvitationElection
from tests.harness import Rig

__all__ = ["partitioned_file", "partitioned_run"]


def partitioned_run() -> Rig:
    """Return the run, in virtual time."""
    rig = Rig([1, 2, 3, 4, 5], protocol=InvitationElection, jitter_us=2_000, seed=3)
    rig.do("at 3s partition 1 2 | 3 4 5", "at 9s heal", "at 12s kill coordinator")
    return rig.started().run(16_000_000)


def partitioned_file(path: Path) -> Path:
    """Write it to a file."""
    return partitioned_run().write(path)

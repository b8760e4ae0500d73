"""What every view draws: where in the run the whole screen is."""

from msgspec import Struct

from lab.recording.cluster_state import ClusterState

__all__ = ["Cursor"]


class Cursor(Struct, frozen=True):
    """The cursor in time. ``cluster`` is as of its record, and good until the next frame only.

    ``now_us`` moves on between records. ``selected`` is the node that is selected, ``following`` says whether the
    cursor is at the end of a run that is going on. ``hides_future``: nothing after the cursor may be seen.
    """

    cluster: ClusterState
    now_us: int
    selected: int | None = None
    following: bool = False
    hides_future: bool = False

    @property
    def record(self) -> int:
        """The number of the last record seen."""
        return self.cluster.record

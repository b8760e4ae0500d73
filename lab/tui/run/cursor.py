"""The position in time that every view draws."""

from msgspec import Struct

from lab.recording.cluster_state import ClusterState

__all__ = ["Cursor"]


class Cursor(Struct, frozen=True):
    """The cursor in time.

    ``cluster`` is the state at the cursor's record; it is valid until the next frame only. ``now_us`` advances
    between records. ``selected`` is the selected node. ``following``: the cursor is at the end of a run that is
    still going on. ``hides_future``: nothing after the cursor may be shown.
    """

    cluster: ClusterState
    now_us: int
    selected: int | None = None
    following: bool = False
    hides_future: bool = False

    @property
    def record(self) -> int:
        """The number of the last record up to the cursor."""
        return self.cluster.record

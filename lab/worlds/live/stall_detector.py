"""Detect scheduling stalls of this process: a clock shows that it was not scheduled when it should have been.

The process says when it will run again at the latest, before it waits. If it then runs later than that by more
than Tp, the system did not schedule it. Between waits it does not count as stalled, as nobody can know what a step
of a user's protocol computes, nor how long a disk takes to write.
"""

from lab.recording.records import Stall

_QUIET_US = 1_000_000
"""For so long after a recorded stall, a further one is only counted, unless it lasts twice as long.

A busy machine causes stalls without end, hundreds a second if Tp is short. One that lasts longer than this is
always recorded.
"""


class StallDetector:
    """Detects the stalls of the host (``node`` is None) or of the process of a node. Times are in microseconds.

    It waits at most ``longest_wait_us`` at a time, so that a stall shows. Nothing is a stall before the first
    ``expect_by``.
    """

    def __init__(self, tp_us: int, least_wait_us: int, node: int | None = None) -> None:
        self.longest_wait_us = max(tp_us // 4, least_wait_us)
        self._tp_us = tp_us
        self._node = node
        self._due_us: float = float("inf")
        self._last = Stall(-_QUIET_US, 0)
        self._unrecorded = 0

    def expect_by(self, due_us: int) -> None:
        """Note that the process should be scheduled again at this time, at the latest."""
        self._due_us = due_us

    def check(self, now_us: int) -> Stall | None:
        """Note that the process runs now; return the stall that ends now, if one is to be recorded."""
        due_us = self._due_us
        if now_us <= due_us:
            return None
        self._due_us = now_us
        lasted_us = int(now_us - due_us)
        if lasted_us <= self._tp_us:
            return None
        if now_us - self._last.at_us < _QUIET_US and lasted_us < 2 * self._last.lasted_us:
            self._unrecorded += 1
            return None
        self._last = Stall(now_us, lasted_us, self._node, self._unrecorded)
        self._unrecorded = 0
        return self._last

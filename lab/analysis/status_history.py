"""The Status of each node over time, and who led when: for a view that looks back from a cursor."""

from bisect import bisect_right
from collections.abc import Iterable

from msgspec import field

from lab.analysis.elections import NodeStatus, may_change_leader
from lab.kernel import Step
from lab.recording.records import Process, Record

CALM = ("Normal", "Inside", "Working", "Holding")
"""The statuses of a node with which nothing is the matter."""
_UNREMARKABLE = (*CALM, "absent", "")
"""A strip shows these only where there was no other."""
_SECOND_US = 1_000_000


class _Node(NodeStatus):
    """A node now, and the times at which its status changed, each with the status from then on."""

    times_us: list[int] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)


class StatusHistory:
    """Collect the statuses of a run. The status of a node that does not run is the state of its process."""

    def __init__(self, nodes: Iterable[int]) -> None:
        self._nodes = {node: _Node() for node in nodes}
        self._times_us: list[int] = [0]
        self._led: list[bool] = [False]

    def observe(self, record: Record | None) -> None:
        """Process the next record."""
        if not isinstance(record, Step | Process) or not may_change_leader(record):
            return
        node = self._nodes.get(record.node)
        if node is None:
            return
        node.observe(record)
        if not node.statuses or node.statuses[-1] != node.shown:
            node.times_us.append(record.at_us)
            node.statuses.append(node.shown)
        led = any(each.leads(id_) for id_, each in self._nodes.items())
        if led != self._led[-1]:
            self._times_us.append(record.at_us)
            self._led.append(led)

    def leaderless_us(self, now_us: int) -> int | None:
        """Return for how long no node has led, in microseconds; None while one does."""
        place = bisect_right(self._times_us, now_us) - 1
        return None if self._led[place] else now_us - self._times_us[place]

    def last_gap_us(self, now_us: int, within_us: int) -> int | None:
        """Return how long no node led before the present leader, if that ended so recently; None otherwise."""
        place = bisect_right(self._times_us, now_us) - 1
        if place < 2 or not self._led[place] or now_us - self._times_us[place] > within_us:
            return None
        return self._times_us[place] - self._times_us[place - 1]

    def strip(self, node: int, now_us: int, seconds: int) -> tuple[str, ...]:
        """Return the status of a node in each of the last seconds, the present one included.

        Of several in a second, it is the last with which something is the matter. Before the run, it is empty.
        """
        changes = self._nodes.get(node)
        if changes is None:
            return ()
        last = now_us // _SECOND_US
        return tuple(
            self._in_second(changes, second * _SECOND_US, min(now_us, (second + 1) * _SECOND_US - 1))
            for second in range(last - seconds + 1, last + 1)
        )

    def _in_second(self, node: _Node, since_us: int, until_us: int) -> str:
        first = max(0, bisect_right(node.times_us, since_us) - 1)
        statuses = node.statuses[first : bisect_right(node.times_us, until_us)]
        matter = [status for status in statuses if status not in _UNREMARKABLE]
        return (matter or statuses or [""])[-1]

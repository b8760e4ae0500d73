"""Measure the leadership of a run: times without a leader, times with several, and messages per election.

A node *leads* while it runs, is Normal, and is its own coordinator. The cluster is *without a coordinator* while
no node leads, and while a running node is Normal under another one that does not lead, because it has crashed or
is paused. This counts only after the first coordinator. An *election* counts if messages other than heartbeats are
sent in it.
"""

from collections.abc import Iterable

from msgspec import Struct

from lab.analysis.elections import ElectionLog, may_change_leader
from lab.kernel import Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Record
from lab.recording.snapshot import NodeState

__all__ = ["Leadership", "Span", "extend_spans"]


class Span(Struct):
    """An interval of time; ``ended_us`` is None while it lasts."""

    began_us: int
    ended_us: int | None = None

    def us(self, now_us: int) -> int:
        """Return its length, up to now if it lasts."""
        return (now_us if self.ended_us is None else self.ended_us) - self.began_us


class Leadership:
    """Collect the measures; call ``observe`` with the cluster after each record.

    ``outages`` are the intervals without a coordinator, ``multiple_leaders`` those in which more than one node
    leads. ``elections`` holds the number of messages of each completed election.
    """

    def __init__(self, heartbeats: Iterable[str] = ()) -> None:
        self.outages: list[Span] = []
        self.multiple_leaders: list[Span] = []
        self.elections: list[int] = []
        self._heartbeats = frozenset(heartbeats)
        self._was_led = False
        self._log = ElectionLog()
        self._messages = 0

    def observe(self, record: Record | None, cluster: ClusterState) -> None:
        """Note the cluster after ``record``."""
        settled, agreed_before = len(self._log.settled), self._log.coordinator
        self._log.observe(record, cluster)
        if may_change_leader(record):
            self._update(cluster)
        if isinstance(record, Step) and None in (agreed_before, self._log.coordinator):
            self._messages += sum(message.kind not in self._heartbeats for message in record.sent)
        if len(self._log.settled) > settled:
            if self._messages:
                self.elections.append(self._messages)
            self._messages = 0

    def _update(self, cluster: ClusterState) -> None:
        running = [view for view in cluster.nodes.values() if view.process == "running"]
        leaders = {view.id for view in running if view.leads}
        self._was_led |= bool(leaders)
        led = bool(leaders) and not any(_follows_no_leader(view, leaders) for view in running)
        extend_spans(self.outages, self._was_led and not led, cluster.at_us)
        extend_spans(self.multiple_leaders, len(leaders) > 1, cluster.at_us)


def _follows_no_leader(view: NodeState, leaders: set[int]) -> bool:
    return view.status == "Normal" and view.coordinator not in leaders


def extend_spans(spans: list[Span], lasts: bool, at_us: int) -> None:
    """Begin a span if the condition now ``lasts`` and none is open; end the open one if it does not."""
    lasted = bool(spans) and spans[-1].ended_us is None
    if lasts and not lasted:
        spans.append(Span(at_us))
    elif lasted and not lasts:
        spans[-1].ended_us = at_us

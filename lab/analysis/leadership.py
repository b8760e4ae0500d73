"""Who leads in the course of a run: how long nobody did, how long several did, and what elections took.

A node *leads* while it runs, is Normal, and is its own coordinator. The cluster is *without a coordinator* while
nobody leads, and while a node that runs is Normal under another one that does not lead: it has died, or stands
still. There has to have been one first. An *election* counts if anything is sent in it but heartbeats.
"""

from collections.abc import Iterable

from msgspec import Struct

from lab.analysis.elections import ElectionLog, may_change_leader
from lab.kernel import Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Record
from lab.recording.snapshot import NodeState

__all__ = ["Leadership", "Span", "lasting"]


class Span(Struct):
    """A time that something lasted; ``ended_us`` None: it lasts."""

    began_us: int
    ended_us: int | None = None

    def us(self, now_us: int) -> int:
        """How long it was, or is by now."""
        return (now_us if self.ended_us is None else self.ended_us) - self.began_us


class Leadership:
    """A fold: show it the cluster after each record.

    ``outages`` are the times without a coordinator, ``several`` those in which more than one node leads, and
    ``elections`` how many messages each election took; one that has not ended is not counted.
    """

    def __init__(self, heartbeats: Iterable[str] = ()) -> None:
        self.outages: list[Span] = []
        self.several: list[Span] = []
        self.elections: list[int] = []
        self._heartbeats = frozenset(heartbeats)
        self._was_led = False
        self._log = ElectionLog()
        self._messages = 0

    def observe(self, record: Record | None, cluster: ClusterState) -> None:
        """Look at the cluster after ``record``."""
        settled, agreed_before = len(self._log.settled), self._log.coordinator
        self._log.observe(record, cluster)
        if may_change_leader(record):
            self._look(cluster)
        if isinstance(record, Step) and None in (agreed_before, self._log.coordinator):
            self._messages += sum(message.kind not in self._heartbeats for message in record.sent)
        if len(self._log.settled) > settled:
            if self._messages:
                self.elections.append(self._messages)
            self._messages = 0

    def _look(self, cluster: ClusterState) -> None:
        running = [view for view in cluster.nodes.values() if view.process == "running"]
        leaders = {view.id for view in running if view.leads}
        self._was_led |= bool(leaders)
        led = bool(leaders) and not any(_is_astray(view, leaders) for view in running)
        lasting(self.outages, self._was_led and not led, cluster.at_us)
        lasting(self.several, len(leaders) > 1, cluster.at_us)


def _is_astray(view: NodeState, leaders: set[int]) -> bool:
    return view.status == "Normal" and view.coordinator not in leaders


def lasting(spans: list[Span], lasts: bool, at_us: int) -> None:
    """What ``spans`` are of lasts from now on, or not."""
    lasted = bool(spans) and spans[-1].ended_us is None
    if lasts and not lasted:
        spans.append(Span(at_us))
    elif lasted and not lasts:
        spans[-1].ended_us = at_us

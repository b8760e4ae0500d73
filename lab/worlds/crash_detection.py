"""Control which nodes detect a coordinator crash, for best-case and worst-case message counts of any protocol.

A paused node detects nothing. A message to it makes it resume, and is handled before the timers that expired
during the pause, so no message is late. A held message does not spread the news of the election. Heartbeats are
left alone.
"""

from collections.abc import Callable

from lab.kernel import Message
from lab.network import Hold, links_among
from lab.protocols.cost import Detection
from lab.worlds.simulated.simulation import Simulation

__all__ = ["DETECTION", "DetectedByEach"]

_HOLD = 1
"""The number of the only rule."""


class DetectedByEach:
    """Let every node detect the crash by its own timeout. Create it right after the crash."""

    def __init__(self, simulation: Simulation, kinds: frozenset[str]) -> None:
        """``kinds`` are the messages other than heartbeats."""

    @property
    def over(self) -> bool:
        """True if no node is kept from detecting the crash any more."""
        return True

    def on_sent(self, message: Message) -> None:
        """Note a message, other than a heartbeat, that a node has sent."""

    def advance(self, agreed: bool) -> bool:
        """Do what is due; return whether anything was. ``agreed``: all running nodes agree."""
        return False


class DetectedInTurn(DetectedByEach):
    """Pause all but the highest; resume the next when the others agree, or when a message is sent to it."""

    def __init__(self, simulation: Simulation, kinds: frozenset[str]) -> None:
        self._simulation = simulation
        self._paused = sorted(simulation.incarnations)[:-1]
        self._contacted: list[int] = []
        for node in self._paused:
            simulation.pause(node)

    @property
    def over(self) -> bool:
        return not self._paused

    def on_sent(self, message: Message) -> None:
        self._contacted.append(message.target)

    def advance(self, agreed: bool) -> bool:
        contacted, self._contacted = self._contacted, []
        if agreed and not contacted:
            contacted = self._paused[-1:]
        resumed = [node for node in contacted if self._simulation.resume(node)]
        self._paused = [node for node in self._paused if node not in resumed]
        return bool(resumed)


class DetectedAtOnce(DetectedByEach):
    """Hold all messages until every node has sent one."""

    def __init__(self, simulation: Simulation, kinds: frozenset[str]) -> None:
        self._simulation = simulation
        self._not_sent = set(simulation.incarnations)
        everybody = frozenset(simulation.ids)
        simulation.network.add_rule(_HOLD, Hold(links=links_among(everybody, everybody), kinds=kinds))

    @property
    def over(self) -> bool:
        return not self._simulation.network.rules

    def on_sent(self, message: Message) -> None:
        self._not_sent.discard(message.source)

    def advance(self, agreed: bool) -> bool:
        if self.over or self._not_sent:
            return False
        self._simulation.network.remove_rule(_HOLD, self._simulation.now_us)
        return True


DETECTION: dict[Detection, Callable[[Simulation, frozenset[str]], DetectedByEach]] = {
    "by each": DetectedByEach,
    "in turn": DetectedInTurn,
    "at once": DetectedAtOnce,
}

"""How it is brought about that some notice the crash of the coordinator and some do not, whatever the protocol.

A node that stands still misses nobody. What is sent to it makes it go on, and comes before the timers that have
expired, so no message is late. And a message that is held tells nobody of the election. Heartbeats are let be.
"""

from collections.abc import Callable

from lab.kernel import Message
from lab.network import Hold, links_among
from lab.protocols.cost import Noticed
from lab.worlds.simulated.simulation import Simulation

__all__ = ["NOTICING", "ByEach"]

_HOLD = 1
"""The number of the only rule there is."""


class ByEach:
    """Everybody is left to notice by itself. Made when the coordinator has just crashed."""

    def __init__(self, simulation: Simulation, kinds: frozenset[str]) -> None:
        """``kinds`` are the messages that are no heartbeats."""

    @property
    def over(self) -> bool:
        """Whether nothing keeps anybody from noticing any more."""
        return True

    def sent(self, message: Message) -> None:
        """A node has sent this, which is no heartbeat."""

    def go_on(self, agreed: bool) -> bool:
        """Do what has become due; whether something had. ``agreed``: all that do not stand still agree."""
        return False


class InTurn(ByEach):
    """All but the highest stand still; the next goes on when the others agree, or when something is sent to it."""

    def __init__(self, simulation: Simulation, kinds: frozenset[str]) -> None:
        self._simulation = simulation
        self._standing = sorted(simulation.lives)[:-1]
        self._called: list[int] = []
        for node in self._standing:
            simulation.pause(node)

    @property
    def over(self) -> bool:
        return not self._standing

    def sent(self, message: Message) -> None:
        self._called.append(message.target)

    def go_on(self, agreed: bool) -> bool:
        called, self._called = self._called, []
        if agreed and not called:
            called = self._standing[-1:]
        going = [node for node in called if self._simulation.resume(node)]
        self._standing = [node for node in self._standing if node not in going]
        return bool(going)


class AtOnce(ByEach):
    """What is sent is held until everybody has sent something."""

    def __init__(self, simulation: Simulation, kinds: frozenset[str]) -> None:
        self._simulation = simulation
        self._silent = set(simulation.lives)
        everybody = frozenset(simulation.ids)
        simulation.network.set_rule(_HOLD, Hold(links=links_among(everybody, everybody), kinds=kinds))

    @property
    def over(self) -> bool:
        return not self._simulation.network.rules

    def sent(self, message: Message) -> None:
        self._silent.discard(message.source)

    def go_on(self, agreed: bool) -> bool:
        if self.over or self._silent:
            return False
        self._simulation.network.lift_rule(_HOLD, self._simulation.now_us)
        return True


NOTICING: dict[Noticed, Callable[[Simulation, frozenset[str]], ByEach]] = {
    "by each": ByEach,
    "in turn": InTurn,
    "at once": AtOnce,
}

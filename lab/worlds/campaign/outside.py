"""Faults on what is outside the cluster: its clients, its services, and the links to them.

A service is paused, killed and restarted, or cut off from all nodes or some; the messages to it are late or lost,
those of one direction, too. It keeps what it knows, as a database does, so nodes that use it rightly survive all
that. A client is paused, or cut off from the node that it calls; it does not know then whether its operation
happened. It is not killed: that is the same to the cluster. Nor is anything duplicated or reordered outside, as
clients and services keep a connection, on which that does not happen.

In a partition, clients and services are on either side.
"""

from collections.abc import Callable
from random import Random

from msgspec import Struct

from lab.kernel import Timing
from lab.units import format_us


class Outside(Struct, frozen=True):
    """The ids of the nodes of a cluster, of its clients, and of its services."""

    nodes: tuple[int, ...]
    clients: tuple[int, ...] = ()
    services: tuple[int, ...] = ()

    def draw(self, kind: str, timing: Timing, rng: Random) -> tuple[str, str] | None:
        """Draw a command with this kind of fault, and the one that ends it; None if there is no such fault."""
        drawing = _DRAWING.get(kind)
        return None if drawing is None or not self.victims(kind) else drawing(self, timing, rng)

    def victims(self, kind: str) -> tuple[int, ...]:
        """Return the clients and services that this kind of fault may strike."""
        if kind == "kill":
            return self.services
        return (*self.clients, *self.services) if kind in _DRAWING else ()

    def _draw_victim(self, rng: Random) -> int:
        """Draw a service or a client: as often the one as the other, if there are both."""
        return rng.choice(rng.choice([each for each in (self.clients, self.services) if each]))

    def _draw_links(self, rng: Random) -> str:
        """Draw the links of a service, or of a client with the node that it calls; or one of them."""
        victim = self._draw_victim(rng)
        node = rng.choice(self.nodes)
        if victim in self.clients:
            node = self.nodes[self.clients.index(victim) % len(self.nodes)]
        return rng.choice([f"{victim}", f"{node}<->{victim}", f"{node}->{victim}", f"{victim}->{node}"])

    # one kind of fault each

    def _kill(self, timing: Timing, rng: Random) -> tuple[str, str]:
        victim = rng.choice(self.services)
        return f"kill {victim}", f"restart {victim}"

    def _pause(self, timing: Timing, rng: Random) -> tuple[str, str]:
        victim = self._draw_victim(rng)
        return f"pause {victim}", f"resume {victim}"

    def _partition(self, timing: Timing, rng: Random) -> tuple[str, str]:
        if len(self.nodes) < 2 or rng.random() < 0.5:
            links = self._draw_links(rng)
            return f"cut {links}", f"join {links}"
        near, *others = rng.sample(self.nodes, len(self.nodes))
        far = others.pop()
        sides: tuple[list[int], list[int]] = [near], [far]
        for each in (*others, *self.clients, *self.services):
            rng.choice(sides).append(each)
        return f"partition {' | '.join(' '.join(map(str, sorted(side))) for side in sides)}", "heal"

    def _delay(self, timing: Timing, rng: Random) -> tuple[str, str]:
        links, delay_us = self._draw_links(rng), rng.randint(timing.tm_us // 2, 6 * timing.t_us)
        return f"delay {links} {format_us(max(1, delay_us // 1_000) * 1_000)}", f"heal {links}"

    def _lose(self, timing: Timing, rng: Random) -> tuple[str, str]:
        links = self._draw_links(rng)
        return f"lose {links} {rng.choice([10, 30, 60, 100])}%", f"heal {links}"


_DRAWING: dict[str, Callable[[Outside, Timing, Random], tuple[str, str]]] = {
    "kill": Outside._kill,
    "pause": Outside._pause,
    "partition": Outside._partition,
    "delay": Outside._delay,
    "loss": Outside._lose,
}
"""The kinds of fault that strike outside the cluster."""

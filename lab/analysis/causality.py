"""Happens-before, as vector clocks over record numbers: which local states of two nodes are concurrent.

The clock of a node holds, for every node, the last record that this node can know of: through the messages it
received, and what their senders knew when they sent them. So the records in a clock are a consistent cut: no
message crosses it backwards. A local state that begins with record ``b`` and ends with record ``e`` is over before
a state of another node begins exactly if the clock of that node has reached ``e`` by then. Two states are
*concurrent* if neither is over before the other begins: some consistent cut holds both (Lamport 1978; Mattern
1989).

A crash sends no message. It shows only as silence, which a timer detects. So a crash happens before every timer
that fires after it, on any node. Without this, every takeover from a crashed coordinator would be concurrent with
the last state of that coordinator, and no assertion about pairs could hold.
"""

__all__ = ["Causality", "Clock"]

Clock = tuple[int, ...]
"""The last known record of each node, in the order of the nodes; 0, the number of the header, if there is none."""


class Causality:
    """The vector clocks of ``nodes``. A message carries the ``stamp`` of its sender, a forged one ``zero``."""

    def __init__(self, nodes: tuple[int, ...]) -> None:
        self.nodes = nodes
        self.place = {node: place for place, node in enumerate(nodes)}
        self.zero: Clock = (0,) * len(nodes)
        self._clocks = {node: list(self.zero) for node in nodes}
        self._crashes = self.zero
        self._known_crashes = dict.fromkeys(nodes, self.zero)

    def received(self, node: int, carried: Clock) -> None:
        """Merge the clock of a message that the node received."""
        self._clocks[node] = list(map(max, self._clocks[node], carried))

    def fired(self, node: int) -> None:
        """Note that a timer of the node fired: from now on it may know of all crashes so far."""
        if self._known_crashes[node] is not self._crashes:
            self._known_crashes[node] = self._crashes
            self.received(node, self._crashes)

    def stamp(self, node: int, record: int) -> Clock:
        """Advance the clock of the node to this record of its own, and return it for messages."""
        clock = self._clocks[node]
        clock[self.place[node]] = record
        return tuple(clock)

    def crashed(self, node: int, record: int) -> None:
        """Note that the node crashed with this record."""
        self._crashes = tuple(map(max, self._crashes, self.stamp(node, record)))

"""Happens-before, as vector clocks over record numbers: which local states of two nodes can be there at once.

The clock of a node says, for every node, the last of its records that this one can know of: by the messages
it got, and by what their senders knew when they sent them. So the records that a clock names are a consistent
cut: no message crosses it backwards. A local state that begins with record ``b`` and is over with record ``e``
is over before a state of another node begins exactly when the other's clock has come to ``e`` by then; two
states neither of which is over before the other begins are *concurrent*: some cut that no message crosses
backwards holds both (Lamport 1978; Mattern 1989).

A crash sends no message. What tells of it is silence, which only a timer notices. So a crash happens before
every timer that fires after it, on any node. Without this, every takeover from a crashed coordinator would be
concurrent with the coordinator's last state, and no assertion about pairs could hold.
"""

__all__ = ["Causality", "Clock"]

Clock = tuple[int, ...]
"""The last known record of each node, in the order of the nodes; 0, the header's number: none."""


class Causality:
    """The clocks of ``nodes``. A message carries the ``stamp`` of its sender, a forged one ``nothing``."""

    def __init__(self, nodes: tuple[int, ...]) -> None:
        self.nodes = nodes
        self.place = {node: place for place, node in enumerate(nodes)}
        self.nothing: Clock = (0,) * len(nodes)
        self._clocks = {node: list(self.nothing) for node in nodes}
        self._deaths = self.nothing
        self._told = dict.fromkeys(nodes, self.nothing)

    def received(self, node: int, carried: Clock) -> None:
        """The node got a message that carried this clock."""
        self._clocks[node] = list(map(max, self._clocks[node], carried))

    def fired(self, node: int) -> None:
        """A timer of the node fired: it may know by now who has died."""
        if self._told[node] is not self._deaths:
            self._told[node] = self._deaths
            self.received(node, self._deaths)

    def stamp(self, node: int, record: int) -> Clock:
        """The clock of the node as of this record of its own, for what others may learn of it."""
        clock = self._clocks[node]
        clock[self.place[node]] = record
        return tuple(clock)

    def died(self, node: int, record: int) -> None:
        """The node crashed with this record."""
        self._deaths = tuple(map(max, self._deaths, self.stamp(node, record)))

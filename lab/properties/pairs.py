"""Find pairs of concurrent local states that violate an agreement, when the later of the two begins.

For each node, key and value, the last epoch of the node with that value is kept, the newest last. When a node
begins an epoch, its value is compared with those of every other node in epochs that it does not know to be over:
these are concurrent with the new epoch. The scan stops at the first conflict, or at the first epoch that is over,
because all earlier epochs are over too.
"""

from collections.abc import Hashable, Iterator

from msgspec import Struct

from lab.analysis.causality import Clock
from lab.properties.assertions import Agreement
from lab.properties.verdicts import Broken
from lab.recording.snapshot import NodeState

__all__ = ["Epoch", "KeyedValue", "PairChecker", "describe_state"]

KeyedValue = tuple[Hashable, Hashable] | None
"""(key, value), or None."""


class Epoch(Struct):
    """A local state of a node from ``record`` on, for as long as the part that matters stays the same.

    ``values`` holds the keyed value for each agreement. ``over`` is the record that ended the epoch, ``broken``
    the assumptions that did not hold then.
    """

    node: int
    record: int
    at_us: int
    clock: Clock
    text: str
    values: tuple[KeyedValue, ...]
    over: int | None = None
    broken: dict[int, Broken] = {}

    def is_over_for(self, clock: Clock, place: int) -> bool:
        """Return whether the epoch is over before a state with this clock; ``place`` is the node's place in it."""
        return self.over is not None and clock[place] >= self.over


class PairChecker:
    """The epochs of ``nodes``, checked for one agreement, which is at index ``place`` of their ``values``."""

    def __init__(self, agreement: Agreement, place: int, nodes: tuple[int, ...]) -> None:
        self.agreement = agreement
        self._place = place
        self._epochs: list[dict[Hashable, dict[Hashable, Epoch]]] = [{} for _ in nodes]
        self._places = {node: place for place, node in enumerate(nodes)}

    def conflicts(self, epoch: Epoch) -> Iterator[Epoch]:
        """Yield the epochs that conflict with this one, which begins now: at most one of each other node."""
        keyed_value = epoch.values[self._place]
        if keyed_value is None:
            return
        key, value = keyed_value
        own = self._places[epoch.node]
        for place, by_key in enumerate(self._epochs):
            if place == own or key not in by_key:
                continue
            for theirs, last in reversed(by_key[key].items()):
                if last.is_over_for(epoch.clock, place):
                    break
                if theirs != value:
                    yield last
                    break
        mine = self._epochs[own].setdefault(key, {})
        mine.pop(value, None)
        mine[value] = epoch


def describe_state(view: NodeState) -> str:
    """Return the local state in words."""
    if view.status not in ("Normal", "Reorganization") or view.coordinator is None:
        return view.status
    version = view.definition_version if view.status == "Normal" else 0
    group = f" in group {view.group[0]}.{view.group[1]}" if view.group else ""
    return f"{view.status} under {view.coordinator}{group}" + (f", definition {version}" if version else "")

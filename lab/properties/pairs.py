"""Which local states of two nodes break an assertion about pairs, found when the later of the two begins.

Of each node the last epoch is kept in which it said a certain thing about a certain matter, the newest last.
When a node begins an epoch, what it says is compared with what each other node said in epochs that are not
known to be over: those are concurrent with this one. The first that says otherwise will do, and the look ends
at the first that is over, for whatever came before it is over too.
"""

from collections.abc import Hashable, Iterator

from msgspec import Struct

from lab.analysis.causality import Clock
from lab.properties.assertions import Agreement
from lab.properties.verdicts import Broken
from lab.recording.snapshot import NodeState

__all__ = ["Epoch", "Pairs", "Said", "described"]

Said = tuple[Hashable, Hashable] | None
"""(about what, what); None: nothing."""


class Epoch(Struct):
    """A node's local state from ``record`` on, for as long as what matters of it stays the same.

    ``says`` is what it says by each agreement. ``over``: the record with which it was, and ``broken`` what did
    not hold then.
    """

    node: int
    record: int
    at_us: int
    clock: Clock
    text: str
    says: tuple[Said, ...]
    over: int | None = None
    broken: dict[int, Broken] = {}

    def is_over_for(self, clock: Clock, place: int) -> bool:
        """Whether whoever has this clock knows that it is over; ``place`` is the node's in the clock."""
        return self.over is not None and clock[place] >= self.over


class Pairs:
    """What ``nodes`` have said, by the agreement in that ``place`` of their epochs' ``says``."""

    def __init__(self, agreement: Agreement, place: int, nodes: tuple[int, ...]) -> None:
        self.agreement = agreement
        self._place = place
        self._said: list[dict[Hashable, dict[Hashable, Epoch]]] = [{} for _ in nodes]
        self._places = {node: place for place, node in enumerate(nodes)}

    def offenders(self, epoch: Epoch) -> Iterator[Epoch]:
        """The epochs that offend together with this one, which begins now: at most one of each other node."""
        said = epoch.says[self._place]
        if said is None:
            return
        about, what = said
        own = self._places[epoch.node]
        for place, matters in enumerate(self._said):
            if place == own or about not in matters:
                continue
            for theirs, last in reversed(matters[about].items()):
                if last.is_over_for(epoch.clock, place):
                    break
                if theirs != what:
                    yield last
                    break
        mine = self._said[own].setdefault(about, {})
        mine.pop(what, None)
        mine[what] = epoch


def described(view: NodeState) -> str:
    """The local state in words."""
    if view.status not in ("Normal", "Reorganization") or view.coordinator is None:
        return view.status
    version = view.definition_version if view.status == "Normal" else 0
    group = f" in group {view.group[0]}.{view.group[1]}" if view.group else ""
    return f"{view.status} under {view.coordinator}{group}" + (f", definition {version}" if version else "")

"""Under which conditions a run went: which of the nine assumptions are broken, and since when nothing happened.

An assumption is broken by a fault of links that is in force, by a node that was seen to be paused or wiped, and
by what was observed otherwise: a message that took longer than Tm, a timer that fired more than Tp late. It
stays broken until the cluster has come to rest: nothing of that in force, no message on its way that a fault
touched, and all nodes agreed on one coordinator after as long as they may take to agree. For a fault shows its
effect late: a coordinator that was paused errs when it goes on.

A pause and a wipe count from where they were *seen*, by whoever caused them: a command that struck nothing
breaks nothing.
"""

from bisect import bisect_right

from lab.properties.verdicts import Broken
from lab.recording.records import Fault, Process, Routed
from lab.units import format_us

__all__ = ["Conditions"]

_SEEN = ("kill", "pause", "wipe", "inject")
"""Kinds of faults whose effect is a record of its own."""
_CUTS = ("cut", "partition")
"""Kinds of faults that part the nodes for good while they are in force, so that they can come to rest apart."""


class Conditions:
    """``broken`` are the broken assumptions by their numbers. Times in microseconds.

    ``record`` is the number of the record that is being looked at, which whoever reads them sets.
    ``disturbed_us``: when something last happened after which the nodes may have to elect. ``wiped`` is the first
    wipe of a safe storage, if there was one: what the storage kept apart may be mixed up ever after. So may what
    only messages keep apart, once there was a ``forged`` one. ``late`` is what was last observed to break
    assumption 8 or 9 while no fault did.
    """

    def __init__(self, tm_us: int, tp_us: int, settles_within_us: int) -> None:
        self.broken: dict[int, Broken] = {}
        self._history: list[tuple[int, dict[int, Broken]]] = [(-1, {})]
        self.record = 0
        self.disturbed_us = 0
        self._tm_us = tm_us
        self._tp_us = tp_us
        self._settles_within_us = settles_within_us
        self.wiped: Broken | None = None
        self.forged: Broken | None = None
        self.late: Broken | None = None
        self._in_force: dict[int, Fault] = {}
        self._paused: set[int] = set()
        self._touched: set[tuple[int, int]] = set()
        self._slow: set[int] = set()
        self._slowed: set[tuple[int, int]] = set()
        self._resumed_us: dict[int, int] = {}

    @property
    def calm(self) -> bool:
        """Whether no fault is in force that breaks an assumption, or will still show its effect."""
        return not (self._in_force or self._paused or self._touched)

    @property
    def apart(self) -> bool:
        """Whether the same holds but for cuts, beside which the nodes can come to rest, apart."""
        lasting = all(fault.kind in _CUTS for fault in self._in_force.values())
        return lasting and not (self._paused or self._touched)

    @property
    def cut(self) -> frozenset[tuple[int, int]]:
        """The (source, target) pairs between which nothing passes."""
        cuts = [fault.links for fault in self._in_force.values() if fault.kind in _CUTS]
        return frozenset(link for links in cuts for link in links)

    def broken_at(self, record: int) -> dict[int, Broken]:
        """The assumptions that were broken as of that record, each by what broke it first since it held."""
        return self._history[bisect_right(self._history, record, key=lambda each: each[0]) - 1][1]

    def fault(self, fault: Fault, at_us: int) -> None:
        """A fault came into force, changed, or ended."""
        self.disturbed_us = at_us
        if fault.kind == "slow":
            self._slow.add(fault.id)
        if fault.lifted:
            self._in_force.pop(fault.id, None)
        elif fault.id in self._in_force:
            self._in_force[fault.id] = fault  # of fewer links now
        elif fault.breaks and fault.kind not in _SEEN:
            self._in_force[fault.id] = fault
            for assumption in fault.breaks:
                self._break(assumption, fault.text, fault.kind)

    def process(self, record: Process, at_us: int) -> None:
        """Something happened to a node's process."""
        self.disturbed_us = at_us
        node = record.node
        if record.event == "paused":
            self._paused.add(node)
            self._break(9, f"pause of {node}", "pause")
        elif record.event == "wiped":
            self._break(4, f"wipe of {node}", "wipe")
            self.wiped = self.wiped or self.broken[4]
        else:
            self._paused.discard(node)
            if record.event == "resumed":
                self._resumed_us[node] = at_us

    def routed(self, routed: Routed) -> None:
        """A fault touched a message: until that is gone, its effect is still to come. Of one dropped, none is."""
        if routed.fate != "dropped" and not self._in_force.keys().isdisjoint(routed.by):
            self._touched.add((routed.source, routed.serial))
        if not self._slow.isdisjoint(routed.by):
            self._slowed.add((routed.source, routed.serial))

    def arrived(self, source: int, serial: int, target: int, sent_us: int, at_us: int) -> None:
        """A message was delivered."""
        if serial < 0:
            self._break(3, f"a forged message of {source} to {target}", "inject")
            self.forged = self.forged or self.broken[3]
            self.disturbed_us = at_us
        broken = self.overdue(source, serial, target, sent_us, at_us)
        if broken is not None:
            said = format_us(round(at_us - sent_us, -3))
            slow = f"node {target} took {said} over a message of {source}"
            self._break(broken, slow if broken == 9 else f"a message of {source} took {said} to {target}")
            self.disturbed_us = at_us

    def overdue(self, source: int, serial: int, target: int, sent_us: int, at_us: int) -> int | None:
        """The assumption that does not hold where a message takes until then, if any.

        A slow node may take Tp over it. What waited for a node that stood still is not the network's fault.
        """
        late_us = at_us - sent_us - self._tm_us
        if late_us <= 0 or self._stood_still(source, target, sent_us):
            return None
        if (source, serial) not in self._slowed:
            return 8
        return 9 if late_us > self._tp_us else None

    def _stood_still(self, source: int, target: int, since_us: int) -> bool:
        """Whether one of the two did, at any time since then."""
        resumed_us = max(self._resumed_us.get(source, -1), self._resumed_us.get(target, -1))
        return resumed_us >= since_us or not self._paused.isdisjoint((source, target))

    def gone(self, source: int, serial: int, at_us: int) -> None:
        """Nothing of a message is on its way any more."""
        self._slowed.discard((source, serial))
        if (source, serial) in self._touched:
            self._touched.discard((source, serial))
            self.disturbed_us = at_us

    def fired(self, node: int, due_us: int, at_us: int) -> None:
        """A timer fired."""
        late_us = at_us - due_us
        if late_us > self._tp_us and self._resumed_us.get(node, -1) < due_us:
            self._break(9, f"node {node} was {format_us(round(late_us, -3))} late")
            self.disturbed_us = at_us

    def agreed(self, at_us: int) -> None:
        """All nodes agree at this instant: after long enough, what was broken is whole again."""
        if self.calm and at_us - self.disturbed_us > self._settles_within_us:
            self.broken = {}
            self._history.append((self.record, {}))

    def _break(self, assumption: int, why: str, *kinds: str) -> None:
        before = self.broken.get(assumption)
        if before is not None:
            kinds = tuple(dict.fromkeys((*before.kinds, *kinds)))
        broken = Broken(assumption, why, self.record, kinds)
        self.broken = {**self.broken, assumption: broken}
        if before is None:
            self._history.append((self.record, self.broken))
        if not kinds:
            self.late = broken

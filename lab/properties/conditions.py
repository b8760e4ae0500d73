"""Track the conditions of a run: which of the nine assumptions are broken, and the time of the last disturbance.

An assumption is broken by a fault of links in force, by an observed pause of a node or loss in its stable storage,
and by other observations: a message that took longer than Tm, a timer that fired more than Tp late. It stays
broken until the cluster has come to rest: no such fault in force, no message in flight that a fault touched, and
all nodes agreed on one coordinator after the bound within which they must agree. Faults show their effects late: a
coordinator that was paused errs when it resumes.

A pause or a wipe counts from its *observation*, whatever caused it: a command without an effect breaks nothing.

A scheduling stall is a fault of the machine: a node that was not scheduled for longer than Tp breaks assumption 9,
and a host that was not, which is the network, assumption 8 if no message could arrive in time. What was late
because of it breaks nothing more.
"""

from bisect import bisect_right
from collections.abc import Callable

from lab.kernel import Timing
from lab.properties.verdicts import Broken
from lab.recording.records import FAULT_KIND_SEEN, SLOW_DISK, Fault, Link, Process, Routed, Stall
from lab.units import format_us

_OBSERVED = ("kill", "pause", "wipe", "unwrite", "tear", "flip", "inject")
"""Kinds of faults whose effects are records of their own."""
CUTS = ("cut", "partition")
"""Kinds of faults that partition the nodes while in force, so that each part can come to rest."""
_STORAGE_FAULTS = {
    "wiped": "wipe",
    "unwritten": "lost writes",
    "torn": "a torn write",
    "flipped": "a flipped bit",
}
"""The observed faults of stable storage, in the words of a broken assumption."""


class Conditions:
    """The broken assumptions, by their numbers, in ``broken``; those in ``lasting`` are so throughout the run.

    Times are in microseconds.

    ``record`` is the number of the current record, set by the caller. ``disturbed_us`` is the time of the last
    event after which the nodes may have to elect; ``is_struck`` if there was one after their start. ``wiped`` is
    the first loss of something in stable storage, ``forged`` the first forged message: identifiers that storage or
    messages kept unique may be reused at any time after them.
    ``ever_broken`` are the numbers of the assumptions that did not hold at some time, ``failures`` is how often a
    node has failed.
    ``late`` is the last observation that broke assumption 8 or 9 without a fault. ``stall`` is the stall that was
    the last disturbance, if only delays came after it. ``unmet`` are the user's own
    assumptions that do not hold now, ``met_us`` the times since which those hold that once did not.
    """

    def __init__(
        self, timing: Timing, link: Link, settles_within_us: int, lasting: dict[int | str, Broken] | None = None
    ) -> None:
        self.lasting = lasting or {}
        self.broken: dict[int | str, Broken] = dict(self.lasting)
        self._history: list[tuple[int, dict[int | str, Broken]]] = [(-1, self.broken)]
        self.record = 0
        self.disturbed_us = 0
        self.is_struck = False
        self._tm_us = timing.tm_us
        self._tp_us = timing.tp_us
        self._spare_us = timing.tm_us - link.latency_us - link.jitter_us
        self._settles_within_us = settles_within_us
        self.wiped: Broken | None = None
        self.forged: Broken | None = None
        self.late: Broken | None = None
        self.stall: Stall | None = None
        self.ever_broken = frozenset(each for each in self.lasting if isinstance(each, int))
        self.failures = 0
        self.unmet: set[str] = set()
        self.met_us: dict[str, int] = {}
        self._in_force: dict[int, Fault] = {}
        self._paused: set[int] = set()
        self._touched: set[tuple[int, int]] = set()
        self._slow: set[int] = set()
        self._slow_disks: dict[int, tuple[int, ...]] = {}
        self._fast_again_us: dict[int, int] = {}
        self._disk_slowed: set[tuple[int, int]] = set()
        self._slowed: set[tuple[int, int]] = set()
        self._resumed_us: dict[int, int] = {}
        self._stalls = StallLog()

    @property
    def calm(self) -> bool:
        """True if no fault is in force that breaks an assumption, and none can still show an effect."""
        return not (self._in_force or self._paused or self._touched)

    @property
    def apart(self) -> bool:
        """True if ``calm`` holds except for cuts, under which each part can come to rest."""
        lasting = all(fault.kind in CUTS for fault in self._in_force.values())
        return lasting and not (self._paused or self._touched)

    @property
    def cut(self) -> frozenset[tuple[int, int]]:
        """The (source, target) pairs of the links that are cut."""
        cuts = [fault.links for fault in self._in_force.values() if fault.kind in CUTS]
        return frozenset(link for links in cuts for link in links)

    def broken_at(self, record: int) -> dict[int | str, Broken]:
        """Return the assumptions broken as of that record, each with what broke it first since it last held."""
        return self._history[bisect_right(self._history, record, key=lambda each: each[0]) - 1][1]

    def fault(self, fault: Fault, at_us: int) -> None:
        """Note that a fault came into force, changed, or ended."""
        self._disturb(at_us)
        self.is_struck = True
        if fault.kind == "slow":
            self._slow.add(fault.id)
        if fault.kind == SLOW_DISK and not fault.lifted:
            self._slow_disks[fault.id] = fault.nodes
        if fault.lifted:
            self._fast_again_us |= dict.fromkeys(self._slow_disks.pop(fault.id, ()), at_us)
            self._in_force.pop(fault.id, None)
        elif fault.id in self._in_force:
            self._in_force[fault.id] = fault  # now of fewer links
        elif fault.breaks and fault.kind not in _OBSERVED:
            self._in_force[fault.id] = fault
            for assumption in fault.breaks:
                self._break(assumption, fault.text, fault.kind)

    def process(self, record: Process, at_us: int) -> None:
        """Note an event of a process."""
        self._disturb(at_us)
        self.is_struck = self.is_struck or record.event != "started"
        node = record.node
        if record.event == "paused":
            self._paused.add(node)
            self._break(9, f"pause of {node}", "pause")
        elif record.event in _STORAGE_FAULTS:
            self._break(4, f"{_STORAGE_FAULTS[record.event]} of {node}", FAULT_KIND_SEEN[record.event])
            if record.event != "flipped":  # nothing is lost: the node does not start
                self.wiped = self.wiped or self.broken[4]
        else:
            self._paused.discard(node)
            self.failures += record.event in ("killed", "failed")
            if record.event == "resumed":
                self._resumed_us[node] = at_us

    def stalled(self, stall: Stall, at_us: int) -> None:
        """Note that the host or a node was not scheduled."""
        self._stalls.add(stall)
        if stall.node is not None:
            self._break(9, stall.text)
        elif stall.lasted_us > self._spare_us:
            self._break(8, stall.text)
        else:
            return  # no message was late because of it
        self.is_struck = True
        is_of_machine = stall.lasted_us - self._stalls.since(stall.began_us, None) <= self._tp_us
        self._disturb(at_us, self.stall if self.stall is not None and is_of_machine else stall)

    def routed(self, routed: Routed) -> None:
        """Note that a fault touched a message: its effect is pending until the message is gone."""
        if routed.fate != "dropped" and not self._in_force.keys().isdisjoint(routed.by):
            self._touched.add((routed.source, routed.serial))
        if not self._slow.isdisjoint(routed.by):
            self._slowed.add((routed.source, routed.serial))

    def _disturb(self, at_us: int, stall: Stall | None = None) -> None:
        self.disturbed_us, self.stall = at_us, stall

    def has_slow_disk(self, node: int, since_us: int) -> bool:
        """Return whether the node's disk was slow at any time since ``since_us``."""
        if self._fast_again_us.get(node, -1) >= since_us:
            return True
        return any(node in nodes for nodes in self._slow_disks.values())

    def wait_for_disk(self, source: int, serial: int) -> None:
        """Note that a message left only when a slow disk had written."""
        self._disk_slowed.add((source, serial))

    def arrived(self, source: int, serial: int, target: int, sent_us: int, at_us: int) -> None:
        """Note that a message was delivered."""
        if serial < 0:
            self._break(3, f"a forged message of {source} to {target}", "inject")
            self.forged = self.forged or self.broken[3]
            self._disturb(at_us)
        broken = self.overdue(source, serial, target, sent_us, at_us)
        if broken is not None:
            duration = format_us(round(at_us - sent_us, -3))
            slow = f"node {target} took {duration} over a message of {source}"
            if (source, serial) in self._disk_slowed:
                slow = f"a message of {source} to {target} took {duration}, over a slow disk"
            self._break(broken, slow if broken == 9 else f"a message of {source} took {duration} to {target}")
            self.disturbed_us = at_us

    def overdue(self, source: int, serial: int, target: int, sent_us: int, at_us: int) -> int | None:
        """Return the assumption (8 or 9) that a message breaks if it arrives at ``at_us``, or None.

        A slow node, or one with a slow disk, may take Tp over a message. A message that waited for a paused node
        is not the network's fault. What a stall delayed is not late: the stall itself has broken the assumption.
        """
        late_us = at_us - sent_us - self._tm_us
        if late_us > 0:
            late_us -= self._stalls.since(sent_us, None, target)
        if late_us <= 0 or self._was_paused(source, target, sent_us):
            return None
        key = (source, serial)
        slow = key in self._slowed or key in self._disk_slowed or self.has_slow_disk(target, sent_us)
        if not slow:
            return 8
        return 9 if late_us > self._tp_us else None

    def _was_paused(self, source: int, target: int, since_us: int) -> bool:
        """Return whether one of the two was paused at any time since ``since_us``."""
        resumed_us = max(self._resumed_us.get(source, -1), self._resumed_us.get(target, -1))
        return resumed_us >= since_us or not self._paused.isdisjoint((source, target))

    def gone(self, message: tuple[int, int], at_us: int) -> None:
        """Note that no copy of a message is in flight any more."""
        self._slowed.discard(message)
        self._disk_slowed.discard(message)
        if message in self._touched:
            self._touched.discard(message)
            self._disturb(at_us)

    def fired(self, node: int, due_us: int, at_us: int) -> None:
        """Note that a timer fired."""
        late_us = at_us - due_us
        if late_us > self._tp_us:
            late_us -= self._stalls.since(due_us, node)
        if late_us > self._tp_us and self._resumed_us.get(node, -1) < due_us:
            self._break(9, f"node {node} was {format_us(round(late_us, -3))} late")
            self.disturbed_us = at_us

    def assume(self, name: str, violation: str | None, at_us: int) -> None:
        """Note whether an assumption of the user's own holds now: ``violation`` says why it does not."""
        if violation is None:
            if name in self.unmet:
                self.unmet.remove(name)
                self.met_us[name] = at_us
                self._keep(lambda each: each != name)
        elif name not in self.unmet:
            self.unmet.add(name)
            self._break(name, violation)

    def agreed(self, at_us: int) -> None:
        """Note that all nodes agree: long enough after the last disturbance, all assumptions hold again."""
        if self.calm and at_us - self.disturbed_us > self._settles_within_us:
            self._keep(lambda each: each in self.unmet)

    def _keep(self, wanted: Callable[[int | str], bool]) -> None:
        """Keep only these among the broken assumptions."""
        kept = {each: broken for each, broken in self.broken.items() if each in self.lasting or wanted(each)}
        if kept != self.broken:
            self.broken = kept
            self._history.append((self.record, kept))

    def _break(self, assumption: int | str, why: str, *kinds: str) -> None:
        before = self.broken.get(assumption)
        if before is not None:
            kinds = tuple(dict.fromkeys((*before.kinds, *kinds)))
        broken = Broken(assumption, why, self.record, kinds)
        self.broken = {**self.broken, assumption: broken}
        if isinstance(assumption, int) and assumption not in self.ever_broken:
            self.ever_broken |= {assumption}
        if before is None:
            self._history.append((self.record, self.broken))
        if not kinds and isinstance(assumption, int):
            self.late = broken


class StallLog:
    """The recorded stalls of the host and of the nodes, each process by itself. Times are in microseconds."""

    def __init__(self) -> None:
        self._stalls: dict[int | None, _Stalls] = {}

    def add(self, stall: Stall) -> None:
        """Add the next recorded stall."""
        self._stalls.setdefault(stall.node, _Stalls()).add(stall)

    def since(self, us: int, *processes: int | None) -> int:
        """Return for how long at least one of these has not been scheduled since ``us``; None is the host.

        It is the most of any one of them: where a delay is excused, no moment of it may count twice.
        """
        if not self._stalls:
            return 0
        return max(self._stalls[each].since(us) if each in self._stalls else 0 for each in processes)


class _Stalls:
    """The stalls of one process: their ends, and how long it had been stalled by then."""

    def __init__(self) -> None:
        self._stalls: list[Stall] = []
        self._ends_us: list[int] = []
        self._totals_us = [0]

    def add(self, stall: Stall) -> None:
        self._stalls.append(stall)
        self._ends_us.append(stall.at_us)
        self._totals_us.append(self._totals_us[-1] + stall.lasted_us)

    def since(self, us: int) -> int:
        place = bisect_right(self._ends_us, us)
        if place == len(self._stalls):
            return 0
        before_us = max(0, us - self._stalls[place].began_us)
        return self._totals_us[-1] - self._totals_us[place] - before_us

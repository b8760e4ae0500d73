"""Collect the groups of a run: leaders, members, the groups each was formed from, and times (rule I10).

A group begins when the first node takes its identifier. Its members, and the groups that it was formed from, are
in the history in its Definition. When a node believes that it is in the group, and is Normal there, is in the
states of nodes.

One pass collects everything, and ``at`` returns what was known at any record, so that a view can follow a cursor.
"""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import chain
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Started, Step
from lab.protocols.history import FormedGroup
from lab.recording.records import Fault, Process, Record
from lab.recording.snapshot import NodeState

HUES = 10
"""The number of colours for groups in drawings."""

_GROUP_FIELDS = frozenset(("group", "status", "coordinator", "definition"))
_STRUCK = ("killed", "failed", "paused", "resumed", "wiped", "unwritten", "torn", "flipped")


class RecordedMoment(Struct, frozen=True, order=True):
    """A position in the recording: the number of a record, and its time in microseconds since the run began."""

    record: int
    at_us: int


class NormalInterval(Struct, frozen=True):
    """An interval in which a node was Normal in its group; ``until`` is None while it lasts."""

    since: RecordedMoment
    until: RecordedMoment | None = None


class Membership(Struct, frozen=True):
    """A node's time in a group: from when it took the identifier until it took another, or crashed.

    ``until`` is None while it lasts. ``normal_intervals`` are the intervals in which the node was Normal there.
    """

    node: int
    since: RecordedMoment
    until: RecordedMoment | None = None
    normal_intervals: tuple[NormalInterval, ...] = ()

    @property
    def normal(self) -> RecordedMoment | None:
        """The first time it was Normal there, or None."""
        return self.normal_intervals[0].since if self.normal_intervals else None

    def is_normal_before(self, record: int) -> bool:
        """Return whether it was Normal there just before that record."""
        return any(
            spell.since.record < record and (spell.until is None or record <= spell.until.record)
            for spell in self.normal_intervals
        )


class GroupHistory(Struct, frozen=True):
    """A group. ``number`` is its index among the groups of the run, in the order of their formation.

    ``members`` and ``of`` (the numbers of the groups that it was formed from) are known once it is ``defined``.
    ``use`` is more than 1 if its identifier was used before (which violates A5). ``hue`` is the number of its
    colour: as far as there are enough, it differs from those of all groups that nodes are in when this one is
    formed.
    """

    number: int
    group: tuple[int, int]
    formed: RecordedMoment
    coordinator: int | None
    hue: int
    use: int = 1
    defined: RecordedMoment | None = None
    members: tuple[int, ...] = ()
    of: tuple[int, ...] = ()
    memberships: tuple[Membership, ...] = ()

    @property
    def name(self) -> str:
        """The identifier as text, such as ``5.3`` or, at its second use, ``5.3#2``."""
        again = f"#{self.use}" if self.use > 1 else ""
        return f"{self.group[0]}.{self.group[1]}{again}"

    @property
    def normal(self) -> RecordedMoment | None:
        """The time at which the first of its nodes was Normal in it."""
        return min(
            (membership.normal for membership in self.memberships if membership.normal is not None), default=None
        )

    @property
    def all_normal(self) -> RecordedMoment | None:
        """The time at which the last of its members first was Normal in it, or None."""
        firsts = {
            membership.node: membership.normal
            for membership in reversed(self.memberships)
            if membership.normal is not None
        }
        if self.defined is None or not firsts.keys() >= set(self.members):
            return None
        return max((firsts[member] for member in self.members), default=None)

    @property
    def ended(self) -> RecordedMoment | None:
        """The time at which the last node left it; None while a node is in it."""
        ends = [membership.until for membership in self.memberships]
        return None if None in ends else max(end for end in ends if end is not None)


class ClusterEvent(Struct, frozen=True):
    """A fault or process event: ``text`` happened to ``nodes``, or to links if there are none."""

    at: RecordedMoment
    text: str
    nodes: tuple[int, ...] = ()


class GroupLog:
    """Collect the groups from all records, from the header on; None stands for one that could not be read.

    ``groups`` are in the order of their formation. Values that are not groups or histories, in a foreign
    recording, are ignored.
    """

    def __init__(self) -> None:
        self.groups: list[GroupHistory] = []
        self.cluster_events: list[ClusterEvent] = []
        self.record = -1
        self._named: dict[tuple[int, int], list[int]] = {}
        """For each identifier, the numbers of all groups with it."""
        self._nodes: dict[int, NodeState] = {}
        self._in: dict[int, tuple[int, int]] = {}
        """For each node, (number of its group, index of its membership there)."""
        self._joined: dict[int, list[tuple[int, int]]] = {}
        """For each node, (record, number of the group that it joined with it), in order."""
        self._hue_used = [-1] * HUES
        """For each colour, the group that used it last: the least recent one keeps old and new groups distinct."""
        self._faults: dict[int, str] = {}
        self._changes: list[int] = []

    @classmethod
    def of(cls, records: Iterable[Record | None]) -> "GroupLog":
        """Return the log of a whole recording."""
        log = cls()
        for record in records:
            log.observe(record)
        return log

    def observe(self, record: Record | None) -> None:
        """Add the next record."""
        self.record += 1
        if isinstance(record, Step):
            fields = chain(record.changed, record.stored, record.edits, record.stored_edits)
            if isinstance(record.input, Started) or not _GROUP_FIELDS.isdisjoint(fields):
                self._step(record, RecordedMoment(self.record, record.at_us))
        elif isinstance(record, Process):
            self._process(record, RecordedMoment(self.record, record.at_us))
        elif isinstance(record, Fault):
            self._fault(record, RecordedMoment(self.record, record.at_us))

    def changes_by(self, record: int) -> int:
        """Return how often the result of ``at`` has changed up to that record."""
        return bisect_right(self._changes, record)

    def at(self, record: int) -> tuple[tuple[GroupHistory, ...], tuple[ClusterEvent, ...]]:
        """Return (groups, cluster events) as they are known at that record."""
        groups = (_as_of(group, record) for group in self.groups if group.formed.record <= record)
        return tuple(groups), tuple(each for each in self.cluster_events if each.at.record <= record)

    def group_of(self, view: NodeState, record: int) -> GroupHistory | None:
        """Return the group of the node as of that record, or None if it is not known yet."""
        taken = self._joined.get(view.id, [])
        place = bisect_right(taken, record, key=itemgetter(0))
        group = self.groups[taken[place - 1][1]] if place else None
        return group if group is not None and group.group == view.group else None

    def _step(self, step: Step, now: RecordedMoment) -> None:
        before = self._nodes.get(step.node) or NodeState(step.node)
        state = step.input.stored if isinstance(step.input, Started) else before.state
        changed = step.values_after(state)
        view = NodeState(step.node, state={**state, **changed})
        self._nodes[step.node] = view
        was = self._in.get(step.node)
        if view.group != (None if was is None else self.groups[was[0]].group):
            if view.group is not None:
                self._form(view, view.group, is_new="group" in changed, now=now)
            self._leave(step.node, now)
            if view.group is not None:
                self._enter(step.node, self._named[view.group][-1], now)
        self._set_normal(step.node, view.status == "Normal", now)
        self._define(changed.get("definition"), now)

    def _form(self, view: NodeState, identifier: tuple[int, int], is_new: bool, now: RecordedMoment) -> None:
        """Begin a group, unless the node joins an existing one, or is still in it by its stable storage."""
        known = self._named.setdefault(identifier, [])
        if known and not (is_new and self._is_formed_again(known[-1], view.id)):
            return
        number = len(self.groups)
        busy = {self.groups[each].hue for each, _ in self._in.values()}
        hue = min(range(HUES), key=lambda hue: (hue in busy, self._hue_used[hue]))
        self._hue_used[hue] = number
        known.append(number)
        self.groups.append(GroupHistory(number, identifier, now, view.coordinator, hue, use=len(known)))

    def _enter(self, node: int, number: int, now: RecordedMoment) -> None:
        memberships = self.groups[number].memberships
        self._in[node] = number, len(memberships)
        self._joined.setdefault(node, []).append((now.record, number))
        self._set(number, now, memberships=(*memberships, Membership(node, now)))

    def _is_formed_again(self, number: int, node: int) -> bool:
        group = self.groups[number]
        return node == group.group[0] and any(membership.node == node for membership in group.memberships)

    def _leave(self, node: int, now: RecordedMoment) -> None:
        if node in self._in:
            self._set_normal(node, False, now)
            self._set_membership(node, now, until=now)
            del self._in[node]

    def _set_normal(self, node: int, normal: bool, now: RecordedMoment) -> None:
        """Note whether the node, if it is in a group, is Normal there."""
        if node not in self._in:
            return
        number, place = self._in[node]
        normal_intervals = self.groups[number].memberships[place].normal_intervals
        was = bool(normal_intervals) and normal_intervals[-1].until is None
        if normal and not was:
            self._set_membership(node, now, normal_intervals=(*normal_intervals, NormalInterval(now)))
        elif was and not normal:
            self._set_membership(
                node, now, normal_intervals=(*normal_intervals[:-1], replace(normal_intervals[-1], until=now))
            )

    def _set_membership(self, node: int, now: RecordedMoment, **changed: Any) -> None:
        number, place = self._in[node]
        memberships = list(self.groups[number].memberships)
        memberships[place] = replace(memberships[place], **changed)
        self._set(number, now, memberships=tuple(memberships))

    def _define(self, definition: Any, now: RecordedMoment) -> None:
        history = definition.get("history") if isinstance(definition, dict) else None
        if not isinstance(history, list) or not history:
            return
        try:
            formed = msgspec.convert(history[-1], FormedGroup)
        except (msgspec.ValidationError, RecursionError):
            return
        named = self._named.get((formed.group.id, formed.group.counter))
        if named is None or self.groups[named[-1]].defined is not None:
            return
        number = named[-1]
        earlier = (self._before(number, (of.id, of.counter)) for of in formed.of)
        of = tuple(sorted(each for each in earlier if each is not None))
        self._set(number, now, defined=now, coordinator=formed.coordinator, members=formed.members, of=of)

    def _before(self, number: int, identifier: tuple[int, int]) -> int | None:
        """Return the last group with that identifier formed before this one; so there are no cycles."""
        named = self._named.get(identifier, [])
        return next((each for each in reversed(named) if each < number), None)

    def _process(self, record: Process, now: RecordedMoment) -> None:
        if record.event in ("killed", "failed"):
            self._leave(record.node, now)
        if record.event in _STRUCK:
            last = self.cluster_events[-1] if self.cluster_events else None
            if last is not None and (last.at.at_us, last.text) == (now.at_us, record.event) and last.nodes:
                self.cluster_events[-1] = replace(last, nodes=(*last.nodes, record.node))
            else:
                self.cluster_events.append(ClusterEvent(now, record.event, (record.node,)))
            self._note(now)

    def _fault(self, record: Fault, now: RecordedMoment) -> None:
        text = self._faults.get(record.id)
        if record.links and text is None:
            self._faults[record.id] = record.text
            self.cluster_events.append(ClusterEvent(now, record.text))
        elif record.lifted and text is not None:
            self.cluster_events.append(ClusterEvent(now, f"heal: {text}"))
        self._note(now)

    def _set(self, number: int, now: RecordedMoment, **changed: Any) -> None:
        self.groups[number] = replace(self.groups[number], **changed)
        self._note(now)

    def _note(self, now: RecordedMoment) -> None:
        if self._changes[-1:] != [now.record]:
            self._changes.append(now.record)


def _as_of(group: GroupHistory, record: int) -> GroupHistory:
    memberships = tuple(
        _membership_as_of(membership, record)
        for membership in group.memberships
        if membership.since.record <= record
    )
    if group.defined is None or group.defined.record <= record:
        return replace(group, memberships=memberships)
    return replace(group, memberships=memberships, defined=None, members=(), of=())


def _membership_as_of(membership: Membership, record: int) -> Membership:
    def known(point: RecordedMoment | None) -> RecordedMoment | None:
        return point if point is not None and point.record <= record else None

    normal_intervals = (
        replace(spell, until=known(spell.until)) for spell in membership.normal_intervals if known(spell.since)
    )
    return replace(membership, until=known(membership.until), normal_intervals=tuple(normal_intervals))

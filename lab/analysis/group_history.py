"""The groups of a run: who led, who was in, what each was formed from, and when (rule I10).

A group begins when the first node takes its identifier. Who is in it, and of which groups it was formed, is in the
history that its Definition carries; who believes when to be in it, and is Normal there, is in the nodes' states.

Everything is found out in one pass, and ``at`` gives what was known at any record, so that a view can follow a
cursor in time.
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
from lab.protocols.history import Formed
from lab.recording.records import Fault, Process, Record
from lab.recording.snapshot import NodeState

__all__ = ["HUES", "GroupLife", "GroupLog", "Happening", "Point", "Spell", "Stay"]

HUES = 10
"""So many colours there are for groups, wherever they are drawn."""

_TELLING = frozenset(("group", "status", "coordinator", "definition"))
_STRUCK = ("killed", "failed", "paused", "resumed", "wiped")


class Point(Struct, frozen=True, order=True):
    """A place in the recording: the number of the record, and its time in microseconds since the run began."""

    record: int
    at_us: int


class Spell(Struct, frozen=True):
    """A time in which a node was Normal in its group; ``until`` is None while it is."""

    since: Point
    until: Point | None = None


class Stay(Struct, frozen=True):
    """A node's time in a group: from when it took the identifier until it had another, or was gone.

    ``until`` is None while it is in it. ``spells`` are the times in which it was Normal there.
    """

    node: int
    since: Point
    until: Point | None = None
    spells: tuple[Spell, ...] = ()

    @property
    def normal(self) -> Point | None:
        """When it first was Normal there; None as long as it has not been."""
        return self.spells[0].since if self.spells else None

    def is_normal_before(self, record: int) -> bool:
        """Whether it was Normal there when that record came."""
        return any(
            spell.since.record < record and (spell.until is None or record <= spell.until.record)
            for spell in self.spells
        )


class GroupLife(Struct, frozen=True):
    """A group. ``number`` is its place in the order in which the groups of the run were formed.

    ``members`` and ``of``, the numbers of the groups that it was formed from, are known from when it is
    ``defined``. ``use`` is more than 1 where its identifier had been used before (which breaks A5). ``hue`` is
    the number of its colour: no group that a node is in has it when this one is formed, if there are enough.
    """

    number: int
    group: tuple[int, int]
    formed: Point
    coordinator: int | None
    hue: int
    use: int = 1
    defined: Point | None = None
    members: tuple[int, ...] = ()
    of: tuple[int, ...] = ()
    stays: tuple[Stay, ...] = ()

    @property
    def name(self) -> str:
        """Its identifier, as people write it."""
        again = f"#{self.use}" if self.use > 1 else ""
        return f"{self.group[0]}.{self.group[1]}{again}"

    @property
    def normal(self) -> Point | None:
        """When the first of its nodes was Normal in it."""
        return min((stay.normal for stay in self.stays if stay.normal is not None), default=None)

    @property
    def all_normal(self) -> Point | None:
        """When the last of its members was; None as long as one has not been."""
        firsts = {stay.node: stay.normal for stay in reversed(self.stays) if stay.normal is not None}
        if self.defined is None or not firsts.keys() >= set(self.members):
            return None
        return max((firsts[member] for member in self.members), default=None)

    @property
    def ended(self) -> Point | None:
        """When the last node left it; None while one is in it."""
        ends = [stay.until for stay in self.stays]
        return None if None in ends else max(end for end in ends if end is not None)


class Happening(Struct, frozen=True):
    """What was done to the cluster meanwhile: ``text`` befell ``nodes``, or the links where it names none."""

    at: Point
    text: str
    nodes: tuple[int, ...] = ()


class GroupLog:
    """A fold: show it every record from the header on; None stands for one that could not be read.

    ``groups`` are in the order in which they were formed. Whatever a foreign recording has in place of a group
    or a history is passed over.
    """

    def __init__(self) -> None:
        self.groups: list[GroupLife] = []
        self.happenings: list[Happening] = []
        self.record = -1
        self._named: dict[tuple[int, int], list[int]] = {}
        """The numbers of all groups with an identifier."""
        self._nodes: dict[int, NodeState] = {}
        self._in: dict[int, tuple[int, int]] = {}
        """Of each node, its group's number, and the place of its stay there."""
        self._taken: dict[int, list[tuple[int, int]]] = {}
        """Of each node, (record, the number of the group that it took there)."""
        self._hue_used = [-1] * HUES
        """By which group each colour was used last: one that was not for long tells old from new."""
        self._faults: dict[int, str] = {}
        self._changes: list[int] = []

    @classmethod
    def of(cls, records: Iterable[Record | None]) -> "GroupLog":
        """The groups of a whole recording."""
        log = cls()
        for record in records:
            log.observe(record)
        return log

    def observe(self, record: Record | None) -> None:
        """Take the next record."""
        self.record += 1
        if isinstance(record, Step):
            told = chain(record.changed, record.stored)
            if isinstance(record.input, Started) or not _TELLING.isdisjoint(told):
                self._step(record, Point(self.record, record.at_us))
        elif isinstance(record, Process):
            self._process(record, Point(self.record, record.at_us))
        elif isinstance(record, Fault):
            self._fault(record, Point(self.record, record.at_us))

    def changes_by(self, record: int) -> int:
        """How often what ``at`` gives has changed by that record."""
        return bisect_right(self._changes, record)

    def at(self, record: int) -> tuple[tuple[GroupLife, ...], tuple[Happening, ...]]:
        """(the groups, what was done), as they are known at that record."""
        groups = (_as_of(group, record) for group in self.groups if group.formed.record <= record)
        return tuple(groups), tuple(each for each in self.happenings if each.at.record <= record)

    def group_of(self, view: NodeState, record: int) -> GroupLife | None:
        """The group that the node is in, as it is seen at that record; None where that is not known yet."""
        taken = self._taken.get(view.id, [])
        place = bisect_right(taken, record, key=itemgetter(0))
        group = self.groups[taken[place - 1][1]] if place else None
        return group if group is not None and group.group == view.group else None

    def _step(self, step: Step, now: Point) -> None:
        before = self._nodes.get(step.node) or NodeState(step.node)
        state = step.input.stored if isinstance(step.input, Started) else before.state
        told = {**step.changed, **step.stored}
        view = NodeState(step.node, state={**state, **told})
        self._nodes[step.node] = view
        was = self._in.get(step.node)
        if view.group != (None if was is None else self.groups[was[0]].group):
            if view.group is not None:
                self._form(view, view.group, is_new="group" in told, now=now)
            self._leave(step.node, now)
            if view.group is not None:
                self._enter(step.node, self._named[view.group][-1], now)
        self._be_normal(step.node, view.status == "Normal", now)
        self._define(told.get("definition"), now)

    def _form(self, view: NodeState, identifier: tuple[int, int], is_new: bool, now: Point) -> None:
        """A group begins, unless the node joins one that there is, or is still in it by its safe storage."""
        known = self._named.setdefault(identifier, [])
        if known and not (is_new and self._is_formed_again(known[-1], view.id)):
            return
        number = len(self.groups)
        busy = {self.groups[each].hue for each, _ in self._in.values()}
        hue = min(range(HUES), key=lambda hue: (hue in busy, self._hue_used[hue]))
        self._hue_used[hue] = number
        known.append(number)
        self.groups.append(GroupLife(number, identifier, now, view.coordinator, hue, use=len(known)))

    def _enter(self, node: int, number: int, now: Point) -> None:
        stays = self.groups[number].stays
        self._in[node] = number, len(stays)
        self._taken.setdefault(node, []).append((now.record, number))
        self._set(number, now, stays=(*stays, Stay(node, now)))

    def _is_formed_again(self, number: int, node: int) -> bool:
        group = self.groups[number]
        return node == group.group[0] and any(stay.node == node for stay in group.stays)

    def _leave(self, node: int, now: Point) -> None:
        if node in self._in:
            self._be_normal(node, False, now)
            self._set_stay(node, now, until=now)
            del self._in[node]

    def _be_normal(self, node: int, normal: bool, now: Point) -> None:
        """The node is Normal in its group, if it is in one, or is not."""
        if node not in self._in:
            return
        number, place = self._in[node]
        spells = self.groups[number].stays[place].spells
        was = bool(spells) and spells[-1].until is None
        if normal and not was:
            self._set_stay(node, now, spells=(*spells, Spell(now)))
        elif was and not normal:
            self._set_stay(node, now, spells=(*spells[:-1], replace(spells[-1], until=now)))

    def _set_stay(self, node: int, now: Point, **changed: Any) -> None:
        number, place = self._in[node]
        stays = list(self.groups[number].stays)
        stays[place] = replace(stays[place], **changed)
        self._set(number, now, stays=tuple(stays))

    def _define(self, definition: Any, now: Point) -> None:
        history = definition.get("history") if isinstance(definition, dict) else None
        if not isinstance(history, list) or not history:
            return
        try:
            told = msgspec.convert(history[-1], Formed)
        except (msgspec.ValidationError, RecursionError):
            return
        named = self._named.get((told.group.id, told.group.counter))
        if named is None or self.groups[named[-1]].defined is not None:
            return
        number = named[-1]
        earlier = (self._before(number, (of.id, of.counter)) for of in told.of)
        of = tuple(sorted(each for each in earlier if each is not None))
        self._set(number, now, defined=now, coordinator=told.coordinator, members=told.members, of=of)

    def _before(self, number: int, identifier: tuple[int, int]) -> int | None:
        """The last group with that identifier of those formed before this one: so there is never a circle."""
        named = self._named.get(identifier, [])
        return next((each for each in reversed(named) if each < number), None)

    def _process(self, record: Process, now: Point) -> None:
        if record.event in ("killed", "failed"):
            self._leave(record.node, now)
        if record.event in _STRUCK:
            last = self.happenings[-1] if self.happenings else None
            if last is not None and (last.at.at_us, last.text) == (now.at_us, record.event) and last.nodes:
                self.happenings[-1] = replace(last, nodes=(*last.nodes, record.node))
            else:
                self.happenings.append(Happening(now, record.event, (record.node,)))
            self._note(now)

    def _fault(self, record: Fault, now: Point) -> None:
        text = self._faults.get(record.id)
        if record.links and text is None:
            self._faults[record.id] = record.text
            self.happenings.append(Happening(now, record.text))
        elif record.lifted and text is not None:
            self.happenings.append(Happening(now, f"heal: {text}"))
        self._note(now)

    def _set(self, number: int, now: Point, **changed: Any) -> None:
        self.groups[number] = replace(self.groups[number], **changed)
        self._note(now)

    def _note(self, now: Point) -> None:
        if self._changes[-1:] != [now.record]:
            self._changes.append(now.record)


def _as_of(group: GroupLife, record: int) -> GroupLife:
    stays = tuple(_stay_as_of(stay, record) for stay in group.stays if stay.since.record <= record)
    if group.defined is None or group.defined.record <= record:
        return replace(group, stays=stays)
    return replace(group, stays=stays, defined=None, members=(), of=())


def _stay_as_of(stay: Stay, record: int) -> Stay:
    def known(point: Point | None) -> Point | None:
        return point if point is not None and point.record <= record else None

    spells = (replace(spell, until=known(spell.until)) for spell in stay.spells if known(spell.since))
    return replace(stay, until=known(stay.until), spells=tuple(spells))

"""The layout of the history of groups: time flows down, each node has a lane, each row is a change, with its text.

In a row, nodes enter a group, or a command or fault affects the cluster. A node that joins a group is put into the
row in which the group was formed, unless the node or the cluster changed in between. Nodes that become groups of
their own at about the same time share a row.
"""

import sys
from collections.abc import Iterable, Sequence
from functools import partial

from msgspec import Struct

from lab.analysis.group_history import ClusterEvent, GroupHistory, Membership, RecordedMoment
from lab.text import sanitize
from lab.units import format_ranges, format_us

_LONGEST = 60


class Lane(Struct, frozen=True):
    """The group that a node is in, by number, and its membership there."""

    group: int
    membership: Membership


class GroupRow(Struct):
    """``changes`` are the lanes that change here, None if one ends; ``lanes`` are all lanes from here on.

    ``normal`` are the nodes that are Normal in their groups when the next row begins; other lanes are broken up to
    there. ``groups`` are the groups that nodes enter here; ``late``: they were formed in a row above. Otherwise
    ``text`` says what was done to the nodes ``affected``.
    """

    at: RecordedMoment
    groups: tuple[int, ...] = ()
    late: bool = False
    affected: tuple[int, ...] = ()
    text: str = ""
    changes: dict[int, Lane | None] = {}
    lanes: dict[int, Lane] = {}
    normal: frozenset[int] = frozenset()


Word = tuple[str, str | int]
"""A word, and its role: bold, dim, accent, warning, or the number of a group's colour."""


class GroupLayout:
    """The last ``most`` rows of a history. Nodes alone within ``together_us`` share a row."""

    def __init__(
        self,
        groups: Sequence[GroupHistory],
        cluster_events: Iterable[ClusterEvent],
        nodes: Iterable[int],
        together_us: int,
        most: int = sys.maxsize,
    ) -> None:
        self.groups = groups
        self.rows = _build_rows(groups, cluster_events, together_us)[-most:]
        self.nodes = sorted({*nodes, *(node for row in self.rows for node in row.changes)})

    def joined(self, row: GroupRow) -> list[int]:
        """Return the nodes that a bar joins, as they enter the same group in this row."""
        return [node for node in self.nodes if row.changes.get(node) is not None] if len(row.groups) == 1 else []

    def words(self, row: GroupRow) -> list[Word]:
        """Return the text about a row, word by word."""
        return [(word, role) for text, role in self._phrases(row) for word in text.split()]

    def _phrases(self, row: GroupRow) -> list[Word]:
        if not row.groups:
            whom = format_ranges(sorted(row.affected))
            role = "warning" if row.text in ("killed", "failed") else "accent"
            return [(sanitize(f"{whom} {row.text}".strip(), _LONGEST), role)]
        formed = [self.groups[number] for number in row.groups]
        if row.late:
            takers = sorted(node for node, lane in row.changes.items() if lane is not None)
            joins = f"{format_ranges(takers)} {'joins' if len(takers) == 1 else 'join'}"
            return [(joins, "bold"), (formed[0].name, formed[0].hue)]
        of_formed = {number for each in formed for number in each.of}
        origins = sorted((self.groups[number] for number in of_formed), key=lambda group: group.group)
        of: list[Word] = [(origin.name, origin.hue) for origin in origins]
        if len(formed[0].members) != 1:
            return _leader_phrases(formed[0], of)
        members = format_ranges(sorted(member for each in formed for member in each.members))
        alone = "alone" if len(formed) == 1 else "each alone"
        if not of:
            return [(f"{members} {'starts' if len(formed) == 1 else 'start'}, {alone}", "bold")]
        return [(f"{members} {alone},", "bold"), ("of", "dim"), *of]


def _leader_phrases(group: GroupHistory, of: list[Word]) -> list[Word]:
    """Return the leader, the members, the origin, and the time until all were Normal."""
    leader = "nobody" if group.coordinator is None else str(group.coordinator)
    if group.defined is None:
        came_to = "is forming it" if group.ended is None else "failed to form it"
        return [(f"{leader} {came_to if group.use == 1 else 'has been in it before'}", "dim")]
    led = sanitize(format_ranges(sorted({*group.members} - {group.coordinator})), _LONGEST) or "nobody"
    *others, (last, role) = of or [("nothing", "dim")]
    if group.all_normal is None:
        became = "not all Normal" if group.ended is not None else "not all Normal yet"
    else:
        became = f"all Normal after {format_us(round(group.all_normal.at_us - group.formed.at_us, -3))}"
    return [(f"{leader} leads {led},", "bold"), ("of", "dim"), *others, (f"{last},", role), (became, "dim")]


# the rows


def _build_rows(
    groups: Iterable[GroupHistory], cluster_events: Iterable[ClusterEvent], together_us: int
) -> list[GroupRow]:
    memberships = [(group, membership) for group in groups for membership in group.memberships]
    begun = {(membership.node, membership.since.record) for _, membership in memberships}
    rows = _Rows(together_us)
    events = [(event.at.record, 0, partial(rows.add_event, event)) for event in cluster_events]
    for group, membership in memberships:
        events.append((membership.since.record, 2, partial(rows.enter, membership, group)))
        if membership.until is not None and (membership.node, membership.until.record) not in begun:
            events.append((membership.until.record, 1, partial(rows.leave, membership)))
    for _, _, apply in sorted(events, key=lambda event: event[:2]):
        apply()
    return rows.finish()


class _Rows:
    def __init__(self, together_us: int) -> None:
        self._together_us = together_us
        self._rows: list[GroupRow] = []
        self._row_of: dict[int, int] = {}
        """The last row in which nodes enter the group of that number."""
        self._changed: dict[int, int] = {}
        """The last row in which the lane of that node changes."""
        self._last_event = -1
        self._alone = -2
        """The last row in which nodes form groups of their own."""

    def add_event(self, event: ClusterEvent) -> None:
        self._last_event = self._add(GroupRow(event.at, affected=event.nodes, text=event.text))

    def leave(self, membership: Membership) -> None:
        assert membership.until is not None
        if not (self._rows and membership.node in self._rows[-1].affected):
            self._add(GroupRow(membership.until, affected=(membership.node,), text="in no group"))
        self._change(len(self._rows) - 1, membership.node, None)

    def enter(self, membership: Membership, group: GroupHistory) -> None:
        row, alone = self._row_of.get(group.number), _is_alone(group)
        if row is None and alone and self._joins_alone_row(membership):
            row = len(self._rows) - 1
            self._rows[row].groups += (group.number,)
        elif row is None or row <= max(self._changed.get(membership.node, -1), self._last_event):
            row = self._add(GroupRow(membership.since, (group.number,), late=row is not None))
            self._alone = row if alone else -2
        self._row_of[group.number] = row
        self._change(row, membership.node, Lane(group.number, membership))

    def finish(self) -> list[GroupRow]:
        lanes: dict[int, Lane] = {}
        ends = [*(row.at.record for row in self._rows[1:]), sys.maxsize]
        for row, end in zip(self._rows, ends, strict=False):
            changed = {**lanes, **row.changes}
            lanes = {node: lane for node, lane in changed.items() if lane is not None}
            row.lanes = lanes
            row.normal = frozenset(node for node, lane in lanes.items() if lane.membership.is_normal_before(end))
        return self._rows

    def _joins_alone_row(self, membership: Membership) -> bool:
        """Return whether the last row is one of nodes alone, and recent enough to share."""
        if self._alone != len(self._rows) - 1 or membership.node in self._rows[-1].changes:
            return False
        return membership.since.at_us - self._rows[-1].at.at_us <= self._together_us

    def _add(self, row: GroupRow) -> int:
        self._rows.append(row)
        return len(self._rows) - 1

    def _change(self, row: int, node: int, lane: Lane | None) -> None:
        self._rows[row].changes[node] = lane
        self._changed[node] = row


def _is_alone(group: GroupHistory) -> bool:
    """Return whether it was formed as the group of one node, in one step."""
    return group.defined == group.formed and len(group.members) == 1

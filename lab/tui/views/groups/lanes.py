"""The history of groups as a picture, time downwards, a lane for each node: what is in which row of it.

A row is where something changes: nodes take a group, or something is done to the cluster. Who joins a group is
put into the row in which that was formed, if nothing else befell it in between. Nodes that fall alone at about
the same time share a row.
"""

import sys
from collections.abc import Iterable
from functools import partial

from msgspec import Struct

from lab.analysis.group_history import GroupLife, Happening, Point, Stay

__all__ = ["Lane", "Row", "rows_of"]


class Lane(Struct, frozen=True):
    """What a node is in: the number of its group, and its stay there."""

    group: int
    stay: Stay


class Row(Struct):
    """``changes`` are the lanes that change here, None where one ends; ``lanes`` all that there are from here on.

    ``normal`` are the nodes that are Normal in their groups as the next row comes; the lanes of all others are
    broken up to there. ``groups`` are those that nodes take here, ``late`` if they were formed in a row above; or
    ``text`` says what was done, to the nodes ``struck``.
    """

    at: Point
    groups: tuple[int, ...] = ()
    late: bool = False
    struck: tuple[int, ...] = ()
    text: str = ""
    changes: dict[int, Lane | None] = {}
    lanes: dict[int, Lane] = {}
    normal: frozenset[int] = frozenset()


def rows_of(groups: Iterable[GroupLife], happenings: Iterable[Happening], together_us: int) -> list[Row]:
    """The rows from top to bottom. Nodes share one that fall alone within ``together_us``."""
    stays = [(group, stay) for group in groups for stay in group.stays]
    begun = {(stay.node, stay.since.record) for _, stay in stays}
    rows = _Rows(together_us)
    events = [(happening.at.record, 0, partial(rows.happen, happening)) for happening in happenings]
    for group, stay in stays:
        events.append((stay.since.record, 2, partial(rows.enter, stay, group)))
        if stay.until is not None and (stay.node, stay.until.record) not in begun:
            events.append((stay.until.record, 1, partial(rows.leave, stay)))
    for _, _, take in sorted(events, key=lambda event: event[:2]):
        take()
    return rows.finished()


class _Rows:
    def __init__(self, together_us: int) -> None:
        self._together_us = together_us
        self._rows: list[Row] = []
        self._row_of: dict[int, int] = {}
        """The last row in which nodes take the group of that number."""
        self._changed: dict[int, int] = {}
        """The last row in which the lane of that node changes."""
        self._happened = -1
        self._alone = -2
        """The last row in which nodes fall alone."""

    def happen(self, happening: Happening) -> None:
        self._happened = self._add(Row(happening.at, struck=happening.nodes, text=happening.text))

    def leave(self, stay: Stay) -> None:
        assert stay.until is not None
        if not (self._rows and stay.node in self._rows[-1].struck):
            self._add(Row(stay.until, struck=(stay.node,), text="in no group"))
        self._change(len(self._rows) - 1, stay.node, None)

    def enter(self, stay: Stay, group: GroupLife) -> None:
        row, alone = self._row_of.get(group.number), _is_alone(group)
        if row is None and alone and self._others_fell_alone(stay):
            row = len(self._rows) - 1
            self._rows[row].groups += (group.number,)
        elif row is None or row <= max(self._changed.get(stay.node, -1), self._happened):
            row = self._add(Row(stay.since, (group.number,), late=row is not None))
            self._alone = row if alone else -2
        self._row_of[group.number] = row
        self._change(row, stay.node, Lane(group.number, stay))

    def finished(self) -> list[Row]:
        lanes: dict[int, Lane] = {}
        ends = [*(row.at.record for row in self._rows[1:]), sys.maxsize]
        for row, end in zip(self._rows, ends, strict=False):
            changed = {**lanes, **row.changes}
            lanes = {node: lane for node, lane in changed.items() if lane is not None}
            row.lanes = lanes
            row.normal = frozenset(node for node, lane in lanes.items() if lane.stay.is_normal_before(end))
        return self._rows

    def _others_fell_alone(self, stay: Stay) -> bool:
        """Whether others did in the last row, and not long ago."""
        if self._alone != len(self._rows) - 1 or stay.node in self._rows[-1].changes:
            return False
        return stay.since.at_us - self._rows[-1].at.at_us <= self._together_us

    def _add(self, row: Row) -> int:
        self._rows.append(row)
        return len(self._rows) - 1

    def _change(self, row: int, node: int, lane: Lane | None) -> None:
        self._rows[row].changes[node] = lane
        self._changed[node] = row


def _is_alone(group: GroupLife) -> bool:
    """Whether it was formed as the group of one node, in one step."""
    return group.defined == group.formed and len(group.members) == 1

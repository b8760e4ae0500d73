"""The field as each group sees it: from the nodes' states to maps, pure."""

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from lab.journal import Header, NodeView
from lab.protocols import Field
from lab.text import sanitize

__all__ = ["Cell", "FieldMap", "has_field", "idle_said", "maps_of"]

Cell = tuple[int, Literal["done", "pending", "surveying"]]
"""A region: who surveyed it, or is to; and how far that is."""


class _Survey(Struct, frozen=True):
    number: int = 1
    done: tuple[int, ...] = ()


class _Definition(Struct, frozen=True):
    members: tuple[int, ...] = ()
    regions: tuple[int, ...] = ()


class _State(Struct, frozen=True):
    """What is told of the field in a node's state."""

    survey: _Survey
    definition: _Definition
    surveying: int | None = None
    duplicates: int = 0
    published: tuple[int, int, int] = (0, 0, 0)
    outcome: str = ""


class FieldMap(Struct, frozen=True):
    """The field of one group, as its coordinator knows it; ``outcome`` is that of the last attempt to publish."""

    coordinator: int
    others: tuple[int, ...]
    number: int
    cells: tuple[Cell, ...]
    duplicates: int
    edition: int
    outcome: str

    @property
    def done(self) -> int:
        """How many regions are surveyed this time."""
        return sum(how == "done" for _, how in self.cells)


def has_field(header: Header) -> bool:
    """Whether the run's task is the field."""
    return header.protocol.name == Field.name


def maps_of(nodes: Mapping[int, NodeView]) -> tuple[FieldMap, ...]:
    """One for each node that leads a group, the highest first; none where nobody surveys a field."""
    told = {node: state for node, view in nodes.items() if (state := _told(view)) is not None}
    return tuple(_map_of(node, told, nodes) for node in sorted(told, reverse=True) if _leads(nodes[node]))


def idle_said(nodes: Mapping[int, NodeView]) -> tuple[tuple[int, str], ...]:
    """The nodes that survey nothing, each with what it is instead."""
    instead = {node: view.status if view.process == "running" else view.process for node, view in nodes.items()}
    return tuple((node, sanitize(instead[node], 16)) for node in sorted(nodes) if instead[node] != "Normal")


def _told(view: NodeView) -> _State | None:
    try:
        return msgspec.convert(view.state, _State)
    except msgspec.ValidationError:
        return None  # another protocol, or a recording from anybody


def _leads(view: NodeView) -> bool:
    return view.status == "Normal" and view.coordinator == view.id and view.process in ("running", "paused")


def _map_of(leader: int, told: dict[int, _State], nodes: Mapping[int, NodeView]) -> FieldMap:
    state = told[leader]
    members = [node for node in told if nodes[node].status == "Normal" and nodes[node].coordinator == leader]
    busy = {told[node].surveying for node in members if nodes[node].process == "running"}
    done = state.survey.done
    cells: list[Cell] = []
    for region, surveyor in enumerate(state.definition.regions):
        if region < len(done) and done[region] >= 0:
            cells.append((done[region], "done"))
        else:
            cells.append((surveyor, "surveying" if region in busy else "pending"))
    others = tuple(sorted(node for node in members if node != leader))
    outcome = sanitize(state.outcome, 200)
    return FieldMap(
        leader, others, state.survey.number, tuple(cells), state.duplicates, state.published[0], outcome
    )

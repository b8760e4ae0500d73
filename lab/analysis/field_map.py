"""The field as each group sees it (rules F1-F4): from the nodes' states to maps."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from lab.protocols import Field
from lab.recording.conversion import converted
from lab.recording.records import Header
from lab.recording.snapshot import NodeState

__all__ = ["Cell", "FieldMap", "has_field", "idle_nodes", "maps_of"]

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
    """The field of one group, as its coordinator knows it, if that still ``leads``: it may have just crashed.

    ``outcome`` is that of its last attempt to publish.
    """

    coordinator: int
    leads: bool
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


def maps_of(nodes: Mapping[int, NodeState]) -> tuple[FieldMap, ...]:
    """One for each coordinator that a node follows, the highest first; none where nobody surveys a field."""
    told = {node: state for node, view in nodes.items() if (state := converted(view.state, _State)) is not None}
    leaders = {leader for node in told if (leader := _follows(nodes[node])) is not None}
    return tuple(_map_of(leader, told, nodes) for leader in sorted(leaders, reverse=True))


def idle_nodes(nodes: Mapping[int, NodeState]) -> tuple[tuple[int, str], ...]:
    """The nodes that survey nothing, each with what it is instead."""
    instead = {node: view.status if view.process == "running" else view.process for node, view in nodes.items()}
    return tuple((node, instead[node]) for node in sorted(nodes) if instead[node] != "Normal")


def _follows(view: NodeState) -> int | None:
    """The coordinator that it is Normal under, itself or another, as far as anybody can see."""
    return view.coordinator if view.status == "Normal" and view.process in ("running", "paused") else None


def _map_of(leader: int, told: dict[int, _State], nodes: Mapping[int, NodeState]) -> FieldMap:
    members = [node for node in sorted(told) if _follows(nodes[node]) == leader]
    # where the coordinator is there no more, it is as the members know it, who have not noticed
    knowing = [leader] if leader in members else members
    state = max((told[node] for node in knowing), key=lambda each: each.survey.number)
    surveys = [told[node].survey for node in knowing if told[node].survey.number == state.survey.number]
    busy = {told[node].surveying for node in members if nodes[node].process == "running"}
    cells: list[Cell] = []
    for region, surveyor in enumerate(state.definition.regions):
        done = max((survey.done[region] for survey in surveys if region < len(survey.done)), default=-1)
        if done >= 0:
            cells.append((done, "done"))
        else:
            cells.append((surveyor, "surveying" if region in busy else "pending"))
    return FieldMap(
        leader,
        leader in members,
        tuple(node for node in members if node != leader),
        state.survey.number,
        tuple(cells),
        state.duplicates,
        state.published[0],
        state.outcome if leader in members else "",
    )

"""Derive maps of the field, as each group sees it, from the states of nodes; measure its work (rules F1-F4)."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from lab.kernel import Step
from lab.protocols.survey import Survey, join
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Record, convert_or_none
from lab.recording.snapshot import NodeState

Cell = tuple[int, Literal["done", "pending", "surveying"]]
"""A region: the node that surveyed it or will do so, and its progress."""


class _Survey(Struct, frozen=True):
    number: int = 1
    done: tuple[int, ...] = ()


class _Definition(Struct, frozen=True):
    members: tuple[int, ...] = ()
    regions: tuple[int, ...] = ()


class _State(Struct, frozen=True):
    """The variables of the field in a node's state."""

    survey: _Survey
    definition: _Definition
    surveying: int | None = None
    duplicates: int = 0
    published: tuple[int, int, int] = (0, 0, 0)
    outcome: str = ""


class FieldMap(Struct, frozen=True):
    """The field of one group, as its coordinator knows it; ``leads`` is False if the coordinator has just crashed.

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
        """Number of regions done in this survey."""
        return sum(how == "done" for _, how in self.cells)


def maps_of(nodes: Mapping[int, NodeState]) -> tuple[FieldMap, ...]:
    """Return a map for each coordinator that a node follows, the highest first; empty without a survey."""
    states = {
        node: state for node, view in nodes.items() if (state := convert_or_none(view.state, _State)) is not None
    }
    leaders = {leader for node in states if (leader := _coordinator_of(nodes[node])) is not None}
    return tuple(_map_of(leader, states, nodes) for leader in sorted(leaders, reverse=True))


def idle_nodes(nodes: Mapping[int, NodeState]) -> tuple[tuple[int, str], ...]:
    """Return (node, status or process state) for the nodes that do not take part in a survey."""
    instead = {node: view.status if view.process == "running" else view.process for node, view in nodes.items()}
    return tuple((node, instead[node]) for node in sorted(nodes) if instead[node] != "Normal")


def _coordinator_of(view: NodeState) -> int | None:
    """Return the coordinator under which the node is Normal, itself or another, or None."""
    return view.coordinator if view.status == "Normal" and view.process in ("running", "paused") else None


def _map_of(leader: int, states: dict[int, _State], nodes: Mapping[int, NodeState]) -> FieldMap:
    members = [node for node in sorted(states) if _coordinator_of(nodes[node]) == leader]
    # if the coordinator is gone, use the knowledge of the members, which have not noticed yet
    knowing = [leader] if leader in members else members
    state = max((states[node] for node in knowing), key=lambda each: each.survey.number)
    surveys = [states[node].survey for node in knowing if states[node].survey.number == state.survey.number]
    busy = {states[node].surveying for node in members if nodes[node].process == "running"}
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


class ReadingCounts(Struct, frozen=True):
    """The number of readings ``made``.

    Of these, ``lost`` are known to no node that runs at the end, and ``duplicated`` repeat a result. All others
    are results.
    """

    made: int = 0
    lost: int = 0
    duplicated: int = 0

    def __add__(self, other: "ReadingCounts") -> "ReadingCounts":
        return ReadingCounts(self.made + other.made, self.lost + other.lost, self.duplicated + other.duplicated)


class WorkLog:
    """Collect the readings from all records; only a node itself knows how many it made, in each incarnation.

    A value in a state that is called ``survey`` but is none is ignored.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], int] = {}

    def observe(self, record: Record | None) -> None:
        """Add the next record."""
        if isinstance(record, Step) and "survey" in record.changed:
            for each in _survey_in(record.changed).made:
                if each.node == record.node:
                    self._made[each.node, each.since_us] = each.readings

    def work(self, cluster: ClusterState, regions: int) -> ReadingCounts:
        """Return the work done, given the cluster at the end and the number of regions of the field."""
        known = join(_survey_in(view.state) for view in cluster.nodes.values() if view.process == "running")
        made = sum(self._made.values())
        return ReadingCounts(made, made - known.readings(), known.duplicates(regions))


def _survey_in(state: dict[str, Any]) -> Survey:
    """Return the survey in a state; an empty one if there is none."""
    return convert_or_none(state.get("survey"), Survey) or Survey()
